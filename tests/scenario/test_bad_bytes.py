"""Bytes that are not text, put into everything that comes from outside and is kept, shown or logged.

Whatever carried them, the daemon goes on, starts again on the same store, and all that it says and
logs stays valid UTF-8 and can be searched."""
import json
import os
import re
import socket
import subprocess

import pytest

from checks import all_pages
from harness import BINARY, OPERATOR_KEY, Account, Receiver, eventually
from inside import change, rows
from people import PASSWORD, person
from raw import RawServer
from schema import operations
from test_cli import run

# Not UTF-8: a lone byte, an overlong "/", a surrogate, a beginning without its end, past U+10FFFF.
NOT_UTF8 = [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xe2\x82", b"\xf4\x90\x80\x80", b"\x80" * 300]
CONTROLS = [b"\0", b"\x7f", b"\r", b"\n", b"\r\n", b"\x1b[2J"]
BAD = NOT_UTF8 + CONTROLS


def names(values):
    return [v[:6].hex() for v in values]


def exchange(port, request):
    """The whole answer to these bytes; its status (0: none)."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        s.sendall(request)
        s.shutdown(socket.SHUT_WR)
        answer = b""
        while True:
            more = s.recv(65536)
            if not more:
                break
            answer += more
    return (int(answer[9:12]) if answer else 0), answer


def request(method, target, headers=(), body=b""):
    lines = [b"%s %s HTTP/1.1" % (method, target)] + [b"%s: %s" % h for h in headers]
    if not any(name.lower() == b"host" for name, _ in headers):
        lines.append(b"Host: 127.0.0.1")
    if body:
        lines += [b"Content-Length: %d" % len(body), b"Content-Type: application/json"]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def assert_sound(daemon):
    """All that it logs is UTF-8 and JSON, and so is the audit log, which can be searched."""
    for line in (daemon.directory / "daemon.log").read_bytes().splitlines():
        json.loads(line.decode())
    entries, _ = all_pages(daemon.api(), "/api/v1/audit", 500)
    for action in {e["Action"] for e in entries}:
        found, _ = all_pages(daemon.api(), "/api/v1/audit", 500, action=action)
        assert found == [e for e in entries if e["Action"] == action]
    return entries


HEADERS = [b"User-Agent", b"X-Forwarded-For", b"X-Forwarded-Proto", b"X-Request-Id", b"Host", b"Origin", b"Cookie", b"Content-Type",
           b"If-Match", b"Accept", b"X-Csrf-Token", b"Authorization", b"X-Api-Key", b"X-Other"]


def test_every_header_of_a_request(own_daemon):
    """With a key, with a session, with nobody; and those that are kept at signing in, right and wrong."""
    own_daemon.options += ["--trusted-proxy", "127.0.0.0/8"]
    own_daemon.start()
    account = Account(own_daemon)
    someone = person(own_daemon, "analyst", account.partner_id)
    callers = ([], [(b"Authorization", b"Bearer " + OPERATOR_KEY.encode())], [(b"Cookie", someone.cookie.encode())])
    for bad in BAD:
        for name in HEADERS:
            own = (name, b"a" + bad + b"z")
            for more in callers:
                for target in (b"/api/v1/partners/" + account.partner_id.encode(), b"/api/v1/users/nothing"):
                    status, _ = exchange(own_daemon.port, request(b"PATCH", target, more + [own], b"{}"))
                    assert 200 <= status < 500, (name, bad, status)
    for bad in NOT_UTF8:
        for password in ("not the password", PASSWORD):
            body = json.dumps({"Email": someone.email, "Password": password}).encode()
            kept = [(name, b"a" + bad + b"z") for name in (b"User-Agent", b"X-Forwarded-For", b"X-Request-Id")]
            status, _ = exchange(own_daemon.port, request(b"POST", b"/api/v1/session", kept, body))
            assert status == (200 if password == PASSWORD else 401)
    entries = assert_sound(own_daemon)
    assert len([e for e in entries if e["Action"] == "session.refused"]) == len(NOT_UTF8)
    assert own_daemon.restart().api().get("/readyz", key=None).status == 200
    assert assert_sound(own_daemon) == entries


def test_the_session_of_a_strange_browser_outlives_a_restart(own_daemon):
    own_daemon.start()
    someone = person(own_daemon, "analyst", Account(own_daemon).partner_id)
    body = json.dumps({"Email": someone.email, "Password": PASSWORD}).encode()
    status, answer = exchange(own_daemon.port, request(b"POST", b"/api/v1/session", [
        (b"User-Agent", b"Br\xfcwser/1 \xe2\x82\xac " + b"\xc3" * 250)], body))
    assert status == 200
    own_daemon.restart()
    found = [s["UserAgent"] for s in someone.get("/api/v1/sessions").json["Items"]]
    assert any(agent and agent.startswith("Br?wser/1 \u20ac ???") and len(agent.encode()) <= 200 for agent in found)


@pytest.mark.parametrize("bad", BAD, ids=names(BAD))
def test_paths_queries_and_bodies(daemon, bad):
    account = Account(daemon)
    key = [(b"Authorization", b"Bearer " + OPERATOR_KEY.encode())]
    escaped = b"".join(b"%%%02X" % c for c in bad)
    document = daemon.api().get("/openapi.json", key=None).json
    of = b"partnerId=" + account.partner_id.encode()
    for method, path, operation in operations(document):
        head = method.encode()
        for parameter in operation["parameters"]:
            name = parameter["name"].encode()
            if parameter["in"] == "path":
                target = path.encode().replace(b"{" + name + b"}", b"a" + escaped)
                assert 400 <= exchange(daemon.port, request(head, target + b"?" + of, key, b"{}"))[0] < 500, path
            elif parameter["in"] == "query":
                target = path.encode() + b"?" + name + b"=a" + escaped + b"&" + (b"" if name == b"partnerId" else of)
                status, answer = exchange(daemon.port, request(head, target, key, b"{}"))
                assert 200 <= status < 500 and (status >= 400 or bad in CONTROLS[1:]), (path, status)
                answer.decode()
        if "requestBody" in operation:
            body = b'{"PanelistId":"a%sz","Name":"a%sz","Email":"a%sz@b","a%sz":1}' % (bad, bad, bad, bad)
            status, answer = exchange(daemon.port, request(head, path.encode() + b"?" + of, key, body))
            assert 200 <= status < 500, (path, status)
            answer.decode()
    assert exchange(daemon.port, request(b"GET", b"/a" + bad, key))[0] in (0, 400, 404)
    assert_sound(daemon)


@pytest.mark.parametrize("bad", NOT_UTF8 + CONTROLS[:2], ids=names(NOT_UTF8 + CONTROLS[:2]))
def test_what_receivers_answer(own_daemon, bad):
    def behave(server, connection, request):
        at = len(server.requests)
        line = b"a" + bad + b"z"
        answers = [b"HTTP/1.1 200 " + line + b"\r\nContent-Length: 0\r\n\r\n",
                   b"HTTP/1.1 500 No\r\nX-Own: " + line + b"\r\nContent-Length: %d\r\n\r\n" % len(line) + line,
                   b"HTTP/1.1 302 Moved\r\nLocation: http://" + line + b"/\r\nContent-Length: 0\r\n\r\n",
                   b"HTTP/1.1 200 OK\r\nX" + bad + b": y\r\nContent-Length: 0\r\n\r\n", bad]
        connection.sendall(answers[at % len(answers)])
        return False
    server = RawServer(behave)
    own_daemon.schedule = "1s,1s,1s,1s,1s,1s,1s"
    own_daemon.start()
    account = Account(own_daemon, server.url())
    own_daemon.api().events([account.event("bad-%d" % i) for i in range(3)])
    eventually(lambda: len(server.requests) >= 8, 60)
    of = {"partnerId": account.partner_id}
    for answer in (own_daemon.api().get("/api/v1/callbacks/bad-0", query=of), own_daemon.api().get("/api/v1/callbacks", query=of),
                   own_daemon.api().get("/api/v1/apps/%s/endpoints" % account.app_id)):
        assert answer.status == 200 and answer.json
    assert own_daemon.restart().api().get("/readyz", key=None).status == 200
    answer = own_daemon.api().get("/api/v1/callbacks/bad-0", query=of)
    assert answer.status == 200 and answer.json
    assert_sound(own_daemon)
    own_daemon.stop()
    server.close()


@pytest.mark.parametrize("arguments", [
    ["serve", "--store", b"sqlite:\xff"], ["user", "add", b"a\xff@b.example", "--role", "admin"],
    ["user", "add", "a@b.example", "--role", "admin", "--name", b"\xc0\xaf"],
    ["serve", "--public-url", b"http://\xed\xa0\x80/"], ["verify", "--secret", b"\xffsecret"]])
def test_words_of_the_command_line(arguments, tmp_path):
    result = subprocess.run([BINARY] + arguments, env=dict(os.environ, POSTBACKD_API_KEY=OPERATOR_KEY), stdin=subprocess.DEVNULL,
                            cwd=tmp_path, capture_output=True, timeout=60)
    assert result.returncode == 2 and b"not valid UTF-8" in result.stderr and len(result.stderr.splitlines()) == 1


@pytest.fixture
def stranger(request):
    """A server that answers with more than a line, and with what a terminal obeys."""
    said = {"errors": [{"Field": "a\x1b[2J", "Detail": "b\n\x9b1mc"}], "detail": "d\n\x1b]0;e\x07"}
    text = json.dumps(said, ensure_ascii=False).encode() + b"\n"
    busy = [(503, {"Retry-After": "1\x1b[2J"}, text)] * request.param
    receiver = Receiver(lambda _: busy.pop() if busy else (400, {}, text))
    yield "http://127.0.0.1:%d" % receiver.port
    receiver.close()


@pytest.mark.parametrize("stranger", [0, 2], ids=["wrong", "busy"], indirect=True)
@pytest.mark.parametrize("arguments", [["health"], ["import", "FILE"], ["import", "people", "FILE"], ["user", "list"],
                                       ["export", "rewards", "--start-date", "2026-01-01", "--end-date", "2026-01-01"],
                                       ["reconcile", "--day", "2026-01-01", "--partner", "p", "FILE"]])
def test_what_a_server_says_is_printed_as_plain_text(stranger, arguments, tmp_path):
    path = tmp_path / "file"
    path.write_text('{"Email":"a@b.example","Role":"admin"}' if "people" in arguments else '{"RewardId":"r","Reward":"1"}')
    result = run(*[path if a == "FILE" else a for a in arguments], "--url", stranger, POSTBACKD_OPERATOR_KEY=OPERATOR_KEY)
    text = (result.stdout + result.stderr).decode()
    assert result.returncode != 0 and text and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), (result.returncode, text)
    assert all(re.match("postbackd: |line 1: |[0-9]+ ", line) for line in text.splitlines()), text


def test_what_a_file_has_is_printed_as_plain_text(daemon, tmp_path):
    a = Account(daemon)
    path = tmp_path / "records"
    path.write_text(json.dumps({"RewardId": "x\x1b[2J\ny", "Reward": "1"}) + "\n")
    result = run("reconcile", "--day", "2026-01-01", path, "--url", "http://127.0.0.1:%d" % daemon.port,
                 POSTBACKD_API_KEY=a.key("callbacks:read"))
    assert result.stdout.splitlines()[0].startswith(b"unknown: x [2J y: recorded on line 1"), result


# --- what is damaged already ---------------------------------------------------------------------

def test_what_cannot_be_read_is_left_out(own_daemon):
    """A damaged session, user or key ends that one, with an error line; everybody else goes on."""
    own_daemon.start()
    account = Account(own_daemon)
    whole, damaged, lost = [person(own_daemon, "analyst", account.partner_id) for _ in range(3)]
    whole_key, damaged_key = account.key("apps:read"), account.key("apps:read")
    key_ids = [k["KeyId"] for k in own_daemon.api().get("/api/v1/partners/%s/keys" % account.partner_id).json["Items"]]
    left_out = [damaged.session()["SessionId"], lost.user_id, key_ids[0], lost.session()["SessionId"]]
    own_daemon.stop()
    for object_id in left_out[:3]:
        assert change(own_daemon, "UPDATE object SET document='{' WHERE id='%s'" % object_id) == 1
    own_daemon.start()
    assert own_daemon.api(whole_key).get("/api/v1/apps/" + account.app_id).status == 200
    assert own_daemon.api(damaged_key).get("/api/v1/apps/" + account.app_id).status == 401
    assert whole.get("/api/v1/sessions").status == 200
    for someone in (damaged, lost):
        assert someone.get("/api/v1/sessions").status == 401
    assert damaged.sign_in(damaged.email).status == 200
    logged = [json.loads(line) for line in own_daemon.log_text().splitlines() if '"object_left_out"' in line]
    assert sorted(line["id"] for line in logged) == sorted(left_out) and all(line["level"] == "error" for line in logged)


def test_what_events_need_stops_the_start(own_daemon):
    own_daemon.start()
    account = Account(own_daemon)
    own_daemon.stop()
    assert change(own_daemon, "UPDATE object SET document='{' WHERE id='%s'" % account.app_id) == 1
    begin = own_daemon.spawn()
    assert own_daemon.process.wait(30) != 0
    assert account.app_id in own_daemon.log_text(begin)
    assert rows(own_daemon, "SELECT count(*) FROM object WHERE id='%s'" % account.app_id) == [("1",)]

"""`postbackd listen`: an account's new callbacks, copied to a server that cannot be reached from
outside; and `postbackd receive --print`, which shows what verifiers need."""
import base64
import hmac
import http.server
import os
import pty
import re
import signal
import subprocess
import threading
import time
import urllib.request

import pytest

from checks import DEAD_URL
from harness import BINARY, Account, Daemon, Receiver, assert_signed, eventually, leave_nothing_behind
from test_cli import Receive, assert_one_line, run
from test_people_rights import Stream


def take_interrupts():
    """Whoever is started in the background of a shell script ignores SIGINT, and so would it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def resident_most_kib(pid):
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


class Listen:
    """The command, and the lines that it has printed."""

    def __init__(self, folder, daemon, key, to, url=None, more=(), **env):
        words = [BINARY, "listen", "--url", url or "http://127.0.0.1:%d" % daemon.port, "--to", to, *more]
        if key:
            words += ["--key", key]
        self.out = folder / "listen"
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen(words, stdout=out, stderr=out, env={**os.environ, **env},
                                            preexec_fn=take_interrupts)
        leave_nothing_behind(self.process)
        eventually(lambda: self.lines() or self.process.poll() is not None, what="it listens")

    def lines(self):
        return self.out.read_text(errors="replace").rpartition("\n")[0].splitlines()  # a write may be under way

    def wait_for(self, pattern):
        return eventually(lambda: [line for line in self.lines() if re.search(pattern, line)],
                          what="a line %s in %s" % (pattern, self.lines))[-1]

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


def tried(daemon, reward_id, account):
    """The callback, once its own endpoint was tried."""
    def found():
        one = daemon.api().callback(reward_id, account.partner_id)
        return one if one["Attempts"] else None
    return eventually(found, what=reward_id + " was tried")


@pytest.fixture
def local():
    """A server on the partner's own machine."""
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.mark.parametrize("before", [0, 1, 3])
def test_new_callbacks_are_copied_and_old_ones_are_not(daemon, local, tmp_path, before):
    a = Account(daemon)  # no URL at all: nothing can be delivered
    for i in range(before):
        daemon.api().events(a.event("old-%d-%d" % (before, i)))
    listen = Listen(tmp_path, daemon, a.key("callbacks:read", "apps:write"), local.url)
    for i in range(3):
        daemon.api().events(a.event("new-%d:%d" % (before, i), PanelistId='ü"\\', RevenueAmount="0.35"))
    for i in range(3):
        assert_signed(local.wait_for("new-%d:%d" % (before, i))[0], a.secret)
    line = listen.wait_for("new-%d:2" % before)
    assert re.fullmatch(r"[0-9T:.-]+Z callback survey_completed new-%d:2 of %s: 200 in \d+ ms: .*" % (before, a.app_id), line)
    assert [id for id in local.ids() if id.startswith("old")] == []
    shown = daemon.api().get("/api/v1/audit", query={"partnerId": a.partner_id, "action": "app.secret_shown"})
    assert len(shown.json["Items"]) == 1  # not one for each copy
    assert daemon.api().callback("new-%d:0" % before, a.partner_id)["State"] == "skipped"
    listen.stop()


def test_a_copy_is_no_delivery(daemon, local, tmp_path):
    """What the endpoint owes stays owed, and the answer of the copy is shown."""
    a = Account(daemon, DEAD_URL)
    local.answer = lambda request: (500, {}, b"no such\ntable")
    listen = Listen(tmp_path, daemon, None, local.url, POSTBACKD_API_KEY=a.key("callbacks:read", "apps:write"))
    daemon.api().events(a.event("copied-1"))
    assert listen.wait_for("copied-1").endswith(": no such table")
    found = tried(daemon, "copied-1", a)
    assert found["State"] != "delivered"
    assert {attempt["Url"] for attempt in found["Attempts"]} == {DEAD_URL}
    assert len(local.of("copied-1")) == 1
    listen.stop()


def test_a_server_that_is_not_there_is_said(daemon, tmp_path):
    a = Account(daemon)
    listen = Listen(tmp_path, daemon, a.key("callbacks:read", "apps:write"), DEAD_URL)
    daemon.api().events(a.event("alone-1"))
    assert "connect" in listen.wait_for("callback survey_completed alone-1 of .*: no answer in ").lower()
    listen.stop()


def test_an_answer_without_an_end_is_not_kept(daemon, tmp_path):
    """Only its beginning is shown, and no more is in memory."""
    long = Receiver(lambda request: (200, {}, b"x" * (96 << 20)))
    a = Account(daemon)
    listen = Listen(tmp_path, daemon, a.key("callbacks:read", "apps:write"), long.url)
    assert "listening" in listen.lines()[0]
    before = resident_most_kib(listen.process.pid)
    daemon.api().events(a.event("long-1"))
    assert listen.wait_for("long-1 of").endswith(": " + "x" * 200)
    assert resident_most_kib(listen.process.pid) < before + (48 << 10)
    listen.stop()
    long.close()


def test_a_proxy_that_holds_the_stream_back_is_said(daemon, local, tmp_path):
    a = Account(daemon)
    done = threading.Event()

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/api/v1/live":
                done.wait(60)
                return
            answer = daemon.api(key).get(self.path)
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *words):
            pass

    key = a.key("callbacks:read", "apps:write")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        proxy.port = proxy.server_address[1]
        listen = Listen(tmp_path, proxy, key, local.url)
        line = listen.wait_for("hold it back")
        assert line.startswith("postbackd: nothing has come over the live stream for 10 s: a proxy ")
        assert "proxy_buffering off" in line and listen.lines() == [line]
        listen.stop()
        done.set()
        proxy.shutdown()


def test_a_server_that_restarts_is_waited_for(local, tmp_path):
    """Nothing is missed and nothing repeated, of callbacks and of tests."""
    daemon = Daemon(tmp_path / "daemon").start()
    a = Account(daemon, local.url + "/real")
    listen = Listen(tmp_path, daemon, a.key("callbacks:read", "apps:write"), local.url)
    daemon.api().events(a.event("before"))
    tested = [send_test(daemon, a)]
    for id in ["before"] + tested:
        listen.wait_for(" %s of " % id)
    daemon.stop()
    listen.wait_for("trying again")
    daemon.start()
    daemon.api().events(a.event("after"))
    tested.append(send_test(daemon, a))
    for id in ["after"] + tested:
        listen.wait_for(" %s of " % id)
    listen.stop()
    for id in ["before", "after"] + tested:
        assert len([line for line in listen.lines() if " %s of " % id in line]) == 1
    daemon.stop()


def test_a_burst_costs_few_reads_and_changes(local, tmp_path):
    """What the key and the account may do in a minute is less than one question for each callback."""
    local.answer = lambda request: (204, {}, b"")  # in one piece: a second one would wait 40 ms
    daemon = Daemon(tmp_path / "daemon", "--reads-per-minute", "60").start()
    a = Account(daemon)
    listen = Listen(tmp_path, daemon, a.key("callbacks:read", "apps:write"), local.url)
    listen.wait_for("listening")
    ids = ["many-%d" % i for i in range(1200)]
    daemon.api().events([a.event(id) for id in ids])
    local.wait_for(ids[-1])
    eventually(lambda: len(local.ids()) >= len(ids))
    assert local.ids() == ids  # in order, each once
    assert_signed(local.of(ids[700])[0], a.secret)
    assert not [line for line in listen.lines() if "trying again" in line]
    changer = daemon.api(a.key("apps:write"))
    assert all(changer.patch("/api/v1/apps/" + a.app_id, {"Name": "n%d" % i}).status == 200 for i in range(100))
    listen.stop()
    daemon.stop()


def test_it_waits_as_long_as_the_limit_of_reads_asks(local, tmp_path):
    """And says which limit it is; what comes meanwhile is copied once."""
    daemon = Daemon(tmp_path / "daemon", "--reads-per-minute", "12").start()
    a = Account(daemon)
    key = a.key("callbacks:read", "apps:write")
    listen = Listen(tmp_path, daemon, key, local.url)
    listen.wait_for("listening")
    while daemon.api(key).get("/api/v1/forwards").status == 200:
        pass
    ids = ["late-%d" % i for i in range(30)]
    daemon.api().events([a.event(id) for id in ids])
    line = listen.wait_for("trying again")
    assert re.fullmatch(r"postbackd: too many requests \(429\): This key has used its 12 requests a minute; "
                        r"it may ask again in \d s; trying again in \d s", line), line
    local.wait_for(ids[-1], timeout_s=60)
    assert local.ids() == ids
    listen.stop()
    daemon.stop()


def send_test(daemon, a, **fields):
    body = {"RewardType": "survey_completed", "PanelistId": "me", **fields}
    answer = daemon.api().post("/api/v1/apps/%s/test-callback" % a.app_id, body)
    assert answer.status == 200, answer.json
    return answer.json["RewardId"]


def test_test_callbacks_are_copied_as_they_went_out(daemon, receiver, local, tmp_path):
    a, other = Account(daemon, receiver.url), Account(daemon, receiver.url)
    listen = Listen(tmp_path, daemon, a.key("callbacks:read", "apps:write"), local.url)
    foreign, own = send_test(daemon, other), send_test(daemon, a, PanelistId='ü"\\\n')
    copy, sent = local.wait_for(own)[0], receiver.wait_for(own)[0]
    assert copy.body == sent.body
    assert_signed(copy, a.secret)
    for name in ("webhook-id", "Postbackd-Attempt", "Postbackd-Test", "Postbackd-Event-Time", "Content-Type"):
        assert copy.headers[name] == sent.headers[name]
    assert " test survey_completed %s of %s: 200 in " % (own, a.app_id) in listen.wait_for(own)
    assert not local.of(foreign) and foreign not in "".join(listen.lines())
    listen.stop()


def test_answers_are_in_the_log(daemon, local, tmp_path):
    """Of the own account only, for whoever may read callbacks; no attempt, and no delivery."""
    a, other = Account(daemon, DEAD_URL), Account(daemon)
    listen = Listen(tmp_path, daemon, a.key("callbacks:read", "apps:write"), local.url)

    def kept(account, **query):
        answer = daemon.api().get("/api/v1/forwards", query={"partnerId": account.partner_id, **query})
        assert answer.status == 200
        return answer.json["Items"]

    local.answer = lambda request: (503, {}, "für".encode() + b" \xff\0" + b"\xfe" * 300)
    daemon.api().events(a.event("kept-1"))
    one = eventually(lambda: kept(a, rewardId="kept-1"))[0]
    assert (one["RewardId"], one["Status"]) == ("kept-1", 503) and one["Detail"].startswith("für")
    local.answer = lambda request: time.sleep(0.3) or 200
    tested = send_test(daemon, a)
    assert eventually(lambda: kept(a, rewardId=tested))[0]["DurationMs"] >= 300
    assert [f["RewardId"] for f in kept(a)] == [tested, "kept-1"]
    assert kept(other) == []
    assert {attempt["Url"] for attempt in tried(daemon, "kept-1", a)["Attempts"]} == {DEAD_URL}
    listen.stop()
    listen = Listen(tmp_path, daemon, a.key("callbacks:read", "apps:write"), DEAD_URL)
    daemon.api().events(a.event("kept-2"))
    one = eventually(lambda: kept(a, rewardId="kept-2"))[0]
    assert one["Status"] is None and "connect" in one["Detail"].lower()
    listen.stop()


def test_reports_of_answers_are_bounded(daemon):
    a, other = Account(daemon), Account(daemon)
    report = {"RewardId": "r", "Status": 200, "DurationMs": 1, "Detail": "ok"}

    def post(key, **fields):
        return daemon.api(key).post("/api/v1/forwards", {**report, **fields})

    may = a.key("apps:write", "callbacks:read")
    assert post(a.key("callbacks:read", "callbacks:write")).status == 403
    for wrong in ({"RewardId": ""}, {"RewardId": "x" * 129}, {"RewardId": "r\r\nX: y"}, {"Status": 99}, {"Status": 600}, {"Status": "200"},
                  {"DurationMs": -1}, {"DurationMs": 1e99}, {"Detail": "x" * 201}, {"Url": "http://x"}):
        assert post(may, **wrong).status == 400, wrong
    assert post(other.key("apps:write"), RewardId="neighbour").status == 204
    for i in range(101):
        assert post(may, RewardId="r-%d" % i).status == 204
    ids = [f["RewardId"] for f in daemon.api(may).get("/api/v1/forwards").json["Items"]]
    assert ids == ["r-%d" % i for i in range(100, 0, -1)]
    assert daemon.api(may).get("/api/v1/forwards", query={"partnerId": other.partner_id}).status == 404
    assert daemon.api(other.key("callbacks:read")).get("/api/v1/forwards").json["Items"][0]["RewardId"] == "neighbour"


def test_the_stream_tells_what_to_copy(daemon, receiver):
    """Acceptances as a number, tests only to those who may see the secret, again behind Last-Event-ID."""
    a = Account(daemon, receiver.url)
    may, may_not = a.key("callbacks:read", "apps:write"), a.key("callbacks:read")
    streams = [Stream(key, daemon) for key in (may, may_not)]
    for s in streams:
        s.wait("hello")
    ids = [send_test(daemon, a) for _ in range(2)]
    daemon.api().events([a.event("told-1"), a.event("told-2")])
    for s in streams:
        assert s.wait("accepted")["Count"] == 2
    for _ in [id for id in ids if id not in [e[1].get("RewardId") for e in streams[0].seen]]:
        streams[0].wait("test")
    told = [e for e in streams[0].seen if e[0] == "test"]
    assert [e[1]["RewardId"] for e in told] == ids
    assert "test" not in [e[0] for e in streams[1].seen]
    again = Stream(may, daemon, last_event_id=told[0][2])
    assert again.wait("test")["RewardId"] == ids[1]
    for s in streams + [again]:
        s.close()


def test_a_revoked_key_ends_it(daemon, local, tmp_path):
    a = Account(daemon)
    made = daemon.api().post("/api/v1/partners/%s/keys" % a.partner_id, {"Scopes": ["callbacks:read", "apps:write"]}).json
    listen = Listen(tmp_path, daemon, made["Key"], local.url)
    daemon.api().delete("/api/v1/partners/%s/keys/%s" % (a.partner_id, made["KeyId"]))
    assert listen.process.wait(30) == 1 and "401" in listen.lines()[-1]


def test_it_says_what_the_key_lacks(daemon, local, tmp_path):
    a = Account(daemon)
    listen = Listen(tmp_path, daemon, "no-such-key-1234567890", local.url)
    assert listen.process.wait(30) == 1 and "401" in listen.lines()[0]
    listen = Listen(tmp_path, daemon, a.key("callbacks:read"), local.url)
    daemon.api().events(a.event("secret-1"))
    assert listen.process.wait(30) == 1
    assert "scope apps:write" in listen.lines()[-1]
    listen = Listen(tmp_path, daemon, a.key("apps:write"), local.url)
    assert listen.process.wait(30) == 1 and "scope callbacks:read" in listen.lines()[0]
    disabled = Account(daemon)
    key = disabled.key("callbacks:read", "apps:write")
    assert daemon.api().patch("/api/v1/partners/" + disabled.partner_id, {"Enabled": False}).status == 200
    listen = Listen(tmp_path, daemon, key, local.url)
    assert listen.process.wait(30) == 1
    assert "account is disabled" in listen.lines()[0] and "scope" not in listen.lines()[0]
    assert_one_line(run("listen", "--to", local.url), 2, "--key")
    assert_one_line(run("listen", "--key", "k"), 2, "--to")
    assert_one_line(run("listen", "--key", "k", "--to", "localhost:3000"), 2, "--to", "http://")


def test_receive_prints_what_verifiers_need(daemon):
    a = Account(daemon)
    other = Receive("--secret", a.secret, "--print")
    try:
        a.patch(SuccessCallbackUrl=other.url)
        daemon.api().events(a.event("shown-1"))
        lines = [other.line()]
        while lines[-1] != "\n" or "{" not in lines[-2]:
            lines.append(other.line())
        headers = dict(line.rstrip("\n").split(": ", 1) for line in lines[1:lines.index("\n")])
        body = lines[-2].rstrip("\n")
    finally:
        assert other.stop() == 0
    sent = eventually(lambda: daemon.api().callback("shown-1", a.partner_id)["Attempts"])[0]
    assert headers["webhook-id"] == "shown-1"
    assert headers["webhook-signature"] == sent["RequestHeaders"]["webhook-signature"]
    assert body == daemon.api().callback("shown-1", a.partner_id)["Body"]


SENT = b"a\x1b[2J\n\xc2\x9b1mb\r\nc"


def test_receive_shows_a_terminal_what_strangers_send_as_plain_text():
    ours, theirs = pty.openpty()
    process = subprocess.Popen([BINARY, "receive", "--listen", "127.0.0.1:0", "--secret", "s" * 20, "--print"],
                               stdout=theirs, stderr=theirs)
    os.close(theirs)
    leave_nothing_behind(process)
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        shown = terminal.read(4096)
        url = re.search(rb"http://127\.0\.0\.1:\d+/", shown).group(0).decode()
        urllib.request.urlopen(urllib.request.Request(url, SENT, {"X-Own": b"d\xc2\x9be"})).read()
        while b"\r\nc\r\n" not in shown:
            shown += terminal.read(4096)
        process.terminate()
        process.wait(60)
    lines = shown.decode().split("\r\n")
    at = lines.index("a [2J")
    assert lines[at:at + 3] == ["a [2J", " 1mb", "c"] and "x-own: d e" in [line.lower() for line in lines], lines


def test_receive_prints_the_bytes_that_were_signed():
    other = Receive("--secret", "s" * 20, "--print")
    try:
        urllib.request.urlopen(urllib.request.Request(other.url, "\u2028\u200e\t\u00e9".encode())).read()
        lines = [other.line()]
        while "\u00e9" not in lines[-1] and lines[-1]:
            lines.append(other.line())
    finally:
        assert other.stop() == 0
    assert lines[-1] == "\u2028\u200e\t\u00e9\n", lines


def test_receive_refuses_a_timestamp_that_is_not_a_number():
    """A receiver that signs over the header as it is would refuse this callback."""
    other = Receive("--secret", "s" * 20)
    try:
        now = int(time.time()) // 10 * 10
        said = {}
        for text in (str(now), "%d:" % (now // 10 - 1)):  # ":" follows "9": as a digit it would be ten
            signed = hmac.new(b"s" * 20, b"id.%d.{}" % now, "sha256").digest()
            headers = {"webhook-id": "id", "webhook-timestamp": text,
                       "webhook-signature": "v1," + base64.b64encode(signed).decode()}
            urllib.request.urlopen(urllib.request.Request(other.url, b"{}", headers)).read()
            said[text] = other.line()
        assert ["webhook-signature ok" in line for line in said.values()] == [True, False], said
    finally:
        assert other.stop() == 0

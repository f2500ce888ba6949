"""The access log: a line of JSON for each request, with its id, who asked and what came of it; never
a secret, and nobody waits for whoever reads it or for the disk that it is written to."""
import http.client
import json
import os
import signal
import socket
import subprocess

import pytest

from harness import BINARY, OPERATOR_KEY, PATIENCE, Account, Daemon, Receiver, eventually


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    directory = tmp_path_factory.mktemp("logged")
    d = Daemon(directory, "--access-log", str(directory / "access.log")).start()
    yield d
    assert d.stop() == 0


def lines(path):
    whole = path.read_text().rpartition("\n")[0]  # a write may be under way
    return [json.loads(line) for line in whole.splitlines()]


def line_of(path, request_id):
    """The one line of that request; it is written soon after its answer."""
    found = eventually(lambda: path.exists() and [e for e in lines(path) if e["request_id"] == request_id],
                       what="the line of " + request_id)
    assert len(found) == 1
    return found[0]


def test_a_line_says_who_asked_and_what_came_of_it(logged):
    account = Account(logged, "http://127.0.0.1:1/")
    answer = logged.api().get("/api/v1/apps/" + account.app_id, headers={"X-Request-Id": "mine-1"})
    assert answer.headers["X-Request-Id"] == "mine-1"
    e = line_of(logged.directory / "access.log", "mine-1")
    assert (e["method"], e["path"], e["status"]) == ("GET", "/api/v1/apps/" + account.app_id, 200)
    assert (e["client"], e["request_bytes"], e["response_bytes"]) == ("127.0.0.1", 0, len(answer.body))
    assert e["caller"] == "operator" and e["duration_ms"] >= 0 and e["time"].endswith("Z")
    posted = logged.api().post("/api/v1/events", b"[]")
    e = line_of(logged.directory / "access.log", posted.headers["X-Request-Id"])
    assert (e["method"], e["status"], e["request_bytes"]) == ("POST", posted.status, 2)
    key = logged.api().post("/api/v1/partners/%s/keys" % account.partner_id,
                            {"Name": "reads", "Scopes": ["apps:read"]}).json
    logged.api(key["Key"]).get("/api/v1/apps/" + account.app_id, headers={"X-Request-Id": "mine-2"})
    assert line_of(logged.directory / "access.log", "mine-2")["caller"] == key["KeyId"]
    assert key["Key"] not in (logged.directory / "access.log").read_text()


def test_a_trace_names_its_request(logged):
    trace, rest = "0af7651916cd43dd8448eb211c80319c", "-b7ad6b7169203331-01"
    answer = logged.api().get("/api/v1/partners", headers={"traceparent": "00-" + trace + rest, "tracestate": "a=b"})
    assert answer.headers["X-Request-Id"] == trace
    assert line_of(logged.directory / "access.log", trace)["status"] == 200
    own = logged.api().get("/readyz", headers={"traceparent": "00-" + trace + rest, "X-Request-Id": "mine"})
    assert own.headers["X-Request-Id"] == "mine"
    later = logged.api().get("/readyz", headers={"traceparent": "cc-" + trace + rest + "-what-comes"})
    assert later.headers["X-Request-Id"] == trace
    for wrong in ("", "00", "00-" + trace + rest + "-more", "ff-" + trace + rest, "00-" + trace.upper() + rest,
                  "00-" + "0" * 32 + rest, "00-" + trace + "-0000000000000000-01", "00-" + trace + rest[:-1],
                  "00_" + trace + rest, "0x-" + trace + rest, "cc-" + trace + rest + "x"):
        answer = logged.api().get("/readyz", headers={"traceparent": wrong})
        assert len(answer.headers["X-Request-Id"]) == 16, wrong


def test_a_test_callback_carries_the_trace_of_its_request(logged):
    receiver = Receiver()
    account = Account(logged, receiver.url)
    trace, path = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "/api/v1/apps/%s/test-callback" % account.app_id
    body = {"RewardType": "survey_completed", "PanelistId": "p"}
    for headers in ({"traceparent": trace}, {"traceparent": "cc" + trace[2:] + "-x"}, {"traceparent": "00-wrong"}, {}):
        assert logged.api().post(path, body, headers=headers).status == 200
    assert [r.headers.get("traceparent") for r in receiver.requests] == [trace, None, None, None]
    receiver.close()


def test_refused_requests_are_in_it(logged):
    log = logged.directory / "access.log"
    assert logged.api("no-such-key-at-all").get("/api/v1/partners", headers={"X-Request-Id": "refused-1"}).status == 401
    e = line_of(log, "refused-1")
    assert (e["status"], e["caller"]) == (401, "")
    with socket.create_connection(("127.0.0.1", logged.port), timeout=30 * PATIENCE) as s:
        s.sendall(b"no http at all\r\n\r\n")
        head = http.client.HTTPResponse(s)
        head.begin()
    e = line_of(log, head.headers["X-Request-Id"])
    assert head.status >= 400 and (e["status"], e["method"], e["path"]) == (head.status, "", "")


def test_no_secret_no_query_and_no_forged_line(logged):
    log = logged.directory / "access.log"
    with socket.create_connection(("127.0.0.1", logged.port), timeout=30 * PATIENCE) as s:
        s.sendall(b'GET /no/"such\\path?key=secret-in-a-query HTTP/1.1\r\nHost: h\r\nX-Request-Id: raw"\\1\r\n'
                  b"Authorization: Bearer secret-in-a-header\r\nCookie: session=secret-in-a-cookie\r\n\r\n")
        http.client.HTTPResponse(s).begin()
    e = line_of(log, 'raw"\\1')
    assert (e["path"], e["status"]) == ('/no/"such\\path', 404)
    text = log.read_text()
    assert "secret-in" not in text and OPERATOR_KEY not in text


def test_probes_are_left_out_unless_asked_for(logged, tmp_path):
    logged.api().get("/readyz", key=None, headers={"X-Request-Id": "probe-1"})
    logged.api().get("/openapi.json", key=None, headers={"X-Request-Id": "after-1"})
    line_of(logged.directory / "access.log", "after-1")
    asked = {e["path"] for e in lines(logged.directory / "access.log")}
    assert not asked & {"/readyz", "/healthz", "/metrics"}
    d = Daemon(tmp_path, "--access-log", "-", "--access-log-probes").start()
    d.api().get("/readyz", key=None, headers={"X-Request-Id": "probe-2"})
    wanted = eventually(lambda: [line for line in d.log_text().splitlines() if '"probe-2"' in line])
    assert json.loads(wanted[0])["path"] == "/readyz"
    assert d.stop() == 0


def test_sighup_opens_it_anew(logged):
    log = logged.directory / "access.log"
    logged.api().get("/openapi.json", key=None, headers={"X-Request-Id": "before-1"})
    line_of(log, "before-1")
    log.rename(log.with_suffix(".1"))
    logged.process.send_signal(signal.SIGHUP)
    eventually(lambda: "access_log_reopened" in logged.log_text(), what="the new file")
    logged.api().get("/openapi.json", key=None, headers={"X-Request-Id": "behind-1"})
    line_of(log, "behind-1")
    assert "before-1" not in log.read_text() and os.stat(log).st_mode & 0o077 == 0


def test_a_full_disk_keeps_nobody(tmp_path):
    d = Daemon(tmp_path, "--access-log", "/dev/full").start()
    Account(d, "http://127.0.0.1:1/")
    eventually(lambda: "access_log_failed" in d.log_text())
    assert d.api().get("/readyz", key=None).status == 200
    assert d.log_text().count("access_log_failed") == 1  # said once, not for each line
    assert d.stop() == 0


def test_a_reader_that_sleeps_keeps_nobody(tmp_path):
    """More than the pipe and the daemon's buffer hold; then the reader goes on, and is told."""
    tmp_path.mkdir(exist_ok=True)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    d = Daemon(tmp_path / "d", "--access-log", str(fifo)).start()
    request = b"GET /" + b"x" * 3000 + b" HTTP/1.1\r\nHost: h\r\n\r\n"
    with socket.create_connection(("127.0.0.1", d.port), timeout=60 * PATIENCE) as s:
        answers = s.makefile("rb")
        for _ in range(50):
            s.sendall(20 * request)
            for _ in range(20):
                head = http.client.HTTPResponse(Stream(answers))
                head.begin()
                head.read()
    assert d.api().get("/readyz", key=None).status == 200

    def told():
        try:
            while os.read(reader, 1 << 16):
                pass
        except BlockingIOError:
            pass
        return "access_log_lines_lost" in d.log_text()
    eventually(told, what="how many lines were lost")
    assert d.metrics()["postbackd_access_log_lines_lost_total"] > 0
    os.close(reader)
    assert d.api().get("/readyz", key=None).status == 200  # and one that has left
    assert d.stop() == 0


class Stream:
    """What HTTPResponse reads of a connection that goes on behind the answer."""

    def __init__(self, file):
        self.file = file

    def makefile(self, *_):
        return Unclosed(self.file)


class Unclosed:
    def __init__(self, file):
        self.read, self.readline, self.readinto = file.read, file.readline, file.readinto

    def close(self):
        pass

    def flush(self):
        pass


def test_one_that_cannot_be_opened_stops_the_start(tmp_path):
    for words in (["serve"], ["check"]):
        done = subprocess.run([BINARY, *words, "--listen", "127.0.0.1:0", "--store", "sqlite:%s" % (tmp_path / "s"),
                               "--access-log", str(tmp_path / "no" / "such")], text=True, timeout=60 * PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert done.returncode == 1 and "access-log" in done.stdout and "No such file" in done.stdout, done

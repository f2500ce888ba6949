"""HTTP/2 to receivers: the same exchange over a shared connection, and what happens when a peer
that has agreed to it breaks its rules, floods or starves us."""
import json
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest

import http2
from harness import Account, Daemon, assert_signed, eventually
from http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY,
                   PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, Http2Server, frame, goaway,
                   headers, packed, rst, settings)
from raw import Acceptor, Authority, RawServer, answer, timeout_for


def answering(connection):
    while True:
        connection.send(headers(connection.request(), 200))


def say(*parts, hang=True):
    """To the first request; a part may be a function of the stream."""
    def behave(c):
        stream = c.request()
        c.send(*[part(stream) if callable(part) else part for part in parts])
        if hang:
            c.hang()
    return behave


def flood(*parts, first=()):
    def behave(c):
        stream = c.request()
        c.send(*[part(stream) for part in first])
        many = b"".join(part(stream) if callable(part) else part for part in parts) * 100
        while True:
            c.send(many)
    return behave


def by_connection(first, then):
    return lambda c: (first if c.number == 1 else then)(c)


def refuse_first(c):
    c.send(rst(c.request(), http2.REFUSED_STREAM))
    answering(c)


def leave_gracefully(c):
    """As servers do when they are about to stop: what was sent after their last stream is not
    theirs any more."""
    c.request()
    c.send(goaway(0))
    c.hang()


def ping_only(c):
    c.request()
    while not c.server.closed.wait(0.2):
        c.send(frame(PING, 0, 0, b"are you?"))


def never_acknowledge(c):
    c.hang()


def header_block(n):
    return packed(*[("x-%d" % i, "y" * 100) for i in range(n)])


def endless_headers(c):
    stream = c.request()
    c.send(frame(HEADERS, 0, stream, packed((":status", "200"))))
    while True:
        c.send(frame(CONTINUATION, 0, stream, header_block(100)))


def many_headers(stream):
    """More than the bound in one block that ends."""
    parts = [frame(HEADERS, 0, stream, packed((":status", "200")) + header_block(100))]
    parts += [frame(CONTINUATION, 0, stream, header_block(100)) for _ in range(4)]
    return b"".join(parts) + frame(CONTINUATION, END_HEADERS, stream)


def status(code, *more, end=True):
    return lambda stream: headers(stream, code, *more, end=end)


def on_stream(kind, payload=b"", flags=0):
    return lambda stream: frame(kind, flags, stream, payload)


def half_head(c):
    c.send(frame(HEADERS, 0, c.request(), packed((":status", "200"))))
    time.sleep(0.1)


def slow_body(stream):
    return headers(stream, 200, ("content-length", "5"), end=False) + frame(DATA, 0, stream, b"h")


# name: (what a connection does, class of the first attempt or None, Status, words of its Detail)
CASES = {
    "ok": (answering, None, 200, ""),
    "no_content": (say(status(204)), None, 204, ""),
    "redirect": (say(status(308, ("location", "https://new.example/cb"))), "redirect", 308,
                 "https://new.example/cb"),
    "gone": (say(status(410)), "gone", 410, "410"),
    "busy": (say(status(503, ("retry-after", "1"))), "status", 503, "asked to wait 1 s"),
    "interim": (say(status(100, end=False), status(103, ("link", "</x>"), end=False), status(200)),
                None, 200, ""),
    "trailers": (say(status(200, end=False), on_stream(DATA, b"hi"),
                     on_stream(HEADERS, packed(("x-sum", "1")), END_HEADERS | END_STREAM)),
                 None, 200, ""),
    "unknown_frames": (say(on_stream(0x77, b"what"), frame(0x55, 0, 0, b"?"), status(200)), None, 200,
                       ""),
    "reset_after_headers": (say(status(200, end=False), lambda s: rst(s, http2.INTERNAL_ERROR)), None,
                            200, ""),
    "closes_after_headers": (say(status(200, end=False), hang=False), None, 200, ""),
    "endless_body": (flood(on_stream(DATA, b"z" * 1000), first=[status(200, end=False)]), None, 200,
                     ""),
    "slow_body": (say(slow_body), None, 200, ""),
    # Again at once, as the same attempt.
    "refused_once": (refuse_first, None, 200, ""),
    "leaves": (by_connection(leave_gracefully, answering), None, 200, ""),
    # And not more than once.
    "refuses": (lambda c: [c.send(rst(c.request(), http2.REFUSED_STREAM)) for _ in range(9)], "reset",
                None, "REFUSED_STREAM"),
    "always_leaves": (leave_gracefully, "reset", None, "refused the request twice"),
    "resets": (say(lambda s: rst(s, http2.INTERNAL_ERROR)), "reset", None, "INTERNAL_ERROR"),
    "goes_angry": (say(lambda s: goaway(s, http2.ENHANCE_YOUR_CALM), hang=False), "reset", None,
                   "ENHANCE_YOUR_CALM"),
    "closes": (say(hang=False), "reset", None, "without an answer"),
    "half_head": (half_head, "reset", None, "in the middle of its answer"),
    # Too slow.
    "silent": (never_acknowledge, "timeout", None, "no answer within 3 s"),
    "pings_only": (ping_only, "timeout", None, "no answer within 3 s"),
    "never_done": (say(on_stream(HEADERS, packed((":status", "200")))), "timeout", None,
                   "headers were not complete within 3 s"),
    # Against the rules, or over a bound.
    "noise": (say(b"\0\1\2nonsense" * 100), "protocol", None, "HTTP/2"),
    "huge_frame": (say(on_stream(DATA, b"x" * 20000)), "protocol", None, "FRAME_SIZE_ERROR"),
    "data_first": (say(on_stream(DATA, b"x")), "protocol", None, "HTTP/2"),
    "no_status": (say(on_stream(HEADERS, packed(("x", "y")), END_HEADERS)), "protocol", None, "HTTP/2"),
    "bad_status": (say(status(999)), "protocol", None, "100 and 599"),
    "switches": (say(status(101, end=False)), "protocol", None, "HTTP/2"),
    "upper_case": (say(status(200, ("X-Upper", "1"))), "protocol", None, "X-Upper"),
    "connection_header": (say(status(200, ("connection", "close"))), "protocol", None, "connection"),
    "bad_packing": (say(on_stream(HEADERS, b"\xff\xff\xff\xff\xff\xff", END_HEADERS)), "protocol",
                    None, "COMPRESSION_ERROR"),
    "pushes": (say(on_stream(PUSH_PROMISE, b"\0\0\0\2" + packed((":method", "GET")), END_HEADERS)),
               "protocol", None, "HTTP/2"),
    "window_overflow": (say(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fffffff))), "protocol",
                        None, "HTTP/2"),
    "too_many_1xx": (flood(status(103, end=False)), "protocol", None, "1xx"),
    "many_headers": (say(many_headers), "protocol", None, "longer than 32768 bytes"),
    "endless_headers": (endless_headers, "protocol", None, "HTTP/2"),
    "flood_ping": (flood(frame(PING, 0, 0, b"12345678")), "protocol", None, "floods"),
    "flood_settings": (flood(settings(window=65535)), "protocol", None, "floods"),
    "flood_priority": (flood(on_stream(PRIORITY, b"\0\0\0\0\7")), "protocol", None, "floods"),
    "flood_window": (flood(frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1")), "protocol", None, "floods"),
    "flood_unknown": (flood(frame(0x77, 0, 0, b"z" * 50)), "protocol", None, "floods"),
    "flood_continuation": (flood(on_stream(CONTINUATION), first=[on_stream(
        HEADERS, packed((":status", "200")))]), "protocol", None, "HTTP/2"),
    "flood_empty_data": (flood(on_stream(DATA), first=[status(200, end=False)]), None, 200, ""),
    "flood_resets": (flood(lambda s: rst(s + 2, http2.INTERNAL_ERROR)), "protocol", None, "HTTP/2"),
}


class NodeReceiver:
    def __init__(self, certificate, *arguments):
        self.requests = []
        self.process = subprocess.Popen(
            ["node", __file__.replace("test_http2.py", "http2_receiver.js"), *certificate,
             *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.requests.append(json.loads(line))

    def request_of(self, event_id):
        """What node received may be read here later than the callback is delivered."""
        return eventually(lambda: next((r for r in self.requests if '"%s"' % event_id in r["body"]), None),
                          what="what node received of " + event_id)

    def url(self, path="/cb?a=b"):
        return "https://localhost:%d%s" % (self.port, path)

    def close(self):
        self.process.kill()
        self.process.wait()


class Field:
    """One daemon; a hostile receiver and an account for each case, and a healthy one."""

    def __init__(self, directory):
        self.directory, self.servers, self.accounts = directory, [], {}
        self.authority = Authority(directory)
        self.certificate = self.authority.sign("receiver")
        self.tls = http2.context(self.certificate)
        self.daemon = Daemon(directory / "d", "--ca-file", self.authority.file, "--loops", "1",
                             "--reads-per-minute", "100000", schedule="30s,30s").start()
        self.node = NodeReceiver(self.certificate)
        self.servers.append(self.node)
        self.healthy = Account(self.daemon, self.node.url(), MaxConcurrency=64)
        for name, (behave, wanted, *_) in CASES.items():
            self.account(name, self.server(behave).url(), TimeoutSeconds=timeout_for(wanted))
        self.account("http1", self.server(answering, answer(400)).url())

    def server(self, behave, greeting=settings()):
        self.servers.append(Http2Server(behave, self.tls, greeting))
        return self.servers[-1]

    def account(self, name, url, **app):
        self.accounts[name] = Account(self.daemon, url, **{"TimeoutSeconds": 3, **app})
        return self.accounts[name]

    def attempt(self, name):
        def attempted():
            found = self.daemon.api().callback("h-" + name, self.accounts[name].partner_id)
            return found if found["Attempts"] else None
        return eventually(attempted, 60, 0.05, "an attempt of " + name)

    def close(self):
        for s in self.servers:
            s.close()


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    if not shutil.which("node"):
        pytest.fail("node is needed")
    f = Field(tmp_path_factory.mktemp("http2"))
    events = [a.event("h-" + name) for name, a in f.accounts.items()]
    for i in range(10):
        f.daemon.api().events(
            events[i::10] + [f.healthy.event("good-%d-%d" % (i, k)) for k in range(30)])
    yield f
    f.close()
    assert f.daemon.stop() == 0


ALL = {**{k: v[1:] for k, v in CASES.items()}, "http1": ("protocol", None, "answers in HTTP/1.1")}


@pytest.mark.parametrize("name", ALL)
def test_attempt_says_what_happened(field, name):
    wanted_class, status, words = ALL[name]
    found = field.attempt(name)
    attempt = found["Attempts"][0]
    assert (attempt["Class"], attempt["Status"]) == (wanted_class, status), attempt["Detail"]
    assert attempt["Number"] == 1 and len(found["Attempts"]) == 1
    if wanted_class is None:
        assert found["State"] == "delivered"
    else:
        assert words in attempt["Detail"], attempt["Detail"]


def test_healthy_receiver_gets_all_over_one_connection(field):
    wanted = {"good-%d-%d" % (i, k) for i in range(10) for k in range(30)}
    eventually(lambda: len(field.node.requests) >= len(wanted), 60, what="all healthy callbacks")
    got = [json.loads(r["body"])["RewardId"] for r in field.node.requests]
    assert sorted(got) == sorted(wanted)
    assert {r["version"] for r in field.node.requests} == {"2.0"}
    assert field.node.requests[-1]["connections"] == 1
    assert max(r["most"] for r in field.node.requests) > 1


class Seen:
    """A request of Node's as assert_signed wants it."""

    def __init__(self, request):
        self.headers, self.raw = request["headers"], request["body"].encode()
        self.body, self.json = self.raw, json.loads(self.raw)
        self.at = time.time()

    def header(self, name):
        return self.headers.get(name.lower())


def test_request_and_log_are_those_of_http_1(field):
    found = field.daemon.api().wait_state("good-0-0", field.healthy.partner_id, "delivered")
    attempt = found["Attempts"][0]
    request = field.node.request_of("good-0-0")
    got = request["headers"]
    assert request["method"] == "POST" and request["path"] == "/cb?a=b"
    assert got[":authority"] == "localhost:%d" % field.node.port and got[":scheme"] == "https"
    assert got["content-type"] == "application/json" and got["webhook-id"] == "good-0-0"
    assert got["content-length"] == str(len(request["body"])) and got["accept-encoding"] == "identity"
    assert got["user-agent"].startswith("postbackd/") and got["postbackd-attempt"] == "1"
    assert_signed(Seen(request), field.healthy.secret)
    logged = dict(attempt["RequestHeaders"])
    assert logged.pop("Host") == got[":authority"]
    assert {k.lower(): v for k, v in logged.items()} == {
        k: v for k, v in got.items() if not k.startswith(":")}
    assert attempt["ResponseHeaders"]["x-from"] == "node" and ":status" not in attempt["ResponseHeaders"]
    assert attempt["ResponseBody"] == "thanks"


def test_userinfo_is_sent_and_masked(field):
    account = field.account("userinfo", field.node.url().replace("//", "//user:s3cret@"))
    field.daemon.api().events(account.event("h-userinfo"))
    found = field.attempt("userinfo")
    request = field.node.request_of("h-userinfo")
    assert request["headers"]["authorization"] == "Basic dXNlcjpzM2NyZXQ="
    assert found["Attempts"][0]["RequestHeaders"]["Authorization"] == "Basic ***"
    assert "s3cret" not in str(found)


@pytest.mark.parametrize("streams", [1, 3])
def test_peer_that_allows_few_streams_gets_more_connections(field, streams):
    node = NodeReceiver(field.certificate, 200, streams)
    field.servers.append(node)
    account = field.account("few-%d" % streams, node.url(), MaxConcurrency=16)
    field.daemon.api().events([account.event("few-%d-%d" % (streams, i)) for i in range(100)])
    eventually(lambda: len({r["body"] for r in node.requests}) == 100, 30, what="all of them")
    for i in range(100):
        found = field.daemon.api().wait_state("few-%d-%d" % (streams, i), account.partner_id, "delivered")
        assert len(found["Attempts"]) == 1, found["Attempts"]
    assert len(node.requests) == 100


def test_no_streams_at_all(field):
    """The second request finds a connection on which nothing may be asked."""
    def behave(c):
        stream = c.request()
        c.send(settings(streams=0), headers(stream, 200))
        c.hang()
    account = field.account("none", field.server(behave).url())
    api = field.daemon.api()
    for i in range(3):
        api.events(account.event("none-%d" % i))
        assert api.wait_state("none-%d" % i, account.partner_id, "delivered")
    assert field.servers[-1].connections == 3


def test_goaway_divides_what_is_under_way(field):
    """What the peer has begun with it still answers; the rest goes out again at once, elsewhere."""
    answered = []

    def behave(c):
        if c.number > 1:
            return answering(c)
        streams = [c.request() for _ in range(4)]
        c.send(goaway(streams[1]))
        time.sleep(0.1)
        c.send(*[headers(s, 200) for s in streams[:2]])
        answered.extend(streams)
        c.hang()
    server = field.server(behave)
    account, api = field.account("divided", server.url()), field.daemon.api()
    api.events([account.event("divided-%d" % i) for i in range(4)])
    for i in range(4):
        found = api.wait_state("divided-%d" % i, account.partner_id, "delivered")
        assert [a["Number"] for a in found["Attempts"]] == [1]
    assert answered == [1, 3, 5, 7] and (server.connections, server.requests) == (2, 6)


def test_window_that_stays_shut(field):
    def behave(c):
        c.send(settings(window=0), headers(c.request(), 200))
        c.hang()
    account = field.account("starves", field.server(behave).url())
    api = field.daemon.api()
    api.events(account.event("starves-0"))
    api.wait_state("starves-0", account.partner_id, "delivered")
    api.events(account.event("h-starves"))
    attempt = field.attempt("starves")["Attempts"][0]
    assert attempt["Class"] == "timeout" and "window stayed shut" in attempt["Detail"]


def paid_back_in_steps(stream, data):
    return b"".join(http2.paid_back(stream, data[i:i + 128]) for i in range(0, len(data), 128))


@pytest.mark.parametrize("window, pays", [
    (1, http2.paid_back), (100, http2.paid_back), (8192, paid_back_in_steps)])
def test_small_windows_get_whole_callbacks(field, window, pays):
    def behave(c):
        while True:
            c.send(headers(c.request(pays), 200))
    name = "small-%d-%s" % (window, pays.__name__)
    account = field.account(name, field.server(behave, settings(window=window)).url(), TimeoutSeconds=30)
    api = field.daemon.api()
    for i in range(3):  # the first one may leave before the window is known
        api.events([account.event("%s-%d-%d" % (name, i, k), SessionId="x" * 1024) for k in range(5)])
        for k in range(5):
            found = api.wait_state("%s-%d-%d" % (name, i, k), account.partner_id, "delivered")
            assert len(found["Attempts"]) == 1, found["Attempts"]


def test_a_body_that_does_not_end_delays_no_success(field):
    """It is a success by its headers: a crash while the body comes makes no duplicate. The connection goes on."""
    def behave(c):
        first = c.request()
        c.send(settings(), headers(first, 200, end=False), http2.frame(http2.DATA, 0, first, b"x"))
        c.send(headers(c.request(), 200))
        c.hang()
    server = field.server(behave)
    account, api = field.account("endless", server.url(), TimeoutSeconds=30), field.daemon.api()
    for i in range(2):
        api.events(account.event("endless-%d" % i))
        found = api.wait_state("endless-%d" % i, account.partner_id, "delivered")
        assert found["Attempts"][0]["DurationMs"] < 15000 and len(found["Attempts"]) == 1
    assert found["Attempts"][0]["Status"] == 200 and server.connections == 1


def test_http_1_where_alpn_picks_it_or_is_absent(field):
    tls = http2.context(field.certificate, "http/1.1")
    absent = http2.ssl.SSLContext(http2.ssl.PROTOCOL_TLS_SERVER)
    absent.load_cert_chain(*field.certificate)
    for name, context in (("picked", tls), ("absent", absent)):
        def behave(server, s, request):
            s.sendall(answer(200, b"one"))
            return True
        server = RawServer(behave, context)
        field.servers.append(server)
        account = field.account(name, server.url("https", "localhost"))
        field.daemon.api().events(account.event("h-" + name))
        assert field.attempt(name)["State"] == "delivered"
        assert server.requests[0].startswith(b"POST /cb?a=b HTTP/1.1\r\n")


def test_peer_that_wants_http_1_gets_it(field):
    """HTTP_1_1_REQUIRED: the same attempt, over HTTP/1.1 on a new connection."""
    seen = []

    class Choosy(Http2Server):
        def _serve(self, s, number):
            try:
                with self.tls.wrap_socket(s, server_side=True) as s:
                    seen.append(s.selected_alpn_protocol())
                    if seen[-1] == "h2":
                        c = http2.Connection(self, s, number)
                        c.read(len(http2.PREFACE))
                        c.send(self.greeting)
                        c.send(rst(c.request(), http2.HTTP_1_1_REQUIRED))
                        c.hang()
                    else:
                        s.recv(65536)
                        s.sendall(answer(200))
                        self.closed.wait(60)
            except (OSError, http2.Gone):
                pass
    server = Choosy(None, field.tls)
    field.servers.append(server)
    account = field.account("choosy", server.url())
    field.daemon.api().events(account.event("h-choosy"))
    found = field.attempt("choosy")
    assert found["State"] == "delivered" and len(found["Attempts"]) == 1
    assert seen == ["h2", "http/1.1"]


def test_connection_that_went_dead_is_left(field):
    """One that has fallen silent keeps nobody: after the time-out the next goes on a new one."""
    def behave(c):
        if c.number == 1:
            c.send(headers(c.request(), 200))
            c.hang()
        answering(c)
    account = field.account("dead", field.server(behave).url())
    api = field.daemon.api()
    api.events(account.event("dead-0"))
    api.wait_state("dead-0", account.partner_id, "delivered")
    api.events(account.event("h-dead"))
    assert field.attempt("dead")["Attempts"][0]["Class"] == "timeout"
    api.events(account.event("dead-2"))
    api.wait_state("dead-2", account.partner_id, "delivered")
    assert field.servers[-1].connections == 2


def test_off(tmp_path, field):
    node = NodeReceiver(field.certificate)
    daemon = Daemon(tmp_path / "off", "--ca-file", field.authority.file, "--http2", "off").start()
    account = Account(daemon, node.url())
    daemon.api().events(account.event("off"))
    daemon.api().wait_state("off", account.partner_id, "delivered")
    assert node.request_of("off")["version"] == "1.1"
    node.close()
    assert daemon.stop() == 0


def test_memory_stays_flat(field):
    """Whatever they flood us with, nothing of it stays."""
    names = [name for name in CASES if CASES[name][1] == "protocol"]

    def storm(count):
        for name in names:
            for _ in range(count):
                attempt = field.daemon.api().post(
                    "/api/v1/apps/%s/test-callback" % field.accounts[name].app_id,
                    {"RewardType": "survey_completed", "PanelistId": "p"}).json
                assert attempt["Class"] == CASES[name][1], attempt
    storm(2)
    before = field.daemon.resident_kib()
    storm(8)
    field.daemon.check_grown(before, 8 << 10)


class Proxy(Acceptor):
    """Answers CONNECT and passes bytes on."""

    def __init__(self):
        self.targets = []
        super().__init__()

    def _serve(self, s, number):
        request = s.recv(4096).decode()
        self.targets.append(request.split()[1])
        host, port = self.targets[-1].rsplit(":", 1)
        to = socket.create_connection((host, int(port)))
        s.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for a, b in ((s, to), (to, s)):
            threading.Thread(target=self._pass, args=(a, b), daemon=True).start()

    @staticmethod
    def _pass(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def test_through_a_proxy(tmp_path, field):
    node, proxy = NodeReceiver(field.certificate), Proxy()
    daemon = Daemon(tmp_path / "proxied", "--ca-file", field.authority.file, "--proxy",
                    "http://127.0.0.1:%d" % proxy.port).start()
    account = Account(daemon, node.url())
    daemon.api().events([account.event("proxied-%d" % i) for i in range(20)])
    eventually(lambda: len(node.requests) == 20)
    assert {r["version"] for r in node.requests} == {"2.0"} and node.requests[-1]["connections"] == 1
    assert proxy.targets == ["127.0.0.1:%d" % node.port]
    node.close()
    proxy.close()
    assert daemon.stop() == 0

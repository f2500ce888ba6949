"""HTTP/2 from clients: the same answers as over HTTP/1.1, many at once on one connection, and
clients that break its rules, flood, reset or do not read."""
import http.client
import json
import re
import signal
import ssl
import struct
import subprocess
from pathlib import Path

import pytest

import http2
from harness import LIVE, OPERATOR_KEY, Account, Api, Daemon, eventually, forget_stores
from http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY, RST_STREAM,
                   WINDOW_UPDATE, Http2Client, frame, packed, request, rst, settings)
from raw import Authority

PROTOCOL_ERROR, CALM = 1, http2.ENHANCE_YOUR_CALM
AUTHORIZATION = ("authorization", "Bearer " + OPERATOR_KEY)
OK = b'{"Status":"ok"}'
CLIENT = str(Path(__file__).with_name("http2_client.js"))


class HttpsApi(Api):
    def __init__(self, daemon, key):
        super().__init__(daemon.port, key)
        self.tls = ssl.create_default_context(cafile=daemon.ca_file)

    def connection(self, timeout):
        return http.client.HTTPSConnection("localhost", self.port, timeout=timeout, context=self.tls)


class HttpsDaemon(Daemon):
    def __init__(self, directory, *options):
        directory.mkdir(parents=True, exist_ok=True)
        authority = Authority(directory)
        certificate, key = authority.sign("server")
        super().__init__(directory / "d", "--tls-cert", certificate, "--tls-key", key, *options)
        self.ca_file = authority.file

    def api(self, key=OPERATOR_KEY):
        return HttpsApi(self, key)

    def client(self, **options):
        return Http2Client(self.port, self.ca_file, **options)

    def node(self, requests):
        done = subprocess.run(["node", CLIENT, str(self.port), self.ca_file], timeout=120,
                              input=json.dumps(requests), capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def curl(self, version, method, path, *more):
        """(version, status, headers that do not differ by time, body)"""
        body = ["--head"] if method == "HEAD" else ["-X", method]
        done = subprocess.run(
            ["curl", "-sS", "-i", "--http" + version, "--cacert", self.ca_file, *body, "-H",
             "Authorization: Bearer " + OPERATOR_KEY, *more, "https://localhost:%d%s" % (self.port, path)],
            capture_output=True, timeout=60, check=True)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        while head.split()[1] == b"100":
            head, _, body = body.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        fields = sorted((k.lower(), v) for k, v in (line.split(": ", 1) for line in lines))
        differ = ("date", "x-request-id", "connection", "transfer-encoding", "retry-after",
                  "ratelimit-remaining", "ratelimit-reset")
        return first.split()[0], first.split()[1], [f for f in fields if f[0] not in differ], body


@pytest.fixture(scope="module")
def d(tmp_path_factory, request):
    directory = tmp_path_factory.mktemp("https")
    d = HttpsDaemon(directory, "--reads-per-minute", "1000000", "--loops", "1").start()
    yield d
    assert d.stop() == 0
    if not request.session.testsfailed:
        forget_stores(directory)


@pytest.fixture(scope="module")
def account(d):
    return Account(d)


# --- the same over both ---------------------------------------------------------------------------

def test_the_same_answers_as_over_http1(d, account, tmp_path):
    api = d.api()
    api.events([account.event("listed-%d" % i) for i in range(300)])
    big = tmp_path / "big"
    big.write_bytes(b"[" + b" " * (9 << 20) + b"]")
    body = tmp_path / "body"
    body.write_text(json.dumps([account.event("listed-1"), {"Type": "no such"}]))
    csv = "/api/v1/callbacks?partnerId=%s&format=csv" % account.partner_id
    asked = [
        ("GET", "/healthz"), ("HEAD", "/healthz"), ("GET", "/openapi.json"), ("HEAD", "/openapi.json"),
        ("GET", "/openapi.json", "--compressed"), ("GET", "/"), ("GET", "/nowhere"), ("FROB", "/"),
        ("PROPFIND", "/healthz"), ("DELETE", "/api/v1/events"), ("OPTIONS", "/api/v1/events"),
        ("GET", "/api/v1/partners?limit=0"), ("GET", csv), ("HEAD", csv),
        ("GET", "/api/v1/callbacks?partnerId=%s&limit=200" % account.partner_id),
        ("GET", "/api/v1/callbacks/listed-1?partnerId=%s" % account.partner_id),
        ("GET", "/api/v1/partners", "-H", "Authorization: Bearer wrong"),
        ("GET", "/healthz?" + "x" * 9000), ("GET", "/healthz", "-H", "X-Much: " + "y" * 17000),
        ("GET", "/healthz", *[part for i in range(101) for part in ("-H", "X-%d: z" % i)]),
        ("POST", "/api/v1/events", "--data-binary", "@%s" % body),
        ("POST", "/api/v1/events", "--data-binary", "@%s" % body, "-H", "Expect: 100-continue"),
        ("POST", "/api/v1/events", "--data-binary", "@%s" % big),
        ("POST", "/api/v1/events", "--data-binary", "no JSON"),
        ("POST", "/api/v1/events", "-T", str(body)),
        ("GET", "/healthz", "-H", "Cookie: a=b", "-H", "X-Empty;"),
    ]
    for what in asked:
        one, two = d.curl("1.1", *what), d.curl("2", *what)
        assert (one[0], two[0]) == ("HTTP/1.1", "HTTP/2"), what
        assert one[1:] == two[1:], what


def test_many_requests_at_once_on_one_connection(d, account):
    def post(i):
        return {"headers": {":method": "POST", ":path": "/api/v1/events", "authorization": AUTHORIZATION[1],
                            "content-type": "application/json"},
                "body": json.dumps([account.event("many-%d-%d" % (i, k)) for k in range(i % 7 + 1)])}

    found = d.node([post(i) for i in range(300)])
    assert sorted(a["n"] for a in found) == list(range(300))
    for a in found:
        assert a["status"] == 202 and json.loads(a["body"])["Accepted"] == a["n"] % 7 + 1, a


def test_a_live_stream_beside_other_requests(d, account):
    live = {":path": "%s?partnerId=%s" % (LIVE, account.partner_id), "authorization": AUTHORIZATION[1]}
    found = d.node([{"headers": live, "pieces": 1},
                    {"headers": {":path": "/openapi.json"}}, {"headers": {":path": "/healthz"}}])
    assert sorted((a["n"], a["status"]) for a in found) == [(0, 200), (1, 200), (2, 200)], found
    assert next(a for a in found if a["n"] == 0)["piece"]


def test_http2_can_be_switched_off(tmp_path):
    d = HttpsDaemon(tmp_path, "--http2", "off").start()
    assert d.curl("2", "GET", "/healthz")[0] == "HTTP/1.1"
    d.stop()


# --- messages against the rules -------------------------------------------------------------------

def fields(*lines):
    return frame(HEADERS, END_HEADERS | END_STREAM, 1, packed(*lines))


GOOD = ((":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/healthz"))
EVENTS = ("POST", "/api/v1/events", AUTHORIZATION)


def body_of(length, *parts):
    """With a Content-Length; the last part ends the stream."""
    first = request(1, *EVENTS, ("content-length", str(length)), end=False)
    return first + b"".join(frame(DATA, END_STREAM * (p is parts[-1]), 1, p) for p in parts)


# name: (frames, code of RST_STREAM or status of the answer)
MESSAGES = {
    "good": (fields(*GOOD), 200),
    "connection": (fields(*GOOD, ("connection", "close")), PROTOCOL_ERROR),
    "keep_alive": (fields(*GOOD, ("keep-alive", "5")), PROTOCOL_ERROR),
    "upgrade": (fields(*GOOD, ("upgrade", "h2c")), PROTOCOL_ERROR),
    "transfer_encoding": (fields(*GOOD, ("transfer-encoding", "chunked")), PROTOCOL_ERROR),
    "te": (fields(*GOOD, ("te", "gzip")), PROTOCOL_ERROR),
    "upper_case": (fields(*GOOD, ("X-Upper", "a")), PROTOCOL_ERROR),
    "name_with_colon": (fields(*GOOD, ("x:y", "a")), PROTOCOL_ERROR),
    "name_with_blank": (fields(*GOOD, ("x y", "a")), PROTOCOL_ERROR),
    "value_with_line": (fields(*GOOD, ("x-split", "a\r\nx-other: b")), PROTOCOL_ERROR),
    "path_with_blank": (fields(*GOOD[:3], (":path", "/a HTTP/1.1")), PROTOCOL_ERROR),
    "path_is_none": (fields(*GOOD[:3], (":path", "healthz")), PROTOCOL_ERROR),
    "no_path": (fields(*GOOD[:3]), PROTOCOL_ERROR),
    "no_method": (fields(*GOOD[1:]), PROTOCOL_ERROR),
    "no_scheme": (fields(GOOD[0], *GOOD[2:]), PROTOCOL_ERROR),
    "no_host": (fields(*GOOD[:2], GOOD[3]), PROTOCOL_ERROR),
    "host_alone": (fields(*GOOD[:2], GOOD[3], ("host", "localhost")), 200),
    "same_host": (fields(*GOOD, ("host", "localhost")), 200),
    "other_host": (fields(*GOOD, ("host", "elsewhere")), 400),
    "two_hosts": (fields(*GOOD[:2], GOOD[3], ("host", "a"), ("host", "b")), PROTOCOL_ERROR),
    "two_paths": (fields(*GOOD, (":path", "/other")), PROTOCOL_ERROR),
    "late_pseudo": (fields(*GOOD[:3], ("x", "y"), GOOD[3]), PROTOCOL_ERROR),
    "unknown_pseudo": (fields(*GOOD, (":what", "y")), PROTOCOL_ERROR),
    "status": (fields(*GOOD, (":status", "200")), PROTOCOL_ERROR),
    "websocket": (fields((":method", "CONNECT"), (":protocol", "websocket"), *GOOD[1:]), PROTOCOL_ERROR),
    "connect": (fields((":method", "CONNECT"), (":authority", "h:1")), 400),
    "unknown_method": (fields((":method", "FROB"), *GOOD[1:]), 501),
    "two_lengths": (request(1, *EVENTS, ("content-length", "2"), ("content-length", "2"), end=False),
                    PROTOCOL_ERROR),
    "length_of_nothing": (request(1, *EVENTS, ("content-length", "2")), PROTOCOL_ERROR),
    "signed_length": (request(1, *EVENTS, ("content-length", "+2"), end=False), PROTOCOL_ERROR),
    "short_body": (body_of(3, b"[]"), PROTOCOL_ERROR),
    "long_body": (body_of(2, b"[", b"]]"), PROTOCOL_ERROR),
    "whole_body": (body_of(4, b"[", b"", b"", b" ]", b" "), 202),
    "trailers": (body_of(2, b"[]", b"")[:-9] + frame(HEADERS, END_HEADERS | END_STREAM, 1,
                                                    packed(("x-sum", "1"))), 202),
    "pseudo_trailers": (body_of(2, b"[]", b"")[:-9] + frame(
        HEADERS, END_HEADERS | END_STREAM, 1, packed((":path", "/x"))), PROTOCOL_ERROR),
    "huge_length": (request(1, *EVENTS, ("content-length", str(10 ** 17)), end=False), 413),
    "endless_header": (request(1, "GET", "/healthz", flags=0, end=True) + b"".join(
        frame(CONTINUATION, END_HEADERS * (i == 3), 1, packed(*[("x-%d" % k, "y" * 100) for k in range(50)]))
        for i in range(4)), 431),
}


def test_messages_against_the_rules_are_refused(d):
    before = d.metrics()["postbackd_events_accepted_total"]
    for name, (frames, wanted) in MESSAGES.items():
        with d.client() as c:
            c.send(frames)
            found = c.answer(1)
            if isinstance(found, bytes) and wanted != 200:
                problem = json.loads(found)
                found = problem.get("status", 202)
                assert found != 431 or "each field counts 32 more" in problem["detail"]
            assert found == (OK if wanted == 200 else wanted), name
            c.send(request(3))  # only the stream is lost
            assert c.answer(3) == OK, name
    assert d.metrics()["postbackd_events_accepted_total"] == before


# --- floods, resets, and who does not read --------------------------------------------------------

def many(count, part):
    """count times the frames of part(stream), with streams of their own."""
    return b"".join(part(2 * i + 1) for i in range(count))


OPEN = request(1, *EVENTS, end=False)
# name: (frames, codes of GOAWAY; None: closed without one)
FLOODS = {
    "ping": (many(3000, lambda _: frame(PING, 0, 0, b"12345678")), {CALM}),
    "settings": (many(3000, lambda _: settings(window=65535)), {CALM}),
    "priority": (many(3000, lambda _: frame(PRIORITY, 0, 3, b"\0\0\0\0\7")), {CALM}),
    "window": (many(3000, lambda _: frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1")), {CALM}),
    "unknown": (many(1600, lambda _: frame(0x77, 0, 0, b"z" * 50)), {CALM}),
    "big_unknown": (many(200, lambda _: frame(0x77, 0, 0, b"z" * 16000)), {CALM, None}),
    "empty_data": (OPEN + many(3000, lambda _: frame(DATA, 0, 1)), {CALM}),
    "continuation": (request(1, flags=0) + many(3000, lambda _: frame(CONTINUATION, 0, 1)),
                     {CALM, PROTOCOL_ERROR, None}),
    "resets": (many(400, lambda s: request(s, "GET", "/readyz") + rst(s, 8)), {CALM}),
    "resets_of_bodies": (many(400, lambda s: request(s, *EVENTS, end=False) + rst(s, 8)), {CALM}),
    # What makes the server reset (CVE-2025-8671).
    "made_to_reset": (many(400, lambda s: request(s, *EVENTS, end=False) + frame(
        WINDOW_UPDATE, 0, s, b"\0\0\0\0")), {CALM, PROTOCOL_ERROR}),
    "bad_messages": (many(400, lambda s: request(s, "GET", "/", ("connection", "close"))), {CALM}),
    "streams": (many(1500, lambda s: request(s, *EVENTS, end=False)), {CALM, PROTOCOL_ERROR}),
    "no_preface": (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", {None}),
    "noise": (http2.PREFACE + b"\xff" * 100, {6, PROTOCOL_ERROR, None}),
    "huge_frame": (OPEN + frame(DATA, 0, 1, b"x" * 20000), {6}),
    "bad_packing": (frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"), {9}),
    "window_overflow": (frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fffffff)), {3}),
    "even_stream": (request(2), {PROTOCOL_ERROR}),
    "data_first": (frame(DATA, 0, 1, b"x"), {PROTOCOL_ERROR}),
}


def test_floods_end_their_connection_and_nobody_elses(d, account):
    with d.client() as neighbour:
        for i, (name, (frames, codes)) in enumerate(FLOODS.items()):
            raw = name in ("no_preface", "noise")
            with d.client(preface=b"" if raw else http2.PREFACE, greeting=b"" if raw else settings()) as c:
                c.send(frames)
                assert c.end() in codes, name
            neighbour.send(request(2 * i + 1))
            assert (neighbour.answer(2 * i + 1), neighbour.goaway, neighbour.ended) == (OK, None, None), name


def test_who_resets_now_and_then_is_served_on(d):
    with d.client() as c:
        for i in range(1000):
            c.send(request(4 * i + 1, *EVENTS, end=False), rst(4 * i + 1, 8), request(4 * i + 3))
            assert c.answer(4 * i + 3) == OK


def test_a_window_that_is_opened_byte_by_byte(d):
    with d.client(greeting=settings(window=0)) as c:
        c.send(request(1, "GET", "/openapi.json"))
        c.send(many(3000, lambda _: frame(WINDOW_UPDATE, 0, 1, b"\0\0\0\1")))
        assert c.end() == CALM


@pytest.mark.parametrize("window", [300, 3000, 65535])
def test_paying_back_each_frame_is_no_flood(d, window):
    whole = d.api().get("/openapi.json").body
    with d.client(greeting=settings(window=window)) as c:
        for first in range(1, 81, 16):  # as many at once as no answer is refused for
            streams = range(first, first + 16, 2)
            left = set(streams)

            def is_last(kind, flags, stream, payload):
                if kind == DATA:
                    c.send(http2.paid_back(stream, payload))
                if flags & END_STREAM and kind == DATA or kind == RST_STREAM:
                    left.remove(stream)
                return not left

            c.send(*[request(s, "GET", "/openapi.json") for s in streams])
            assert c.read_until(is_last), (c.goaway, c.ended)
            assert all(c.answer(s) == whole for s in streams)


def test_who_does_not_read_holds_little_memory(d, account):
    """Each connection holds what the first streams are answered; further ones are refused."""
    before = d.resident_kib()
    with d.client(greeting=settings(window=1 << 30)) as c:
        for part in range(10):
            c.send(*[request(200 * part + 2 * i + 1, "GET", "/openapi.json") for i in range(50)])
        c.send(request(3001, "GET", "/openapi.json"))
        assert c.answer(3001) == http2.REFUSED_STREAM
        d.check_grown(before, 32 * 1024)
        d.api().events(account.event("beside-those-who-do-not-read"))
    eventually(lambda: d.metrics()["postbackd_http_connections"] < 20, what="its places are given back")


def test_more_streams_than_allowed_are_refused_one_by_one(d):
    with d.client() as c:
        c.send(many(101, lambda s: request(s, *EVENTS, end=False)))
        assert c.answer(201) == http2.REFUSED_STREAM
        c.send(*[frame(DATA, END_STREAM, 2 * i + 1, b"x") for i in range(100)])
        for i in range(100):
            assert json.loads(c.answer(2 * i + 1))["status"] == 400


def event_streams(account, name, key, streams):
    """Events, each as a stream of its own: the heads, and the bodies that end them."""
    heads = b"".join(request(s, "POST", "/api/v1/events", ("authorization", "Bearer " + key), end=False)
                     for s in streams)
    bodies = b"".join(frame(DATA, END_STREAM, s, json.dumps(account.event("%s-%d" % (name, s))).encode())
                      for s in streams)
    return heads, bodies


def test_a_revoked_key_ends_its_streams_and_nobody_elses(d, account):
    """All on one connection: streams that wait for their bodies, and a live stream."""
    keys = "/api/v1/partners/%s/keys" % account.partner_id
    revoked, other = (d.api().post(keys, {"Scopes": ["events:write", "callbacks:read"]}).json
                      for _ in range(2))
    its, others, live = range(1, 81, 2), range(101, 141, 2), 201
    with d.client() as c:
        of_revoked = event_streams(account, "revoked", revoked["Key"], its)
        of_other = event_streams(account, "other", other["Key"], others)
        c.send(of_revoked[0], of_other[0],
               request(live, "GET", LIVE, ("authorization", "Bearer " + revoked["Key"])))
        assert c.read_until(lambda kind, _, stream, __: kind == DATA and stream == live)
        assert d.api().delete("%s/%s" % (keys, revoked["KeyId"])).status == 204
        c.send(of_revoked[1], of_other[1])
        assert [json.loads(c.answer(s)).get("status") for s in its] == [401] * 40
        assert [json.loads(c.answer(s)).get("Accepted") for s in others] == [1] * 20
        assert c.answer(live) is not None  # it has ended, the connection has not
        c.send(request(301))
        assert c.answer(301) == OK


# --- the end ---------------------------------------------------------------------------------------

def test_what_was_answered_outlives_a_kill_beside_resets(tmp_path):
    """A third of the streams is reset behind its whole body, a third in the middle of it."""
    d = HttpsDaemon(tmp_path, "--loops", "1").start()
    account = Account(d)
    with d.client() as c:
        for s in range(1, 121, 2):
            event = json.dumps(account.event("kill-%d" % s)).encode()
            head = request(s, *EVENTS, end=False)
            c.send(*[(head, frame(DATA, END_STREAM, s, event)),
                     (head, frame(DATA, END_STREAM, s, event), rst(s, 8)),
                     (head, frame(DATA, 0, s, event[:40]), rst(s, 8))][s // 2 % 3])
        assert c.answer(1)
        d.process.kill()
        d.process.wait()
        c.end()
        answered = [s for kind, flags, s, body in c.frames if kind == DATA and b'"Accepted":1' in body]
    d.start()
    assert 1 in answered
    for s in answered:
        path = "/api/v1/callbacks/kill-%d?partnerId=%s" % (s, account.partner_id)
        assert d.api().get(path).status == 200
    for s in range(5, 121, 6):  # their bodies never came whole
        path = "/api/v1/callbacks/kill-%d?partnerId=%s" % (s, account.partner_id)
        assert d.api().get(path).status == 404
    assert d.stop() == 0


def test_stopping_serves_what_has_begun(tmp_path):
    d = HttpsDaemon(tmp_path, "--loops", "1").start()
    whole = d.api().get("/openapi.json").body
    with d.client(greeting=settings(window=0)) as c, d.client() as idle:
        idle.send(request(1))
        assert idle.answer(1) == OK
        c.send(request(1, "GET", "/openapi.json"))
        assert c.read_until(lambda kind, _, stream, __: kind == HEADERS and stream == 1)
        d.process.send_signal(signal.SIGTERM)
        assert c.read_until(lambda kind, *_: kind == http2.GOAWAY)
        c.send(request(3), *[frame(WINDOW_UPDATE, 0, s, b"\0\x10\0\0") for s in (0, 1)])
        assert c.answer(1) == whole
        assert c.end() == http2.NO_ERROR and not [f for f in c.frames if f[2] == 3]
        assert idle.end() == http2.NO_ERROR
    assert d.stop() == 0


def test_stopping_under_load_loses_no_answer(tmp_path):
    """Each request is answered, refused as not begun, or at the connection's end: and what was
    answered is there afterwards."""
    d = HttpsDaemon(tmp_path).start()
    account = Account(d)
    with d.client() as c:
        for i in range(50):
            event = json.dumps(account.event("load-%d" % i)).encode()
            c.send(request(2 * i + 1, *EVENTS, end=False), frame(DATA, END_STREAM, 2 * i + 1, event))
        assert c.answer(1)
        d.process.send_signal(signal.SIGTERM)
        assert c.end() == http2.NO_ERROR
        answered = [s for kind, flags, s, body in c.frames if kind == DATA and b'"Accepted":1' in body]
    assert d.stop() == 0
    d.start()
    assert 1 in answered
    for s in answered:
        path = "/api/v1/callbacks/load-%d?partnerId=%s" % (s // 2, account.partner_id)
        assert d.api().get(path).status == 200
    d.stop()

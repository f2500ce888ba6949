"""Clients that are slow, rude or malicious: each gets a clear answer or is dropped, others are
served meanwhile, and nothing of a refused request is stored."""
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

from harness import LIVE, OPERATOR_KEY, Account, eventually
from raw import Authority, reset

AUTHORIZATION = "Authorization: Bearer %s\r\n" % OPERATOR_KEY
MIB = 1 << 20


def request(method, path, body=b"", headers="", length=True):
    if length and (body or method == "POST"):
        headers += "Content-Length: %d\r\n" % len(body)
    return ("%s %s HTTP/1.1\r\nHost: t\r\n%s%s\r\n" % (method, path, AUTHORIZATION, headers)).encode() + body


def connect(d, timeout=15):
    return socket.create_connection(("127.0.0.1", d.port), timeout)


def answers(s, count=1):
    """Reads this many whole answers: [(status, headers, body)]; fewer when the peer closes."""
    found, data = [], b""
    while len(found) < count:
        head, there, rest = data.partition(b"\r\n\r\n")
        length = 0
        if there:
            lines = head.decode().split("\r\n")
            headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
            length = int(headers.get("content-length", 0))
        if there and len(rest) >= length:
            found.append((int(lines[0].split()[1]), headers, rest[:length]))
            data = rest[length:]
            continue
        try:
            more = s.recv(65536)
        except ConnectionResetError:
            more = b""
        if not more:
            break
        data += more
    return found


def is_closed(s):
    try:
        return s.recv(65536) == b""
    except ConnectionResetError:
        return True


def say(d, data):
    """The first answer to these bytes."""
    with connect(d) as s:
        try:
            s.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # answered and closed before it had all
        found = answers(s)
        assert found, "no answer to %r" % data[:80]
        return found[0]


def assert_problem(found, *statuses):
    status, headers, body = found
    assert status in statuses, found
    assert headers["content-type"] == "application/problem+json" and headers["x-request-id"]
    assert json.loads(body)["status"] == status


@pytest.fixture(scope="module")
def account(daemon):
    return Account(daemon)


def stored(d):
    return d.metrics()["postbackd_events_accepted_total"]


# --- slowness -----------------------------------------------------------------------------------

def test_slow_and_idle_clients_keep_nobody_out(daemon, account):
    slow = []
    body = json.dumps(account.event("from-the-slow")).encode()
    for i in range(300):
        head = connect(daemon)
        head.sendall(b"POST /api/v1/events HTTP/1.1\r\nHost: t\r\nX-Slow")
        tail = connect(daemon)
        tail.sendall(request("POST", "/api/v1/events", body)[:-20])
        slow += [head, tail]
    before = daemon.resident_kib()
    idle = [connect(daemon) for _ in range(1300)]
    for k in range(20):
        for s in slow[::10]:
            s.sendall(b"x" if k < 19 else b"y")
        daemon.api().events(account.event("beside-the-slow-%d" % k))
    daemon.check_grown(before, 60 * 1024)  # 30 KiB a connection would be too much
    for s in slow + idle:
        s.close()
    assert stored(daemon) >= 20
    answer = daemon.api().get("/api/v1/callbacks/from-the-slow", query={"partnerId": account.partner_id})
    assert answer.status == 404


def test_live_streams_of_one_account_leave_room_for_others(daemon, account):
    other, open_streams = Account(daemon), []

    def status(partner_id):
        open_streams.append(connect(daemon))
        open_streams[-1].sendall(request("GET", "%s?partnerId=%s" % (LIVE, partner_id)))
        return int(open_streams[-1].recv(12)[9:])

    assert [status(account.partner_id) for _ in range(120)] == [200] * 100 + [503] * 20
    assert status(other.partner_id) == 200
    for s in open_streams[:50]:
        reset(s)
    eventually(lambda: status(account.partner_id) == 200, what="room where streams have ended")
    for s in open_streams[50:]:
        reset(s)


def test_a_byte_at_a_time_is_a_request_all_the_same(daemon, account):
    data = request("POST", "/api/v1/events", json.dumps(account.event("drip")).encode())
    with connect(daemon) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(data)):
            s.sendall(data[i:i + 1])
        assert answers(s)[0][0] == 202


def test_half_closed_clients_get_their_answer(daemon, account):
    with connect(daemon) as s:
        s.sendall(request("POST", "/api/v1/events", json.dumps(account.event("half-closed")).encode()))
        s.shutdown(socket.SHUT_WR)
        assert answers(s)[0][0] == 202 and is_closed(s)
    with connect(daemon) as s:  # in the middle of a body: nothing to answer, nothing stored
        s.sendall(request("POST", "/api/v1/events", json.dumps(account.event("half-sent")).encode())[:-5])
        s.shutdown(socket.SHUT_WR)
        found = answers(s)
        assert found == [] or found[0][0] in (400, 408)
    answer = daemon.api().get("/api/v1/callbacks/half-sent", query={"partnerId": account.partner_id})
    assert answer.status == 404


def test_pipelined_requests_are_answered_in_order(daemon, account):
    parts, wanted = [], []
    for i in range(60):
        if i % 3 == 0:
            body = json.dumps([account.event("pipe-%d-%d" % (i, k)) for k in range(i + 1)]).encode()
            parts.append(request("POST", "/api/v1/events", body))
            wanted.append(b'"Accepted":%d' % (i + 1))
        elif i % 3 == 1:
            parts.append(request("GET", "/no-such-path-%d" % i))
            wanted.append(b"404")
        else:
            parts.append(request("GET", "/healthz"))
            wanted.append(b'"ok"')
    with connect(daemon) as s:
        threading.Thread(target=s.sendall, args=(b"".join(parts),), daemon=True).start()
        found = answers(s, len(parts))
    assert len(found) == len(parts)
    for (status, _, body), words in zip(found, wanted):
        assert words in body, (status, body)


# --- size ---------------------------------------------------------------------------------------

def chunked(body, size=65536):
    parts = [body[i:i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"


def test_a_body_over_8_mib_is_413(daemon, account):
    before = stored(daemon)
    body = json.dumps(account.event("large")).encode()
    body += b" " * (8 * MIB + 1 - len(body))
    assert_problem(say(daemon, request("POST", "/api/v1/events", body)), 413)
    assert_problem(say(daemon, request("POST", "/api/v1/events", b"", "Content-Length: 99999999999999999\r\n",
                                       length=False)), 413)
    assert_problem(say(daemon, request("POST", "/api/v1/events", b"", "Transfer-Encoding: chunked\r\n",
                                       length=False) + chunked(body)), 413)
    assert stored(daemon) == before
    status, _, text = say(daemon, request("POST", "/api/v1/events", body[:-1]))
    assert status == 202 and b'"Accepted":1' in text
    status, _, text = say(daemon, request("POST", "/api/v1/events", b"", "Transfer-Encoding: chunked\r\n",
                                          length=False) + chunked(body[:-1]))
    assert status == 202 and b'"Duplicates":1' in text


@pytest.mark.parametrize("head, statuses", [
    (b"GET /healthz HTTP/1.1\r\nHost: t\r\nX: " + b"a" * 70000 + b"\r\n\r\n", (431,)),
    (b"GET /healthz HTTP/1.1\r\nHost: t\r\n" + b"X: y\r\n" * 2000 + b"\r\n", (431,)),
    (b"GET /healthz HTTP/1.1\r\nHost: t\r\n" + b"X: y\r\n" * 101 + b"\r\n", (431,)),
    (b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: t\r\n\r\n", (414,)),
    (b"GET /healthz?" + b"a" * 9000 + b" HTTP/1.1\r\nHost: t\r\n\r\n", (414,)),
    (b"A" * 70000, (400, 414, 501)),
])
def test_heads_without_end_are_refused(daemon, head, statuses):
    assert_problem(say(daemon, head), *statuses)


# --- framing ------------------------------------------------------------------------------------

SMUGGLED = b"GET /metrics HTTP/1.1\r\nHost: t\r\n\r\n"
POST = "POST /api/v1/events HTTP/1.1\r\nHost: t\r\n" + AUTHORIZATION + "Content-Type: application/json\r\n"
FRAMING = {
    "length_and_chunked": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "chunked_and_length": "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    "two_lengths": "Content-Length: 5\r\nContent-Length: 6\r\n",
    "same_length_twice": "Content-Length: 5\r\nContent-Length: 5\r\n",
    "length_list": "Content-Length: 5, 5\r\n", "length_plus": "Content-Length: +5\r\n",
    "length_minus": "Content-Length: -5\r\n", "length_hex": "Content-Length: 0x5\r\n",
    "length_empty": "Content-Length: \r\n", "length_words": "Content-Length: 5 5\r\n",
    "length_huge": "Content-Length: 18446744073709551621\r\n",
    "folded": "Content-Length: 5\r\nX: a\r\n b\r\n", "folded_coding": "Transfer-Encoding:\r\n chunked\r\n",
    "bare_lf": "Content-Length: 5\nX: y\r\n", "bare_cr": "Content-Length: 5\rX: y\r\n",
    "blank_before_colon": "Content-Length : 5\r\n", "no_colon": "Content-Length 5\r\n",
    "nul": "X: a\0b\r\nContent-Length: 5\r\n", "control": "X: a\x0bb\r\nContent-Length: 5\r\n",
    "no_name": ": x\r\nContent-Length: 5\r\n", "odd_name": "X(y): x\r\nContent-Length: 5\r\n",
    "second_host": "Host: u\r\nContent-Length: 5\r\n",
    "other_coding": "Transfer-Encoding: gzip, chunked\r\n", "not_chunked": "Transfer-Encoding: identity\r\n",
    "chunked_twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "chunked_not_last": "Transfer-Encoding: chunked, gzip\r\n", "chunked_x": "Transfer-Encoding: xchunked\r\n",
    "vtab_coding": "Transfer-Encoding: \x0bchunked\r\n",
}


@pytest.mark.parametrize("name", FRAMING)
def test_ambiguous_framing_ends_the_connection(daemon, name):
    """One refusal, then the end: what follows is never taken for a second request."""
    with connect(daemon) as s:
        s.sendall(POST.encode() + FRAMING[name].encode() + b"\r\n0\r\n\r\n" + SMUGGLED * 2)
        found = answers(s, 3)
        assert len(found) == 1, found
        assert_problem(found[0], 400, 413, 501)
        assert found[0][1].get("connection") == "close"


@pytest.mark.parametrize("chunks", [
    b"x\r\n", b"5\r\n{}   \r\n0\r\n\r\n"[:-6] + b"X\r\n", b"-1\r\n", b"0x2\r\n{}\r\n0\r\n\r\n", b"ffffffffffffffffff\r\n",
    b"2\n{}\n0\n\n", b"2\r\n{}0\r\n\r\n", b" 2\r\n{}\r\n0\r\n\r\n", b"2;" + b"e" * 70000 + b"\r\n", b"2\r\n{}\r\n0\r\nX: "
    + b"t" * 70000, b"\r\n2\r\n{}\r\n0\r\n\r\n", b"2\r\r\n{}\r\n0\r\n\r\n"])
def test_malformed_chunks_are_refused(daemon, chunks):
    before = stored(daemon)
    with connect(daemon) as s:
        s.sendall(POST.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + SMUGGLED)
        s.shutdown(socket.SHUT_WR)
        found = answers(s, 3)
        assert len(found) == 1, found
        assert_problem(found[0], 400, 413, 431)
    assert stored(daemon) == before


@pytest.mark.parametrize("data, status", [
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400), (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    (b"GET /healthz HTTP/3.0\r\nHost: t\r\n\r\n", 505), (b"GET /healthz\r\n\r\n", 400),
    (b"GET /healthz HTTP/1.1\r\n\r\n", 400), (b"get /healthz HTTP/1.1\r\nHost: t\r\n\r\n", 501),
    (b"GET /health z HTTP/1.1\r\nHost: t\r\n\r\n", 400), (b"GET \\healthz HTTP/1.1\r\nHost: t\r\n\r\n", 400),
    (b"GET /a\0b HTTP/1.1\r\nHost: t\r\n\r\n", 400), (b"CONNECT x:1 HTTP/1.1\r\nHost: t\r\n\r\n", 400),
    (b"POST /api/v1/events HTTP/1.1\r\nHost: t\r\nExpect: a miracle\r\n\r\n", 417)])
def test_what_is_no_request_is_refused(daemon, data, status):
    with connect(daemon) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        found = answers(s, 2)
        assert len(found) == 1, found
        assert_problem(found[0], *((400, 404, 405, 501, 505) if status != 417 else (417,)))


# --- what is in a body ----------------------------------------------------------------------------

DEEP = 200000


@pytest.mark.parametrize("body", [
    b"[" * DEEP, b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP, b"{", b"", b"\xef\xbb\xbf{}",
    b'[{"EventId":"u-\xff"}]', b'[{"EventId":"\xc0\xaf"}]', b'[{"EventId":"\xed\xa0\x80"}]', b"[1,]", b"[}",
    b'{"EventId":"\\ud800"}', b'{"EventId":"\\udc00\\ud800"}', b'{"EventId":"a\nb"}', b"nul", b"[01]", b"[1.]",
    b"[NaN]", b"{} {}", b"[]\0", b'[{"PanelistId":"a\\u0000b"}]', b'[{"a\\u0000b":1}]'])
def test_json_that_cannot_be_read_is_400_and_stores_nothing(daemon, body):
    before = stored(daemon)
    found = say(daemon, request("POST", "/api/v1/events", body))
    # U+0000 and a lone surrogate may also be said of the one item: then the batch was read.
    if found[0] == 202:
        answer = json.loads(found[2])
        assert answer["Accepted"] == 0 and len(answer["Rejected"]) == 1
    else:
        assert_problem(found, 400)
    assert stored(daemon) == before


@pytest.mark.parametrize("change", [
    {"EventId": "ü"}, {"EventId": ""},
    {"PanelistId": ""}, {"PanelistId": "x" * 257}, {"SessionId": "ü" * 513}, {"RevenueAmount": "1e400"},
    {"RevenueAmount": "0.0000001"}, {"RevenueAmount": "1" + "0" * 4000}, {"RevenueAmount": "-0.01"},
    {"RevenueAmount": "NaN"}, {"RevenueAmount": "0x10"}, {"RevenueAmount": " 1"}, {"RevenueAmount": True},
    {"RevenueAmount": [1]}, {"Timestamp": "2026-13-01T00:00:00Z"}, {"Timestamp": "now"}, {"Timestamp": 1},
    {"IsTest": "true"}, {"PanelistId": {"a": 1}}, {"__proto__": 1}, {"Nested": {"a": {"b": {"c": {"d": {}}}}}}])
def test_hostile_values_cost_only_their_item(daemon, account, change):
    good = account.event("good-%d" % time.monotonic_ns())
    bad = dict(account.event("bad-%d" % time.monotonic_ns()), **change)
    found = daemon.api().post("/api/v1/events", json.dumps([bad, good])).json
    assert found["Accepted"] == 1 and [r["Index"] for r in found["Rejected"]] == [0], found
    assert found["Rejected"][0]["Errors"][0]["Field"] == next(iter(change))


@pytest.mark.parametrize("number", ["1e400", "1" + "0" * 100000, "0." + "0" * 100000 + "1", "-1e-400", "1e99999999999999"])
def test_giant_numbers_are_field_errors(daemon, account, number):
    text = json.dumps(account.event("giant", RevenueAmount=0)).replace(
        '"RevenueAmount": 0', '"RevenueAmount": ' + number)
    found = daemon.api().post("/api/v1/events", text)
    assert found.status == 202 and found.json["Accepted"] == 0, found
    assert found.json["Rejected"][0]["Errors"][0]["Field"] == "RevenueAmount"


def test_repeated_members_reject_the_item(daemon, account):
    text = json.dumps(account.event("twice"))
    for more in ('"RevenueAmount":"2"', '"EventId":"other"', '"\\u0045ventId":"other"'):
        found = daemon.api().post("/api/v1/events", text[:-1] + "," + more + "}").json
        assert found["Accepted"] == 0 and len(found["Rejected"]) == 1, found


@pytest.mark.parametrize("path", [
    "/api/v1/callbacks/a%00b", "/api/v1/callbacks/%ff", "/api/v1/callbacks/..%2f..%2fetc", "/api/v1/callbacks/%",
    "/api/v1/callbacks?after=%00", "/api/v1/callbacks?limit=99999999999999999999", "/api/v1/callbacks?limit=-1",
    "/api/v1/callbacks?panelistId=%ff", "/api/v1/callbacks?state=%00", "/api/v1/callbacks?x=1", "//api/v1/callbacks",
    "/api/v1/../v1/callbacks", "/api/v1/rewards?after=" + "A" * 5000])
def test_hostile_paths_are_refused(daemon, account, path):
    joint = "&" if "?" in path else "?"
    found = daemon.api().get(path + joint + "partnerId=" + account.partner_id)
    assert found.status in (400, 404), found
    assert found.headers["Content-Type"] == "application/problem+json"


# --- TLS ----------------------------------------------------------------------------------------

def peer_serial(d, authority):
    context = ssl.create_default_context(cafile=authority.file)
    with socket.create_connection(("127.0.0.1", d.port), 10) as s:
        with context.wrap_socket(s, server_hostname="localhost") as t:
            t.sendall(request("GET", "/healthz"))
            assert answers(t)[0][0] == 200
            return t.getpeercert()["serialNumber"]


def test_tls_listener_and_its_new_certificate(own_daemon, tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.sign("first")
    d = own_daemon
    d.options = ["--tls-cert", certificate, "--tls-key", key]
    d.start(wait_ready=False)
    first = peer_serial(d, authority)
    with connect(d) as s:  # plain HTTP to it
        s.sendall(request("GET", "/healthz"))
        assert not any(status == 200 for status, _, _ in answers(s))
    for junk in (b"\x16\x03\x01\xff\xff" + b"\0" * 100, b"\0" * 1000, b"\x16"):
        with connect(d) as s:
            s.sendall(junk)
    kept = ssl.create_default_context(cafile=authority.file).wrap_socket(connect(d), server_hostname="localhost")
    second_certificate, second_key = authority.sign("second")
    os.replace(second_certificate, certificate)
    os.replace(second_key, key)
    assert peer_serial(d, authority) == first
    d.process.send_signal(signal.SIGHUP)
    second = eventually(lambda: (lambda found: found if found != first else None)(peer_serial(d, authority)))
    kept.sendall(request("GET", "/healthz"))  # who is connected stays so
    status, headers, _ = answers(kept)[0]
    assert status == 200 and headers["strict-transport-security"] == "max-age=31536000", headers
    kept.close()
    # A certificate that cannot be read is refused, the old one kept, and that is said.
    with open(certificate, "w") as f:
        f.write("no certificate\n")
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: "reload_failed" in d.log_text() and "tls-cert: %s: " % certificate in d.log_text())
    assert peer_serial(d, authority) == second
    assert subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % d.port, "-tls1_1"],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=20).returncode != 0

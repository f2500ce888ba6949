"""What one client may make the daemon hold: before anybody is known next to nothing, and later no
more than its share."""
import json
import resource
import socket
import threading

import pytest

from harness import Account, eventually
from test_hostile_clients import (MIB, answers, assert_problem, connect, is_closed, request, say)


# --- what is answered ----------------------------------------------------------------------------

def test_an_events_errors_are_bounded_and_counted(daemon, account):
    many = {"x%d" % i: 1 for i in range(50000)}
    found, = daemon.api().post("/api/v1/events", dict(many, **account.event("many"))).json["Rejected"]
    assert (found["EventId"], len(found["Errors"]), found["MoreErrors"]) == ("many", 20, 50000 - 20)
    found, = daemon.api().post("/api/v1/events", account.event("few", X=1)).json["Rejected"]
    assert len(found["Errors"]) == 1 and "MoreErrors" not in found


@pytest.mark.parametrize("ndjson", (False, True))
def test_the_errors_of_a_request_are_bounded(daemon, account, ndjson):
    """Each rejected event is listed, and why; what else is wrong with it is counted."""
    item = json.dumps({c: 1 for c in "abcdefghijklmnopqrstuvwxyz"})
    body = "\n".join([item] * 10000) if ndjson else "[" + ",".join([item] * 10000) + "]"
    answer = daemon.api().post("/api/v1/events", body, headers={
        "Content-Type": "application/x-ndjson" if ndjson else "application/json"})
    found = answer.json["Rejected"]
    assert [r["Index"] for r in found] == list(range(10000))
    assert [len(r["Errors"]) for r in found] == [20] * 100 + [1] * 9900
    assert {len(r["Errors"]) + r["MoreErrors"] for r in found} == {26 + 3}  # three that are required
    assert len(answer.body) < len(body)


UNKNOWN = json.dumps({"field%05d" % i: 1 for i in range(900)})


@pytest.mark.parametrize("path", (
    "/api/v1/apps/%(app)s/verify-callback", "/api/v1/apps/%(app)s/test-callback",
    "/api/v1/panelists/erase?partnerId=%(partner)s", "/api/v1/callbacks/recover?partnerId=%(partner)s",
    "/api/v1/apps/%(app)s/clients", "/api/v1/partners/%(partner)s/keys"))
def test_a_list_of_problems_is_bounded(daemon, account, path):
    path %= {"app": account.app_id, "partner": account.partner_id}
    found = daemon.api().post(path, UNKNOWN)
    assert found.status == 400
    assert len(found.json["errors"]) == 20 and found.json["moreErrors"] >= 880


def test_the_texts_of_a_problem_are_bounded(daemon, account):
    found = daemon.api().post("/api/v1/apps/%s/verify-callback" % account.app_id,
                              {"Body": "{}", "ü" * 6000: 1})
    assert found.status == 400
    (problem,) = found.json["errors"]
    assert problem["Field"] == "ü" * 512


# --- what is read --------------------------------------------------------------------------------

def test_bodies_of_strangers_are_small(daemon):
    """And nobody has to send one to be told so."""
    for path in ("/api/v1/session", "/api/v1/links/check", "/api/v1/links/use"):
        with connect(daemon) as s:
            s.sendall(b"POST %s HTTP/1.1\r\nHost: t\r\nContent-Length: 16385\r\n\r\n" % path.encode())
            assert_problem(answers(s)[0], 413)
        assert say(daemon, b"POST %s HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
                   b"Content-Length: 2\r\n\r\n{}" % path.encode())[0] == 400


def test_bodies_of_changes_are_bounded(daemon, account):
    head = "Content-Length: %d\r\n" % ((1 << 20) + 1)
    path = "/api/v1/apps/%s/verify-callback" % account.app_id
    assert_problem(say(daemon, request("POST", path, headers=head, length=False)), 413)


def test_strangers_hold_next_to_nothing(daemon):
    """100 that announce 8 MiB and send what they can."""
    before = daemon.resident_kib()
    opened = []
    for _ in range(100):
        s = connect(daemon)
        opened.append(s)
        try:
            s.sendall(b"POST /api/v1/session HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n" % (8 * MIB - 1))
            s.settimeout(0.01)
            for _ in range(8):
                s.sendall(bytes(MIB))
        except OSError:
            pass  # refused already, or the socket is full
    assert daemon.api().get("/readyz", key=None).status == 200
    daemon.check_grown(before, 40000)
    for s in opened:
        s.close()


def test_bodies_have_room_or_wait(own_daemon, tmp_path):
    """Of those that are known, too, only as much is read as there is room for; all are answered."""
    d = own_daemon
    d.options += ["--loops", "1"]
    d.start()
    half = b"[" + b" " * (4 * MIB)
    opened = []
    for _ in range(24):
        s = connect(d, timeout=60)
        s.sendall(request("POST", "/api/v1/events", headers="Content-Type: application/json\r\n"
                          "Content-Length: %d\r\n" % (len(half) + 1), length=False))
        opened.append(s)
    senders = [threading.Thread(target=s.sendall, args=(half,)) for s in opened]
    for t in senders:
        t.start()
    eventually(lambda: d.metrics()["postbackd_http_bodies_waited_total"] >= 10)
    assert d.metrics()["postbackd_http_buffer_bytes"] <= 64 * MIB
    assert d.api().get("/api/v1/partners").status == 200

    def finish(s):
        s.sendall(b"]")
    finishers = []
    for t, s in zip(senders, opened):
        f = threading.Thread(target=lambda t=t, s=s: (t.join(), finish(s)))
        f.start()
        finishers.append(f)
    for f in finishers:
        f.join()
    for s in opened:
        assert answers(s)[0][0] == 202
        s.close()
    eventually(lambda: d.metrics()["postbackd_http_buffer_bytes"] < MIB)


# --- who is connected ----------------------------------------------------------------------------

HEAD_OF_EVENTS = "POST /api/v1/events HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\nContent-Length: 9\r\n\r\n["


def test_the_last_connections_are_for_those_who_are_known_and_probes(own_daemon):
    """Nearly all are in the middle of a request, within the shares of their accounts, and none is an idle
    stranger who could go."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384), hard))
    d = own_daemon
    d.options += ["--loops", "1"]
    d.start()
    busy = []
    try:
        keys = [Account(d).key("events:write") for _ in range(4)]
        for i in range(8192 - 512 - 8):
            begun = HEAD_OF_EVENTS % keys[i % 4]
            busy.append(socket.create_connection(("127.0.0.1", d.port), 60, ("127.0.0.%d" % (2 + i % 4), 0)))
            busy[-1].sendall(begun.encode())
        eventually(lambda: d.metrics()["postbackd_http_connections"] > len(busy))
        for _ in range(8):  # the rest, each known before the next one comes
            busy.append(connect(d))
            busy[-1].sendall(request("GET", "/api/v1/partners"))
            assert answers(busy[-1])[0][0] == 200
        for path in (b"GET /", b"GET /api/v1/session", b"GET /nowhere", b"GET /openapi.json"):
            status, headers, body = say(d, path + b" HTTP/1.1\r\nHost: t\r\n\r\n")
            assert status == 503 and b"reserved for clients with a key" in body, (path, status, body)
        for path in ("/healthz", "/readyz", "/metrics"):
            assert d.api(None).get(path).status == 200, path
        assert d.api().get("/api/v1/partners").status == 200
    finally:
        for s in busy:
            s.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    eventually(lambda: say(d, b"GET / HTTP/1.1\r\nHost: t\r\n\r\n")[0] == 200)


def test_an_address_cannot_lock_others_out(own_daemon):
    """Idle connections of one address: the oldest go, and another one is served all the while."""
    d = own_daemon
    d.options += ["--loops", "1"]
    d.start()
    opened = []
    for _ in range(2200):
        opened.append(socket.create_connection(("127.0.0.1", d.port), 15, ("127.0.0.2", 0)))
    assert d.api().get("/readyz", key=None).status == 200
    assert d.api().get("/api/v1/partners").status == 200
    eventually(lambda: d.metrics()["postbackd_http_connections_closed_total"] >= 2200 - 2048)
    assert is_closed(opened[0])
    for s in opened:
        s.close()

"""Nobody's key may use what others need: limits by account, whichever of its keys asks, and turns
where accounts meet. The daemon is stopped (SIGSTOP) while many requests are sent, so that they are
there at once however fast the machine is."""
import json
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import Account, Api, Receiver, eventually
from test_hostile_clients import answers
from test_recoveries import Partner, make_dead, when


@pytest.fixture
def hanging():
    """A receiver that answers nobody before it is told to."""
    go = threading.Event()
    r = Receiver(lambda request: go.wait(60) and 200)
    r.go = go
    yield r
    go.set()
    r.close()


def together(daemon, requests):
    """Sends all of them, each on a connection of its own, before the daemon reads one; statuses."""
    opened = []
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        for key, method, path, body in requests:
            s = socket.create_connection(("127.0.0.1", daemon.port), 60)
            text = json.dumps(body).encode()
            s.sendall(b"%s %s HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer %s\r\n"
                      b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                      % (method.encode(), path.encode(), key.encode(), len(text), text))
            opened.append(s)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    found = []
    for s in opened:
        status, headers, _ = answers(s)[0]
        if status == 429:
            assert int(headers["retry-after"]) >= 1
        found.append(status)
        s.close()
    return found


def limited(daemon, name):
    return daemon.metrics()['postbackd_account_limited_total{limit="%s"}' % name]


# --- test callbacks ------------------------------------------------------------------------------

def test_an_account_has_few_test_callbacks_at_once(daemon, hanging):
    a, b = (Account(daemon, hanging.url, TimeoutSeconds=30) for _ in range(2))
    keys = [a.key("callbacks:write"), a.key("callbacks:write")]
    path = "/api/v1/apps/%s/test-callback"
    body = {"RewardType": "survey_completed", "PanelistId": "u"}
    with ThreadPoolExecutor(12) as pool:
        first = [pool.submit(Api(daemon.port, keys[i % 2]).post, path % a.app_id, body) for i in range(4)]
        eventually(lambda: len(hanging.requests) == 4)
        assert daemon.metrics()["postbackd_attempts_in_flight"] == 4
        before = limited(daemon, "tests")
        for key in keys:
            answer = Api(daemon.port, key).post(path % a.app_id, body)
            assert answer.status == 429 and int(answer.headers["Retry-After"]) >= 1
            assert "4 test callbacks" in answer.json["detail"]
        assert limited(daemon, "tests") == before + 2
        other = pool.submit(Api(daemon.port, b.key("callbacks:write")).post, path % b.app_id, body)
        eventually(lambda: len(hanging.requests) == 5)
        hanging.go.set()
        assert [f.result().status for f in first + [other]] == [200] * 5
    assert Api(daemon.port, keys[0]).post(path % a.app_id, body).status == 200
    eventually(lambda: daemon.metrics()["postbackd_attempts_in_flight"] == 0)


def test_test_callbacks_have_few_of_a_hosts_seats(daemon, hanging):
    """Of many accounts together, too: what is delivered to that host is not held up."""
    accounts = [Account(daemon, hanging.url, TimeoutSeconds=30) for _ in range(3)]
    body = {"RewardType": "survey_completed", "PanelistId": "u"}
    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(Api(daemon.port, key).post, "/api/v1/apps/%s/test-callback" % a.app_id, body)
                 for a in accounts for key in [a.key("callbacks:write")] for _ in range(4)]
        eventually(lambda: len(hanging.requests) == 8 and sum(f.done() for f in asked) == 4)
        assert {f.result().status for f in asked if f.done()} == {429}
        daemon.api().events([accounts[0].event("beside-tests")])
        eventually(lambda: hanging.of("beside-tests"), what="a delivery passes")
        hanging.go.set()
        assert sorted(f.result().status for f in asked) == [200] * 8 + [429] * 4


def test_test_callbacks_of_a_minute(daemon, receiver):
    a, b = Account(daemon), Account(daemon)
    keys = [a.key("callbacks:write"), a.key("callbacks:write")]
    path = "/api/v1/apps/%s/test-callback"
    found = [Api(daemon.port, keys[i % 2]).post(path % a.app_id, {}).status for i in range(120)]
    assert set(found) == {400, 429} and found[:60] == [400] * 60
    assert Api(daemon.port, b.key("callbacks:write")).post(path % b.app_id, {}).status == 400


# --- changes -------------------------------------------------------------------------------------

def test_an_account_has_few_changes_at_once(daemon):
    a, b = Account(daemon), Account(daemon)
    keys = [a.key("apps:write"), a.key("apps:write")]
    before = limited(daemon, "writes")
    found = together(daemon, [(keys[i % 2], "PATCH", "/api/v1/apps/" + a.app_id, {"Name": "n%d" % i})
                              for i in range(200)]
                     + [(b.key("apps:write"), "PATCH", "/api/v1/apps/" + b.app_id, {"Name": "other"})])
    assert set(found[:-1]) == {200, 429} and found[-1] == 200
    assert limited(daemon, "writes") == before + found.count(429)
    assert daemon.api().get("/api/v1/apps/" + b.app_id).json["Name"] == "other"


def test_an_account_has_so_many_keys(daemon):
    a, b = Account(daemon), Account(daemon)
    maker = a.key("keys:write", "apps:read")
    made = []
    for i in range(99):
        answer = daemon.api().post("/api/v1/partners/%s/keys" % a.partner_id,
                                   {"Name": "k", "Scopes": ["apps:read"]})
        assert answer.status == 201, answer
        made.append(answer.json["KeyId"])
    path = "/api/v1/partners/%s/keys" % a.partner_id
    answer = Api(daemon.port, maker).post(path, {"Name": "k", "Scopes": ["apps:read"]})
    assert answer.status == 409 and "100 keys" in answer.json["detail"]
    assert Api(daemon.port, maker).delete(path + "/" + made[0]).status == 204
    assert Api(daemon.port, maker).post(path, {"Name": "k", "Scopes": ["apps:read"]}).status == 201
    b.key("apps:read")


def test_reads_that_show_a_secret_are_changes(daemon):
    """Each is an entry of the audit log, which is kept for ever."""
    a = Account(daemon)
    keys = [a.key("apps:write"), a.key("apps:write")]
    before = limited(daemon, "writes")
    found = [Api(daemon.port, keys[i % 2]).get("/api/v1/apps/%s/secret" % a.app_id) for i in range(1000)]
    assert {f.status for f in found} == {200, 429} and all(f.status == 200 for f in found[:600])
    refused = [f for f in found if f.status == 429]
    assert "600 changes of a minute" in refused[0].json["detail"]
    assert limited(daemon, "writes") == before + len(refused)
    report = {"RewardId": "r", "Status": 200, "DurationMs": 1, "Detail": "ok"}
    assert Api(daemon.port, keys[0]).post("/api/v1/forwards", report).status == 204


# --- reads ---------------------------------------------------------------------------------------

def test_an_account_has_few_scans_at_once(daemon):
    """Statements, reports and lists of the log together, whichever of its keys asks."""
    a, b = Account(daemon), Account(daemon)
    scopes = ("reports:read", "callbacks:read")
    keys, other = [a.key(*scopes), a.key(*scopes)], b.key(*scopes)
    paths = ["/api/v1/statements?day=2026-11-20", "/api/v1/callbacks", "/api/v1/rewards", "/api/v1/reports/earnings"]
    before = limited(daemon, "scans")
    found = together(daemon, [(keys[i % 2], "GET", paths[i % 4], {}) for i in range(80)]
                     + [(other, "GET", path, {}) for path in paths])
    assert set(found[:80]) == {200, 429} and found[80:] == [200] * 4
    assert limited(daemon, "scans") == before + found.count(429)


@pytest.mark.parametrize("path, of", [("/api/v1/apps/%s", "40 read requests"), ("/api/v1/rewards", "40 reports and lists")])
def test_an_account_has_five_times_the_reads_of_a_key(own_daemon, path, of):
    d = own_daemon
    d.options += ["--reads-per-minute", "8"]
    d.start()
    a, b = Account(d), Account(d)
    scopes, found = ("apps:read", "callbacks:read"), []
    for _ in range(8):
        key = a.key(*scopes)
        found += [d.api(key).get(path % a.app_id if "%" in path else path) for _ in range(8)]
    assert [f.status for f in found[:40]] == [200] * 40
    refused = [f for f in found[40:] if f.status == 429]
    assert refused and all(of in f.json["detail"] and int(f.headers["Retry-After"]) >= 1 for f in refused)
    assert d.api(b.key(*scopes)).get(path % b.app_id if "%" in path else path).status == 200


# --- recoveries ----------------------------------------------------------------------------------

def test_twenty_recoveries_and_no_more(own_daemon):
    """However many ask at once: each is judged when those before it are known."""
    d = own_daemon
    d.schedule = "1s"
    d.start()
    partner = Partner()
    a = Account(d, partner.url)
    make_dead(d, a, 30)
    partner.status = 503  # so that none comes to its end
    key = a.key("callbacks:write", "callbacks:read")
    body = {"From": when(-600), "To": when(600), "States": ["dead"], "RatePerSecond": 1}
    ask = (key, "POST", "/api/v1/callbacks/recover", body)
    found = []
    while 409 not in found:
        found += together(d, [ask] * 15)
    assert found.count(202) == 20
    assert set(found) == {202, 409, 429}
    partner.receiver.close()

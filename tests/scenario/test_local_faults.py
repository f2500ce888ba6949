"""Faults of our own machine are not held against receivers: callbacks wait, use up no attempt, and
are delivered when the fault is over. No endpoint is suspended, and partners are told nothing."""
import fcntl
import http.client
import json
import resource
import socket
import struct

import pytest

from harness import OPERATOR_KEY, Account, Daemon, Receiver, eventually
from private import SIOCSIFADDR, SIOCSIFFLAGS, private_network
from test_destinations import Names

PUBLIC = "93.184.216.34"


@pytest.fixture
def net():
    with private_network():
        yield


@pytest.fixture
def told():
    r = Receiver()
    yield r
    r.close()


def add_address(address):
    """Of this machine, as a route to it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        at = struct.pack("16sHH4s8x", b"lo:7", socket.AF_INET, 0, socket.inet_aton(address))
        fcntl.ioctl(s, SIOCSIFADDR, at)


def drop_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo:7", 0))


def account_with(d, told, url):
    account = Account(d, url, TimeoutSeconds=5)
    body = {"OperationsUrl": told.url}
    assert d.api().patch("/api/v1/partners/" + account.partner_id, body).status == 200
    return account


def posted(d, event):
    try:
        return d.api().post("/api/v1/events", event).status
    except OSError:
        return None


def wait_until_prevented(d, cause, least=4):
    name = 'postbackd_attempts_not_made_total{cause="%s"}' % cause
    eventually(lambda: d.metrics()[name] >= least, 60, what="attempts are not made: " + cause)


def check_untried(d, account, event_ids, cause, told):
    for event_id in event_ids:
        found = d.api().callback(event_id, account.partner_id)
        assert found["State"] == "pending" and found["Attempts"] == [], found
    endpoints = d.api().get("/api/v1/apps/%s/endpoints" % account.app_id).json["Endpoints"]
    success = next(e for e in endpoints if e["Endpoint"] == "success")
    assert success["State"] == "open" and success["Failed1h"] == 0 and not success["LastError"], success
    warnings = d.api().get("/healthz", key=None).json["Warnings"]
    assert any(w["Check"] == "local_fault" for w in warnings), warnings
    lines = [line for line in d.log_text().splitlines() if '"event":"local_fault"' in line]
    assert len(lines) == 1 and json.loads(lines[0])["cause"] == cause, lines
    assert not told.requests, "the partner is told nothing"


def test_without_a_route_callbacks_wait(net, told, tmp_path):
    d = Daemon(tmp_path, schedule="200ms,200ms", allow=("127.0.0.0/8", PUBLIC + "/32")).start()
    account = account_with(d, told, "http://%s:8099/cb" % PUBLIC)
    ids = ["r%d" % i for i in range(5)]
    d.api().events([account.event(i) for i in ids])
    wait_until_prevented(d, "route")
    check_untried(d, account, ids, "route", told)
    add_address(PUBLIC)
    receiver = Receiver(address=PUBLIC, port=8099)
    for event_id in ids:
        found = d.api().wait_state(event_id, account.partner_id, "delivered")
        assert len(found["Attempts"]) == 1 and found["Attempts"][0]["Number"] == 1, found
    assert d.stop() == 0
    receiver.close()


def test_a_source_address_that_is_gone(net, told, receiver, tmp_path):
    add_address("10.9.9.1")
    d = Daemon(tmp_path, "--source-address", "10.9.9.1", schedule="200ms,200ms").start()
    account = account_with(d, told, receiver.url)
    drop_address()
    d.api().events(account.event("gone"))
    wait_until_prevented(d, "address")
    check_untried(d, account, ["gone"], "address", told)
    add_address("10.9.9.1")
    found = d.api().wait_state("gone", account.partner_id, "delivered")
    assert len(found["Attempts"]) == 1
    assert d.stop() == 0


def test_name_servers_that_do_not_answer(told, receiver, tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        where = "127.0.0.1:%d" % deaf.getsockname()[1]
        d = Daemon(tmp_path, "--dns-server", where, schedule="200ms,200ms").start()
        account = account_with(d, told, "http://partner.test:%d/cb" % receiver.port)
        d.api().events(account.event("deaf"))
        wait_until_prevented(d, "name_servers", 2)
        check_untried(d, account, ["deaf"], "name_servers", told)
    names = Names({"partner": ("127.0.0.1",)}, int(where.split(":")[1]))
    assert len(d.api().wait_state("deaf", account.partner_id, "delivered")["Attempts"]) == 1
    names.close()
    assert d.stop() == 0


def test_a_proxy_that_is_down(told, receiver, tmp_path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    d = Daemon(tmp_path, "--proxy", "http://127.0.0.1:%d" % port, schedule="200ms,200ms").start()
    account = Account(d, receiver.url)
    d.api().events(account.event("proxy"))
    wait_until_prevented(d, "proxy")
    check_untried(d, account, ["proxy"], "proxy", told)
    answer = d.api().post("/api/v1/apps/%s/test-callback" % account.app_id,
                          {"RewardType": "survey_completed", "PanelistId": "p"})
    assert answer.status == 503 and "the fault is its own" in answer.json["detail"], answer
    assert d.stop() == 0


def test_without_descriptors_attempts_are_not_made(told, receiver, tmp_path):
    d = Daemon(tmp_path, schedule="200ms,200ms").start()
    account = account_with(d, told, receiver.url)
    kept = http.client.HTTPConnection("127.0.0.1", d.port, timeout=30)
    kept.request("GET", "/healthz")
    kept.getresponse().read()
    hard = resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE)[1]
    # The limit is of the numbers: none above it is given out, also where an older one has been closed meanwhile.
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (3, hard))

    def text(method, path, body=None):
        kept.request(method, path, body and json.dumps(body),
                     {"Authorization": "Bearer " + OPERATOR_KEY, "Content-Type": "application/json"})
        return kept.getresponse().read().decode()

    def ask(*words):
        return json.loads(text(*words))

    def not_made():
        return sum(float(line.rsplit(" ", 1)[1]) for line in text("GET", "/metrics").splitlines()
                   if line.startswith("postbackd_attempts_not_made_total"))

    assert ask("POST", "/api/v1/events", account.event("none-left"))["Accepted"] == 1
    warned = eventually(lambda: ask("GET", "/healthz").get("Warnings"), what="/healthz warns")
    assert warned[0]["Check"] == "local_fault" and "EMFILE" in warned[0]["Detail"]
    eventually(lambda: not_made() > 3, what="it was due more often than the schedule has attempts")
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (hard, hard))
    found = d.api().wait_state("none-left", account.partner_id, "delivered")
    assert len(found["Attempts"]) == 1, found
    assert d.stop() == 0


def test_a_stranger_cannot_take_all_descriptors(receiver, tmp_path):
    """He holds as many connections as he can; the limit is lower than all bounds need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    d = Daemon(tmp_path, "--loops", "2", schedule="200ms,200ms")
    d.command = lambda: ["prlimit", "--nofile=700:700"] + Daemon.command(d)
    d.start()
    assert '"event":"few_descriptors"' in d.log_text()
    account = Account(d, receiver.url)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    crowd = []
    try:
        for _ in range(1400):
            s = socket.socket()
            s.settimeout(1)
            s.connect(("127.0.0.1", d.port))
            crowd.append(s)
        for i in range(20):
            event = account.event("crowd-%d" % i)
            eventually(lambda: posted(d, event) == 202, what="it takes events")
        for i in range(20):
            d.api().wait_state("crowd-%d" % i, account.partner_id, "delivered")
        assert d.metrics()['postbackd_attempts_not_made_total{cause="descriptors"}'] == 0
    finally:
        for s in crowd:
            s.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert d.stop() == 0

"""SIGTERM: nothing new begins, what is under way ends, its outcome is on disk, the status is 0."""

import json
import signal
import socket
import sqlite3
import threading
import time
from datetime import datetime, timedelta

import pytest

from harness import OPERATOR_KEY, Account, Receiver, eventually


class Hanging:
    """A receiver that answers when it is let go."""

    def __init__(self):
        self.asked, self.let_go = threading.Event(), threading.Event()
        self.receiver = Receiver(self.answer)

    def answer(self, request):
        self.asked.set()
        self.let_go.wait(60)
        return 200


@pytest.fixture
def hanging(own_daemon):
    """It has been asked, and the daemon is told to stop."""
    h = Hanging()
    try:
        own_daemon.start()
        h.account = Account(own_daemon, h.receiver.url, TimeoutSeconds=30)
        own_daemon.api().events([h.account.event("slow-1")])
        assert h.asked.wait(60)
        own_daemon.process.send_signal(signal.SIGTERM)
        yield h
    finally:
        h.receiver.close()


def test_attempts_under_way_end_and_are_remembered(own_daemon, hanging):
    eventually(lambda: '"event":"stopping"' in own_daemon.log_text())
    hanging.let_go.set()
    assert own_daemon.process.wait(30) == 0
    own_daemon.start()
    assert own_daemon.api().callback("slow-1", hanging.account.partner_id)["State"] == "delivered"
    assert hanging.receiver.ids() == ["slow-1"]


def test_new_connections_are_refused_while_attempts_end(own_daemon, hanging):
    """And do not wait for an answer that never comes."""
    def is_refused():
        try:
            socket.create_connection(("127.0.0.1", own_daemon.port), 10).close()
        except ConnectionRefusedError:
            return True
        return False

    eventually(is_refused, 20)
    assert own_daemon.process.poll() is None
    hanging.let_go.set()
    assert own_daemon.process.wait(30) == 0


def test_a_test_callback_under_way_brings_its_result(own_daemon):
    """Requests have five seconds, as the shortest TimeoutSeconds and two more."""
    h, found = Hanging(), []
    try:
        own_daemon.start()
        account = Account(own_daemon, h.receiver.url)
        tester = threading.Thread(target=lambda: found.append(own_daemon.api().post(
            "/api/v1/apps/%s/test-callback" % account.app_id, {"RewardType": "survey_completed", "PanelistId": "u"})))
        tester.start()
        assert h.asked.wait(60)
        own_daemon.process.send_signal(signal.SIGTERM)
        eventually(lambda: '"event":"stopping"' in own_daemon.log_text())
        time.sleep(2.5)
        h.let_go.set()
        tester.join()
        assert found and found[0].status == 200 and found[0].json["Status"] == 200, found
        assert own_daemon.process.wait(30) == 0
    finally:
        h.receiver.close()


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def logged_at(daemon, event):
    """By the daemon's clock, as its attempts are: a receiver may read late."""
    return [moment(json.loads(line)["time"]) for line in daemon.log_text().splitlines()
            if '"event":"%s"' % event in line]


def test_no_attempt_begins_while_a_client_is_slow(own_daemon):
    receiver = Receiver()
    try:
        own_daemon.start()
        account = Account(own_daemon, receiver.url, RatePerSecond=20)
        own_daemon.api().events([account.event("rate-%d" % i) for i in range(100)])
        eventually(lambda: len(receiver.ids()) >= 3)
        with socket.create_connection(("127.0.0.1", own_daemon.port), 10) as client:
            client.sendall(b"POST /api/v1/events HTTP/1.1\r\nHost: h\r\nX-Api-Key: "
                           + OPERATOR_KEY.encode() + b"\r\nContent-Length: 1000\r\n\r\n[")
            # Answered in the order sent: what stands before it has been read, so has this.
            own_daemon.api().get("/healthz", key=None)
            own_daemon.process.send_signal(signal.SIGTERM)
            assert own_daemon.process.wait(30) == 0
        own_daemon.start()
        eventually(lambda: own_daemon.metrics()["postbackd_callbacks_delivered_total"] == 100, 60)
        assert sorted(receiver.ids()) == sorted("rate-%d" % i for i in range(100))
        stopping, again = logged_at(own_daemon, "stopping")[0], logged_at(own_daemon, "listening")[1]
        tried = [moment(attempt["At"]) for i in range(100)
                 for attempt in own_daemon.api().callback("rate-%d" % i, account.partner_id)["Attempts"]]
        assert [at for at in tried if stopping + timedelta(seconds=0.5) < at < again] == []
    finally:
        receiver.close()


def outcomes_that_wait(daemon, receiver):
    """Callbacks go on beside a lock on the database, until memory for their outcomes is full."""
    account = Account(daemon, receiver.url, MaxConcurrency=64)
    for k in range(4):
        events = [account.event("w-%d-%d" % (k, i), SessionId="s" * 900) for i in range(4000)]
        daemon.api().post("/api/v1/events", events, timeout=60)
    locker = sqlite3.connect(daemon.directory / "store" / "postbackd.db", timeout=30, isolation_level=None)
    locker.execute("BEGIN IMMEDIATE")

    def rests():
        before = len(receiver.requests)
        time.sleep(1)
        return len(receiver.requests) == before and daemon.metrics()["postbackd_attempts_in_flight"] == 0
    eventually(rests, 120, what="no further callback is sent")
    return locker


@pytest.mark.sqlite("a lock on its file")
def test_a_stop_records_what_a_locked_database_holds_up(own_daemon):
    """The journal takes it: the next start sends no callback twice."""
    receiver = Receiver(lambda request: (200, {}, b"y" * 4000))
    d = own_daemon.start()
    try:
        locker = outcomes_that_wait(d, receiver)
        assert len(receiver.ids()) < 16000
        d.process.send_signal(signal.SIGTERM)
        assert d.process.wait(60) == 0
        locker.close()
        d.start()
        eventually(lambda: d.metrics()["postbackd_callbacks_pending"] == 0, 120)
        assert sorted(receiver.ids()) == sorted(set(receiver.ids())) and len(receiver.ids()) == 16000
    finally:
        receiver.close()

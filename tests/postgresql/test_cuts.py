"""A connection is cut at any message, in either direction, and again while what was cut is done
again: nothing is lost, nothing is counted twice, and nobody has to do anything."""
import itertools
import os
import threading

import pytest
from harness import Account, eventually
from names import NamesProxy
from outbox import check_all
from postgresql import sql

STEP = int(os.environ.get("POSTBACKD_STEP", "3"))  # 1: every message
SEED = int(os.environ.get("POSTBACKD_SEED", "0"))


class Cut(OSError):
    """As if the network had done it."""


class CuttingProxy(NamesProxy):
    """Counts the messages of all connections, by direction, and cuts the one that has the n-th."""

    def __init__(self, uri):
        self.passed = {"asked": 0, "answered": 0}
        self.armed = None  # [direction, messages still to pass, of how many, cuts still to make]
        self.cuts = 0
        super().__init__(uri)

    def arm(self, direction, n, times):
        with self.lock:
            self.armed = [direction, n, n, times]

    def disarm(self):
        with self.lock:
            self.armed = None

    def count(self, direction):
        with self.lock:
            self.passed[direction] += 1
            if not self.armed or self.armed[0] != direction:
                return
            self.armed[1] -= 1
            if self.armed[1] > 0:
                return
            self.armed[1] = self.armed[2]
            self.armed[3] -= 1
            if self.armed[3] == 0:
                self.armed = None
            self.cuts += 1
        raise Cut

    def asked(self, number, kind, whole):
        self.count("asked")
        return whole

    def answered(self):
        def change(number, kind, whole):
            self.count("answered")
            return whole
        return change


@pytest.fixture
def proxy(database):
    p = CuttingProxy(database)
    yield p
    p.close()


class Sender:
    def __init__(self, daemon, account):
        self.daemon, self.account, self.numbers, self.ids = daemon, account, itertools.count(), []

    def send(self, receiver):
        """A few events, until they are taken and delivered."""
        ids = ["e-%d" % next(self.numbers) for _ in range(3)]
        events = [self.account.event(event_id) for event_id in ids]

        def taken():
            answer = self.daemon.api().post("/api/v1/events", events, timeout=90)
            assert answer.status in (202, 429, 503), answer
            return answer.status == 202 and answer.json
        found = eventually(taken, 60)
        assert found["Accepted"] + found["Duplicates"] == len(ids) and found["Rejected"] == [], found
        eventually(lambda: set(ids) <= set(receiver.ids()), 60, what="they are delivered")
        self.ids += ids


@pytest.mark.parametrize("direction", ["asked", "answered"])
def test_events_and_outcomes_outlive_a_cut_at_any_message(proxy, database, database_daemon, receiver,
                                                          direction):
    database_daemon.uri = proxy.uri
    daemon = database_daemon.start()
    sender = Sender(daemon, Account(daemon, receiver.url))
    sender.send(receiver)
    before = proxy.passed[direction]
    for _ in range(3):
        sender.send(receiver)
    most = (proxy.passed[direction] - before) // 3
    assert most > 50
    for n in range(1 + SEED % STEP, most + STEP, STEP):
        proxy.arm(direction, n, times=2)
        sender.send(receiver)
        assert daemon.process.poll() is None, n
    eventually(lambda: proxy.armed is None, 30)
    # On a slow machine the first sends saw more of the keeper's messages than the later ones, which then
    # end before the last messages: two cuts for each are asked for, one for every second one is enough.
    assert proxy.cuts >= most // STEP // 2
    check_all(daemon, sender.account, receiver, sender.ids)
    eventually(lambda: daemon.api().get("/healthz", key=None).json["Status"] == "ok", 30)
    daemon.restart()
    check_all(daemon, sender.account, receiver, sender.ids)


@pytest.mark.parametrize("direction", ["asked", "answered"])
def test_claims_and_pages_outlive_a_cut_at_any_message(proxy, database, database_daemon, receiver,
                                                       direction):
    """The node loses all shards, claims them again, and pages what waits in their lanes."""
    database_daemon.uri = proxy.uri
    database_daemon.schedule = ",".join(["2s"] * 60)  # however long it stays down
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    down = threading.Event()
    receiver.answer = lambda request: 500 if down.is_set() else 200
    ids = []
    for n in range(1 + SEED % 4, 60, STEP * 4):
        down.set()
        ids.append("e-%d" % n)
        daemon.api().events([account.event(ids[-1])])
        receiver.wait_for(ids[-1])
        proxy.arm(direction, n, times=2)
        sql(database, "UPDATE shard SET node=0,fence=fence+1")
        eventually(lambda: proxy.armed is None, 30)
        down.clear()
        eventually(lambda: sql(database, "SELECT count(*) FROM shard WHERE node=0") == "0", 30,
                   what="the shards are claimed")
        daemon.api().wait_state(ids[-1], account.partner_id, "delivered", 120)
        assert daemon.process.poll() is None, n
    check_all(daemon, account, receiver, ids)

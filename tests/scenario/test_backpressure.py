"""Bounds that are reached: events are refused with Retry-After, the probes say why, what was
acknowledged stays, callbacks go on, and all is well again once there is room."""
import concurrent.futures
import os
import sqlite3
import threading
import time

import pytest

from harness import Account, Daemon, Receiver, eventually
from private import private_disk

MIB = 1 << 20


def post(daemon, events):
    answer = daemon.api().post("/api/v1/events", events, timeout=20)
    if answer.status != 202:
        assert answer.status in (429, 503), answer
        assert int(answer.headers["Retry-After"]) > 0
    return answer


def assert_not_ready(daemon, bound):
    ready = daemon.api(None).get("/readyz")
    assert ready.status == 503 and "(%s)" % bound in ready.json["detail"], ready
    health = daemon.api(None).get("/healthz")
    assert health.status == 200
    assert [f["Check"] for f in health.json["Failures"]] == ["intake"]
    metrics = daemon.metrics()
    assert metrics["postbackd_store_accepting"] == 0
    assert metrics['postbackd_requests_refused_total{bound="%s"}' % bound] >= 1


@pytest.mark.sqlite("--disk-reserve, of its directory")
def test_the_disk_reserve_refuses_before_anything_breaks(tmp_path):
    """400 MiB, of which a quarter is kept: the daemon lives on in it, and goes on delivering."""
    with private_disk(tmp_path / "small", 400 * MIB) as resize:
        says = {"status": 503}
        receiver = Receiver(answer=lambda request: says["status"])
        d = Daemon(tmp_path / "small", "--disk-reserve", "100", "--reads-per-minute", "100000",
                   schedule=",".join(["1s"] + ["2s"] * 60))
        try:
            d.start()
            a, waits = Account(d), Account(d, receiver.url)
            d.api().events([waits.event("w-%d" % i) for i in range(30)])
            # somebody else fills the disk
            with open(tmp_path / "small" / "foreign", "wb") as foreign:
                free = os.statvfs(tmp_path / "small").f_bavail * 4096
                foreign.write(b"x" * max(0, free - 90 * MIB))
            refused = eventually(lambda: (lambda r: r if r.status != 202 else None)(
                post(d, [a.event("x-%d" % time.monotonic_ns())])), step_s=0.1)
            assert refused.status == 503
            assert "reserve" in refused.json["detail"]
            assert_not_ready(d, "disk_reserve")
            assert d.metrics()["postbackd_disk_free_bytes"] < 100 * MIB
            # what is owed goes out, and becomes durable
            says["status"] = 200
            for i in range(30):
                d.api().wait_state("w-%d" % i, waits.partner_id, "delivered", 90)
            # accounts can be changed, and callbacks resent
            a.patch(Name="another")
            assert d.api().post("/api/v1/callbacks/w-1/resend", query={"partnerId": waits.partner_id}).status == 202
            assert d.process.poll() is None
            resize(800 * MIB)
            eventually(lambda: d.api(None).get("/readyz").status == 200, 30)
            assert post(d, [a.event("after")]).status == 202
            assert "disk_reserve_reached" in d.log_text() and "disk_reserve_free_again" in d.log_text()
            d.restart()
            assert d.api().callback("after", a.partner_id)["State"] == "skipped"
        finally:
            d.stop()
            receiver.close()


@pytest.mark.sqlite("a lock on its file")
def test_a_lock_on_the_database_is_told_and_outlived(own_daemon):
    """What is acknowledged meanwhile is kept, by a kill too; the probe names the bound within moments."""
    receiver = Receiver()
    d = own_daemon.start()
    a = Account(d, receiver.url)
    locker = sqlite3.connect(d.directory / "store" / "postbackd.db", timeout=30, isolation_level=None)
    locker.execute("BEGIN IMMEDIATE")
    d.api().events([a.event("l-%d" % i) for i in range(20)])  # there is room in memory
    ready = eventually(lambda: (lambda r: r if r.status == 503 else None)(d.api(None).get("/readyz")), 30)
    assert ready.json["detail"].startswith("The server is not ready (database): ")
    d.api().events([a.event("l-more")])  # not ready, but there is still room: nothing is refused
    assert '"level":"error","event":"apply_blocked"' in d.log_text()
    for i in range(20):
        receiver.wait_for("l-%d" % i)  # callbacks go on
    d.kill()
    locker.execute("ROLLBACK")
    d.start()
    for i in range(20):
        d.api().wait_state("l-%d" % i, a.partner_id, "delivered")
    locker.execute("BEGIN IMMEDIATE")
    d.api().events([a.event("again")])
    eventually(lambda: d.api(None).get("/readyz").status == 503, 30)
    locker.execute("ROLLBACK")
    eventually(lambda: d.api(None).get("/readyz").status == 200, 30)
    assert d.api().callback("again", a.partner_id)["State"] == "delivered"
    assert "apply_goes_on" in d.log_text()
    locker.close()
    receiver.close()


@pytest.mark.sqlite("a lock on its file")
def test_who_waits_for_a_locked_database_is_told(own_daemon):
    """Within a minute, while the lock is held: reads, and an erasure, whose end is not known."""
    d = own_daemon.start()
    a = Account(d)
    locker = sqlite3.connect(d.directory / "store" / "postbackd.db", timeout=30, isolation_level=None)
    locker.execute("BEGIN IMMEDIATE")
    d.api().events([a.event("l")])
    query = {"partnerId": a.partner_id}
    asks = [("GET", "/api/v1/callbacks/l", None), ("GET", "/api/v1/callbacks", None),
            ("GET", "/api/v1/rewards", None), ("GET", "/api/v1/reports/earnings", None),
            ("POST", "/api/v1/panelists/erase", {"PanelistId": "p"})]
    with concurrent.futures.ThreadPoolExecutor(len(asks)) as pool:
        said = list(pool.map(lambda ask: d.api().request(ask[0], ask[1], ask[2], query=query, timeout=75), asks))
    assert [s.status for s in said] == [503] * len(asks), said
    assert all(int(s.headers["Retry-After"]) > 0 for s in said)
    assert "not known yet" in said[-1].json["detail"]
    locker.execute("ROLLBACK")
    assert d.api().callback("l", a.partner_id)["State"] == "skipped"
    locker.close()


@pytest.mark.sqlite("its groups and memtables")
def test_memory_is_bounded_under_the_largest_events(own_daemon):
    """They come as fast as they are taken, and their callbacks go out meanwhile."""
    receiver = Receiver()
    d = own_daemon.start()
    accounts = [Account(d, receiver.url) for _ in range(20)]
    text = '"' * 1024

    def flood(thread):
        for begin in range(0, 5000, 900):
            a = accounts[(begin // 900 + thread) % len(accounts)]
            events = [a.event("%s-%d-%d" % ("l" * 100, thread, i), "offer_completed", PanelistId='"' * 256,
                              OfferTitle=text, OfferGoalId=text, SessionId=text) for i in range(begin, begin + 900)]
            eventually(lambda: d.api().post("/api/v1/events", events, timeout=120).status == 202, 60)
    threads = [threading.Thread(target=flood, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    d.check_resident(192 << 10, "VmHWM")
    receiver.close()


@pytest.mark.sqlite("its groups and memtables")
def test_memory_is_bounded_whatever_a_request_makes(own_daemon):
    """A reversal of 90 bytes copies 3 KB from its original and prints them again, escaped."""
    count, text = 6000, '"' * 1024
    receiver = Receiver()
    d = own_daemon.start()
    a = Account(d, receiver.url, Enabled=False)  # what is owed waits
    for begin in range(0, count, 1000):
        d.api().events([a.event("o-%d" % i, "offer_completed", PanelistId='"' * 256, OfferTitle=text,
                                OfferGoalId=text, SessionId=text) for i in range(begin, begin + 1000)], timeout=120)
    reversals = [{"EventId": "r-%d" % i, "Type": "offer_completion_reversed", "ClientId": a.client,
                  "OriginalRewardId": "o-%d" % i} for i in range(count)]
    assert d.api().events(reversals, timeout=120)["Accepted"] == count
    d.check_resident(192 << 10, "VmHWM")
    d.kill()
    d.start()
    assert d.api().events(reversals, timeout=120)["Duplicates"] == count
    receiver.close()


def test_as_many_wait_as_may(own_daemon):
    says = {"status": 503}
    receiver = Receiver(answer=lambda request: says["status"])
    own_daemon.options += ["--waiting-most", "100"]
    own_daemon.schedule = ",".join(["1s"] + ["2s"] * 60)
    d = own_daemon.start()
    a = Account(d, receiver.url)
    d.api().events([a.event("w-%d" % i) for i in range(150)])  # the bound is looked at between requests
    refused = eventually(lambda: (lambda r: r if r.status != 202 else None)(
        post(d, [a.event("x-%d" % time.monotonic_ns())])), step_s=0.1)
    assert refused.status == 429
    assert "wait" in refused.json["detail"]
    assert_not_ready(d, "waiting")
    says["status"] = 200
    eventually(lambda: d.api(None).get("/readyz").status == 200, 60)
    eventually(lambda: post(d, [a.event("after")]).status == 202, step_s=0.2)
    receiver.wait_for("after")
    receiver.close()


def test_responses_are_counted(own_daemon):
    d = own_daemon.start()
    assert d.api().get("/nowhere").status == 404
    assert d.api().get("/nowhere").status == 404
    assert d.metrics()['postbackd_http_responses_total{status="404"}'] == 2

"""Reports and the log from a read replica: never behind what was acknowledged, and from the primary
while the replica is stopped, late or none any more."""
import http.client
import signal
import threading
import time
from urllib.parse import quote

import pytest
from harness import Account, eventually
from nodes import DatabaseDaemon
from postgresql import Cluster, Replica, new_database, sql


class Pair:
    def __init__(self):
        self.primary = Cluster().start()
        self.replica = Replica(self.primary).start()
        self.database = new_database(self.primary.uri(), "postbackd")

    def at_replica(self):
        return self.replica.uri("postbackd")

    def pause(self):
        sql(self.at_replica(), "SELECT pg_wal_replay_pause()")
        eventually(lambda: sql(self.at_replica(), "SELECT pg_get_wal_replay_pause_state()") == "paused",
                   30)

    def resume(self):
        sql(self.at_replica(), "SELECT pg_wal_replay_resume()")

    def remove(self):
        self.replica.signal(signal.SIGCONT)
        self.replica.remove()
        self.primary.remove()


@pytest.fixture(scope="module")
def shared():
    """For those that leave it as it was."""
    p = Pair()
    yield p
    p.remove()


@pytest.fixture
def pair():
    p = Pair()
    yield p
    p.remove()


def of(tmp_path, pair, *options):
    return DatabaseDaemon(tmp_path, pair.database, "--read-replica", pair.at_replica(), *options)


def replica(daemon):
    answer = daemon.api().get("/api/v1/system")
    assert answer.status == 200, answer
    return answer.json["ReadReplica"]


def is_now(daemon, state):
    answer = daemon.api().get("/api/v1/system")  # behind a failover it may be refused
    return answer.status == 200 and answer.json["ReadReplica"]["State"] == state


def wait_state(daemon, state):
    eventually(lambda: is_now(daemon, state), 30, what="the replica is " + state)


def conversions(daemon, account):
    answer = daemon.api().get("/api/v1/reports/conversions", query={"partnerId": account.partner_id})
    assert answer.status == 200, answer
    return sum(row["Conversions"] for row in answer.json["Rows"])


def warned(daemon):
    answer = daemon.api(None).get("/healthz")
    assert answer.status == 200 and answer.json["Status"] == "ok", answer
    return [w["Check"] for w in answer.json.get("Warnings", [])]


def check_reads(daemon, account, event_id):
    """Everything that the replica may answer."""
    partner = {"partnerId": account.partner_id}
    api = daemon.api()
    day = api.callback(event_id, account.partner_id)["CreatedAt"][:10]
    found = api.get("/api/v1/callbacks", query=dict(partner, rewardId=event_id))
    assert [c["RewardId"] for c in found.json["Items"]] == [event_id], found
    assert api.get("/api/v1/statements", query=dict(partner, day=day)).status == 200
    assert api.get("/api/v1/intraday", query=dict(partner, day=day)).status == 200
    assert api.get("/api/v1/rewards", query=partner).status == 200


def test_what_is_acknowledged_is_in_the_next_read_of_the_replica(tmp_path, shared, receiver):
    # Patient: it shows that what is read is right, not that this machine is quick.
    daemon = of(tmp_path, shared, "--read-replica-max-lag", "60000")
    try:
        account = Account(daemon.start(), receiver.url)
        wait_state(daemon, "used")
        before = replica(daemon)["Reads"]
        for n in range(1, 31):
            daemon.api().events([account.event("e-%d" % n)])
            assert conversions(daemon, account) == n
            assert daemon.api().callback("e-%d" % n, account.partner_id)["RewardId"] == "e-%d" % n
        check_reads(daemon, account, "e-1")
        now = replica(daemon)
        assert now["Reads"] >= before + 60 and now["ReadsPassedOn"] == 0
        assert warned(daemon) == []
        metrics = daemon.metrics()
        assert metrics["postbackd_read_replica_used"] == 1
        assert metrics["postbackd_read_replica_reads_total"] >= now["Reads"]
        # It is the replica that was asked: reports of the daemon's database were read there.
        assert int(sql(shared.at_replica(), "SELECT count(*) FROM pg_stat_activity WHERE"
                                            " application_name='postbackd'")) >= 2
        # Replaying stands still: a read waits, and is right when it is answered.
        shared.pause()
        try:
            daemon.api().events([account.event("late")])
            found = []
            reader = threading.Thread(target=lambda: found.append(conversions(daemon, account)))
            reader.start()
            eventually(lambda: daemon.metrics()["postbackd_read_replica_lag_seconds"] > 0, 30)
            assert found == []
        finally:
            shared.resume()
        reader.join(60)
        assert found == [31]
    finally:
        daemon.stop()


def test_a_replica_that_is_late_is_not_waited_for(tmp_path, shared, receiver):
    daemon = of(tmp_path, shared)
    try:
        account = Account(daemon.start(), receiver.url)
        wait_state(daemon, "used")
        shared.pause()
        try:
            for n in range(1, 11):
                daemon.api().events([account.event("l-%d" % n)])
                assert conversions(daemon, account) == n
            wait_state(daemon, "behind")
            check_reads(daemon, account, "l-1")
            assert warned(daemon) == ["read_replica"]
            assert replica(daemon)["ReadsPassedOn"] > 0
            assert daemon.metrics()["postbackd_read_replica_used"] == 0
            assert "read_replica_behind" in daemon.log_text()
        finally:
            shared.resume()
        wait_state(daemon, "used")
        assert conversions(daemon, account) == 10
        assert warned(daemon) == []
    finally:
        daemon.stop()


def test_a_replica_that_goes_away_costs_no_reader_an_error(tmp_path, pair, receiver):
    daemon = of(tmp_path, pair)
    try:
        account = Account(daemon.start(), receiver.url)
        wait_state(daemon, "used")
        count = 0
        for end in (pair.replica.kill, pair.replica.stop):
            end()
            for _ in range(5):
                count += 1
                daemon.api().events([account.event("g-%d" % count)])
                assert conversions(daemon, account) == count
            check_reads(daemon, account, "g-1")
            wait_state(daemon, "away")
            assert warned(daemon) == ["read_replica"]
            assert "read_replica_away" in daemon.log_text()
            pair.replica.start()
            wait_state(daemon, "used")
        assert conversions(daemon, account) == count
        # Promoted, it goes its own way: what it has is not this store's any more.
        pair.replica.promote()
        wait_state(daemon, "away")
        daemon.api().events([account.event("after")])
        assert conversions(daemon, account) == count + 1
        check_reads(daemon, account, "after")
        daemon.restart()  # a replica that is not there keeps nobody from starting
        wait_state(daemon, "away")
        assert conversions(daemon, account) == count + 1
    finally:
        daemon.stop()


def test_a_replica_that_hangs_is_left(tmp_path, pair, receiver):
    daemon = of(tmp_path, pair)
    try:
        account = Account(daemon.start(), receiver.url)
        wait_state(daemon, "used")
        pair.replica.signal(signal.SIGSTOP)
        daemon.api().events([account.event("h")])
        assert conversions(daemon, account) == 1
        wait_state(daemon, "away")
        pair.replica.signal(signal.SIGCONT)
        wait_state(daemon, "used")
    finally:
        daemon.stop()


def test_a_stop_does_not_wait_for_a_replica_that_hangs(tmp_path, pair, receiver):
    daemon = of(tmp_path, pair)
    try:
        account = Account(daemon.start(), receiver.url)
        wait_state(daemon, "used")
        daemon.api().events([account.event("s")])
        for _ in range(5):
            check_reads(daemon, account, "s")  # its connections are open, as a new one is given up soon
        day = daemon.api().callback("s", account.partner_id)["CreatedAt"][:10]

        def read(path):
            try:
                daemon.api().get(path, query={"partnerId": account.partner_id, "day": day}, timeout=100)
            except (OSError, http.client.HTTPException):
                pass  # the stop cuts it off

        readers = [threading.Thread(target=read, args=("/api/v1/" + name,)) for name in ("statements", "intraday")]
        pair.replica.signal(signal.SIGSTOP)
        for reader in readers:
            reader.start()
        wait_state(daemon, "away")
        began = time.monotonic()
        daemon.stop(timeout_s=30)
        print("stopped in %.1f s" % (time.monotonic() - began))
    finally:
        daemon.stop()


def test_the_replica_of_another_store_is_not_read(tmp_path, shared, pair, receiver):
    other = DatabaseDaemon(tmp_path / "other", shared.database)
    daemon = DatabaseDaemon(tmp_path / "own", pair.database, "--read-replica", shared.at_replica())
    try:
        Account(other.start(), receiver.url)
        account = Account(daemon.start(), receiver.url)
        wait_state(daemon, "away")
        daemon.api().events([account.event("mine")])
        assert conversions(daemon, account) == 1
        eventually(lambda: "another store" in daemon.log_text(), 30)
    finally:
        daemon.stop()
        other.stop()


def test_the_replica_of_another_cluster_is_not_read(tmp_path, pair, receiver):
    """Of the same server and installation, so that only the store's own id tells them apart."""
    second = new_database(pair.primary.uri(), "second")
    daemon = DatabaseDaemon(tmp_path, pair.database, "--store-cluster", second, "--read-replica",
                            pair.replica.uri("second"))
    try:
        account = Account(daemon.start(), receiver.url)
        wait_state(daemon, "away")
        eventually(lambda: "another store" in daemon.log_text(), 30)
        daemon.api().events([account.event("mine")])
        assert conversions(daemon, account) == 1
    finally:
        daemon.stop()


def with_standby(pair, tmp_path, at_replica):
    """The store on a primary and a standby of it, whichever is the primary."""
    hosts = ",".join(quote(str(c.folder), safe="") for c in (pair.primary, pair.replica))
    return DatabaseDaemon(tmp_path, "postgresql:///postbackd?user=postgres&host=" + hosts,
                          "--read-replica", at_replica)


def wait_reading(daemon, account):
    """Until what reads has a connection to the new primary."""
    eventually(lambda: daemon.api().get("/api/v1/reports/conversions", query={
        "partnerId": account.partner_id}).status == 200, 60)


def test_a_replica_that_did_not_follow_a_failover_is_not_read(tmp_path, pair, receiver):
    """It has more than the new primary, and other things."""
    left = Replica(pair.primary)
    daemon = with_standby(pair, tmp_path, left.uri("postbackd"))
    try:
        left.start()
        account = Account(daemon.start(), receiver.url)
        wait_state(daemon, "used")
        daemon.api().events([account.event("f-1")])
        assert conversions(daemon, account) == 1
        written = sql(pair.primary.uri(), "SELECT pg_current_wal_flush_lsn()")
        eventually(lambda: sql(pair.replica.uri(), "SELECT pg_last_wal_replay_lsn()>='%s'" % written)
                   == "t", 30)
        pair.replica.stop()
        sql(pair.primary.uri("postbackd"),
            "CREATE TABLE much AS SELECT repeat('x',1000) FROM generate_series(1,20000)")
        assert conversions(daemon, account) == 1  # what the replica has as well
        pair.primary.kill()
        pair.replica.start()
        pair.replica.promote()
        eventually(lambda: daemon.api().post("/api/v1/events", account.event("f-2")).status == 202, 60)
        wait_reading(daemon, account)
        for _ in range(3):
            assert conversions(daemon, account) == 2
        wait_state(daemon, "behind")
    finally:
        daemon.stop()
        left.remove()


def test_a_replica_that_followed_a_failover_is_read_again(tmp_path, pair, receiver):
    behind = Replica(pair.replica)
    daemon = with_standby(pair, tmp_path, behind.uri("postbackd"))
    try:
        behind.start()
        account = Account(daemon.start(), receiver.url)
        wait_state(daemon, "used")
        pair.primary.kill()
        pair.replica.promote()
        eventually(lambda: daemon.api().post("/api/v1/events", account.event("f-1")).status == 202, 60)
        wait_reading(daemon, account)
        assert conversions(daemon, account) == 1

        def used():
            for server in (pair.replica, behind):
                sql(server.uri(), "CHECKPOINT")
            return is_now(daemon, "used")
        eventually(used, 60)
        reads = replica(daemon)["Reads"]
        assert conversions(daemon, account) == 1
        assert replica(daemon)["Reads"] > reads
    finally:
        daemon.stop()
        behind.remove()

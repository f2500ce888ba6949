"""Leases that end while their nodes live: no callback comes twice, whoever is back first."""
import threading
import time

import nodes
from harness import eventually
from postgresql import Session, sql

# A renewal of a node that is named here is refused, or its commit takes so many seconds.
HOLD = """
CREATE TABLE hold(name text PRIMARY KEY, refuse bool NOT NULL, commit_s float8 NOT NULL);
CREATE FUNCTION refuse_renewal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS(SELECT FROM hold h WHERE h.name=NEW.name AND h.refuse) THEN
    RAISE EXCEPTION 'refused by the test' USING ERRCODE='serialization_failure';
  END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION delay_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_sleep(commit_s) FROM hold h WHERE h.name=NEW.name;
  DELETE FROM hold h WHERE h.name=NEW.name;
  RETURN NULL;
END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON node FOR EACH ROW EXECUTE FUNCTION refuse_renewal();
CREATE CONSTRAINT TRIGGER delay AFTER UPDATE ON node DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION delay_commit();
"""

# For how long a node has been waiting for a lock.
LOCK_WAIT = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp()-query_start)),0) FROM pg_stat_activity
WHERE application_name='%s' AND wait_event_type='Lock'
"""


class Load:
    """Two nodes that deliver, and two outboxes."""

    def __init__(self, cluster, receiver):
        self.cluster, self.receiver = cluster, receiver
        self.nodes = [cluster.start(name) for name in "ab"]
        cluster.wait_even("a", "b")
        self.accounts = cluster.accounts(8, receiver.url, self.nodes[0])
        self.outboxes = [nodes.Outbox(cluster, self.accounts) for _ in range(2)]
        for outbox in self.outboxes:
            outbox.start()
        self.wait_more()

    def wait_more(self):
        for outbox in self.outboxes:
            outbox.wait_more()

    def check(self):
        """Each callback arrived once."""
        for outbox in self.outboxes:
            outbox.end()
        ids = [event_id for outbox in self.outboxes for event_id in outbox.acknowledged]
        twice = nodes.check_all(self.nodes[0], self.accounts, self.receiver, ids)
        print("%d events acknowledged, %d callbacks came twice" % (len(ids), twice))
        assert twice == 0


def lease_left_s(database, name):
    return float(sql(database, "SELECT extract(epoch FROM until-clock_timestamp()) FROM node"
                               " WHERE name='%s'" % name))


def test_a_claim_waits_for_a_renewal_that_is_under_way(cluster, database, receiver):
    """Node b has renewed its lease and read the shards, but the commit takes until a has seen the
    old lease end."""
    load = Load(cluster, receiver)
    sql(database, HOLD)
    for _ in range(2):
        sql(database, "INSERT INTO hold VALUES('b',true,2.5)")
        eventually(lambda: lease_left_s(database, "b") < 0.5, 20, what="b's lease is nearly over")
        sql(database, "UPDATE hold SET refuse=false")
        eventually(lambda: sql(database, "SELECT count(*) FROM hold") == "0", 20,
                   what="b's renewal is committed")
        assert cluster.sum("postbackd_shards_held", "a", "b") <= nodes.SHARDS
        load.wait_more()
        cluster.wait_even("a", "b")
    load.check()


def test_a_claim_that_cannot_lock_the_owner_disturbs_nothing(cluster, database, receiver):
    """The row of b stays locked for longer than its lease: a can neither claim its shards nor know
    whether it has renewed, and goes on with its own."""
    load = Load(cluster, receiver)
    with Session(database) as session:
        session.say("BEGIN; SELECT name FROM node WHERE name='b' FOR UPDATE;")
        waits, end = [], time.monotonic() + 10
        while time.monotonic() < end:
            waits.append(float(sql(database, LOCK_WAIT % "a")))
            time.sleep(0.1)
        session.begin_to_say("COMMIT;")
    assert max(waits) < 1
    load.wait_more()
    cluster.wait_even("a", "b")
    assert "database_away" not in load.nodes[0].log_text()
    load.check()


def test_a_locked_row_holds_up_no_other_takeover(cluster, database, receiver):
    """While the row of b is locked and its lease is over, a takes over what a killed node had."""
    load = Load(cluster, receiver)
    killed = cluster.start("c")
    cluster.wait_even("a", "b", "c")
    with Session(database) as session:
        session.say("BEGIN; SELECT name FROM node WHERE name='b' FOR UPDATE;")
        eventually(lambda: lease_left_s(database, "b") < 0, 20, what="b's lease is over")
        had = cluster.sum("postbackd_shards_held", "a", "c")
        killed.kill()
        eventually(lambda: cluster.sum("postbackd_shards_held", "a") >= had, 20, what="a has them")
        session.begin_to_say("COMMIT;")
    cluster.wait_even("a", "b")
    for outbox in load.outboxes:
        outbox.end()
    ids = [event_id for outbox in load.outboxes for event_id in outbox.acknowledged]
    nodes.check_all(load.nodes[0], load.accounts, receiver, ids)


def test_the_server_is_away_for_longer_than_a_lease(cluster, server, receiver):
    """Callbacks are under way when it stops: their outcomes wait in memory."""
    answering = threading.Event()
    answering.set()

    def answer(_):
        answering.wait(60)
        return 200

    receiver.answer = answer
    load = Load(cluster, receiver)
    answering.clear()
    eventually(lambda: min(n.metrics()["postbackd_attempts_in_flight"] for n in load.nodes) > 0, 30,
               what="both nodes have attempts under way")
    try:
        server.stop()
        answering.set()
        # What a node has in memory is answered until it has heard of no change since its lease ended, and some.
        eventually(lambda: {n.api().get("/api/v1/partners").status for n in load.nodes} == {503}, 60, 0.1,
                   what="the leases of both are over")
    finally:
        answering.set()
        server.start()
    load.wait_more()
    cluster.wait_even("a", "b")
    assert cluster.sum("postbackd_shards_lost_total", "a", "b") == 0
    assert cluster.sum("postbackd_outcomes_refused_total", "a", "b") == 0
    load.check()

"""Callbacks that the row of a hand-over carries: used without being looked up, and never a second
time where their node has been given them otherwise before the row came."""
import itertools
import signal

import nodes
import pytest
from harness import eventually
from postgresql import sql

# Rows that carry something are kept back while `holds` has a row, and put in again later: as if
# their node were slow to hear of them.
KEEP = """
CREATE TABLE holds();
CREATE TABLE kept(LIKE handover);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.callbacks IS NULL OR NOT EXISTS(SELECT FROM holds) THEN RETURN NEW; END IF;
  INSERT INTO kept SELECT NEW.*;
  RETURN NULL;
END $$;
CREATE TRIGGER keep BEFORE INSERT ON handover FOR EACH ROW EXECUTE FUNCTION keep();
"""
LET_GO = "DELETE FROM holds; INSERT INTO handover SELECT * FROM kept"


def shard_of_app(app_no):
    h = app_no * 2654435761 & 0xffffffff
    h = (h ^ h >> 15) * 2246822519 & 0xffffffff
    return (h ^ h >> 13) % nodes.SHARDS


class Pair:
    """Two nodes, and an account that b delivers to."""

    def __init__(self, cluster, database, receiver):
        self.cluster, self.database, self.receiver = cluster, database, receiver
        self.later = itertools.count()
        self.a, self.b = cluster.start("a"), cluster.start("b")
        cluster.wait_even("a", "b")
        for account in cluster.accounts(12, receiver.url, self.a):
            first = account.app_id + "-first"
            self.a.api().events([account.event(first)])
            receiver.wait_for(first)
            app_no = int(sql(database, "SELECT app_no FROM event WHERE event_id='%s'" % first))
            if self.owner(app_no) == "b":
                self.account, self.app_no = account, app_no
                break
        self.all_is_heard()
        sql(database, KEEP)

    def owner(self, app_no):
        return sql(self.database, "SELECT n.name FROM shard s JOIN node n ON n.node=s.node"
                                  " WHERE s.shard=%d" % shard_of_app(app_no)).strip()

    def accept(self, event_id, **fields):
        assert self.a.api().events([self.account.event(event_id, **fields)])["Accepted"] == 1

    def tell_without(self):
        """As a node of the former version tells of it, or a look for what is late."""
        sql(self.database, "INSERT INTO handover(account_no,shard,lane,due_ms,event_no,period)"
                           " SELECT account_no,shard,lane,due_ms,0,0 FROM kept")

    def hold(self):
        sql(self.database, "INSERT INTO holds DEFAULT VALUES")

    def let_go(self):
        assert int(sql(self.database, "SELECT count(*) FROM kept")) > 0
        sql(self.database, LET_GO)

    def all_is_heard(self):
        """What came before has been looked for: its rows are gone, and what came later has arrived."""
        eventually(lambda: sql(self.database, "SELECT count(*) FROM handover") == "0", 30)
        later = "later-%d" % next(self.later)
        self.accept(later)
        self.receiver.wait_for(later)

    def came_once(self, event_id):
        self.all_is_heard()
        assert len(self.receiver.of(event_id)) == 1

    def delivered(self, event_id):
        self.a.api().wait_state(event_id, self.account.partner_id, "delivered")


@pytest.fixture
def pair(tmp_path, database, receiver):
    cluster = nodes.Cluster(tmp_path, database)
    yield Pair(cluster, database, receiver)
    cluster.stop()


def test_what_is_carried_is_not_looked_up(pair):
    pair.hold()
    pair.accept("e-1")
    assert pair.receiver.of("e-1") == []
    sql(pair.database, "DELETE FROM body")  # whoever looked it up would find nothing to send
    pair.let_go()
    pair.receiver.wait_for("e-1")
    pair.delivered("e-1")
    pair.came_once("e-1")


def test_what_a_page_has_shown_does_not_come_twice(pair):
    pair.hold()
    pair.accept("e-1")
    pair.tell_without()
    pair.delivered("e-1")
    pair.let_go()
    pair.came_once("e-1")


def test_what_was_resent_meanwhile_does_not_come_twice(pair):
    pair.hold()
    pair.accept("e-1")
    for node in (pair.b, pair.a):  # it was told at once; it hears of it
        assert node.api().post("/api/v1/callbacks/e-1/resend",
                               query={"partnerId": pair.account.partner_id}).status == 202
        came = len(pair.receiver.wait_for("e-1", 1 if node is pair.b else 2))
        pair.delivered("e-1")
    pair.let_go()
    pair.all_is_heard()
    assert len(pair.receiver.of("e-1")) == came == 2


def test_what_was_claimed_meanwhile_does_not_come_twice(pair):
    pair.hold()
    pair.accept("e-1")
    pair.b.kill()
    eventually(lambda: pair.owner(pair.app_no) == "a", 40)
    pair.receiver.wait_for("e-1")
    pair.delivered("e-1")
    pair.let_go()
    pair.came_once("e-1")


def test_what_the_node_before_has_delivered_does_not_come_twice(pair):
    pair.hold()
    pair.accept("e-1")
    pair.tell_without()
    pair.delivered("e-1")
    pair.b.kill()
    eventually(lambda: pair.owner(pair.app_no) == "a", 40)
    pair.let_go()  # to a lane that knows of nothing
    pair.came_once("e-1")


def test_what_was_erased_meanwhile_does_not_come(pair):
    pair.all_is_heard()
    pair.b.process.send_signal(signal.SIGSTOP)  # for less than its lease
    try:
        pair.accept("e-1", PanelistId="gone")
        carried = "SELECT count(*) FROM handover WHERE callbacks IS NOT NULL"
        assert int(sql(pair.database, carried)) == 1
        assert pair.a.api().post("/api/v1/panelists/erase", {"PanelistId": "gone"},
                                 query={"partnerId": pair.account.partner_id}).status == 200
        assert int(sql(pair.database, carried)) == 0
    finally:
        pair.b.process.send_signal(signal.SIGCONT)
    pair.all_is_heard()
    assert pair.receiver.of("e-1") == []


def test_a_row_that_was_carried_before_an_erasure_is_looked_up(pair):
    """Its bytes are still there where the erasure and the hand-over were not seen apart."""
    pair.b.process.send_signal(signal.SIGSTOP)
    try:
        pair.hold()
        pair.accept("e-1", PanelistId="gone")
        assert pair.a.api().post("/api/v1/panelists/erase", {"PanelistId": "gone"},
                                 query={"partnerId": pair.account.partner_id}).status == 200
        pair.let_go()
    finally:
        pair.b.process.send_signal(signal.SIGCONT)
    pair.all_is_heard()
    assert pair.receiver.of("e-1") == []


def test_many_at_once_arrive_once_each(pair):
    ids = ["m-%d" % i for i in range(600)]  # more than a row has room for
    for at in range(0, 600, 200):
        pair.a.api().events([pair.account.event(i, PanelistId="u-" + i) for i in ids[at:at + 200]])
    eventually(lambda: set(ids) <= set(pair.receiver.ids()), 30)
    eventually(lambda: pair.b.metrics()["postbackd_callbacks_pending"] == 0, 30)
    pair.all_is_heard()
    assert sorted(i for i in pair.receiver.ids() if i.startswith("m-")) == sorted(ids)


def test_the_traceparent_is_carried_and_looked_up(pair):
    pair.hold()
    wanted = {}
    for event_id, tell in (("e-1", pair.tell_without), ("e-2", pair.let_go)):
        wanted[event_id] = "00-0af7651916cd43dd8448eb211c8031%02x-b7ad6b7169203331-01" % len(wanted)
        pair.a.api().events([pair.account.event(event_id)], headers={"traceparent": wanted[event_id]})
        assert pair.receiver.of(event_id) == []
        if tell == pair.let_go:
            sql(pair.database, "DELETE FROM body")  # whoever looked it up would find nothing to send
        tell()
        pair.receiver.wait_for(event_id)
    assert {event_id: pair.receiver.of(event_id)[0].header("traceparent") for event_id in wanted} == wanted

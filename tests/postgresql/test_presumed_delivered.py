"""Rows of `event` that presume delivery: an outcome of a first attempt that delivers takes the row of
`waiting` and leaves the event alone. Any other change of such a callback must lock that row, too.

The test's own session locks the row of `waiting`, so that both transactions wait for it."""
import threading
import time

import pytest
from harness import Account, Receiver, eventually
from nodes import DatabaseDaemon
from postgresql import Session, dump, sql

HOLD = "BEGIN; SELECT 'held' FROM waiting FOR UPDATE;"
BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type='Lock' AND datname=current_database()"
ERASES = BLOCKED + " AND query LIKE '%FOR UPDATE OF w%'"
TAKES = BLOCKED + " AND query LIKE 'DELETE FROM waiting%'"


class World:
    """A receiver that answers when it may, a daemon, and an account."""

    def __init__(self, tmp_path, database):
        self.gate = threading.Event()
        self.status = 200
        self.receiver = Receiver(lambda r: self.status if self.gate.wait(60) else 503)
        self.daemon = DatabaseDaemon(tmp_path, database).start()
        self.account = Account(self.daemon, self.receiver.url)
        self.account.patch(TimeoutSeconds=30)
        self.api, self.database = self.daemon.api(), database

    def begin(self, event_id="e", **more):
        """The callback's first attempt is under way."""
        before = len(self.receiver.requests)
        assert self.api.events([self.account.event(event_id, **more)])["Accepted"] == 1
        eventually(lambda: len(self.receiver.requests) > before)

    def blocked(self, statement, count="1"):
        eventually(lambda: sql(self.database, statement) == count, 20, what="it waits for the row of waiting")

    def state(self, event_id="e"):
        return self.api.callback(event_id, self.account.partner_id)["State"]

    def row(self, event_id="e"):
        return sql(self.database, "SELECT state,attempts,wait,due_ms FROM event WHERE event_id='%s'" % event_id)

    def wait(self, state, event_id="e"):
        return self.api.wait_state(event_id, self.account.partner_id, state)

    def books(self):
        """By state, without what is zero."""
        return sql(self.database, "SELECT state,sum(count) FROM book GROUP BY 1 HAVING sum(count)<>0 ORDER BY 1").split()

    def totals(self):
        return sql(self.database, "SELECT pending,delivered,dead FROM total")

    def close(self):
        self.gate.set()
        self.daemon.stop()
        self.receiver.close()


@pytest.fixture
def world(tmp_path, database):
    w = World(tmp_path, database)
    yield w
    w.close()


def in_background(call):
    result = []
    thread = threading.Thread(target=lambda: result.append(call()), daemon=True)
    thread.start()

    def wait():
        thread.join(60)
        return result[0]
    return wait


def test_a_delivery_leaves_the_row_as_it_is(world):
    world.begin()
    assert (world.row(), world.state(), world.totals()) == ("-1|||", "delivering", "1|0|0")
    world.gate.set()
    world.wait("delivered")
    assert (world.row(), world.totals()) == ("-1|||", "0|1|0")
    assert sql(world.database, "SELECT (SELECT count(*) FROM waiting),(SELECT count(*) FROM final_late)") == "0|0"
    assert world.books() == ["0|1", "3|1"]
    assert world.api.callback("e", world.account.partner_id)["AttemptCount"] == 1
    world.daemon.restart()
    assert world.state() == "delivered" and len(world.receiver.requests) == 1


def test_a_failure_a_resend_and_a_success_write_the_row(world):
    world.status = 503
    world.gate.set()
    world.begin()
    eventually(lambda: world.row().startswith("1|1|1|"), what="it failed, and waits")
    world.status = 200
    assert world.api.post("/api/v1/callbacks/e/resend", query={"partnerId": world.account.partner_id}).status == 202
    world.wait("delivered")
    assert world.row().startswith("3|2|") and world.totals() == "0|1|0" and world.books() == ["0|1", "3|1"]


@pytest.mark.parametrize("first", ["the outcome", "the erasure"])
def test_an_erasure_and_the_outcome_of_the_first_attempt_at_once(world, first):
    world.begin(PanelistId="zebra-the-panelist")
    with Session(world.database) as holder:
        assert holder.say(HOLD) == "held"

        def erase():
            return in_background(lambda: world.api.post("/api/v1/panelists/erase", {"PanelistId": "zebra-the-panelist"},
                                                        query={"partnerId": world.account.partner_id}))
        if first == "the outcome":
            world.gate.set()
            world.blocked(TAKES)
            erased = erase()
            world.blocked(BLOCKED, "2")
        else:
            erased = erase()
            world.blocked(ERASES)
            world.gate.set()
            world.blocked(BLOCKED, "2")
        holder.begin_to_say("COMMIT;")
        assert erased().status == 200
    eventually(lambda: world.totals().startswith("0|"), what="nothing waits")
    eventually(lambda: sql(world.database, "SELECT count(*) FROM attempt") == "1", what="the attempt is recorded")
    assert b"zebra" not in dump(world.database)
    assert sql(world.database, "SELECT count(*) FROM waiting") == "0"
    assert len(world.books()) == 2 and world.books()[0] == "0|1"
    time.sleep(0.2)
    assert len(world.receiver.requests) == 1


@pytest.mark.parametrize("first", ["the outcome", "the reversal"])
def test_a_reversal_and_the_outcome_of_its_original_at_once(world, first):
    """It is sent behind its original, once, whichever of the two comes first."""
    world.begin(kind="offer_completed")
    reversal = world.account.event("r", "offer_completion_reversed", OriginalRewardId="e")
    with Session(world.database) as holder:
        assert holder.say(HOLD) == "held"
        if first == "the outcome":
            world.gate.set()
            world.blocked(TAKES)
            taken = in_background(lambda: world.api.events([reversal]))
            world.blocked(BLOCKED, "2")
        else:
            taken = in_background(lambda: world.api.events([reversal]))
            world.blocked(BLOCKED)
            world.gate.set()
            world.blocked(BLOCKED, "2")
        holder.begin_to_say("COMMIT;")
        assert taken()["Accepted"] == 1
    world.wait("delivered", "r")
    assert world.state() == "delivered"
    assert world.receiver.ids() == ["e", "r"]
    assert world.totals() == "0|2|0"


def test_a_resend_while_the_first_attempt_is_under_way(world):
    """The answer that comes then answers it, too; the row says that there was a resend."""
    world.begin()
    assert world.api.post("/api/v1/callbacks/e/resend", query={"partnerId": world.account.partner_id}).status == 202
    assert world.row().startswith("1||1|") and world.state() == "delivering"
    world.gate.set()
    world.wait("delivered")
    assert world.row().startswith("3|1|") and sql(world.database, "SELECT count(*) FROM waiting") == "0"
    assert world.totals() == "0|1|0" and world.books() == ["0|1", "3|1"]


def test_what_the_first_attempt_waits_for_is_known_when_its_clock_was_behind(world):
    """The account's last acceptance is ahead, so that the request came before its event was accepted."""
    world.gate.set()
    world.begin("first")
    world.wait("delivered", "first")
    sql(world.database, "UPDATE account SET last_accepted_ms=extract(epoch FROM clock_timestamp())*1000+4500")
    world.begin("second")
    world.wait("delivered", "second")
    state, attempts, wait, due_ms = world.row("second").split("|")
    assert (state, attempts, wait) == ("-1", "", "") and due_ms
    assert sql(world.database, "SELECT accepted_ms>due_ms FROM event WHERE event_id='second'") == "t"


def test_lists_counts_and_statements_tell_them_apart(world):
    world.begin("waits")
    api, mine = world.api, {"partnerId": world.account.partner_id}

    def ids(**query):
        return [i["RewardId"] for i in api.get("/api/v1/callbacks", query=dict(mine, **query)).json["Items"]]

    world.status = 200
    assert ids(state="delivered") == [] and ids(state="delivering") == ["waits"]
    world.gate.set()
    world.wait("delivered", "waits")
    world.begin("next")
    world.wait("delivered", "next")
    assert ids(state="delivered") == ["next", "waits"] and ids(state="pending") == []
    assert ids(state="dead") == [] and ids() == ["next", "waits"]
    for states, count in (["delivered"], 2), (["dead"], 0):
        answer = api.post("/api/v1/callbacks/recover", query=mine, body={
            "From": "2020-01-01T00:00:00Z", "To": "2100-01-01T00:00:00Z", "States": states, "DryRun": True})
        assert (answer.status, answer.json["Matched"]) == (200, count), answer


READ = "SELECT coalesce(sum(idx_tup_read),0) FROM pg_stat_user_indexes WHERE relname='waiting'"
LISTED = "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE relname LIKE 'event\\_%'"


@pytest.mark.parametrize("filters", [{}, {"state": "delivered"}, {"class": "any"}])
def test_a_list_does_not_read_what_waits_for_others(world, filters):
    """The planner would read all of `waiting` into a hash, as it does for the events of a whole day."""
    world.gate.set()
    world.api.events([world.account.event("e-%d" % i) for i in range(300)])
    world.wait("delivered", "e-299")
    eventually(lambda: world.totals() == "0|300|0")
    sql(world.database, "INSERT INTO waiting SELECT 99,5*99+1,4000000000000+n,n,1,0,true,true FROM generate_series(1,20000) n")
    sql(world.database, "ANALYZE waiting")
    sql(world.database, "ANALYZE event")
    before = int(sql(world.database, READ))

    def listed():
        """Statistics come when a transaction ends, at most once a second."""
        was = int(sql(world.database, LISTED))
        answer = world.api.get("/api/v1/callbacks", query={"partnerId": world.account.partner_id, **filters})
        assert len(answer.json["Items"]) == (0 if "class" in filters else 50), answer
        return int(sql(world.database, LISTED)) > was
    eventually(listed, 20, what="lists are counted")
    assert int(sql(world.database, READ)) - before < 10000

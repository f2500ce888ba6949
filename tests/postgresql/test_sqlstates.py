"""No error of the database ends a daemon, whichever statement it comes from: what is refused is
told, what can be done again is, and everything else goes on."""
import collections
import itertools
import os
import random
import threading
import time

import pytest
from faults import FaultProxy
from harness import Account, eventually
from outbox import Operator, check_all
from postgresql import sql

SEED = int(os.environ.get("POSTBACKD_SEED", "14"))
ROUNDS = int(os.environ.get("POSTBACKD_ROUNDS", "1"))
STEPS, STEP_S = 8, 0.1  # how many statements are to fail at once, and how long until the next one is

# One or more of each class that a server, an extension or something in between may answer with.
STATES = ("0A000", "21000", "22000", "22021", "22P02", "23505", "23514", "24000", "25006", "25P02",
          "26000", "28000", "2D000", "34000", "38000", "39000", "3D000", "3F000", "40001", "40003",
          "40P01", "42501", "42601", "42703", "42P01", "44000", "53100", "53200", "53300", "54000",
          "55000", "55P03", "57014", "57P03", "58030", "58P01", "72000", "F0000", "HV000", "P0001",
          "XX000", "XX001", "XX002", "ZZ999", "08006", "08P01")


class Others(threading.Thread):
    """All that is asked of a daemon beside events, again and again: it is done, or refused so that it
    can be asked for again."""

    def __init__(self, daemon, account):
        super().__init__(daemon=True)
        self.api, self.account, self.failure = daemon.api(), account, None
        self.rounds = 0
        self.ending = threading.Event()

    def requests(self):
        of = {"partnerId": self.account.partner_id}
        day = time.strftime("%Y-%m-%d", time.gmtime())
        n = self.rounds
        events = "/api/v1/events"
        yield "POST", events, self.account.event("x-%d" % n, PanelistId="gone-%d" % n), {}
        yield "POST", events, self.account.event("o-%d" % n, "offer_completed", OfferId=1, OfferTitle="t"), {}
        yield "POST", events, self.account.event("r-%d" % n, "offer_completion_reversed",
                                                 OriginalRewardId="o-%d" % n), {}
        yield "POST", events, self.account.event("s-%d" % n, "survey_started"), {}
        yield "GET", "/api/v1/callbacks/x-%d" % n, None, of
        yield "POST", "/api/v1/callbacks/x-%d/resend" % n, {}, of
        yield "POST", "/api/v1/panelists/erase", {"PanelistId": "gone-%d" % n}, of
        yield "GET", "/api/v1/callbacks", None, dict(of, limit=5)
        yield "GET", "/api/v1/rewards", None, dict(of, limit=5)
        yield "GET", "/api/v1/reports/earnings", None, of
        yield "GET", "/api/v1/statements", None, dict(of, day=day)
        yield "GET", "/api/v1/intraday", None, dict(of, day=day)
        yield "GET", "/api/v1/apps/%s/endpoints" % self.account.app_id, None, of
        yield "PATCH", "/api/v1/apps/" + self.account.app_id, {"Name": "App %d" % n}, {}
        yield "GET", "/api/v1/audit", None, dict(of, limit=5)
        yield "POST", "/api/v1/callbacks/recover", {
            "From": "2020-01-01T00:00:00Z", "To": "2020-01-02T00:00:00Z", "States": ["dead"],
            "RatePerSecond": 100}, of

    def run(self):
        try:
            while not self.ending.is_set():
                for method, path, body, query in self.requests():
                    answer = self.api.request(method, path, body=body, query=query, timeout=90)
                    good = answer.status in (200, 202, 204, 404, 409) or (
                        answer.status in (429, 503) and int(answer.headers["Retry-After"]) > 0)
                    assert good, (method, path, answer)
                self.rounds += 1
        except Exception as problem:  # noqa: BLE001  (said by the test)
            self.failure = problem

    def end(self):
        self.ending.set()
        self.join(120)
        assert not self.is_alive()
        assert self.failure is None, repr(self.failure)


@pytest.fixture
def proxy(database):
    p = FaultProxy(database)
    yield p
    p.close()


def test_no_error_of_any_statement_ends_the_daemon(proxy, database, database_daemon, receiver):
    database_daemon.uri = proxy.uri
    database_daemon.options += ["--reads-per-minute", "1000000"]
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    operator, others = Operator(daemon, account, size=5), Others(daemon, account)
    operator.start()
    others.start()
    try:
        eventually(lambda: others.failure or others.rounds > 2 and len(operator.acknowledged) > 100, 60)
        assert others.failure is None, others.failure
        shapes = sorted(s for s in proxy.seen if s != "ROLLBACK")
        assert len(shapes) > 50 and "COMMIT" in shapes
        lot = random.Random(SEED)
        states = itertools.cycle(lot.sample(STATES, len(STATES)))
        failing = collections.deque()  # some are asked rarely: they have time until STEPS others have come
        for at, shape in enumerate(shapes * ROUNDS):
            state = next(states)
            proxy.fail(shape, state, times=lot.choice((1, 2, 5)))
            failing.append(shape)
            deadline = time.monotonic() + STEP_S
            while proxy.is_due(shape) and time.monotonic() < deadline:
                time.sleep(0.01)
            if len(failing) == STEPS:
                proxy.mend(failing.popleft())
            assert daemon.process.poll() is None, (SEED, at, shape, state, daemon.log_text()[-2000:])
        before, rounds = len(operator.acknowledged), others.rounds
        eventually(lambda: len(operator.acknowledged) > before + 100, 60, what="work goes on")
        eventually(lambda: others.rounds > rounds + 2, 60)
    finally:
        proxy.mend()
        operator.ending.set()
        others.ending.set()
    operator.end()
    others.end()
    assert len(proxy.spoiled) > 20, proxy.spoiled  # the others were not asked in time
    assert "statement_refused" in daemon.log_text()
    assert daemon.metrics()["postbackd_statements_refused_total"] > 0
    wanted = set(operator.acknowledged)
    eventually(lambda: wanted <= set(receiver.ids()), 60, what="all callbacks arrive")
    eventually(lambda: daemon.metrics()["postbackd_callbacks_pending"] == 0, 60)
    daemon.restart()
    books = daemon.api().get("/healthz", key=None).json
    assert books["Status"] == "ok", books


RAISE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF %s THEN RAISE EXCEPTION 'not this one' USING ERRCODE='%s'; END IF;
  RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER refuse BEFORE %s ON %s FOR EACH ROW EXECUTE FUNCTION refuse();
"""


def refuse(database, when, table, which, state):
    sql(database, RAISE % (which, state, when, table))


def allow(database):
    sql(database, "DROP FUNCTION refuse CASCADE")


def warned(daemon, path="/healthz"):
    found = daemon.api().get(path, key=None).json.get("Warnings", [])
    return [w["Detail"] for w in found if w["Check"] == "database_refuses"]


@pytest.mark.parametrize("state", ["XX000", "P0001", "53100"])
def test_a_request_that_is_refused_costs_the_others_nothing(database, database_daemon, receiver, state):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    refuse(database, "INSERT", "event", "NEW.panelist_id='poison'", state)
    operator = Operator(daemon, account, size=5)
    operator.start()
    poison = account.event("bad", PanelistId="poison")
    answers = []
    for _ in range(3):
        answers.append(daemon.api().post("/api/v1/events", [account.event("beside"), poison]))
    if state != "53100":
        assert state in warned(daemon)[0] and state in warned(daemon, "/readyz")[0]  # of the last minute
        assert '"sqlstate":"%s"' % state in daemon.log_text()
    before = len(operator.acknowledged)
    eventually(lambda: len(operator.acknowledged) > before + 50, 60)
    for answer in answers:
        assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
    allow(database)
    operator.end()
    assert daemon.api().events([account.event("beside"), poison])["Accepted"] == 2
    check_all(daemon, account, receiver, operator.acknowledged + ["beside", "bad"])


def test_an_item_whose_values_are_refused_is_rejected(database, database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    refuse(database, "INSERT", "event", "NEW.panelist_id='poison'", "22021")
    events = [account.event("e-%d" % i, PanelistId="poison" if i in (3, 17) else "p") for i in range(40)]
    answer = daemon.api().post("/api/v1/events", events)
    assert answer.status == 202, answer
    assert answer.json["Accepted"] == 38
    assert [(r["Index"], r["EventId"], r["Errors"][0]["Code"]) for r in answer.json["Rejected"]] == [
        (3, "e-3", "invalid"), (17, "e-17", "invalid")]
    check_all(daemon, account, receiver, [e["EventId"] for e in events if e["PanelistId"] == "p"])
    allow(database)
    assert daemon.api().events([events[3]])["Accepted"] == 1


OF_BAD = "EXISTS(SELECT FROM event e WHERE e.account_no=NEW.account_no AND e.event_no=NEW.event_no" \
    " AND e.event_id='bad')"
TAKEN_BAD = OF_BAD.replace("NEW", "OLD")


@pytest.mark.parametrize("when,table,which,state", [
    ("INSERT", "attempt", OF_BAD, "XX000"),
    ("DELETE", "waiting", TAKEN_BAD, "0A000"),
    ("DELETE", "waiting", TAKEN_BAD, "53100"),
])
def test_an_outcome_that_is_refused_waits_alone(database, database_daemon, receiver, when, table,
                                                which, state):
    """It is recorded when the database takes it, and its callback is not sent again meanwhile."""
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    refuse(database, when, table, which, state)
    ids = ["e-%d" % i for i in range(50)]
    daemon.api().events([account.event(i) for i in ids[:25] + ["bad"] + ids[25:]])
    for event_id in ids:
        daemon.api().wait_state(event_id, account.partner_id, "delivered")
    eventually(lambda: daemon.metrics()["postbackd_outcomes_set_aside"] == 1, 30)
    assert daemon.api().callback("bad", account.partner_id)["State"] in ("pending", "delivering")
    eventually(lambda: any("1 outcomes" in detail for detail in warned(daemon)))
    allow(database)
    daemon.api().wait_state("bad", account.partner_id, "delivered", 60)
    assert len(receiver.of("bad")) == 1
    check_all(daemon, account, receiver, ["bad", *ids])
    eventually(lambda: daemon.metrics()["postbackd_outcomes_set_aside"] == 0)


def test_a_daemon_with_a_refused_outcome_stops_in_order(database, database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    refuse(database, "DELETE", "waiting", TAKEN_BAD, "XX000")
    daemon.api().events([account.event("bad")])
    eventually(lambda: daemon.metrics()["postbackd_outcomes_set_aside"] == 1, 30)
    assert daemon.stop() == 1  # what it could not record is done again
    allow(database)
    daemon.start()
    daemon.api().wait_state("bad", account.partner_id, "delivered")


def test_a_commit_that_is_refused_for_ever_is_answered(database, database_daemon, receiver):
    """By something between that may have lost its answer: first it is found out that it did not happen."""
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    sql(database, """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.content IS NOT NULL AND current_setting('application_name')<>'' THEN
    RAISE EXCEPTION 'not this one' USING ERRCODE='XX000'; END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON event_key DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION refuse();""")
    answer = daemon.api().post("/api/v1/events", [account.event("e")])
    assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
    key = account.key("reports:read")  # other changes go on
    assert daemon.api(key).get("/api/v1/reports/earnings").status == 200
    allow(database)
    assert daemon.api().events([account.event("e")])["Accepted"] == 1
    check_all(daemon, account, receiver, ["e"])

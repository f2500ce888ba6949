"""Moving a store with everything in it: from SQLite to PostgreSQL, back, and on with the day's work."""
import os
import random
import re
import signal
import sqlite3
import subprocess
import time
from collections import Counter

import pytest
from harness import BINARY, MASTER_KEY, Account, Daemon, Receiver, eventually
from people import PASSWORD, Browser, person
from postgresql import new_database, sql
from shim import Clock, shimmed

DAY_S = 86400
# Nothing is too old, and whoever looks at everything asks often.
OPTIONS = ("--retain-bodies-days", "36500", "--retain-attempts-days", "36500",
           "--retain-panelists-days", "36500", "--reads-per-minute", "1000000")
# So many slots that what fails goes on failing for as long as a test lasts.
LONG = ",".join(["8s"] * 62 + ["1h"])
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
REPORTS = ("earnings", "arpdau", "survey-attempts", "conversions", "active-panelist")


def spawn_copy(source, target, *options, key=MASTER_KEY):
    env = {k: v for k, v in os.environ.items() if not k.startswith("POSTBACKD_")}
    if key:
        env["POSTBACKD_MASTER_KEY"] = key
    return subprocess.Popen([BINARY, "copy", "--store", source, "--to", target, *options], env=env,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def copy(source, target, *options, **more):
    process = spawn_copy(source, target, *options, **more)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def digests(out):
    return re.findall(r"^([0-9a-f]{64})  ", out, re.M)


def must_copy(source, target, *options, **more):
    status, out, err = copy(source, target, *options, **more)
    assert status == 0, err
    found = digests(out)
    assert len(found) == 2 and found[0] == found[1] and "equal" in out.splitlines(), out
    return found[0]


class StoreDaemon(Daemon):
    """On that very store, whatever the other tests keep their events in."""

    def __init__(self, directory, store=None):
        super().__init__(directory, *OPTIONS, env={"POSTBACKD_MASTER_KEY": MASTER_KEY}, schedule=LONG)
        self.directory.mkdir(parents=True)
        self.uri = store or "sqlite:%s" % (self.directory / "store")

    def store(self):
        return self.uri


@pytest.fixture
def places(server, database, tmp_path):
    """Daemons to be started: the first store, and its copies."""
    other = new_database(server.uri(), os.path.basename(tmp_path)[:50] + "_2")
    made = {"first": StoreDaemon(tmp_path / "first"), "second": StoreDaemon(tmp_path / "second"),
            "database": StoreDaemon(tmp_path / "database", database),
            "other": StoreDaemon(tmp_path / "other", other)}
    yield made
    for daemon in made.values():
        daemon.stop()


# --- a store with everything in it ----------------------------------------------------------------


class World:
    """What was put into the store, and what somebody may ask about it."""

    def __init__(self, daemon, tmp_path):
        self.refuse, self.given = True, []
        self.receiver = Receiver(self.answer)
        self.past(daemon, Clock(tmp_path / "clock"))
        self.present(daemon)

    def answer(self, request):
        reward_id = request.json["RewardId"]
        status = 503 if self.refuse and "wait" in reward_id else 410 if "gone" in reward_id else 200
        with self.receiver.lock:
            self.given.append((reward_id, status))
        return status

    def past(self, daemon, clock):
        """Two months ago, and a month ago: other periods of acceptance."""
        daemon.env.update(shimmed(SHIM_CLOCK=clock.path))
        clock.jump(-65 * DAY_S)
        daemon.start()
        self.a = Account(daemon, self.receiver.url, clients=("sdk", "monetization_api"),
                         DisqualificationReward=2, DisqualificationCap=2)
        self.b = Account(daemon, self.receiver.url, RewardDecimals=6, currency="0.35",
                         LegacyFields=True, ExtendedFields=True, NegativeAdHoc=True)
        self.send(daemon, self.a, [self.a.event("old-%d" % i, PanelistId="u-%d" % (i % 7)) for i in range(90)])
        daemon.stop()
        clock.jump(30 * DAY_S)
        daemon.start()
        self.send(daemon, self.b, [self.b.event("b-old-%d" % i, Mid="m") for i in range(20)])
        self.send(daemon, self.a, [self.a.event("mid-%d" % i) for i in range(20)])
        daemon.stop()
        daemon.env.pop("LD_PRELOAD", None)

    @staticmethod
    def send(daemon, account, events):
        daemon.api().events(events)
        for e in events:
            if e["Type"] != "survey_started":
                daemon.api().wait_state(e["EventId"], account.partner_id, "delivered", 40)

    def present(self, daemon):
        a, b = self.a, self.b
        daemon.start()
        api = daemon.api()
        self.key = a.key("reports:read", "callbacks:read")
        self.owner = person(daemon, "owner", a.partner_id).email
        now = [a.event("start-%d" % i, "survey_started", PanelistId="u-%d" % i) for i in range(5)]
        now += [a.event("lost-%d" % i, "survey_disqualified", PanelistId="u-1", Reason="no \"fit\"\nü")
                for i in range(4)]
        now += [a.event("full", "survey_completed", RevenueAmount="12.345678", SessionId="s \"1\" 😀",
                        ClientId=a.clients[1], Mid="mid-1"),
                a.event("test", IsTest=True), a.event("empty", SessionId=""),
                a.event("offer", "offer_completed", OfferGoalId="g-1", RevenueAmount="2.5"),
                a.event("click", "offer_clicked"), a.event("prof", "profiler_completed"),
                a.event("zero", "survey_completed", RevenueAmount="0")]
        self.send(daemon, a, now)
        self.send(daemon, a, [a.event("offer-back", "offer_completion_reversed", OriginalRewardId="offer",
                                      Reason="fraud")])
        self.send(daemon, b, [b.event("b-claw", "ad_hoc", Reward="-3.25", Reason="fraud",
                                      OriginalRewardId="b-old-1"),
                              b.event("b-new", RevenueAmount="999999.999999")])
        self.send(daemon, b, [b.event("erase-%d" % i, PanelistId="forget-me", SessionId="forget-me")
                              for i in range(3)])
        erased = api.post("/api/v1/panelists/erase", {"PanelistId": "forget-me"},
                          query={"partnerId": b.partner_id})
        assert erased.json["Erased"] == 3, erased
        imported = [dict(b.event("imported-%d" % i), Timestamp="2024-02-29T12:00:00Z") for i in range(5)]
        answer = api.post("/api/v1/events", imported, query={"deliver": "false"})
        assert answer.json["Accepted"] == 5, answer
        # One that was answered 410, another that is resent, one that waits for its turn.
        c = self.c = Account(daemon, self.receiver.url, clients=("iframe",))
        api.events([c.event("gone")])
        api.wait_state("gone", c.partner_id, "dead")
        resent = api.post("/api/v1/callbacks/zero/resend", query={"partnerId": a.partner_id})
        assert resent.status == 202, resent
        eventually(lambda: len(self.receiver.of("zero")) == 2)
        eventually(lambda: len(api.callback("zero", a.partner_id)["Attempts"]) == 2)
        recovery = api.post("/api/v1/callbacks/recover", query={"partnerId": c.partner_id}, body={
            "From": "2020-01-01T00:00:00Z", "To": "2020-01-02T00:00:00Z", "States": ["dead"],
            "RatePerSecond": 10})
        assert recovery.status == 202, recovery
        self.recovery = recovery.json["RecoveryId"]
        eventually(lambda: api.get("/api/v1/recoveries/" + self.recovery).json["State"] == "done")
        self.waiting = ["wait-%d" % i for i in range(8)]
        api.events([a.event("wait-0", "offer_completed"), *(a.event(i) for i in self.waiting[1:])],
                   headers={"traceparent": TRACEPARENT})
        eventually(lambda: any("wait" in i for i in self.receiver.ids()))
        api.events([a.event("wait-back", "offer_completion_reversed", OriginalRewardId="wait-0")])
        self.waiting.append("wait-back")
        self.known = {"full": now[9], "old-3": a.event("old-3", PanelistId="u-3"),
                      "imported-2": imported[2]}

    def look(self, daemon):
        """Everything that does not go on by itself."""
        api, found = daemon.api(), {}

        def get(path, key=None, **query):
            answer = (daemon.api(key) if key else api).get(path, query=query)
            assert answer.status == 200, (path, answer)
            return answer.json

        for account in (self.a, self.b, self.c):
            mine = {"partnerId": account.partner_id}
            for name in REPORTS:
                for tests in ("false", "true"):
                    rows = get("/api/v1/reports/" + name, startDate=day(-70), includeTest=tests, **mine)["Rows"]
                    found[account.partner_id, name, tests] = rows
            found[account.partner_id, "2024"] = get("/api/v1/reports/earnings", startDate="2024-02-01",
                                                    endDate="2024-03-10", **mine)["Rows"]
            for back in (0, -35, -65):
                statement = get("/api/v1/statements", day=day(back), **mine)["Items"]
                found[account.partner_id, "statement", back] = statement
            after, rewards = "", []
            while True:
                page = get("/api/v1/rewards", limit=37, **mine, **({"after": after} if after else {}))
                rewards += page["Items"]
                if not page["Items"]:
                    break
                after = page["Next"]
            found[account.partner_id, "cursor"] = after
            found[account.partner_id, "rewards"] = [still(r) for r in rewards]
            found[account.partner_id, "callbacks"] = {
                r["RewardId"]: still(api.callback(r["RewardId"], account.partner_id)) for r in rewards}
            for what in ("partners/%s", "partners/%s/apps", "partners/%s/keys"):
                found[what % account.partner_id] = get("/api/v1/" + what % account.partner_id)
            for key in found["partners/%s/keys" % account.partner_id]["Items"]:
                key.pop("LastUsedAt", None)  # reading with it is a use
            for what in ("apps/%s", "apps/%s/clients", "apps/%s/secret"):
                found[what % account.app_id] = get("/api/v1/" + what % account.app_id)
            found[account.partner_id, "of a panelist"] = [
                still(r) for r in get("/api/v1/callbacks", panelistId="u-1", limit=500, **mine)["Items"]]
        found["recovery"] = get("/api/v1/recoveries/" + self.recovery)
        found["key"] = get("/api/v1/reports/earnings", key=self.key)["Rows"]
        browser = Browser(daemon)
        signed = browser.sign_in(self.owner)
        assert signed.status == 200, signed
        assert browser.session()["SignedIn"] is True
        return found, get("/api/v1/audit", limit=500)["Items"]

    def check_known(self, daemon):
        """Events are remembered, with what they said."""
        for event in self.known.values():
            answer = daemon.api().post("/api/v1/events", event).json
            assert (answer["Accepted"], answer["Duplicates"], answer["Rejected"]) == (0, 1, []), answer
            answer = daemon.api().post("/api/v1/events", dict(event, PanelistId="somebody-else")).json
            assert [e["Code"] for e in answer["Rejected"][0]["Errors"]] == ["conflict"], answer

    def check_owed(self, daemon):
        """What waits is sent, once each, the reversal last; and nothing else ever again."""
        with self.receiver.lock:
            self.given.clear()
        self.refuse = False
        for reward_id in self.waiting:
            daemon.api().wait_state(reward_id, self.a.partner_id, "delivered", 90)
        after = "after-" + daemon.directory.name
        daemon.api().events([self.a.event(after)])
        self.receiver.wait_for(after, timeout_s=40)
        with self.receiver.lock:
            sent = [reward_id for reward_id, status in self.given if status == 200]
        assert Counter(sent) == Counter(self.waiting + [after])
        assert sent.index("wait-back") > sent.index("wait-0")
        assert {r.header("traceparent") for r in self.receiver.of("wait-1")} == {TRACEPARENT}
        self.refuse = True


def day(back):
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() + back * DAY_S))


def still(callback):
    """Without what a daemon goes on changing by itself."""
    if callback["State"] in ("pending", "delivering"):
        return {k: v for k, v in callback.items()
                if k not in ("State", "NextAttemptAt", "Attempts", "AttemptCount")}
    return callback


# --- there and back --------------------------------------------------------------------------------


def test_a_store_goes_to_postgresql_and_back(places, tmp_path):
    first, database, second = places["first"], places["database"], places["second"]
    world = World(first, tmp_path)
    was, audit = world.look(first)
    first.kill()  # a part of it is in the journal only
    there = must_copy(first.uri, database.uri)
    back = must_copy(database.uri, second.uri)
    assert there == back
    assert must_copy(first.uri, second.uri, "--check") == there
    for daemon in (database, second):
        daemon.start()
        now, log = world.look(daemon)
        assert now == was
        assert log[-len(audit):] == audit != []
        world.check_known(daemon)
        world.check_owed(daemon)
        eventually(lambda d=daemon: d.metrics()["postbackd_callbacks_pending"] == 0)
        assert daemon.metrics()["postbackd_books_wrong"] == 0
        daemon.stop()
    # Both went on by themselves: what they did is not the same.
    status, out, err = copy(database.uri, second.uri, "--check")
    assert status == 1 and "different" in out and "the stores differ, first in: " in err
    world.receiver.close()


# --- killed, stopped, disturbed ----------------------------------------------------------------------


def fill(daemon, count=40000):
    """Many events, without their callbacks; and some that are delivered."""
    daemon.start()
    account = Account(daemon, clients=("sdk", "sdk"))
    for first in range(0, count, 10000):
        answer = daemon.api().post("/api/v1/events", [
            {"EventId": "e-%d" % i, "Type": "survey_completed", "ClientId": account.clients[i % 2],
             "PanelistId": "u-%d" % (i % 999), "RevenueAmount": "0.%02d" % (i % 100)}
            for i in range(first, first + 10000)], query={"deliver": "false"}, timeout=120)
        assert answer.json["Accepted"] == 10000, answer
    daemon.stop()
    return account


def place_of(target):
    """How far an unfinished copy is; None: nothing is begun."""
    if target.startswith("sqlite:"):
        part = target[len("sqlite:"):] + "/postbackd.db.part"
        if not os.path.exists(part):
            return None
        db = sqlite3.connect("file:%s?mode=ro" % part, uri=True, timeout=20)
        try:
            row = db.execute("SELECT value FROM meta WHERE name='copy_position'").fetchone()
            return bytes(row[0]) if row else None
        except sqlite3.Error:
            return None  # not even its tables are there
        finally:
            db.close()
    if sql(target, "SELECT to_regclass('meta') IS NULL") == "t":
        return None
    return sql(target, "SELECT encode(value,'escape') FROM meta WHERE name='copy_position'") or None


def kill_when_moved(source, target):
    """A little later than it has gone on; or while it compares. False: it came to its end before."""
    before = place_of(target)
    process = spawn_copy(source, target)
    late = time.monotonic() + 3

    def moved():
        place = place_of(target)
        return (process.poll() is not None or place != before or time.monotonic() > late or
                str(place).lstrip("b'").startswith("5 "))

    eventually(moved, 60, 0.001, what="the copy goes on")
    time.sleep(random.random() * 0.03)  # wherever it is by then
    process.kill()
    _, err = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), err
    return process.returncode != 0


@pytest.mark.parametrize("direction", ["to_postgresql", "to_sqlite"])
def test_a_copy_that_is_killed_goes_on(places, direction):
    first, database, second = places["first"], places["database"], places["second"]
    account = fill(first)
    source, target = first.uri, database.uri
    if direction == "to_sqlite":
        must_copy(source, target)
        source, target = target, second.uri
    kills = 0
    while kills < 10 and kill_when_moved(source, target):
        kills += 1
    assert kills == 10
    daemon = second if direction == "to_sqlite" else database
    if direction == "to_postgresql":
        daemon.spawn()
        assert daemon.process.wait(40) == 1 and "is not finished" in daemon.log_text()
    status, out, err = copy(source, target)
    assert status == 0 and "40000 events" in out, err
    daemon.start()
    api = daemon.api()
    rows = api.get("/api/v1/reports/conversions", query={"partnerId": account.partner_id}).json["Rows"]
    assert sum(r["Conversions"] for r in rows) == 39600  # each hundredth earns nothing
    assert daemon.metrics()["postbackd_events_accepted_total"] == 40000


def test_a_stopped_copy_says_so(places):
    first, database = places["first"], places["database"]
    fill(first, 20000)
    process = spawn_copy(first.uri, database.uri)
    eventually(lambda: place_of(database.uri), 30, 0.001)
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "the same command goes on" in err, (out, err)
    assert "copying" in err and "of 20000 events" in err
    # what lacks events is no source: its copy would start, and take them once more
    status, _, err = copy(database.uri, places["second"].uri)
    assert status == 1 and "a copy into this database is not finished" in err, err
    must_copy(first.uri, database.uri)


def test_one_of_several_clusters_is_no_store_to_copy(places):
    first, database = places["first"], places["database"]
    fill(first, 10)
    must_copy(first.uri, database.uri)
    for name, value, said in (("cluster_1", "ab" * 16, "cluster 0 of several"), ("cluster", "01", "cluster 1 of several")):
        sql(database.uri, "INSERT INTO meta VALUES('%s','\\x%s')" % (name, value))
        status, _, err = copy(database.uri, places["second"].uri)
        assert status == 1 and said in err and "postbackd move" in err, err


def swapped(table, column, one, other):
    return "UPDATE %s a SET %s=b.%s FROM %s b WHERE (a.event_no,b.event_no) IN ((%d,%d),(%d,%d))" % (
        table, column, column, table, one, other, other, one)


def test_a_damaged_body_or_attempt_is_not_copied(places, receiver):
    first, database = places["first"], places["database"]
    first.start()
    a = Account(first, receiver.url)
    first.api().events([a.event("e-%d" % i) for i in range(10)])
    for i in range(10):
        first.api().wait_state("e-%d" % i, a.partner_id, "delivered")
    first.stop()
    must_copy(first.uri, database.uri)
    for table, column, said in (("body", "body", "the body of a callback cannot be read"),
                                ("attempt", "texts", "an attempt of a callback cannot be read")):
        damage = ("UPDATE {0} SET {1}=set_byte({1},length({1})-1,get_byte({1},length({1})-1)#1)"
                  " WHERE event_no=7").format(table, column)
        sql(database.uri, damage)
        for arguments in ((first.uri, database.uri, "--check"), (database.uri, first.uri + "-back-" + table)):
            status, _, err = copy(*arguments)
            assert status == 1 and said in err and "event=7" in err, err
        sql(database.uri, damage)
    for place, wrong in enumerate((13, 30000, -1)):  # a later version's, or damage
        sql(database.uri, "UPDATE attempt SET class=%d WHERE event_no=7" % wrong)
        status, _, err = copy(database.uri, "%s-class-%d" % (first.uri, place))
        assert status == 1 and "an attempt of a callback cannot be read" in err and "event=7" in err, err
    sql(database.uri, "UPDATE attempt SET class=0 WHERE event_no=7")
    must_copy(database.uri, first.uri + "-back-again")


def test_what_was_altered_is_found(places):
    first, database = places["first"], places["database"]
    first.start()
    receiver = Receiver()
    a = Account(first, receiver.url)
    first.api().events([a.event("e-%d" % i) for i in range(20)])
    for i in range(20):
        first.api().wait_state("e-%d" % i, a.partner_id, "delivered")
    receiver.close()
    first.stop()
    must_copy(first.uri, database.uri)
    for change, undo, named in (
            ("UPDATE event SET reward_micros=reward_micros+1 WHERE event_id='e-7'",
             "UPDATE event SET reward_micros=reward_micros-1 WHERE event_id='e-7'", "event e-7,"),
            (swapped("body", "body", 3, 4), swapped("body", "body", 3, 4), "number 3 of account"),
            (swapped("attempt", "texts", 5, 6), swapped("attempt", "texts", 5, 6), "number 5 of account"),
            ("UPDATE report SET live_survey_micros=live_survey_micros+1",
             "UPDATE report SET live_survey_micros=live_survey_micros-1", "the report of account"),
            ("UPDATE book SET count=count+1 WHERE state=3",
             "UPDATE book SET count=count-1 WHERE state=3", "the ledger of account"),
            ("UPDATE object SET document=document||' ' WHERE kind=3",
             "UPDATE object SET document=rtrim(document) WHERE kind=3", "object " + a.client),
            ("DELETE FROM attempt WHERE event_no=9", None, "number 9 of account")):
        sql(database.uri, change)
        status, out, err = copy(first.uri, database.uri, "--check")
        assert status == 1 and named in err, (change, err)
        found = digests(out)
        assert len(found) == 2 and found[0] != found[1]
        if undo:
            sql(database.uri, undo)


def test_what_was_altered_in_the_middle_is_not_taken_over(places):
    first, database = places["first"], places["database"]
    fill(first, 20000)
    assert kill_when_moved(first.uri, database.uri)
    eventually(lambda: kill_when_moved(first.uri, database.uri) and
               int(sql(database.uri, "SELECT count(*) FROM event")) > 0, 60)
    sql(database.uri, "UPDATE event SET panelist_id='u-0' WHERE event_no=2")
    for _ in range(2):
        status, out, err = copy(first.uri, database.uri)
        assert status == 1 and "event e-1, number 2 of account" in err, err
    database.spawn()
    assert database.process.wait(40) == 1 and "is not finished" in database.log_text()


# --- what is refused ----------------------------------------------------------------------------------


def test_stores_in_use_are_refused(places):
    first, database, second = places["first"], places["database"], places["second"]
    fill(first, 10000)
    second.start()
    status, _, err = copy(second.uri, database.uri)
    assert status == 1 and "another postbackd is running" in err
    status, _, err = copy(first.uri, second.uri)
    assert status == 1 and "another postbackd is running" in err
    second.stop()
    status, _, err = copy(first.uri, second.uri)
    assert status == 1 and "has a store in it already" in err
    database.start()
    for one, other in ((first.uri, database.uri), (database.uri, first.uri + "-new")):
        status, _, err = copy(one, other)
        assert status == 1 and "a postbackd is running on this database" in err, err
    Account(database)
    database.stop()
    status, _, err = copy(first.uri, database.uri)
    assert status == 1 and "has a store in it already" in err


def test_a_source_that_was_used_in_between_is_noticed(places):
    first, database, other = places["first"], places["database"], places["other"]
    account = fill(first, 20000)
    must_copy(first.uri, other.uri)
    for daemon, target in ((first, database.uri), (other, places["second"].uri)):
        while place_of(target) is None:  # a busy machine may not have begun yet
            assert kill_when_moved(daemon.uri, target)
        daemon.start()
        daemon.api().events([account.event("between")])
        daemon.stop()
        status, _, err = copy(daemon.uri, target)
        assert status == 1 and "has been in use since this copy began" in err, err


def test_what_will_not_do_is_said_before_anything_is_touched(places, tmp_path):
    first, database = places["first"], places["database"]
    fill(first, 10000)
    status, _, err = copy(first.uri, database.uri, key="ff" * 32)
    assert status == 1 and "the master key is another one" in err
    assert place_of(database.uri) is None
    for words, status, said in (
            ((first.uri, "nowhere:x"), 2, "to: nowhere:x: neither sqlite:DIR"),
            ((first.uri, "postgresql://u:geheim@127.0.0.1:1/x"), 1, "127.0.0.1"),
            (("sqlite:%s" % tmp_path, database.uri), 1, "there is no store in"),
            ((database.uri, "sqlite:%s" % (tmp_path / "new")), 1, "there is no store in this database")):
        found, _, err = copy(*words)
        assert found == status and said in err and "geheim" not in err, (words, err)
    done = subprocess.run([BINARY, "copy", "--store", first.uri], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 2 and "to needs" in done.stderr
    db = sqlite3.connect(first.directory / "store" / "postbackd.db")
    db.execute("PRAGMA user_version=7")
    db.close()
    status, _, err = copy(first.uri, database.uri)
    assert status == 1 and "has schema version 7" in err and "use the newer program" in err


def test_a_store_with_a_damaged_row_of_bodies_is_not_copied(places):
    """A copy without them would be equal to what can be read, and the damage could not be found there."""
    first, database = places["first"], places["database"]
    fill(first, 200)
    db = sqlite3.connect(first.directory / "store" / "postbackd.db")
    (table,), = db.execute("SELECT name FROM sqlite_schema WHERE name GLOB 'bodies_*'")
    block, bodies = db.execute("SELECT block,bodies FROM %s ORDER BY block LIMIT 1" % table).fetchone()
    db.execute("UPDATE %s SET bodies=? WHERE block=?" % table, (bodies[:-1] + bytes([bodies[-1] ^ 1]), block))
    db.commit()
    db.close()
    status, out, err = copy(first.uri, database.uri)
    assert status == 1 and "the bodies near event" in err and "restore it from a backup" in err, (out, err)


def test_a_key_file_is_told_of(places, tmp_path):
    first, database = places["first"], places["database"]
    del first.env["POSTBACKD_MASTER_KEY"]
    fill(first, 10000)
    status, _, err = copy(first.uri, database.uri, key=None)
    assert status == 0 and "master.key" in err and "POSTBACKD_MASTER_KEY" in err, err
    database.env["POSTBACKD_MASTER_KEY"] = (first.directory / "store" / "master.key").read_text()
    database.start()


def test_bodies_are_kept_for_as_long_in_every_store(places, receiver):
    first, database, second = places["first"], places["database"], places["second"]
    first.start()
    account = Account(first, receiver.url)
    first.api().events([account.event("e")])
    first.api().wait_state("e", account.partner_id, "delivered")
    first.stop()
    in_sqlite(first, "INSERT INTO final_late VALUES(1,20700)")
    must_copy(first.store(), database.store())
    assert sql(database.store(), "SELECT final_day FROM final_late") == "20700"
    must_copy(database.store(), second.store())
    assert in_sqlite(second, "SELECT segment,final_day FROM final_late") == [(1, 20700)]


def in_sqlite(daemon, text):
    db = sqlite3.connect(daemon.directory / "store" / "postbackd.db")
    try:
        rows = db.execute(text).fetchall()
        db.commit()
        return rows
    finally:
        db.close()

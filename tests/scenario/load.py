"""A daemon under load: events of every type from several threads to receivers of every mood, and
what must hold at the end, whatever was done to the daemon meanwhile."""
import datetime
import http.client
import json
import random
import threading
import time
from decimal import Decimal
from zlib import crc32

from books import FIELDS, amounts, report_rows
from harness import OPERATOR_KEY, Account, Daemon, eventually, sig
from recorder import Recorder

RATIO = Decimal("72.5")
LATE_S = 40  # a try that comes later than that passes slots of the schedule over (docs/state.md)
REASONS = {"delivered": (None,), "dead": ("attempts", "endpoint_down"), "skipped": ("no_url",)}
TYPES = ("survey_started", "survey_completed", "survey_disqualified", "profiler_completed", "ad_hoc",
         "offer_clicked", "offer_completed", "offer_completion_reversed")


def say(path, reward_id, seen):
    """/ok takes all; /moody refuses the first try of some; /never takes none."""
    if path == "/never":
        return 404
    return 404 if path == "/moody" and seen == 0 and crc32(reward_id.encode()) % 3 == 0 else 200


class World:
    """The accounts of a round and what has been sent, acknowledged and left open."""

    def __init__(self, directory, seed, threads=3, env=None, schedule="1s"):
        self.recorder = Recorder(say)
        self.daemon = Daemon(directory, "--reads-per-minute", "100000", schedule=schedule, env=env)
        self.tries = schedule.count(",") + 2
        self.daemon.start()
        self.accounts = {}
        for name, path in (("ok", "/ok"), ("moody", "/moody"), ("never", "/never"), ("none", None)):
            url = self.recorder.url(path) if path else None
            self.accounts[name] = Account(self.daemon, url, currency=str(RATIO), NegativeAdHoc=True,
                                          clients=("sdk", "monetization_api"))
        self.account_of = {c: a for a in self.accounts.values() for c in a.clients}
        self.now = datetime.datetime.now(datetime.timezone.utc)
        self.acknowledged, self.unanswered = {}, {}
        self.kills = []
        self.lost_answers = 0
        self.late = set()
        self.stop = threading.Event()
        self.failure = None
        self.posters = [Poster(self, i, seed) for i in range(threads)]
        for poster in self.posters:
            poster.start()

    def finish(self):
        """No more events; everything sent is answered."""
        self.stop.set()
        for poster in self.posters:
            poster.join(60)
            assert not poster.is_alive()
        assert self.failure is None, repr(self.failure)

    def close(self):
        self.stop.set()
        if self.daemon.process.poll() is None:
            self.daemon.kill()
        self.recorder.close()


class Poster(threading.Thread):
    """Posts batches of every type; an unanswered batch is sent again until it is answered, but for
    orphans, whose fate only the store knows."""

    def __init__(self, world, number, seed):
        super().__init__(daemon=True)
        self.world, self.number = world, number
        self.random = random.Random("%d/%d" % (seed, number))
        self.count = 0
        self.reversible = []
        self.connection = None
        self.last = None

    def run(self):
        try:
            while not self.world.stop.is_set():
                self.batch()
                time.sleep(self.random.uniform(0, 0.03))
        except BaseException as e:  # said by the test's thread
            self.world.failure = e

    def event(self, orphan):
        r = self.random
        name = r.choices(("ok", "moody", "never", "none"), (12, 4, 1, 1))[0]
        account = self.world.accounts[name]
        kind = r.choice(TYPES[1:7] if orphan else TYPES)
        if kind == "offer_completion_reversed" and not self.reversible:
            kind = "offer_completed"
        self.count += 1
        e = {"EventId": "t%d-%d" % (self.number, self.count), "Type": kind,
             "ClientId": r.choice(account.clients), "PanelistId": "user-%d" % r.randrange(400),
             "Timestamp": self.time(r.randrange(3 * 86400)), "SessionId": "s" * r.randrange(60)}
        if kind in ("survey_completed", "offer_completed", "profiler_completed"):
            e["RevenueAmount"] = str(Decimal(r.randrange(1, 5_000_000)).scaleb(-6))
        if kind == "survey_disqualified":
            e.update(Reward="0.1", RevenueAmount="0.013")
        if kind == "ad_hoc":
            e.update(Reward=str(r.randrange(-500, 500)), Reason="found in reconciliation")
        if r.randrange(50) == 0:
            e["IsTest"] = True
        if kind in ("offer_clicked", "offer_completed"):
            e.update(OfferId=r.randrange(1, 1 << 53), OfferTitle="Ein <Titel> ü")
        if kind == "offer_completed" and not orphan and not e.get("IsTest"):
            self.reversible.append(e)
        if kind == "offer_completion_reversed":
            original = self.reversible.pop(r.randrange(len(self.reversible)))
            e.update(OriginalRewardId=original["EventId"], ClientId=original["ClientId"])
            for name in ("PanelistId", "SessionId"):
                del e[name]
            e["PanelistId"] = original["PanelistId"]
            e.pop("IsTest", None)
        return e

    def time(self, seconds_ago):
        t = self.world.now - datetime.timedelta(seconds=seconds_ago)
        return t.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"

    def batch(self):
        orphan = self.random.randrange(6) == 0
        events = [self.event(orphan) for _ in range(self.random.randrange(1, 30))]
        by_id = {e["EventId"]: e for e in events}
        tries = 0
        while True:
            tries += 1
            found = self.post(events)
            if found:
                break
            if orphan:
                self.world.unanswered.update(by_id)
                return
            if self.world.daemon.process is None or tries > 600:
                raise AssertionError("no answer in %d tries" % tries)
            time.sleep(0.05)
        assert found["Rejected"] == [], found
        assert found["Accepted"] + found["Duplicates"] == len(events), found
        # A batch is stored whole or not at all, and what was never sent before is no duplicate.
        assert found["Duplicates"] in ((0,) if tries == 1 else (0, len(events))), found
        self.world.lost_answers += bool(found["Duplicates"])
        self.world.acknowledged.update(by_id)
        if self.last and self.random.randrange(10) == 0:
            again = self.post(self.last)
            assert not again or again["Duplicates"] == len(self.last), again
        self.last = events

    def post(self, events):
        """The answer's JSON, or None: no answer, or one that says nothing was stored."""
        if self.random.randrange(2):
            kind, body = "application/json", json.dumps(events)
        else:
            kind, body = "application/x-ndjson", "\n".join(map(json.dumps, events))
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.world.daemon.port,
                                                             timeout=30)
            self.connection.request("POST", "/api/v1/events", body.encode(), {
                "Content-Type": kind, "Authorization": "Bearer " + OPERATOR_KEY})
            r = self.connection.getresponse()
            text = r.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            return None
        if r.status in (429, 503):
            assert r.headers["Retry-After"]
            return None
        assert r.status == 202, (r.status, text)
        return json.loads(text)


def feed(world, account):
    """Every row of the account's rewards feed, as it is paged."""
    rows, after = [], None
    while True:
        query = {"partnerId": account.partner_id, "limit": 500}
        if after:
            query["after"] = after
        page = world.daemon.api().get("/api/v1/rewards", query=query)
        assert page.status == 200, page
        found = json.loads(page.body, parse_float=Decimal, parse_int=Decimal)
        if not found["Items"]:
            return rows
        rows += found["Items"]
        after = found["Next"]


def was_late(world, row):
    """Whether a try came so late that the schedule's slots may have passed: where the machine is so
    slow that a callback waits across many kills."""
    created = datetime.datetime.fromisoformat(row["CreatedAt"].replace("Z", "+00:00")).timestamp()
    requests = world.recorder.log.get(row["RewardId"], [])
    return bool(requests) and requests[-1][0] - created > LATE_S


def assert_feed(world, originals):
    """Each event of the store once, with its amounts and its final state; what the store has."""
    there = {}
    for name, account in world.accounts.items():
        wanted = {"ok": "delivered", "moody": "delivered", "never": "dead", "none": "skipped"}[name]
        for row in feed(world, account):
            event_id = row["RewardId"]
            assert event_id not in there, "listed twice: " + event_id
            event = originals[event_id]
            there[event_id] = event
            assert row["RewardType"] == event["Type"] and row["ClientId"] == event["ClientId"]
            assert (row["Reward"], row["RevenueAmount"]) == amounts(event, originals, RATIO), row
            if was_late(world, row):
                world.late.add(event_id)
            if name == "moody" and row["State"] == "dead":
                assert event_id in world.late, row
            else:
                assert row["State"] == wanted, row
            assert row["Reason"] in REASONS[row["State"]], row
    for event_id, event in world.acknowledged.items():
        if event["Type"] != "survey_started":
            assert event_id in there, "acknowledged and gone: %s" % event
    starts = {i: e for i, e in world.acknowledged.items() if e["Type"] == "survey_started"}
    assert not starts.keys() & there.keys()
    return {**there, **starts}


def assert_reports(world, stored, originals):
    start = (world.now - datetime.timedelta(days=5)).strftime("%Y-%m-%d")
    for account in world.accounts.values():
        mine = [e for e in stored.values() if world.account_of[e["ClientId"]] is account]
        for include_test in (False, True):
            wanted = report_rows(mine, originals, RATIO, include_test)
            for report, fields in FIELDS.items():
                answer = world.daemon.api().get("/api/v1/reports/" + report, query={
                    "partnerId": account.partner_id, "startDate": start,
                    "includeTest": "true" if include_test else "false"})
                assert answer.status == 200, answer
                rows = json.loads(answer.body, parse_float=Decimal, parse_int=Decimal)["Rows"]
                found = [tuple(row[f] for f in ("Day", "ClientId") + fields) for row in rows]
                assert found == wanted[report], (account.partner_id, report, include_test)


def assert_received(world, stored):
    """Each callback reached its receiver, signed; twice only across a kill. The duplicates."""
    duplicates, widest = 0, 0.0
    log = world.recorder.log
    for event_id, event in stored.items():
        account = world.account_of[event["ClientId"]]
        requests = log.get(event_id, [])
        if account is world.accounts["none"] or event["Type"] == "survey_started":
            assert not requests, event
            continue
        taken = [at for at, status, _ in requests if status == 200]
        if account is world.accounts["never"]:
            assert requests, event
            late = event_id in world.late
            assert late or len(requests) >= world.tries, (event, requests)  # the whole schedule
        elif account is world.accounts["ok"] or event_id not in world.late:
            assert taken, "acknowledged and never received: %s" % event
        for _, _, body in requests:
            found = json.loads(body, parse_float=Decimal, parse_int=Decimal)
            assert found["Sig"] == sig(event["PanelistId"], event_id, account.secret)
            assert (found["Reward"], found["RevenueAmount"]) == amounts(event, stored, RATIO)
            assert body.replace(found["Sig"].encode(), b"") == requests[0][2].replace(
                found["Sig"].encode(), b""), "a retry has other bytes"
        for first, second in zip(taken, taken[1:]):
            duplicates += 1
            between = [k for k in world.kills if first - 0.5 <= k <= second]
            assert between, "received twice without a kill: %s %r" % (event_id, taken)
            widest = max(widest, between[0] - first)
        if event["Type"] == "offer_completion_reversed" and taken:
            assert log[event["OriginalRewardId"]][0][0] <= requests[0][0], "reversal came first"
    assert not log.keys() - stored.keys(), "received what no store has"
    return duplicates, widest


def settled(world):
    assert world.failure is None, repr(world.failure)
    metrics = world.daemon.metrics()
    # What is not applied yet is not among those that wait.
    return not any(metrics[name] for name in ("postbackd_store_memtable_events",
                                              "postbackd_callbacks_pending",
                                              "postbackd_attempts_in_flight"))


def check(world):
    """Everything at once; what the store holds, the number of duplicates, and how long before a
    kill the earliest of them was answered."""
    eventually(lambda: settled(world), 120, 0.1, "nothing is pending")
    time.sleep(1)  # a commit that a kill has left under way at PostgreSQL is counted a moment later
    eventually(lambda: settled(world), 120, 0.1, "nothing is pending still")
    originals = {**world.acknowledged, **world.unanswered}
    stored = assert_feed(world, originals)
    assert_reports(world, stored, originals)
    return stored, *assert_received(world, stored)

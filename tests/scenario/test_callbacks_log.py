"""The log of callbacks, resending, test callbacks, the rewards feed, endpoint health."""
import itertools
import random
import re
import threading
import time
from datetime import timedelta

import pytest

from checks import DEAD_URL, all_pages, assert_problem, encode, now, spell
from harness import Account, Receiver, assert_signed, eventually
from schema import check_fits

serial = itertools.count(1)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SURVEYS = ["survey_completed", "survey_disqualified", "profiler_completed", "ad_hoc"]
OFFERS = ["offer_completed", "offer_clicked"]


def fresh():
    return "log-%d" % next(serial)


class Mixed:
    """An account with callbacks of every type and state, in two apps, and their order."""

    def __init__(self, daemon):
        self.receiver = Receiver(answer=lambda r: 404 if "dead" in r.json["RewardId"] else 200)
        self.account = a = Account(daemon, self.receiver.url, FailureCallbackUrl=None)
        self.api = daemon.api(a.key("callbacks:read", "callbacks:write", "panelists:erase", "apps:write"))
        answer = daemon.api().post("/api/v1/partners/%s/apps" % a.partner_id, {"AppId": "quiet", "CurrencyValue": 1})
        assert answer.status == 201, answer
        assert daemon.api().post("/api/v1/apps/quiet/clients", {"ClientId": "quiet-client"}).status == 201
        self.order, self.facts, self.at = [], {}, {}
        for round_no in range(4):
            if round_no == 2:
                time.sleep(0.05)
                self.middle = now()
                time.sleep(0.05)
            batch = []
            for kind in SURVEYS + OFFERS:
                for word in ("plain", "dead"):
                    event_id = "%s-%s-%d" % (word, kind, round_no)
                    batch.append(a.event(event_id, kind, PanelistId="panelist-%d" % (len(batch) % 3)))
            batch.append({"EventId": "reversal-%d" % round_no, "Type": "offer_completion_reversed",
                          "ClientId": a.client, "OriginalRewardId": "plain-offer_completed-%d" % round_no})
            batch.append({"EventId": "quiet-%d" % round_no, "Type": "ad_hoc", "Reward": 1,
                          "ClientId": "quiet-client", "PanelistId": "panelist-0"})
            batch.append(a.event("start-%d" % round_no, "survey_started"))
            daemon.api().events(encode(batch))
            for e in batch:
                if e["Type"] != "survey_started":
                    self.order.append(e["EventId"])
                    self.facts[e["EventId"]] = e
        eventually(lambda: self.list(state="pending") == self.list(state="delivering") == [], 30)

    def list(self, **query):
        items, _ = all_pages(self.api, "/api/v1/callbacks", 500, **query)
        return [i["RewardId"] for i in items]

    def wanted(self, test):
        """Ids whose event passes the test, newest acceptance first."""
        return [i for i in reversed(self.order) if test(self.facts[i])]


@pytest.fixture(scope="module")
def mixed(daemon):
    m = Mixed(daemon)
    yield m
    m.receiver.close()


def test_newest_first_and_every_page_once(mixed):
    assert mixed.list() == mixed.order[::-1]
    for limit in (1, 7, 50):
        items, pages = all_pages(mixed.api, "/api/v1/callbacks", limit)
        assert [i["RewardId"] for i in items] == mixed.order[::-1]
        assert pages >= len(mixed.order) // limit
    first = mixed.api.get("/api/v1/callbacks").json
    assert len(first["Items"]) == 50 and first["Next"]


def test_filters(mixed):
    def panelist(e):
        return e.get("PanelistId", mixed.facts.get(e.get("OriginalRewardId", ""), {}).get("PanelistId"))

    failing = [i for i in mixed.order if "dead" in i and "disqualified" not in i]
    skipped = [i for i in mixed.order if "disqualified" in i or "quiet" in i]
    for kind in SURVEYS + OFFERS + ["offer_completion_reversed"]:
        assert mixed.list(rewardType=kind) == mixed.wanted(lambda e: e["Type"] == kind) != []
    for name in ("panelist-0", "panelist-2"):
        assert mixed.list(panelistId=name) == mixed.wanted(lambda e: panelist(e) == name) != []
    assert mixed.list(state="dead") == mixed.wanted(lambda e: e["EventId"] in failing) != []
    assert mixed.list(state="skipped") == mixed.wanted(lambda e: e["EventId"] in skipped) != []
    assert mixed.list(state="delivered") == mixed.wanted(lambda e: e["EventId"] not in failing + skipped) != []
    assert mixed.list(appId="quiet") == mixed.wanted(lambda e: e["ClientId"] == "quiet-client") != []
    assert mixed.list(rewardId="plain-ad_hoc-1") == ["plain-ad_hoc-1"]
    assert mixed.list(rewardId="nothing") == mixed.list(panelistId="nobody") == []
    both = mixed.list(panelistId="panelist-0", state="skipped", appId="quiet", rewardType="ad_hoc")
    assert both == mixed.wanted(lambda e: e["ClientId"] == "quiet-client")
    assert mixed.list(rewardId="plain-ad_hoc-1", state="dead") == []
    items, _ = all_pages(mixed.api, "/api/v1/callbacks", 2, state="dead", rewardType="ad_hoc")
    assert [i["RewardId"] for i in items] == ["dead-ad_hoc-%d" % n for n in (3, 2, 1, 0)]


def test_from_and_to_are_by_acceptance(mixed):
    half = mixed.order[len(mixed.order) // 2:]
    for offset in (0, 330):
        middle = spell(mixed.middle, offset)
        assert mixed.list(**{"from": middle}) == half[::-1]
        assert mixed.list(to=middle) == mixed.order[:len(mixed.order) // 2][::-1]
    assert mixed.list(**{"from": spell(mixed.middle - timedelta(hours=1)),
                         "to": spell(mixed.middle + timedelta(hours=1))}) == mixed.order[::-1]
    assert mixed.list(**{"from": spell(mixed.middle + timedelta(hours=1))}) == []
    for long_ago in ("1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z"):  # moments like any other
        assert mixed.list(to=long_ago) == [] and mixed.list(**{"from": long_ago}) == mixed.order[::-1]


@pytest.mark.parametrize("query,name", [
    ("state=lost", "state"), ("state=", "state"), ("rewardType=survey_started", "rewardType"),
    ("rewardType=x", "rewardType"), ("from=yesterday", "from"), ("to=2026-11-20", "to"),
    ("from=2026-11-20T12:00:00", "from"), ("limit=0", "limit"), ("after=zzz", "after"), ("RewardId=x", "RewardId"),
    ("state=dead&state=dead", "state"), ("cursor=x", "cursor"), ("from=2026-11-21T00:00:00Z&to=2026-11-20T00:00:00Z", "from")])
def test_wrong_filters(mixed, query, name):
    assert_problem(mixed.api.get("/api/v1/callbacks?" + query), 400, name)


def test_pages_are_stable_under_inserts(daemon, receiver):
    a = Account(daemon)
    ids = [fresh() for _ in range(30)]
    daemon.api().events([a.event(i) for i in ids])
    api = daemon.api(a.key("callbacks:read"))
    seen, after = [], None
    while True:
        page = api.get("/api/v1/callbacks", query=dict(limit=4, **({"after": after} if after else {}))).json
        seen += [i["RewardId"] for i in page["Items"]]
        after = page["Next"]
        if not after:
            break
        daemon.api().events([a.event(fresh()), a.event(fresh())])
    assert seen == ids[::-1]


def test_detail_with_attempts(daemon):
    def answer(request):
        if len(receiver.requests) == 1:
            return 503, {"X-Which": "first", "Retry-After": "1"}, "zu spät ".encode() + b"\xff" + b"y" * 5000
        return 200, {"X-Which": "second"}, b"taken"

    receiver = Receiver(answer=answer)
    try:
        a = Account(daemon, receiver.url + "?x=1", currency="72.5")
        event_id = fresh()
        daemon.api().events(a.event(event_id, "ad_hoc", Reward="2", Reason="ticket 5", Timestamp=spell(now())))
        found = daemon.api().wait_state(event_id, a.partner_id, "delivered")
        assert set(found) >= {"RewardId", "AppId", "ClientId", "PanelistId", "RewardType", "State", "Reason", "Reward",
                              "RevenueAmount", "Url", "Body", "CreatedAt", "NextAttemptAt", "Attempts"}
        assert [found[k] for k in ("RewardId", "AppId", "ClientId", "PanelistId", "RewardType", "Reason", "Reward",
                                   "RevenueAmount", "Url", "NextAttemptAt")] == [
            event_id, a.app_id, a.client, "user-1", "ad_hoc", None, 2, 0, receiver.url + "?x=1", None]
        assert found["ReasonGiven"] == "ticket 5"  # for operators only
        assert "ReasonGiven" not in daemon.api(a.key("callbacks:read")).get("/api/v1/callbacks/" + event_id).json
        assert found["Body"].encode() == receiver.requests[0].body
        assert TIME.fullmatch(found["CreatedAt"])
        first, second = found["Attempts"]
        for attempt, request, status in ((first, receiver.requests[0], 503), (second, receiver.requests[1], 200)):
            assert set(attempt) == {"Number", "Manual", "At", "DurationMs", "Url", "Status", "Class", "Detail",
                                    "Method", "RequestBody", "RequestHeaders", "ResponseHeaders", "ResponseBody"}
            assert attempt["Manual"] is False and attempt["Status"] == status
            assert TIME.fullmatch(attempt["At"]) and 0 <= attempt["DurationMs"] < 30000
            sent = {k.lower(): v for k, v in attempt["RequestHeaders"].items()}
            for name in ("webhook-id", "webhook-timestamp", "webhook-signature", "postbackd-attempt", "user-agent"):
                assert sent[name] == request.header(name)
        assert (first["Number"], second["Number"]) == (1, 2)
        assert first["Class"] == "status" and "503" in first["Detail"] and second["Class"] is None
        assert {k.lower(): v for k, v in first["ResponseHeaders"].items()}["x-which"] == "first"
        assert first["ResponseBody"].startswith("zu spät \ufffdyyy")
        assert len(first["ResponseBody"].encode()) <= 4096 + 8  # the first 4 KiB, U+FFFD being three bytes
        assert second["ResponseBody"] == "taken"
        assert_problem(daemon.api().get("/api/v1/callbacks/nothing", query={"partnerId": a.partner_id}), 404)
    finally:
        receiver.close()


def test_attempts_that_had_no_answer_say_why(daemon):
    a = Account(daemon, DEAD_URL)
    event_id = fresh()
    daemon.api().events(a.event(event_id))
    found = daemon.api().wait_state(event_id, a.partner_id, "dead")
    assert len(found["Attempts"]) == 4  # the test schedule: three steps after the first try
    for n, attempt in enumerate(found["Attempts"], 1):
        assert (attempt["Number"], attempt["Class"], attempt["Status"]) == (n, "refused", None)
        assert len(attempt["Detail"]) > 10 and not attempt["ResponseHeaders"]


def test_a_start_owes_no_callback(daemon):
    a = Account(daemon, DEAD_URL)
    event_id = fresh()
    daemon.api().events(a.event(event_id, "survey_started"))
    assert_problem(daemon.api().get("/api/v1/callbacks/" + event_id, query={"partnerId": a.partner_id}), 404)
    assert daemon.api().get("/api/v1/callbacks", query={"partnerId": a.partner_id}).json["Items"] == []


# --- resend ----------------------------------------------------------------------------------

def resend(account, event_id):
    answer = account.daemon.api().post("/api/v1/callbacks/%s/resend" % event_id,
                                       query={"partnerId": account.partner_id})
    assert answer.status == 202, answer


def test_resend_of_a_delivered_one_is_one_extra_try(daemon):
    refuse = {"now": False}
    receiver = Receiver(answer=lambda r: 503 if refuse["now"] else 200)
    try:
        a = Account(daemon, receiver.url)
        event_id = fresh()
        daemon.api().events(a.event(event_id))
        daemon.api().wait_state(event_id, a.partner_id, "delivered")
        before = daemon.metrics()["postbackd_callbacks_delivered_total"]
        resend(a, event_id)
        first, second = receiver.wait_for(event_id, 2)
        assert first.body == second.body and first.header("webhook-id") == second.header("webhook-id")
        assert_signed(second, a.secret)
        found = eventually(lambda: len((c := daemon.api().callback(event_id, a.partner_id))["Attempts"]) == 2 and c)
        assert found["State"] == "delivered"
        assert [t["Manual"] for t in found["Attempts"]] == [False, True]
        assert second.header("postbackd-attempt") == "2"
        refuse["now"] = True
        resend(a, event_id)
        found = eventually(lambda: len((c := daemon.api().callback(event_id, a.partner_id))["Attempts"]) == 3 and c)
        assert found["State"] == "delivered" and found["Attempts"][2]["Status"] == 503
        eventually(lambda: endpoints(daemon, a)["success"]["Waiting"] == 0)  # no schedule was begun
        assert len(receiver.of(event_id)) == 3
        assert daemon.metrics()["postbackd_callbacks_delivered_total"] == before  # counted once
    finally:
        receiver.close()


def test_resend_of_a_dead_one_begins_a_fresh_schedule(daemon):
    refuse = {"now": True}
    receiver = Receiver(answer=lambda r: 404 if refuse["now"] else 200)
    try:
        a = Account(daemon, receiver.url)
        dead, revived = fresh(), fresh()
        daemon.api().events([a.event(dead), a.event(revived)])
        for event_id in (dead, revived):
            daemon.api().wait_state(event_id, a.partner_id, "dead")
        resend(a, dead)
        eventually(lambda: len(receiver.of(dead)) == 8)
        found = daemon.api().wait_state(dead, a.partner_id, "dead")
        assert [t["Number"] for t in found["Attempts"]] == list(range(1, 9))
        refuse["now"] = False
        resend(a, revived)
        daemon.api().wait_state(revived, a.partner_id, "delivered")
        assert len({r.body for r in receiver.of(revived)}) == 1
    finally:
        receiver.close()


def test_resend_of_skipped_ones(daemon, receiver):
    a = Account(daemon)
    none, imported = fresh(), fresh()
    daemon.api().events(a.event(none))
    daemon.api().events(a.event(imported), query={"deliver": "false"})
    assert daemon.api().callback(none, a.partner_id)["Reason"] == "no_url"
    assert daemon.api().callback(imported, a.partner_id)["Reason"] == "imported"
    resend(a, none)  # still without a URL: skipped again
    eventually(lambda: daemon.api().callback(none, a.partner_id)["State"] == "skipped")
    a.patch(SuccessCallbackUrl=receiver.url)
    for event_id in (none, imported):
        resend(a, event_id)
        assert_signed(receiver.wait_for(event_id)[0], a.secret)
        found = daemon.api().wait_state(event_id, a.partner_id, "delivered")
        assert found["Reason"] is None


def test_resend_of_a_pending_one_is_due_now(own_daemon):
    own_daemon.schedule = "1h,1h"
    d = own_daemon.start()
    refuse = {"now": True}
    receiver = Receiver(answer=lambda r: 404 if refuse["now"] else 200)
    try:
        a = Account(d, receiver.url)
        d.api().events(a.event("waiting"))
        found = eventually(lambda: d.api().callback("waiting", a.partner_id)["Attempts"]
                           and d.api().callback("waiting", a.partner_id))
        assert found["State"] == "pending" and found["NextAttemptAt"] > spell(now() + timedelta(minutes=50))
        refuse["now"] = False
        resend(a, "waiting")
        found = d.api().wait_state("waiting", a.partner_id, "delivered")
        assert len(found["Attempts"]) == 2
    finally:
        receiver.close()


def test_resend_of_nothing_is_404(mixed):
    assert_problem(mixed.api.post("/api/v1/callbacks/nothing/resend"), 404)
    assert_problem(mixed.api.post("/api/v1/callbacks/start-0/resend"), 404)


# --- test callbacks --------------------------------------------------------------------------

def test_a_test_callback_of_each_type(daemon, receiver):
    a = Account(daemon, receiver.url, LegacyFields=True)
    path = "/api/v1/apps/%s/test-callback" % a.app_id
    before = daemon.metrics()
    for kind in SURVEYS + OFFERS + ["offer_completion_reversed"]:
        answer = daemon.api().post(path, {"RewardType": kind, "PanelistId": "tester-ü", "Reward": "2.5",
                                          "RevenueAmount": 1})
        assert answer.status == 200, answer
        attempt = answer.json
        assert attempt["Status"] == 200 and attempt["Class"] is None and attempt["ResponseBody"] == "ok"
        request = receiver.requests[-1]
        assert request.json["RewardId"].startswith("test_")
        assert (request.json["RewardType"], request.json["PanelistId"]) == (kind, "tester-ü")
        assert request.json["IsTest"] is True
        assert request.header("postbackd-test") == "true"
        assert_signed(request, a.secret)
        assert (attempt["Body"].encode(), attempt["RewardId"]) == (request.body, request.json["RewardId"])
        assert request.json["Reward"] == {"offer_clicked": 0, "offer_completion_reversed": -2.5}.get(kind, 2.5)
    query = {"partnerId": a.partner_id}
    assert daemon.api().get("/api/v1/rewards", query=query).json["Items"] == []
    assert daemon.api().get("/api/v1/callbacks", query=query).json["Items"] == []
    for include in ("true", "false"):
        report = daemon.api().get("/api/v1/reports/conversions", query=dict(query, includeTest=include))
        assert report.json["Rows"] == []
    after = daemon.metrics()
    for name in ("postbackd_events_accepted_total", "postbackd_callbacks_delivered_total"):
        assert after[name] == before[name]
    assert len({r.json["RewardId"] for r in receiver.requests}) == 7


def test_a_test_callback_elsewhere_and_failing(daemon, receiver):
    a = Account(daemon)
    path = "/api/v1/apps/%s/test-callback" % a.app_id
    body = {"RewardType": "survey_completed", "PanelistId": "u"}
    for masked in ({}, {"Url": receiver.url.replace("//", "//***:***@")}):  # as a password is shown
        assert_problem(daemon.api().post(path, dict(body, **masked)), 400, "Url")
    answer = daemon.api().post(path, dict(body, Url=receiver.url))
    assert (answer.status, answer.json["Status"], answer.json["Url"]) == (200, 200, receiver.url)
    answer = daemon.api().post(path, dict(body, Url=DEAD_URL))
    assert (answer.status, answer.json["Status"], answer.json["Class"]) == (200, None, "refused")
    assert answer.json["Detail"]
    answer = daemon.api().post(path, dict(body, Url="http://10.0.0.1/"))  # nothing is sent there
    assert (answer.json["Status"], answer.json["Class"]) == (None, "destination_refused")
    broken = Receiver(answer=lambda r: (500, {}, b"Traceback"))
    try:
        answer = daemon.api().post(path, dict(body, Url=broken.url))
        assert (answer.json["Status"], answer.json["Class"], answer.json["ResponseBody"]) == (500, "status", "Traceback")
        a.patch(SuccessCallbackUrl=broken.url)
        daemon.api().events([a.event("one-try")])
        broken.wait_for("one-try", 2)  # a second try of the test would have come before this one
        assert len(broken.ids()) - len(broken.of("one-try")) == 1
    finally:
        broken.close()


@pytest.mark.parametrize("change,name", [
    ({"RewardType": "survey_started"}, "RewardType"), ({"RewardType": None}, "RewardType"),
    ({"PanelistId": ""}, "PanelistId"), ({"PanelistId": "x" * 257}, "PanelistId"), ({"Url": "ftp://x/"}, "Url"),
    ({"Url": "http://127.1/"}, "Url"), ({"Reward": "x"}, "Reward"), ({"Reward": "-1"}, "Reward"),
    ({"RevenueAmount": "0.0000001"}, "RevenueAmount"), ({"RewardId": "mine"}, "RewardId")])
def test_wrong_test_callbacks(daemon, mixed, change, name):
    body = dict({"RewardType": "survey_completed", "PanelistId": "u"}, **change)
    path = "/api/v1/apps/%s/test-callback" % mixed.account.app_id
    assert_problem(mixed.api.post(path, body), 400, name)
    for missing in ("RewardType", "PanelistId"):
        body = {"RewardType": "ad_hoc", "PanelistId": "u"}
        del body[missing]
        assert_problem(mixed.api.post(path, body), 400, missing)


# --- the rewards feed ------------------------------------------------------------------------

def test_the_feed_has_every_type_and_state_oldest_first(mixed):
    items, after = [], None
    while True:
        page = mixed.api.get("/api/v1/rewards", query=dict(limit=5, **({"after": after} if after else {}))).json
        assert page["Next"]
        items += page["Items"]
        if not page["Items"]:
            assert page["Next"]  # where to go on from, even where there is nothing yet
            break
        after = page["Next"]
    assert [i["RewardId"] for i in items] == mixed.order
    assert {i["State"] for i in items} == {"delivered", "dead", "skipped"}
    assert {i["RewardType"] for i in items} == set(SURVEYS + OFFERS + ["offer_completion_reversed"])
    reversal = [i for i in items if i["RewardId"] == "reversal-2"][0]
    assert (reversal["Reward"], reversal["RevenueAmount"]) == (-100, -1)


def test_pages_across_thousands_of_starts(daemon):
    """Starts owe no callback; where there are very many, pages are put together in another way."""
    a = Account(daemon)
    api, order, begin = daemon.api(), [], now()
    for n in range(3):
        daemon.api().events([a.event("rare-%d-%d" % (n, k), Timestamp=spell(begin)) for k in range(3)])
        order += ["rare-%d-%d" % (n, k) for k in range(3)]
        daemon.api().events([a.event("start-%d-%d" % (n, i), "survey_started") for i in range(9000)])
    query = {"partnerId": a.partner_id}
    for limit in (1, 4, 50):
        for more in ({}, {"from": spell(begin - timedelta(hours=1))}):
            items, _ = all_pages(api, "/api/v1/callbacks", limit, **query, **more)
            assert [i["RewardId"] for i in items] == order[::-1]
        for more in ({}, {"day": begin.strftime("%Y-%m-%d")}):
            found, after = [], {}
            while True:
                page = api.get("/api/v1/rewards", query=dict(query, limit=limit, **more, **after)).json
                if not page["Items"]:
                    break
                found += [i["RewardId"] for i in page["Items"]]
                after = {"after": page["Next"]}
            assert found == order


def test_no_row_appears_behind_a_cursor(daemon):
    """Readers follow the feed while four writers fill it: nobody misses a row or sees one twice."""
    a = Account(daemon, clients=("sdk",) * 4)
    posted, done = [], threading.Event()

    def write(n):
        r = random.Random(n)
        for i in range(40):
            batch = [dict(a.event("feed-%d-%d-%d" % (n, i, k)), ClientId=a.clients[n]) for k in range(r.randint(1, 20))]
            daemon.api().events(batch)
            posted.extend(e["EventId"] for e in batch)

    readers = [[] for _ in range(2)]

    def read(found):
        api, after = daemon.api(a.key("callbacks:read")), None
        while True:
            ending = done.is_set()
            page = api.get("/api/v1/rewards", query=dict(limit=50, **({"after": after} if after else {}))).json
            found += [i["RewardId"] for i in page["Items"]]
            after = page["Next"]
            if ending and not page["Items"]:
                return

    writers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    reading = [threading.Thread(target=read, args=(found,)) for found in readers]
    for t in reading + writers:
        t.start()
    for t in writers:
        t.join()
    done.set()
    for t in reading:
        t.join()
    assert len(posted) == len(set(posted)) > 500
    assert readers[0] == readers[1]
    assert len(readers[0]) == len(posted) and set(readers[0]) == set(posted)


def test_cursors_survive_a_restart(own_daemon):
    d = own_daemon.start()
    a = Account(d)
    d.api().events([a.event("r-%d" % i) for i in range(10)])
    query = {"partnerId": a.partner_id, "limit": 4}
    feed, log = d.api().get("/api/v1/rewards", query=query).json, d.api().get("/api/v1/callbacks", query=query).json
    d.kill()
    d.start()
    d.api().events(a.event("r-10"))
    rest = d.api().get("/api/v1/rewards", query=dict(query, limit=500, after=feed["Next"])).json["Items"]
    assert [i["RewardId"] for i in feed["Items"] + rest] == ["r-%d" % i for i in range(11)]
    rest = d.api().get("/api/v1/callbacks", query=dict(query, limit=500, after=log["Next"])).json["Items"]
    assert [i["RewardId"] for i in log["Items"] + rest] == ["r-%d" % i for i in range(9, -1, -1)]


def test_long_lists_are_whole(daemon):
    """They are printed in slices, between which the daemon does other things."""
    account = Account(daemon)
    names = ["r-%03d" % i for i in range(230)]
    assert daemon.api().events([account.event(n) for n in names])["Accepted"] == len(names)
    query = {"partnerId": account.partner_id, "limit": 500}
    assert [i["RewardId"] for i in daemon.api().get("/api/v1/rewards", query=query).json["Items"]] == names
    whole = daemon.api().get("/api/v1/callbacks", query=query).json
    assert [i["RewardId"] for i in whole["Items"]] == names[::-1] and whole["Next"] is None
    some = daemon.api().get("/api/v1/callbacks", query=dict(query, limit=101)).json
    assert [i["RewardId"] for i in some["Items"]] == names[::-1][:101] and some["Next"]
    users = []
    for i in range(120):
        answer = daemon.api().post("/api/v1/users", {"Email": "u%d@long.example" % i, "Role": "analyst"},
                                   query={"partnerId": account.partner_id})
        users.append(answer.json["User"]["UserId"])
    whole = daemon.api().get("/api/v1/users", query=query).json
    assert [u["UserId"] for u in whole["Items"]] == users[::-1] and whole["Next"] is None
    some = daemon.api().get("/api/v1/users", query=dict(query, limit=101)).json
    rest = daemon.api().get("/api/v1/users", query=dict(query, limit=19, after=some["Next"])).json
    assert [u["UserId"] for u in some["Items"] + rest["Items"]] == users[::-1] and rest["Next"] is None


def test_a_list_says_how_often_each_was_tried_and_what_came_of_it(own_daemon):
    daemon = own_daemon
    daemon.schedule = "1s,600s"
    daemon.start()
    says = {"status": 200}
    receiver = Receiver(answer=lambda r: says["status"])
    try:
        a = Account(daemon, receiver.url)
        daemon.api().events([a.event("taken")])
        daemon.api().wait_state("taken", a.partner_id, "delivered")
        says["status"] = 404
        daemon.api().events([a.event("refused", kind="offer_completed")])

        def rows():
            answer = daemon.api().get("/api/v1/callbacks", query={"partnerId": a.partner_id})
            assert answer.status == 200, answer
            document = daemon.api(None).get("/openapi.json").json
            check_fits(answer.json, document["components"]["schemas"]["CallbackList"], document)
            return {row["RewardId"]: row for row in answer.json["Items"]}

        found = eventually(lambda: rows()["refused"]["AttemptCount"] == 2 and rows())
        last = found["refused"]["LastAttempt"]
        assert (last["Number"], last["Class"], last["Status"]) == (2, "status", 404)
        assert "404" in last["Detail"] and last["At"] >= found["refused"]["CreatedAt"]
        assert (found["refused"]["Endpoint"], found["refused"]["State"]) == ("offer", "pending")
        assert found["refused"]["NextAttemptAt"]
        assert (found["taken"]["AttemptCount"], found["taken"]["LastAttempt"]) == (1, None)
        assert found["taken"]["Endpoint"] == "success"
        one = daemon.api().callback("refused", a.partner_id)
        assert (one["AttemptCount"], len(one["Attempts"])) == (2, 2)
    finally:
        receiver.close()


# --- endpoints, erasing ----------------------------------------------------------------------

def endpoints(daemon, account):
    answer = daemon.api().get("/api/v1/apps/%s/endpoints" % account.app_id)
    assert answer.status == 200 and answer.json["AppId"] == account.app_id
    return {e["Endpoint"]: e for e in answer.json["Endpoints"]}


def test_endpoints_tell_how_each_does(daemon, receiver):
    a = Account(daemon, SuccessCallbackUrl=receiver.url, OfferCallbackUrl=DEAD_URL)
    found = endpoints(daemon, a)
    assert set(found) == {"success", "failure", "offer"}
    assert (found["success"]["Url"], found["failure"]["Url"], found["offer"]["Url"]) == (receiver.url, None, DEAD_URL)
    good, bad = fresh(), fresh()
    daemon.api().events([a.event(good), a.event(bad, "offer_clicked")])
    daemon.api().wait_state(good, a.partner_id, "delivered")
    found = eventually(lambda: endpoints(daemon, a)["offer"]["LastError"] and endpoints(daemon, a))
    assert found["success"]["Succeeded1h"] == 1 and found["success"]["Failed1h"] == 0
    assert found["offer"]["Failed1h"] >= 1 and found["offer"]["LastError"]["Class"] == "refused"
    assert found["success"]["State"] != found["failure"]["State"]


def test_a_disabled_app_waits_and_goes_on(daemon, receiver):
    a, other = Account(daemon, receiver.url, clients=("sdk", "iframe")), Account(daemon, receiver.url)
    a.patch(Enabled=False)
    *ids, later = [fresh() for _ in range(4)]
    daemon.api().events([*(a.event(i) for i in ids), other.event(later)])
    assert endpoints(daemon, a)["success"]["State"] == "app_disabled"
    daemon.api().wait_state(later, other.partner_id, "delivered")
    for event_id in ids:
        found = daemon.api().callback(event_id, a.partner_id)
        assert (found["State"], found["Attempts"]) == ("pending", [])
    assert [r.json["RewardId"] for r in receiver.requests] == [later]
    rows = daemon.api().get("/api/v1/reports/conversions", query={"partnerId": a.partner_id}).json["Rows"]
    assert sum(row["Conversions"] for row in rows) == 3  # money does not wait
    a.patch(Enabled=True)
    for event_id in ids:
        assert len(daemon.api().wait_state(event_id, a.partner_id, "delivered")["Attempts"]) == 1


def test_what_is_being_sent_is_delivering(own_daemon):
    hold = threading.Event()
    r = Receiver(lambda request: hold.wait(60) and 200)
    d = own_daemon.start()
    a = Account(d, r.url, MaxConcurrency=2, TimeoutSeconds=30)
    api = d.api(a.key("callbacks:read"))
    d.api().events([a.event("e-%d" % i) for i in range(5)])
    eventually(lambda: len(r.requests) == 2, what="two are being sent")

    def listed(path="/api/v1/callbacks", **filters):
        return [(i["RewardId"], i["State"]) for i in api.get(path, query=filters).json["Items"]]

    sent = sorted((request.json["RewardId"] for request in r.requests), reverse=True)
    rest = [i for i in ("e-4", "e-3", "e-2", "e-1", "e-0") if i not in sent]
    assert listed(state="delivering") == [(i, "delivering") for i in sent]
    assert listed(state="pending") == [(i, "pending") for i in rest]
    assert sorted(listed(), reverse=True) == sorted(listed(state="delivering") + listed(state="pending"), reverse=True)
    assert sorted(listed("/api/v1/rewards")) == sorted(listed())
    assert listed(state="delivering", limit=1) == [(sent[0], "delivering")]
    found = d.api().callback(sent[0], a.partner_id)
    assert (found["State"], found["NextAttemptAt"], found["Attempts"]) == ("delivering", None, [])
    assert d.api().callback(rest[0], a.partner_id)["State"] == "pending"
    hold.set()
    for i in sent + rest:
        d.api().wait_state(i, a.partner_id, "delivered")
    assert listed(state="delivering") == []
    r.close()


@pytest.mark.parametrize("body,name", [({}, "PanelistId"), ({"PanelistId": ""}, "PanelistId"),
                                       ({"PanelistId": 5}, "PanelistId"), ({"PanelistId": "x", "All": True}, "All")])
def test_wrong_erasures(mixed, body, name):
    assert_problem(mixed.api.post("/api/v1/panelists/erase", body), 400, name)

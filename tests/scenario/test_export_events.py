"""postbackd export events, and GET /api/v1/events behind it: each event of a range once, and what became of it."""
import csv
import io
import json
from datetime import datetime, timedelta, timezone

import pytest

from checks import assert_problem
from harness import Account
from test_export import EVENT, FIRST, LAST, export, rows


def ids(items):
    return [r["EventId"] for r in items]


def pages(api, **query):
    """All items, and how many there were in each page."""
    items, counts = [], []
    while not counts or query["after"]:
        page = api.get("/api/v1/events", query=query)
        assert page.status == 200, page
        items += page.json["Items"]
        counts.append(len(page.json["Items"]))
        query["after"] = page.json["Next"]
    return items, counts


@pytest.fixture(scope="module")
def world(daemon):
    """Events of every type on the last day, one of another app, one on the first day that came last, and a neighbour."""
    a, other, api = Account(daemon), Account(daemon), daemon.api()
    a.second, a.second_client = a.app_id + "-2", a.client + "-2"
    api.patch("/api/v1/apps/" + a.app_id, {"DisqualificationReward": "5", "DisqualificationCap": 1, "NegativeAdHoc": True})
    for path, body in (("partners/%s/apps" % a.partner_id, {"AppId": a.second, "Name": "App", "CurrencyValue": "1"}),
                       ("apps/%s/clients" % a.second, {"ClientId": a.second_client, "Name": "C", "Integration": "sdk"})):
        assert api.post("/api/v1/" + path, body).status == 201
    at = {"Timestamp": LAST + "T12:00:00Z"}
    api.events([
        a.event("s-1", "survey_started", SessionId="=1+1", Mid="m,1", **at), a.event("r-1", **at),
        a.event("d-1", "survey_disqualified", **at), a.event("d-2", "survey_disqualified", **at),
        a.event("d-3", "survey_disqualified", Reward="0", **at), a.event("d-4", "survey_disqualified", IsTest=True, **at),
        a.event("o-1", "offer_completed", OfferGoalId="g", **at),
        a.event("x-1", "offer_completion_reversed", OriginalRewardId="o-1", **at),
        a.event("c-1", "offer_clicked", **at), a.event("a-1", "ad_hoc", Reward="-2.5", Reason="a mistake", **at),
        a.event("q-1", "survey_started", ClientId=a.second_client, PanelistId="else", **at),
        other.event("n-1", "survey_started", **at)])
    assert api.post("/api/v1/events", [a.event("i-1", Timestamp=FIRST + "T00:00:00Z")],
                    query={"deliver": "false"}).json["Accepted"] == 1
    return a, other


ORDER = ["i-1", "s-1", "r-1", "d-1", "d-2", "d-3", "d-4", "o-1", "x-1", "c-1", "a-1", "q-1"]


def test_each_event_and_what_became_of_it(daemon, world):
    a, other = world
    run = export(daemon, "events", "--partner", a.partner_id)
    got = rows(run)
    assert ids(got) == ORDER and run.stderr == "12 rows\n" and list(got[0]) == ["PartnerId"] + EVENT
    by_id = {r["EventId"]: r for r in got}

    def facts(*names):
        return {i: tuple(r[n] for n in names) for i, r in by_id.items()}
    assert facts("Type", "State", "Reason") == {
        "i-1": ("survey_completed", "skipped", "imported"), "s-1": ("survey_started", "none", None),
        "q-1": ("survey_started", "none", None), "r-1": ("survey_completed", "skipped", "no_url"),
        "o-1": ("offer_completed", "skipped", "no_url"), "x-1": ("offer_completion_reversed", "skipped", "no_url"),
        "c-1": ("offer_clicked", "skipped", "no_url"), "a-1": ("ad_hoc", "skipped", "no_url"),
        **{"d-%d" % n: ("survey_disqualified", "skipped", "no_url") for n in range(1, 5)}}
    assert facts("Reward", "RevenueAmount", "Cap") == {
        "s-1": (0, 0, None), "q-1": (0, 0, None), "i-1": (100, 1, None), "r-1": (100, 1, None), "o-1": (100, 1, None),
        "x-1": (-100, -1, None), "c-1": (0, 0, None), "a-1": (-2.5, 0, None), "d-1": (5, 0, "counted"),
        "d-2": (0, 0, "reached"), "d-3": (0, 0, None), "d-4": (5, 0, None)}
    assert [r["EventId"] for r in got if r["IsTest"]] == ["d-4"]
    for event, names in (("s-1", {"SessionId": "=1+1", "Mid": "m,1", "OfferId": None, "AppId": a.app_id}),
                         ("o-1", {"OfferId": 7, "OfferTitle": "An offer", "OfferGoalId": "g", "OriginalRewardId": None}),
                         ("x-1", {"OfferId": 7, "OriginalRewardId": "o-1"}), ("q-1", {"AppId": a.second}),
                         ("a-1", {"ReasonGiven": "a mistake"}), ("i-1", {"Timestamp": FIRST + "T00:00:00.000Z"})):
        assert {n: by_id[event][n] for n in names} == names

    # A partner's key: the same, but for what operators have written for themselves.
    own = rows(export(daemon, "events", key=a.key("callbacks:read")))
    assert own == [{k: v for k, v in dict(r, ReasonGiven=None).items() if k != "PartnerId"} for r in got]
    # All partners, and one app.
    everybody = rows(export(daemon, "events", "--start-date", LAST))
    assert sorted((r["PartnerId"], r["EventId"]) for r in everybody if r["PartnerId"] in (a.partner_id, other.partner_id)) \
        == sorted([(a.partner_id, i) for i in ORDER[1:]] + [(other.partner_id, "n-1")])
    assert ids(rows(export(daemon, "events", "--partner", a.partner_id, "--app", a.second))) == ["q-1"]
    # The rewards are those that owe a callback, with the same facts.
    rewards = rows(export(daemon, "rewards", "--partner", a.partner_id))
    owing = [r for r in got if r["State"] != "none"]
    assert [(r["RewardId"], r["State"], r["Reward"], r["CreatedAt"]) for r in rewards] == \
        [(r["EventId"], r["State"], r["Reward"], r["CreatedAt"]) for r in owing]


def test_csv(daemon, world):
    run = export(daemon, "events", "--format", "csv", "--partner", world[0].partner_id)
    got = list(csv.DictReader(io.StringIO(run.stdout, newline="")))
    assert ids(got) == ORDER and list(got[0]) == ["PartnerId"] + EVENT
    assert [(r["SessionId"], r["Mid"], r["Reward"], r["Cap"]) for r in got if r["EventId"] in ("s-1", "d-1")] == \
        [("'=1+1", "m,1", "0.00", ""), ("", "", "5.00", "counted")]


def test_pages_have_each_event_once(daemon, world):
    a, _ = world
    api = daemon.api(a.key("callbacks:read"))
    for limit in (1, 2, 5, 11, 12, 500):
        items, counts = pages(api, startDate=FIRST, endDate=LAST, limit=limit)
        assert ids(items) == ORDER and all(n <= limit for n in counts)
    # Days without events are passed over a hundred at a time; nothing is before 1970.
    items, counts = pages(api, startDate="2024-01-01", endDate="2030-12-31")
    assert ids(items) == ORDER and 20 < len(counts) < 40
    assert pages(api, startDate=LAST, endDate=LAST, appId=a.second, limit=1) == ([items[-1]], [1])
    rewards = api.get("/api/v1/rewards", query={"startDate": FIRST, "endDate": LAST, "limit": 500}).json
    assert [r["RewardId"] for r in rewards["Items"]] == [i for i in ORDER if i not in ("s-1", "q-1")]
    assert rewards["Next"] is None


def test_refusals(daemon, world):
    a, other = world
    api, mine = daemon.api(), daemon.api(a.key("callbacks:read"))
    good = {"startDate": FIRST, "endDate": LAST}
    first = mine.get("/api/v1/events", query={**good, "limit": 1}).json["Next"]
    for query, parameter in (({}, "startDate"), ({"startDate": FIRST}, "endDate"), ({"endDate": LAST}, "startDate"),
                             ({"startDate": LAST, "endDate": FIRST}, "endDate"), ({**good, "startDate": "today"}, "startDate"),
                             ({**good, "after": "x"}, "after"), ({**good, "limit": 501}, "limit"),
                             ({**good, "startDate": LAST, "after": first}, "after"), ({**good, "format": "csv"}, "format")):
        problem = assert_problem(mine.get("/api/v1/events", query=query), 400)
        assert [e["Parameter"] for e in problem["errors"]][0] == parameter, problem
    for query, parameter in (({**good, "day": LAST}, "day"), ({**good, "format": "csv"}, "startDate"),
                             ({"startDate": FIRST}, "endDate"), ({**good, "after": "x"}, "after")):
        problem = assert_problem(mine.get("/api/v1/rewards", query=query), 400)
        assert problem["errors"][0]["Parameter"] == parameter, problem
    # A place in one account is none in another, and other accounts are not there.
    assert api.get("/api/v1/events", query={**good, "partnerId": other.partner_id, "after": first}).status == 400
    assert api.get("/api/v1/events", query=good).json["errors"][0]["Parameter"] == "partnerId"
    assert mine.get("/api/v1/events", query={**good, "partnerId": other.partner_id}).status == 404
    assert mine.get("/api/v1/events", query={**good, "appId": other.app_id}).status == 404
    assert daemon.api(a.key("reports:read")).get("/api/v1/events", query=good).status == 403


def test_an_erased_panelist_is_shown_as_erased(daemon):
    a, api = Account(daemon), daemon.api()
    at = {"Timestamp": LAST + "T12:00:00Z"}
    api.events([a.event("s-1", "survey_started", SessionId="s", Mid="m", **at), a.event("r-1", **at),
                a.event("s-2", "survey_started", PanelistId="other", SessionId="s", **at)])
    before = rows(export(daemon, "events", "--partner", a.partner_id))
    assert api.post("/api/v1/panelists/erase", {"PanelistId": "user-1"}, query={"partnerId": a.partner_id}).status == 200
    after = rows(export(daemon, "events", "--partner", a.partner_id))
    erased = after[0]["PanelistId"]
    assert erased.startswith("erased-")
    assert after == [dict(r, PanelistId=erased, SessionId=None, Mid=None) if r["PanelistId"] == "user-1" else r
                     for r in before]


def test_a_day_among_thousands_of_events_of_other_days(daemon):
    """More than the store looks at before it searches: an import lies between two events of the day."""
    a, api = Account(daemon), daemon.api()
    api.events([a.event("first", "survey_started")])
    old = [a.event("old-%d" % i, "survey_started" if i % 2 else "survey_completed", Timestamp=FIRST + "T00:00:00Z")
           for i in range(9000)]
    assert api.post("/api/v1/events", old, query={"deliver": "false"}).json["Accepted"] == 9000
    api.events([a.event("last", "survey_started")])
    now = datetime.now(timezone.utc)
    start, end = ((now + timedelta(days=d)).strftime("%Y-%m-%d") for d in (-1, 1))
    words = ("events", "--partner", a.partner_id)
    assert ids(rows(export(daemon, *words, "--start-date", start, "--end-date", end))) == ["first", "last"]
    run = export(daemon, *words)
    assert ids(rows(run)) == ["old-%d" % i for i in range(9000)] and run.stderr == "9000 rows\n"
    assert all(json.loads(line)["Timestamp"] == FIRST + "T00:00:00.000Z" for line in run.stdout.splitlines())

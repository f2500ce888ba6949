"""Statements against what the receiver got: amounts as printed in the callbacks, digests made anew."""
import hashlib
import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from harness import Account, eventually

DAY = timedelta(days=1)


def digest(lines):
    text = b"".join(b"%s\t%s\t%s\n" % tuple(x.encode() for x in line)
                    for line in sorted(lines, key=lambda line: line[0].encode()))
    return hashlib.sha256(text).hexdigest()


def lines_of(receiver):
    """RewardId, Reward and RevenueAmount of every real callback, letter for letter."""
    found = {}
    for request in receiver.requests:
        body = json.loads(request.body, parse_float=str, parse_int=str)
        if not body.get("IsTest"):
            found[body["RewardId"]] = (body["RewardId"], body["Reward"], body["RevenueAmount"])
    return list(found.values())


def statement(daemon, account, day, key=None):
    query = {"day": day} if key else {"day": day, "partnerId": account.partner_id}
    answer = daemon.api(key).get("/api/v1/statements", query=query) if key else \
        daemon.api().get("/api/v1/statements", query=query)
    assert answer.status == 200, answer
    found = json.loads(answer.body, parse_float=Decimal)
    assert found["Day"] == day
    return found["Items"]


def test_a_statement_is_what_was_called_back(daemon, receiver):
    a = Account(daemon, receiver.url, currency="0.35", RewardDecimals=6, NegativeAdHoc=True)
    now = datetime.now(timezone.utc)
    at = (now - DAY).strftime("%Y-%m-%dT12:00:00Z")
    day = at[:10]
    events = [a.event("s-%d" % i, RevenueAmount="1.%06d" % (i * 7919), Timestamp=at) for i in range(20)]
    events += [a.event("S_0", "ad_hoc", Reward="-1.5", Reason="fraud", Timestamp=at),
               a.event("o:1", "offer_completed", RevenueAmount="2.5", Timestamp=at),
               a.event("o-2", "offer_clicked", Timestamp=at),
               a.event("x-1", "offer_completion_reversed", OriginalRewardId="o:1", Timestamp=at),
               a.event("t-1", IsTest=True, Timestamp=at),
               a.event("n-1", "survey_started", Timestamp=at)]
    daemon.api().events(events)
    daemon.api().events([a.event("today")])
    eventually(lambda: len(lines_of(receiver)) == 25, 30, what="25 real callbacks")
    for i in ("s-0", "x-1", "o-2", "S_0"):
        a.daemon.api().wait_state(i, a.partner_id, "delivered")
    wanted = [line for line in lines_of(receiver) if line[0] != "today"]

    def settled():
        found = statement(daemon, a, day)
        return found if {g["State"] for g in found[0]["Groups"]} == {"delivered"} else None
    item, = eventually(settled)
    assert item["AppId"] == a.app_id
    assert item["Final"] is False
    assert item["Count"] == len(wanted) == 24
    assert item["Reward"] == sum(Decimal(line[1]) for line in wanted)
    assert item["RevenueAmount"] == sum(Decimal(line[2]) for line in wanted)
    assert item["Digest"] == digest(wanted)
    groups = {g["RewardType"]: g for g in item["Groups"]}
    assert groups["survey_completed"]["Count"] == 20
    assert groups["offer_completion_reversed"]["RevenueAmount"] == Decimal("-2.50")
    assert sum(g["Count"] for g in item["Groups"]) == 24
    assert "survey_started" not in groups
    today, = statement(daemon, a, now.strftime("%Y-%m-%d"))
    assert (today["Count"], today["Final"]) == (1, False)
    # the lines behind it, by the feed
    feed = daemon.api().get("/api/v1/rewards",
                            query={"day": day, "partnerId": a.partner_id, "limit": 500}).json["Items"]
    assert {r["RewardId"] for r in feed} == {line[0] for line in wanted} | {"t-1"}


def test_final_and_pending(daemon):
    """A day beyond late events is final once nothing of it is pending."""
    a = Account(daemon, RewardDecimals=0)
    old = (datetime.now(timezone.utc) - 200 * DAY).strftime("%Y-%m-%dT00:00:00Z")
    answer = daemon.api().post("/api/v1/events", [a.event("old-1", Timestamp=old, RevenueAmount="0.015")],
                               query={"deliver": "false"})
    assert answer.json["Accepted"] == 1, answer
    item, = statement(daemon, a, old[:10])
    assert item["Final"] is True
    assert item["Groups"] == [{"RewardType": "survey_completed", "State": "skipped", "Count": 1,
                               "Reward": 2, "RevenueAmount": Decimal("0.015")}]
    assert item["Digest"] == digest([("old-1", "2", "0.015")])
    assert statement(daemon, a, "1999-12-31") == []


def test_who_may_ask_and_how(daemon):
    a, b = Account(daemon), Account(daemon)
    daemon.api().events([a.event("mine")])
    day = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    key = b.key("reports:read")
    assert statement(daemon, b, day, key) == []
    api = daemon.api(key)
    assert api.get("/api/v1/statements", query={"day": day, "partnerId": a.partner_id}).status in (400, 404)
    for query in ({}, {"day": "2026-02-30"}, {"day": "today"}, {"day": day, "limit": "3"}):
        answer = api.get("/api/v1/statements", query=query)
        assert answer.status == 400, answer
        assert answer.json["errors"][0]["Parameter"] in ("day", "limit")
    assert daemon.api(b.key("callbacks:read")).get("/api/v1/statements", query={"day": day}).status == 403

"""Earnings by partner: every partner once, sums as in its own reports, for operators only."""
from datetime import datetime, timedelta, timezone
from decimal import Decimal
import json

from harness import Account


def listed(daemon, **query):
    answer = daemon.api().get("/api/v1/earnings", query=query)
    assert answer.status == 200, answer
    return json.loads(answer.body, parse_float=Decimal)


def test_each_partner_has_the_sums_of_its_reports(own_daemon):
    d = own_daemon.start()
    accounts = [Account(d) for _ in range(3)]
    day = datetime.now(timezone.utc) - timedelta(days=3)
    at, other = (t.strftime("%Y-%m-%dT12:00:00Z") for t in (day, day + timedelta(days=1)))
    first, second, nothing = accounts
    d.api().events(
        [first.event("e-1", "survey_started", Timestamp=at), first.event("e-2", "survey_started", Timestamp=other),
         first.event("e-3", RevenueAmount="1.000001", Timestamp=at),
         first.event("e-4", "offer_completed", RevenueAmount="2", Timestamp=other),
         first.event("e-5", RevenueAmount="9", Timestamp=at, IsTest=True),
         second.event("e-6", RevenueAmount="5", Timestamp=at)])
    found = listed(d, startDate=at[:10], endDate=other[:10])
    assert (found["StartDate"], found["EndDate"], found["Next"]) == (at[:10], other[:10], None)
    assert [i["PartnerId"] for i in found["Items"]] == [a.partner_id for a in reversed(accounts)], "newest first"
    by_id = {i["PartnerId"]: i for i in found["Items"]}
    one = by_id[first.partner_id]
    assert (one["Earnings"], one["ActivePanelists"], one["SurveyAttempts"], one["Conversions"]) == \
        (Decimal("3.000001"), 2, 2, 2), one
    assert one["Arpdau"] == Decimal("1.500001"), "divided once, half away from zero"
    assert (by_id[second.partner_id]["Earnings"], by_id[second.partner_id]["Arpdau"]) == (5, None)
    assert by_id[nothing.partner_id]["Earnings"] == 0
    assert listed(d, startDate=at[:10], endDate=at[:10])["Items"][2]["Earnings"] == Decimal("1.000001")


def test_it_is_paged(own_daemon):
    d = own_daemon.start()
    ids = [Account(d).partner_id for _ in range(5)]
    seen, after = [], {}
    while True:
        page = listed(d, limit=2, **after)
        seen += [i["PartnerId"] for i in page["Items"]]
        if page["Next"] is None:
            break
        after = {"after": page["Next"]}
    assert seen == ids[::-1]


def test_what_is_wrong_is_said_and_partners_are_refused(daemon):
    a = Account(daemon)
    for query in ({"startDate": "2026-13-01"}, {"startDate": "2026-02-01", "endDate": "2026-01-01"},
                  {"startDate": "2020-01-01"}, {"limit": "501"}, {"after": "x"}, {"clientIds": "x"}):
        assert daemon.api().get("/api/v1/earnings", query=query).status == 400, query
    key = daemon.api().post("/api/v1/partners/%s/keys" % a.partner_id, {"Scopes": ["reports:read"]}).json["Key"]
    assert daemon.api(key).get("/api/v1/earnings").status == 403

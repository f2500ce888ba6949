"""How a day goes, in quarters of an hour: what the dashboard compares today by."""
from datetime import timedelta
from decimal import Decimal

from checks import Raw, assert_problem, now, spell
from harness import Account

FIELDS = ("Earnings", "Conversions", "SurveyAttempts", "ActivePanelists")


def day_of(account, day, key=None):
    return account.daemon.api().get("/api/v1/intraday",
                                    query={"day": day.isoformat(), "partnerId": account.partner_id})


def rows_of(account, day):
    answer = day_of(account, day)
    assert answer.status == 200 and answer.json["Complete"] is True and answer.json["Day"] == day.isoformat()
    return {row["From"][11:16]: tuple(str(row[f]) for f in FIELDS) for row in answer.json["Rows"]}


def test_quarters_of_yesterday(daemon, receiver):
    a = Account(daemon, receiver.url, clients=("sdk", "iframe"))
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)

    def at(minutes, event_id, kind, **more):
        return a.event(event_id, kind, Timestamp=spell(midnight + timedelta(minutes=minutes)), **more)

    daemon.api().events([
        at(0, "q-1", "survey_started", PanelistId="ann"), at(14, "q-2", "survey_completed", PanelistId="ann",
                                                             RevenueAmount=Raw("0.30")),
        at(15, "q-3", "survey_started", PanelistId="ann"), at(61, "q-4", "survey_started", PanelistId="bob"),
        at(62, "q-5", "offer_completed", RevenueAmount=Raw("2.000001")),
        at(1439, "q-6", "survey_started", PanelistId="ann", ClientId=a.clients[1]),
        at(70, "q-7", "survey_completed", IsTest=True, RevenueAmount=5),
    ])
    daemon.api().events([at(20, "q-8", "survey_started", PanelistId="bob")])  # late, and his first
    assert rows_of(a, midnight.date()) == {
        "00:00": ("0.3", "1", "1", "1"), "00:15": ("0.0", "0", "2", "1"), "01:00": ("2.000001", "1", "1", "0"),
        "23:45": ("0.0", "0", "1", "1")}
    query = {"startDate": midnight.date().isoformat(), "endDate": midnight.date().isoformat(),
             "partnerId": a.partner_id}
    daily = daemon.api().get("/api/v1/reports/arpdau", query=query).json["Rows"]
    quarters = day_of(a, midnight.date()).json["Rows"]
    for field in ("Earnings", "ActivePanelists"):
        assert sum(Decimal(str(r[field])) for r in quarters) == sum(Decimal(str(r[field])) for r in daily)


def test_which_days_have_quarters(daemon):
    a = Account(daemon)
    today = now().date()
    assert rows_of(a, today - timedelta(days=2)) == {} == rows_of(a, today)
    for wrong in (today - timedelta(days=3), today - timedelta(days=400)):
        assert_problem(day_of(a, wrong), 400, "day")
    for query in ({}, {"day": "yesterday"}, {"day": today.isoformat(), "clientIds": a.client}):
        answer = daemon.api().get("/api/v1/intraday", query=dict(query, partnerId=a.partner_id))
        assert_problem(answer, 400)

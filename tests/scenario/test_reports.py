"""The five reports against a second computation of their own: exact decimals over random events.

The model, model/, is written from the contract alone. Money is compared as printed text, so that a
rounding or a missing zero is seen; events arrive in batches of every kind, from several clients
and partners at once, with duplicates and refused items among them.
"""
import csv
import json
import random
import threading
from datetime import date, datetime, timedelta

import pytest

from checks import UTC, assert_problem, encode, now, spell
from harness import Account
from model.money import D
from model.reports import REPORTS, Books
from model.spellings import negated, random_amount, random_moment, random_time_text
from model.terms import Terms

EVENTS_PER_APP = 7000
KINDS = (["survey_started"] * 6 + ["survey_completed"] * 5 + ["survey_disqualified"] * 4 +
         ["profiler_completed", "ad_hoc", "offer_clicked"] + ["offer_completed"] * 3 +
         ["offer_completion_reversed"] * 2)


class Traffic:
    """Random events of one app, its batches, and what the books must say of them."""

    def __init__(self, seed, app, books, today):
        self.random, self.app, self.books, self.today = random.Random(seed), app, books, today
        self.account = app.account
        self.sent = []
        self.serial = 0

    def moment(self, oldest_days):
        r = self.random
        return random_moment(r, self.today - timedelta(
            days=r.choice((1, 1, 2, 3, 5, 8, r.randint(1, oldest_days)))))

    def make(self, imported):
        """One new event and its entry in the books; None where no original is left to reverse."""
        r, app = self.random, self.app
        kind = r.choice(KINDS)
        self.serial += 1
        e = {"EventId": "%s-%d" % (self.account.app_id, self.serial), "Type": kind,
             "ClientId": r.choice(self.account.clients), "PanelistId": "u%d" % r.randrange(40)}
        at = self.moment(2000 if imported else 88)
        is_test = r.random() < 0.1
        revenue, reward = D(0), D(0)
        if kind == "offer_completion_reversed":
            left = sorted(set(app.originals) - app.reversed)
            if not left:
                return None
            e["OriginalRewardId"] = r.choice(left)
            app.reversed.add(e["OriginalRewardId"])
            panelist, value, paid, is_test = app.originals[e["OriginalRewardId"]]
            e["PanelistId"], revenue, reward = panelist, -value, -paid
        elif kind in ("survey_completed", "offer_completed") or (
                kind in ("profiler_completed", "ad_hoc", "survey_disqualified") and r.random() < 0.7):
            revenue, e["RevenueAmount"] = random_amount(r, 200)
            if kind == "ad_hoc" and app.negative and r.random() < 0.5 and revenue:
                revenue, text = -revenue, e["RevenueAmount"]
                e["RevenueAmount"] = negated(text)
                e["Reason"] = "found in reconciliation"
        if kind == "ad_hoc" or (kind not in ("survey_started", "offer_clicked", "offer_completion_reversed")
                                and r.random() < 0.1):
            value, text = random_amount(r, 1000)
            e["Reward"] = negated(text) if revenue < 0 and value else text
        if kind in ("offer_completed", "offer_clicked"):
            e.update(OfferId=r.randint(1, 99), OfferTitle="Offer")
        if is_test:
            e["IsTest"] = True
        e["Timestamp"] = random_time_text(r, at)
        if kind not in ("survey_started", "offer_clicked", "offer_completion_reversed"):
            reward = app.reward(e, at, revenue)
        if kind == "offer_completed":
            app.originals[e["EventId"]] = (e["PanelistId"], revenue, reward, is_test)
        self.books.add(e, at, revenue, reward, is_test)
        return e

    def batch(self, size, imported):
        """New events with duplicates and refused ones between them, and the counts to expect."""
        r, items, wanted = self.random, [], [0, 0, 0]
        while len(items) < size:
            roll = r.random()
            if roll < 0.03 and self.sent:
                again = r.choice(self.sent)
                names = list(again)
                r.shuffle(names)
                items.append({k: again[k] for k in names})
                wanted[1] += 1
            elif roll < 0.05:
                items.append(dict(self.account.event("bad-%d" % self.serial), RevenueAmount="0.0000001"))
                wanted[2] += 1
            else:
                e = self.make(imported)
                if e:
                    items.append(e)
                    self.sent.append(e)
                    wanted[0] += 1
        return items, wanted

    def post(self, count):
        while self.serial < count:
            imported = self.random.random() < 0.1
            items, wanted = self.batch(self.random.choice((1, 30, 400, 900)), imported)
            style = self.random.choice(("array", "ndjson"))
            headers = {}
            if len(items) == 1:
                body = encode(items[0])
            elif style == "array":
                body = encode(items)
            else:
                body = "\n".join(encode(e) for e in items)
                headers["Content-Type"] = "application/x-ndjson"
            answer = self.account.daemon.api().post(
                "/api/v1/events" + ("?deliver=false" if imported else ""), body, headers=headers)
            assert answer.status == 202, answer
            found = answer.json
            assert [found["Accepted"], found["Duplicates"], len(found["Rejected"])] == wanted, answer


@pytest.fixture(scope="module")
def world(daemon):
    """Two partners, three apps with unlike terms, seven clients, and 21,000 events."""
    first = Account(daemon, clients=("sdk", "iframe", "monetization_api"), currency="72.5",
                    DisqualificationReward="0.75", DisqualificationCap=2, NegativeAdHoc=True)
    answer = daemon.api().post("/api/v1/partners/%s/apps" % first.partner_id,
                               {"AppId": "second", "Name": "Second", "CurrencyValue": "0.333333",
                                "RewardDecimals": 0, "DisqualificationReward": 3})
    assert answer.status == 201, answer
    second = Account.__new__(Account)
    second.__dict__.update(first.__dict__, app_id="second", clients=[])
    for name in ("Zebra", "a-client"):  # order of rows is by bytes: Z before a
        answer = daemon.api().post("/api/v1/apps/second/clients",
                                   {"ClientId": name, "Name": name, "Integration": "sdk"})
        assert answer.status == 201, answer
        second.clients.append(name)
    second.client = "Zebra"
    other = Account(daemon, clients=("sdk", "iframe"), currency="1000000", RewardDecimals=6)
    books = {first.partner_id: Books(), other.partner_id: Books()}
    today = now().date()
    traffics = [Traffic(1, Terms(first, "72.5", 2, "0.75", 2, True), books[first.partner_id], today),
                Traffic(2, Terms(second, "0.333333", 0, "3", 6, False), books[first.partner_id], today),
                Traffic(3, Terms(other, "1000000", 6, "0", 6, False), books[other.partner_id], today)]
    failures = []

    def run(traffic):
        try:
            traffic.post(EVENTS_PER_APP)
        except BaseException as e:  # told to the test, which is another thread
            failures.append(e)

    threads = [threading.Thread(target=run, args=(t,)) for t in traffics]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]
    w = type("World", (), {})()
    w.daemon, w.first, w.other, w.books, w.today = daemon, first, other, books, today
    w.clients = {first.partner_id: first.clients + second.clients, other.partner_id: other.clients}
    w.keys = {a.partner_id: a.key("reports:read") for a in (first, other)}
    return w


def report(world, account, name, **query):
    answer = world.daemon.api(world.keys[account.partner_id]).get("/api/v1/reports/" + name, query=query)
    assert answer.status == 200, answer
    return answer


def rows_of(answer):
    """Rows with numbers as the text they were printed as."""
    return json.loads(answer.body, parse_float=str, parse_int=str)["Rows"]


def ranges(world, partner):
    """Every day that has a row, in ranges of at most 366 days, and one short range."""
    days = sorted({day for day, _ in world.books[partner].cells[True]})
    day, last = date.fromisoformat(days[0]), world.today
    while day <= last:
        end = min(day + timedelta(days=365), last)
        yield day.isoformat(), end.isoformat()
        day = end + timedelta(days=1)
    yield (last - timedelta(days=6)).isoformat(), (last - timedelta(days=2)).isoformat()


def assert_every_row(world, name):
    seen = 0
    for account in (world.first, world.other):
        partner = account.partner_id
        for start, end in ranges(world, partner):
            for with_tests in (False, True):
                wanted = world.books[partner].rows(name, start, end, world.clients[partner],
                                                   with_tests=with_tests)
                found = rows_of(report(world, account, name, startDate=start, endDate=end,
                                       includeTest=str(with_tests).lower()))
                assert found == wanted, (start, end, with_tests)
                seen += len(wanted)
    assert seen > 1000


@pytest.mark.parametrize("name", REPORTS)
def test_every_row_of_every_day(world, name):
    assert_every_row(world, name)


@pytest.mark.parametrize("name", ["earnings", "arpdau", "conversions"])
@pytest.mark.parametrize("product", ["survey", "offer"])
def test_product_type_divides_the_same_rows(world, name, product):
    partner = world.first.partner_id
    start, end = (world.today - timedelta(days=90)).isoformat(), world.today.isoformat()
    wanted = world.books[partner].rows(name, start, end, world.clients[partner], product)
    found = rows_of(report(world, world.first, name, startDate=start, endDate=end, productType=product))
    assert found == wanted
    assert any(float(row[REPORTS[name][0]]) for row in found)


def test_a_client_without_starts_is_warned_of(daemon):
    account = Account(daemon, clients=("sdk", "iframe", "sdk"))
    lacking, starting, late = account.clients
    noon = now().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=3)

    def report_on(name="earnings", **query):
        return daemon.api().get("/api/v1/reports/" + name,
                                query=dict({"partnerId": account.partner_id}, **query))

    def event(name, kind, client, at, **fields):
        return account.event(name, kind, ClientId=client, Timestamp=spell(at), **fields)

    daemon.api().events([
        event("l-1", "survey_completed", lacking, noon), event("l-2", "survey_disqualified", lacking, noon),
        event("s-1", "survey_started", starting, noon), event("s-2", "survey_completed", starting, noon),
        # begun the evening before: no starts of its own day are missed
        event("n-1", "survey_started", late, noon), event("n-2", "survey_completed", late, noon + timedelta(days=1))])
    for name in REPORTS:
        warnings = report_on(name).json["Warnings"]
        assert [(w["ClientId"], w["Code"]) for w in warnings] == [(lacking, "survey_starts_missing")], warnings
    assert "Warnings" not in report_on(clientIds="%s,%s" % (starting, late)).json
    daemon.api().events([event("l-0", "survey_started", lacking, noon)])
    assert "Warnings" not in report_on().json
    today = now()
    daemon.api().events([event("t-1", "survey_completed", lacking, today)])
    day = today.date().isoformat()
    assert "Warnings" not in report_on(startDate=day, endDate=day).json, "the day is not over"
    assert "Warnings" not in report_on(format="csv").body.decode()


def test_client_ids_choose_rows(world):
    partner = world.first.partner_id
    chosen = [world.first.clients[1], "Zebra"]
    start, end = (world.today - timedelta(days=90)).isoformat(), world.today.isoformat()
    wanted = world.books[partner].rows("earnings", start, end, chosen)
    assert {row["ClientId"] for row in wanted} == set(chosen)
    for given in (chosen, chosen[::-1]):
        assert rows_of(report(world, world.first, "earnings", startDate=start, endDate=end,
                              clientIds=",".join(given))) == wanted


@pytest.mark.parametrize("name", REPORTS)
def test_csv_says_the_same(world, name):
    query = {"startDate": (world.today - timedelta(days=90)).isoformat(), "includeTest": "true"}
    rows = rows_of(report(world, world.first, name, **query))
    answer = report(world, world.first, name, format="csv", **query)
    assert answer.headers["Content-Type"].split(";")[0].strip() == "text/csv"
    lines = answer.text.split("\r\n")
    assert lines[0] == ",".join(["Day", "ClientId"] + REPORTS[name])
    found = list(csv.reader(line for line in lines[1:] if line))
    assert found == [["" if v is None else v for v in row.values()] for row in rows]
    assert "\n" not in answer.text.replace("\r\n", "")


def test_csv_by_accept_and_format_beats_it(world):
    api = world.daemon.api(world.keys[world.first.partner_id])
    path = "/api/v1/reports/earnings"

    def kind(query, accept):
        answer = api.get(path, query=query, headers={"Accept": accept})
        assert answer.status == 200
        return answer.headers["Content-Type"].split(";")[0]

    assert kind({}, "text/csv") == "text/csv"
    assert kind({"format": "json"}, "text/csv") == "application/json"
    assert kind({"format": "csv"}, "application/json") == "text/csv"
    assert kind({}, "application/json") == "application/json"
    assert kind({}, "*/*") == "application/json"


@pytest.mark.parametrize("name", REPORTS)
def test_envelope_and_default_dates(world, name):
    while True:
        today = now().date()
        answers = [report(world, world.first, name, **query).json for query in (
            {}, {"startDate": (today - timedelta(days=20)).isoformat()},
            {"endDate": "2024-03-10"}, {"endDate": "0000-01-05"})]
        if now().date() == today:  # else midnight passed in between
            break
    for body in answers:
        assert [key for key in body if key != "Warnings"] == [
            "Report", "StartDate", "EndDate", "GeneratedAt", "Rows"]
        assert body["Report"] == name
        at = datetime.strptime(body["GeneratedAt"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
        assert abs(at - now()) < timedelta(minutes=2) and len(body["GeneratedAt"]) == 24
    dates = [(b["StartDate"], b["EndDate"]) for b in answers]
    assert dates[0] == ((today - timedelta(days=29)).isoformat(), today.isoformat())
    assert dates[1] == ((today - timedelta(days=20)).isoformat(), today.isoformat())
    assert dates[2] == ("2024-02-10", "2024-03-10")
    assert dates[3] == ("0000-01-01", "0000-01-05")  # there is no day before
    rows = answers[0]["Rows"]
    assert rows and all(dates[0][0] <= row["Day"] <= dates[0][1] for row in rows)


def test_operator_reads_by_partner_id(world):
    api = world.daemon.api()
    query = {"startDate": (world.today - timedelta(days=30)).isoformat()}
    for account in (world.first, world.other):
        mine = report(world, account, "earnings", **query).json
        answer = api.get("/api/v1/reports/earnings", query=dict(query, partnerId=account.partner_id))
        assert answer.status == 200 and answer.json["Rows"] == mine["Rows"]
    assert_problem(api.get("/api/v1/reports/earnings"), 400, "partnerId")
    assert_problem(api.get("/api/v1/reports/earnings", query={"partnerId": "nobody"}), 404)


LONG = ("2025-01-01", "2026-01-01")  # 366 days


def test_366_days_are_the_most(world):
    body = report(world, world.first, "earnings", startDate=LONG[0], endDate=LONG[1]).json
    assert (body["StartDate"], body["EndDate"]) == LONG
    answer = world.daemon.api(world.keys[world.first.partner_id]).get(
        "/api/v1/reports/earnings", query={"startDate": LONG[0], "endDate": "2026-01-02"})
    problem = assert_problem(answer, 400)
    assert problem["errors"] and {e["Parameter"] for e in problem["errors"]} <= {"startDate", "endDate"}


BAD = [
    ("startDate=2026-02-30", {"startDate"}), ("startDate=", {"startDate"}),
    ("startDate=2026-1-1", {"startDate"}), ("startDate=20260101", {"startDate"}),
    ("endDate=2026-13-01", {"endDate"}), ("endDate=today", {"endDate"}),
    ("endDate=2026-11-01T00:00:00Z", {"endDate"}), ("startDate=2023-02-29", {"startDate"}),
    ("startDate=%202026-11-01", {"startDate"}), ("startDate=2026-11-01%00", {"startDate"}),
    ("startDate=2026-11-02&endDate=2026-11-01", {"startDate", "endDate"}),
    ("startDate=9998-01-01", {"startDate", "endDate"}),
    ("startDate=2026-11-01&startDate=2026-11-01", {"startDate"}),
    ("format=xml", {"format"}), ("format=", {"format"}), ("format=JSON", {"format"}),
    ("format=json&format=csv", {"format"}),
    ("includeTest=1", {"includeTest"}), ("includeTest=True", {"includeTest"}),
    ("includeTest=", {"includeTest"}), ("includeTest", {"includeTest"}),
    ("clientIds=", {"clientIds"}), ("clientIds=CLIENT,,CLIENT", {"clientIds"}), ("clientIds=CLIENT,", {"clientIds"}), ("clientIds=,", {"clientIds"}),
    ("productType=surveys", {"productType"}), ("productType=", {"productType"}),
    ("clientIDs=a", {"clientIDs"}), ("start_date=2026-11-01", {"start_date"}), ("x=1", {"x"}),
    ("StartDate=2026-11-01", {"StartDate"}), ("limit=5", {"limit"}),
]


@pytest.mark.parametrize("query,names", BAD, ids=[q for q, _ in BAD])
def test_wrong_parameters_are_named(world, query, names):
    api = world.daemon.api(world.keys[world.first.partner_id])
    query = query.replace("CLIENT", world.first.client)
    problem = assert_problem(api.get("/api/v1/reports/earnings?" + query), 400)
    found = {e["Parameter"] for e in problem["errors"]}
    assert found and found <= names, problem


@pytest.mark.parametrize("name", ["survey-attempts", "active-panelist"])
def test_product_type_is_only_on_three_reports(world, name):
    api = world.daemon.api(world.keys[world.first.partner_id])
    assert_problem(api.get("/api/v1/reports/%s?productType=survey" % name), 400, "productType")


def test_unknown_clients_are_404(world):
    api = world.daemon.api(world.keys[world.first.partner_id])
    for ids in ("nobody", world.first.client + ",nobody", world.other.client):
        assert_problem(api.get("/api/v1/reports/earnings", query={"clientIds": ids}), 404)


def test_no_lag_after_the_acknowledgement(world):
    """Each answer of the report read right after an acknowledgement already has the event."""
    account = world.other
    api = world.daemon.api(world.keys[account.partner_id])
    today = now().date().isoformat()

    def earned():
        rows = api.get("/api/v1/reports/earnings", query={"startDate": today}).json["Rows"]
        return sum(D(str(row["Earnings"])) for row in rows if row["ClientId"] == account.client)

    before = earned()
    for i in range(20):
        world.daemon.api().events(account.event("lag-%d" % i, RevenueAmount="0.25", PanelistId="lag"))
        world.books[account.partner_id].add(account.event("x"), now(), D("0.25"), D(1), False)
        if now().date().isoformat() != today:
            pytest.skip("midnight passed while counting")
        assert earned() == before + D("0.25") * (i + 1)


@pytest.mark.parametrize("end", ["kill -9", "SIGTERM"])
def test_the_same_rows_after_a_restart(world, end):
    """What the journal gave back, and then what is in the database alone; the last tests here."""
    if end == "kill -9":
        world.daemon.kill()
    else:
        assert world.daemon.stop() == 0
    world.daemon.start()
    for name in REPORTS:
        assert_every_row(world, name)

"""Everything that can be asked of an account, held against the model."""
import json
import re
from datetime import datetime, timedelta

from harness import assert_signed, eventually
from model.callbacks import FINAL, is_erased
from model.feed import whole_feed
from model.money import D, printed
from model.reports import REPORTS

NEW_NAME = re.compile(r"erased-[0-9a-f]{24}")
LATE_DAYS = 90  # how long a day takes late events


def numbers_as_text(answer):
    return json.loads(answer.body, parse_float=str, parse_int=str)


def wanted_row(c, panelist):
    row = {"RewardId": c.id, "AppId": c.app.id, "ClientId": c.client, "PanelistId": panelist, "RewardType": c.kind,
           "State": c.state, "Reason": c.reason, "Reward": c.reward_text(), "RevenueAmount": printed(c.revenue),
           "IsTest": c.is_test, "Timestamp": c.at_text}
    return dict(row, OriginalRewardId=c.original.id) if c.original else row


def learn_name(c, row, known):
    """The name that the daemon gave to an erased panelist; no two have the same."""
    if is_erased(c.panelist) and c.panelist.name is None:
        name = row["PanelistId"]
        assert NEW_NAME.fullmatch(name) and name not in known, row
        c.panelist.name = name
        known.add(name)
    return str(c.panelist)


def feed_difference(account, client):
    """None, or the first row of the feed that is not as it should be."""
    rows, known = whole_feed(client), {str(c.panelist) for c in account.events
                                       if is_erased(c.panelist) and c.panelist.name}
    wanted = account.callbacks()
    if [row["RewardId"] for row in rows] != [c.id for c in wanted]:
        return "rows", [row["RewardId"] for row in rows], [c.id for c in wanted]
    for c, row in zip(wanted, rows):
        row = {name: value for name, value in row.items() if name != "CreatedAt"}
        right = wanted_row(c, learn_name(c, row, known))
        if row != right:
            return row, right
    return None


def attempts_of(found):
    return [(a["Number"], a["Status"], a["Url"]) for a in found["Attempts"]]


def callback_difference(c, found):
    status = [(str(i + 1), None if s is None else str(s), url) for i, (s, url) in enumerate(c.attempts)]
    body = c.body() if c.has_body else None
    wanted = {"State": c.state, "Reason": c.reason, "Reward": c.reward_text(), "RevenueAmount": printed(c.revenue),
              "Body": body, "PanelistId": str(c.panelist), "Attempts": status}
    shown = {name: found[name] for name in wanted}
    shown["Attempts"] = attempts_of(found)
    if shown != wanted:
        return shown, wanted
    if c.state in FINAL and not c.owes_try and found["NextAttemptAt"]:
        return "is final and has a next try", found
    return None


def until_equal(difference, what):
    """Waits for what is still being tried; what it differs in, if it stays so."""
    last = []

    def equal():
        last[:] = [difference()]
        return last[0] is None
    try:
        eventually(equal, 30, 0.05)
    except AssertionError:
        raise AssertionError("%s differs:\n  found  %s\n  wanted %s" % (
            what, last[0][0], last[0][1:])) from None


def assert_states(account, client, touched):
    """The feed has every row as it should be, and each callback of `touched` every detail."""
    until_equal(lambda: feed_difference(account, client), "the feed")
    for c in touched:
        path = "/api/v1/callbacks/" + c.id
        until_equal(lambda c=c, path=path: callback_difference(c, numbers_as_text(client.get(path))), c.id)


def assert_list(account, client, **query):
    """The log of callbacks, newest acceptance first, page by page."""
    names = {"state": "state", "rewardType": "kind", "panelistId": "panelist"}
    wanted = [c.id for c in reversed(account.callbacks())
              if all(str(getattr(c, names[k])) == v for k, v in query.items())]
    found, after = [], {}
    while True:
        page = client.get("/api/v1/callbacks", limit=97, **query, **after).json
        found += [item["RewardId"] for item in page["Items"]]
        if page["Next"] is None:
            break
        after = {"after": page["Next"]}
    assert found == wanted, (query, found, wanted)


def statement_difference(account, client, day):
    items = json.loads(client.get("/api/v1/statements", day=day).body, parse_float=D, parse_int=D)["Items"]
    found = {item["AppId"]: (
        (item["Count"], item["Reward"], item["RevenueAmount"]), item["Digest"],
        {(g["RewardType"], g["State"]): (g["Count"], g["Reward"], g["RevenueAmount"]) for g in item["Groups"]})
        for item in items}
    wanted = account.statement(day)
    if found != wanted:
        return day, found, wanted
    for item in items:
        is_over = (account.today - datetime.strptime(day, "%Y-%m-%d").date()).days > LATE_DAYS
        has_pending = any(state == "pending" for _, state in wanted[item["AppId"]][2])
        if item["Final"] != (is_over and not has_pending):
            return day, item, "Final is wrong"
    return None


def assert_statements(account, client):
    """And the rewards behind each of them."""
    for day in account.days():
        behind = client.get("/api/v1/rewards", day=day, limit=500).json["Items"]
        assert [row["RewardId"] for row in behind] == [c.id for c in account.callbacks() if c.at_text[:10] == day][:500]
        until_equal(lambda day=day: statement_difference(account, client, day), "the statement of " + day)


def assert_reports(account, client):
    clients = [name for app in account.apps for name in app.clients]
    days = sorted({day for day, _ in account.reports.cells[True]})
    for end in sorted({min((datetime.strptime(d, "%Y-%m-%d").date() + timedelta(days=180)).isoformat(),
                           account.today.isoformat()) for d in days}):
        start = (datetime.strptime(end, "%Y-%m-%d").date() - timedelta(days=365)).isoformat()
        for name in REPORTS:
            for with_tests in (False, True):
                wanted = account.reports.rows(name, start, end, clients, with_tests=with_tests)
                answer = client.get("/api/v1/reports/" + name, startDate=start, endDate=end,
                                    includeTest=str(with_tests).lower())
                assert numbers_as_text(answer)["Rows"] == wanted, (name, start, end, with_tests)


def assert_received(account, requests, kills):
    """What came to the receiver: the right bytes, each try once but for kills, reversals last."""
    by_id = {}
    for request in requests:
        if not request.json["RewardId"].startswith("test_"):
            by_id.setdefault(request.json["RewardId"], []).append(request)
    assert by_id.keys() <= account.by_id.keys(), by_id.keys() - account.by_id.keys()
    for c in account.callbacks():
        got = by_id.get(c.id, [])
        numbers = [int(r.header("Postbackd-Attempt")) for r in got]
        assert sorted(set(numbers)) == list(range(1, len(c.attempts) + 1)), (c.id, numbers, c.attempts)
        for r in got:
            assert r.body.decode() == c.body(r.json["PanelistId"]), (c.id, r.body, c.body(r.json["PanelistId"]))
            assert is_erased(c.panelist) or r.json["PanelistId"] == c.panelist
            assert r.header("traceparent") == c.traceparent, (c.id, c.traceparent)
            assert_signed(r, c.app.secret)
        assert_no_try_twice(c, got, kills)
        if c.original and got:
            assert_original_first(c, by_id, got[0])


def assert_no_try_twice(c, got, kills):
    for first, second in zip(got, got[1:]):
        number = int(second.header("Postbackd-Attempt"))
        if number == int(first.header("Postbackd-Attempt")) and c.answer(number) is not None:
            assert any(first.at - 1 <= k <= second.at for k in kills), "sent twice without a kill: " + c.id


def assert_original_first(c, by_id, reversal):
    """Whatever was said first that ended the original was said before the reversal came."""
    before = [int(r.header("Postbackd-Attempt")) for r in by_id.get(c.original.id, ()) if r.at <= reversal.at]
    if c.original.first_end:
        assert c.original.first_end in before, "the reversal %s came before its original was final" % c.id

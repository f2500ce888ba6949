"""What is a duplicate and what a conflict, disabled clients, reversals, and bodies of every kind:
a bad item never costs a good one, and what cannot be read stores nothing."""
from datetime import timedelta
from decimal import Decimal

import pytest

from checks import Raw, ago, assert_problem, counts, encode, now, refusals, spell
from harness import Account
from reporting import amounts, fresh, post, refused, take, without


@pytest.fixture(scope="module")
def account(daemon):
    """An app without URLs: its callbacks are skipped, its amounts can be read."""
    return Account(daemon, clients=("sdk", "iframe", "monetization_api"), currency="72.5")


# --- duplicates and conflicts ----------------------------------------------------------------

def test_same_content_however_it_is_written(account):
    at = now() - timedelta(days=1)
    e = account.event(fresh(), RevenueAmount=Raw("1.10"), Reward="5", SessionId="s", IsTest=False,
                      Timestamp=spell(at))
    assert counts(post(account, e)) == (1, 0, 0)
    same = [dict(reversed(list(e.items()))), dict(e, RevenueAmount="1.1"), dict(e, RevenueAmount=Raw("11e-1")),
            dict(e, Reward=Raw("5.000000")), dict(e, Timestamp=spell(at, 600)), dict(e, Timestamp=spell(at, -210)),
            dict(e, PanelistId=Raw('"\\u0075ser-1"'))]
    for again in same:
        assert counts(post(account, again)) == (0, 1, 0), again
    assert counts(post(account, same + [e])) == (0, len(same) + 1, 0)
    other = [dict(e, RevenueAmount=Raw("1.100001")), dict(e, PanelistId="user-2"), dict(e, IsTest=True),
             dict(e, SessionId="S"), without(e, "SessionId"), without(e, "Reward"), without(e, "IsTest"),
             without(e, "Timestamp"), dict(e, Mid=""), dict(e, Type="ad_hoc"),
             dict(e, ClientId=account.clients[1]), dict(e, Timestamp=spell(at + timedelta(milliseconds=1)))]
    for changed in other:
        answer = post(account, changed)
        assert counts(answer) == (0, 0, 1), changed
        assert {code for _, code in refusals(answer)[0]} == {"conflict"}, changed
    assert amounts(account, e["EventId"]) == ("5.00", "1.10")


def test_an_absent_timestamp_is_a_duplicate_of_an_absent_one(account):
    e = account.event(fresh())
    assert counts(post(account, e)) == (1, 0, 0)
    assert counts(post(account, e)) == (0, 1, 0)


def test_duplicates_within_one_batch(account):
    e, other = account.event(fresh()), account.event(fresh())
    conflicting = dict(e, PanelistId="somebody")
    answer = post(account, [e, other, dict(reversed(list(e.items()))), conflicting, other])
    assert counts(answer) == (2, 2, 1)
    assert {i: {c for _, c in errors} for i, errors in refusals(answer).items()} == {3: {"conflict"}}
    assert account.daemon.api().callback(e["EventId"], account.partner_id)["PanelistId"] == "user-1"


def test_duplicates_are_recognised_before_the_age_limits(account):
    e = account.event(fresh(), Timestamp=ago(days=200))
    imported = account.daemon.api().post("/api/v1/events?deliver=false", encode(e))
    assert counts(imported) == (1, 0, 0)
    assert counts(post(account, e)) == (0, 1, 0)
    changed = dict(e, PanelistId="somebody")
    assert {c for _, c in refused_only(account, changed)} == {"conflict"}
    assert refused(account, account.event(fresh(), Timestamp=ago(days=200))) == {("Timestamp", "out_of_range")}


def refused_only(account, e):
    answer = post(account, e)
    assert counts(answer) == (0, 0, 1)
    return refusals(answer)[0]


def test_a_refused_event_may_come_again_corrected(account):
    e = account.event(fresh(), RevenueAmount="x")
    refused(account, e)
    assert counts(post(account, dict(e, RevenueAmount="1"))) == (1, 0, 0)


def test_an_event_id_is_its_partners_own(daemon, account):
    other = Account(daemon)
    event_id = fresh()
    assert counts(post(account, account.event(event_id))) == (1, 0, 0)
    assert counts(post(other, other.event(event_id))) == (1, 0, 0)


def test_a_duplicate_after_changed_settings(daemon):
    a = Account(daemon)
    e = a.event(fresh())
    assert take(a, e)[0] == "100.00"
    a.patch(CurrencyValue="5")
    assert counts(post(a, e)) == (0, 1, 0)
    assert amounts(a, e["EventId"])[0] == "100.00"


def test_a_duplicate_is_one_whatever_has_changed_since(daemon):
    """Nothing but the item's own bytes is judged before it is recognised, and a conflict too."""
    a = Account(daemon, currency="1", NegativeAdHoc=True)
    event = a.event(fresh(), RevenueAmount="1000000")
    claw_back = a.event(fresh(), "ad_hoc", Reward="-5", RevenueAmount="-1", Reason="fraud")
    original = completed(a)["EventId"]
    taken_back = reversal(a, original)
    batch = [event, claw_back, taken_back]
    assert counts(post(a, batch)) == (3, 0, 0)
    a.patch(CurrencyValue="1000000", NegativeAdHoc=False)  # the reward would be out of range
    assert counts(post(a, batch)) == (0, 3, 0)
    assert daemon.api().patch("/api/v1/clients/" + a.client, {"Enabled": False}).status == 200
    assert counts(post(a, batch)) == (0, 3, 0)
    changed = [dict(e, PanelistId="somebody-else") for e in batch]
    assert refusals(post(a, changed)) == {i: {("EventId", "conflict")} for i in range(3)}
    # What is new is refused for every reason there is.
    unknown = [dict(e, EventId=fresh()) for e in batch]
    assert refusals(post(a, unknown)) == {
        0: {("ClientId", "disabled"), ("Reward", "out_of_range")},
        1: {("ClientId", "disabled"), ("Reward", "out_of_range"), ("RevenueAmount", "out_of_range")},
        2: {("ClientId", "disabled")}}
    assert daemon.api().patch("/api/v1/partners/" + a.partner_id, {"Enabled": False}).status == 200
    assert counts(post(a, batch)) == (0, 3, 0)


def test_what_is_remembered_survives_a_restart(own_daemon):
    """Duplicates, the cap and reversals do not depend on what is still in memory."""
    d = own_daemon.start()
    a = Account(d, DisqualificationReward=1, DisqualificationCap=2)
    start = now() - timedelta(days=3)
    first, taken_back, left = a.event("first"), completed(a), completed(a)
    assert counts(post(a, [first, reversal(a, taken_back["EventId"])])) == (2, 0, 0)

    def disqualified(minutes):
        return take(a, a.event(fresh(), "survey_disqualified", Timestamp=spell(start + timedelta(minutes=minutes))))[0]

    assert disqualified(0) == "1.00"
    d.kill()
    d.start()
    assert disqualified(1) == "1.00"
    d.restart()
    assert disqualified(2) == "0.00"
    assert counts(post(a, first)) == (0, 1, 0)
    assert refused_only(a, dict(first, PanelistId="other")) == {("EventId", "conflict")}
    assert refused_only(a, reversal(a, taken_back["EventId"])) == {("OriginalRewardId", "already_reversed")}
    assert take(a, reversal(a, left["EventId"])) == ("-123.46", "-1.234567")


# --- clients, reversals ----------------------------------------------------------------------

def test_disabled_clients(daemon):
    a = Account(daemon, clients=("sdk", "iframe"))
    answer = daemon.api().patch("/api/v1/clients/" + a.client, {"Enabled": False})
    assert answer.status == 200, answer
    assert refused(a, a.event(fresh())) == {("ClientId", "disabled")}
    assert counts(post(a, dict(a.event(fresh()), ClientId=a.clients[1]))) == (1, 0, 0)
    assert daemon.api().patch("/api/v1/clients/" + a.client, {"Enabled": True}).status == 200
    assert counts(post(a, a.event(fresh()))) == (1, 0, 0)


def reversal(account, original, **more):
    return dict({"EventId": fresh(), "Type": "offer_completion_reversed", "ClientId": account.client,
                 "OriginalRewardId": original}, **more)


def completed(account, **more):
    e = account.event(fresh(), "offer_completed", RevenueAmount="1.234567", SessionId="s-1", OfferGoalId="g",
                      PanelistId="payee")
    e.update(more)
    assert counts(post(account, e)) == (1, 0, 0)
    return e


def test_a_reversal_is_its_original_negative(account):
    original = completed(account, Reward="33.333333")
    e = reversal(account, original["EventId"], Reason="charged back")
    assert take(account, e) == ("-33.333333", "-1.234567")
    found = account.daemon.api().callback(e["EventId"], account.partner_id)
    assert (found["PanelistId"], found["OriginalRewardId"]) == ("payee", original["EventId"])


def test_a_reversal_takes_back_what_was_paid_at_the_old_ratio(daemon):
    a = Account(daemon, currency="10")
    original = completed(a)
    a.patch(CurrencyValue="99", RewardDecimals=0)
    assert take(a, reversal(a, original["EventId"])) == ("-12.35", "-1.234567")


def test_fields_of_a_reversal_must_match_if_given(account):
    original = completed(account)
    same = {k: original[k] for k in ("PanelistId", "OfferId", "OfferTitle", "OfferGoalId", "SessionId")}
    for name, value in (("PanelistId", "thief"), ("OfferId", 8), ("OfferTitle", "Other"),
                        ("OfferGoalId", "h"), ("SessionId", "s-2")):
        found = refused(account, reversal(account, original["EventId"], **dict(same, **{name: value})))
        assert {f for f, _ in found} == {name}
    for name in ("Reward", "RevenueAmount"):
        found = refused(account, reversal(account, original["EventId"], **{name: "-1"}))
        assert {f for f, _ in found} == {name}
    e = reversal(account, original["EventId"], Reward=0, RevenueAmount="0.00", **same)
    assert take(account, e)[1] == "-1.234567"


def test_one_reversal_each(account):
    original = completed(account)
    first, second = reversal(account, original["EventId"]), reversal(account, original["EventId"])
    assert counts(post(account, first)) == (1, 0, 0)
    assert counts(post(account, first)) == (0, 1, 0)
    assert refused(account, second) == {("OriginalRewardId", "already_reversed")}


def test_reversals_within_a_batch(account):
    e = account.event(fresh(), "offer_completed")
    first, second = reversal(account, e["EventId"]), reversal(account, e["EventId"])
    before = reversal(account, e["EventId"])
    answer = post(account, [before, e, first, second])
    assert counts(answer) == (2, 0, 2)
    assert refusals(answer) == {0: {("OriginalRewardId", "original_not_found")},
                                3: {("OriginalRewardId", "already_reversed")}}
    assert amounts(account, first["EventId"])[1] == "-1.00"


def test_what_cannot_be_reversed(daemon, account):
    wanted = {("OriginalRewardId", "original_not_found")}
    assert refused(account, reversal(account, "never-was")) == wanted
    for kind in ("survey_completed", "offer_clicked", "ad_hoc"):
        e = account.event(fresh(), kind)
        assert counts(post(account, e)) == (1, 0, 0)
        assert refused(account, reversal(account, e["EventId"])) == wanted
    first = reversal(account, completed(account)["EventId"])
    assert counts(post(account, first)) == (1, 0, 0)
    assert refused(account, reversal(account, first["EventId"])) == wanted
    other = Account(daemon)
    assert refused(account, reversal(account, completed(other)["EventId"])) == wanted
    answer = daemon.api().post("/api/v1/partners/%s/apps" % account.partner_id, {"CurrencyValue": 1})
    sibling = answer.json["AppId"]
    client = daemon.api().post("/api/v1/apps/%s/clients" % sibling, {"Integration": "sdk"}).json["ClientId"]
    original = completed(account)
    assert refused(account, reversal(account, original["EventId"], ClientId=client)) == wanted
    # another client of the same app may report it
    assert counts(post(account, reversal(account, original["EventId"], ClientId=account.clients[1]))) == (1, 0, 0)


# --- bodies ----------------------------------------------------------------------------------

NDJSON = {"Content-Type": "application/x-ndjson"}


def test_ndjson_with_bad_lines(account):
    good = [account.event(fresh()) for _ in range(3)]
    lines = [encode(good[0]), "", "{not json", "   ", encode(good[1]) + "\r", "[]", encode(good[2])[:-1],
             '"text"', encode(good[2]), ""]
    answer = post(account, "\n".join(lines), headers=NDJSON)
    assert counts(answer) == (3, 0, 4)
    assert set(refusals(answer)) == {1, 3, 4, 5}  # lines that are not empty, from 0
    assert {item["EventId"] for item in answer.json["Rejected"]} == {None}
    assert counts(post(account, good)) == (0, 3, 0)


def test_ndjson_with_a_line_that_is_no_utf8(account):
    e = account.event(fresh())
    body = encode(account.event(fresh(), PanelistId="?")).encode().replace(b'"?"', b'"\xff"')
    answer = post(account, body + b"\n" + encode(e).encode(), headers=NDJSON)
    assert counts(answer) == (1, 0, 1)
    assert set(refusals(answer)) == {0}


@pytest.mark.parametrize("text", ["\\u0000", "\\ud800", "\\udc00x", "\\ud800\\u0041"])
def test_nul_and_lone_surrogates_are_rejected(account, text):
    good = account.event(fresh())
    e = account.event(fresh(), PanelistId=Raw('"a%s"' % text))
    answer = post(account, encode(e) + "\n" + encode(good), headers=NDJSON)
    assert counts(answer) == (1, 0, 1)
    assert set(refusals(answer)) == {0}


@pytest.mark.parametrize("text", ["\\u0000", "\\ud800", "\\udc00x", "\\ud800\\u0041"])
def test_nul_and_lone_surrogates_cost_only_their_item_of_an_array(account, text):
    good = account.event(fresh())
    for member in ("PanelistId", "EventId", "SessionId"):
        bad = account.event(fresh(), **{member: Raw('"a%s"' % text)})
        answer = post(account, "[%s,%s]" % (encode(bad), encode(good)))
        assert refusals(answer)[0] == {(member, "invalid")}, answer
        assert answer.json["Accepted"] + answer.json["Duplicates"] == 1


@pytest.mark.parametrize("body", [b"", b"{", b"[{}", b"[}", b"nul", b"{}{}", b"[] []", b'{"a":1,}', b"{'a':1}",
                                  b'\xff', b'{"EventId":"\xff"}', b"[1,]", b"\xef\xbb\xbf{", b'{"a":01}'])
def test_json_that_cannot_be_read_is_400(account, body):
    assert_problem(account.daemon.api().post("/api/v1/events", body), 400)


def test_a_byte_order_mark_is_named(account):
    e = encode(account.event(fresh())).encode()
    answer = account.daemon.api().post("/api/v1/events", b"\xef\xbb\xbf" + e)
    assert_problem(answer, 400)
    assert "begins with a byte order mark" in answer.text, answer


def test_an_unreadable_array_stores_nothing(account):
    e = account.event(fresh())
    assert_problem(post(account, "[%s,{" % encode(e)), 400)
    assert counts(post(account, e)) == (1, 0, 0)


def test_an_empty_array_and_a_single_invalid_object_are_202(account):
    assert counts(post(account, "[]")) == (0, 0, 0)
    assert counts(post(account, " [ ] \n")) == (0, 0, 0)
    assert counts(post(account, "{}")) == (0, 0, 1)


def test_partial_batches(account):
    good = [account.event(fresh()) for _ in range(50)]
    items = []
    for e in good:
        items += [account.event(fresh(), RevenueAmount="1e9"), e]
    answer = post(account, items)
    assert counts(answer) == (50, 0, 50)
    assert set(refusals(answer)) == set(range(0, 100, 2))
    assert [r["EventId"] for r in answer.json["Rejected"]] == [e["EventId"] for e in items[::2]]
    assert counts(post(account, good)) == (0, 50, 0)


def test_10000_events_are_the_most(account):
    started = [account.event(fresh(), "survey_started") for _ in range(10001)]
    for body, headers in ((encode(started), {}), ("\n".join(map(encode, started)), NDJSON)):
        assert_problem(post(account, body, headers=headers), 413)
    assert counts(post(account, started[:10000])) == (10000, 0, 0)
    assert counts(post(account, started[10000])) == (1, 0, 0)


def test_8_mib_are_the_most(account):
    e = encode(account.event(fresh()))
    space = 8 * 1024 * 1024 - len(e)
    assert_problem(post(account, e + " " * (space + 1)), 413)
    assert counts(post(account, e + " " * space)) == (1, 0, 0)


def test_media_types(account):
    api = account.daemon.api()
    for kind in ("text/plain", "application/xml", "application/x-www-form-urlencoded"):
        assert_problem(api.post("/api/v1/events", "[]", headers={"Content-Type": kind}), 415)
    for kind in ("application/json", "Application/JSON; charset=utf-8", "application/x-ndjson;charset=UTF-8"):
        e = encode(account.event(fresh()))
        assert counts(api.post("/api/v1/events", e, headers={"Content-Type": kind})) == (1, 0, 0)
    for coding in ("gzip", "br", "deflate"):
        assert_problem(api.post("/api/v1/events", "[]", headers={"Content-Encoding": coding}), 415)


def test_imported_events_are_skipped_whatever_their_age(daemon, receiver):
    a = Account(daemon, receiver.url)
    old, recent = fresh(), fresh()
    body = [a.event(old, Timestamp="2019-02-03T04:05:06+07:00"), a.event(recent)]
    answer = daemon.api().post("/api/v1/events?deliver=false", encode(body))
    assert counts(answer) == (2, 0, 0)
    for event_id in (old, recent):
        found = daemon.api().callback(event_id, a.partner_id)
        assert (found["State"], found["Reason"]) == ("skipped", "imported")
    future = daemon.api().post("/api/v1/events?deliver=false",
                               encode(a.event(fresh(), Timestamp=ago(minutes=-10))))
    assert refusals(future) == {0: {("Timestamp", "out_of_range")}}
    query = {"partnerId": a.partner_id, "startDate": "2019-02-01", "endDate": "2019-02-28"}
    rows = daemon.api().get("/api/v1/reports/earnings", query=query).json["Rows"]
    assert [(row["Day"], Decimal(str(row["Earnings"]))) for row in rows] == [("2019-02-02", 1)]
    assert receiver.requests == []


def test_deliver_takes_only_its_values(account):
    api = account.daemon.api()
    for query in ("deliver=no", "deliver=", "deliver=false&deliver=false", "Deliver=false"):
        assert_problem(api.post("/api/v1/events?" + query, "[]"), 400, query.split("=")[0])
    assert counts(api.post("/api/v1/events?deliver=true", "[]")) == (0, 0, 0)

"""Taking events in: every rule of a field, and what an event is worth. Each refusal is held to its
field and code; what was refused must leave no trace."""
import json
from datetime import timedelta

import pytest

from checks import Raw, ago, counts, encode, now, refusals, spell
from harness import Account
from reporting import amounts, fresh, post, refused, take, without


@pytest.fixture(scope="module")
def account(daemon):
    """An app without URLs: its callbacks are skipped, its amounts can be read."""
    return Account(daemon, clients=("sdk", "iframe", "monetization_api"), currency="72.5")


# --- required, invalid, out_of_range ---------------------------------------------------------

MISSING = [
    ("survey_completed", "EventId"), ("survey_completed", "Type"), ("survey_completed", "ClientId"),
    ("survey_completed", "PanelistId"), ("survey_completed", "RevenueAmount"),
    ("survey_started", "PanelistId"), ("offer_completed", "RevenueAmount"),
    ("offer_completed", "OfferId"), ("offer_completed", "OfferTitle"), ("offer_clicked", "OfferId"),
    ("offer_clicked", "OfferTitle"), ("ad_hoc", "Reward"),
]


@pytest.mark.parametrize("kind,name", MISSING)
def test_required(account, kind, name):
    e = account.event(fresh(), kind)
    assert refused(account, without(e, name)) == {(name, "required")}
    assert counts(post(account, e)) == (1, 0, 0)


def test_a_reversal_needs_its_original(account):
    e = {"EventId": fresh(), "Type": "offer_completion_reversed", "ClientId": account.client}
    assert ("OriginalRewardId", "required") in refused(account, e)


LONG = "x" * 1024
WRONG = [
    # field, value, code; on a survey_completed unless a type stands last
    ("EventId", "", "invalid"), ("EventId", "_a", "invalid"), ("EventId", ":a", "invalid"),
    ("EventId", "-a", "invalid"), ("EventId", "a b", "invalid"), ("EventId", "a.b", "invalid"),
    ("EventId", "ä", "invalid"), ("EventId", "a/b", "invalid"), ("EventId", "e" * 129, None),
    ("EventId", 5, "invalid"), ("EventId", None, None), ("EventId", "a\n", "invalid"),
    ("Type", "survey", "invalid"), ("Type", "Survey_completed", "invalid"), ("Type", 1, "invalid"),
    ("Type", "", "invalid"),
    ("ClientId", "nobody", "unknown_client"), ("ClientId", "", "unknown_client"), ("ClientId", 5, None),
    ("PanelistId", "", None), ("PanelistId", "p" * 257, None), ("PanelistId", "ü" * 129, None),
    ("PanelistId", 5, "invalid"), ("PanelistId", None, None), ("PanelistId", ["a"], "invalid"),
    ("Timestamp", "2026-11-20T12:00:00", "invalid"), ("Timestamp", "2026-11-20", "invalid"),
    ("Timestamp", "2026-02-30T12:00:00Z", "invalid"), ("Timestamp", "2026-11-20T25:00:00Z", "invalid"),
    ("Timestamp", "2026-11-20T12:60:00Z", "invalid"), ("Timestamp", 1763726400, "invalid"),
    ("Timestamp", "2026-11-20T12:00:00+24:00", "invalid"), ("Timestamp", "", "invalid"),
    ("Timestamp", "2026-11-20T12:00:00.Z", "invalid"), ("Timestamp", "now", "invalid"),
    ("Timestamp", "2026-11-20T12:00Z", "invalid"), ("Timestamp", "2026-11-20T12:00:00 Z", "invalid"),
    ("RevenueAmount", Raw("0.0000001"), "invalid"), ("RevenueAmount", "0.0000001", "invalid"),
    ("RevenueAmount", Raw("1e-7"), "invalid"), ("RevenueAmount", Raw("1.00000001"), "invalid"),
    ("RevenueAmount", "", "invalid"), ("RevenueAmount", "1,5", "invalid"),
    ("RevenueAmount", " 1", "invalid"), ("RevenueAmount", "1 ", "invalid"),
    ("RevenueAmount", "0x10", "invalid"), ("RevenueAmount", "NaN", "invalid"),
    ("RevenueAmount", "Infinity", "invalid"), ("RevenueAmount", True, "invalid"),
    ("RevenueAmount", None, None), ("RevenueAmount", [1], "invalid"), ("RevenueAmount", {}, "invalid"),
    ("RevenueAmount", "1.", "invalid"), ("RevenueAmount", ".5", "invalid"),
    ("RevenueAmount", "+1", "invalid"), ("RevenueAmount", "01", "invalid"),
    ("RevenueAmount", "$1", "invalid"), ("RevenueAmount", "1e", "invalid"),
    ("RevenueAmount", Raw("-0.01"), "out_of_range"), ("RevenueAmount", "1000000.000001", "out_of_range"),
    ("RevenueAmount", Raw("1e7"), "out_of_range"), ("RevenueAmount", Raw("1e400"), "out_of_range"),
    ("RevenueAmount", "9" * 40, "out_of_range"),
    ("Reward", Raw("1000000000.000001"), "out_of_range"), ("Reward", Raw("-1"), "out_of_range"),
    ("Reward", Raw("0.1234567"), "invalid"), ("Reward", "much", "invalid"),
    ("SessionId", "s" * 1025, None), ("SessionId", 5, "invalid"), ("Mid", "m" * 1025, None),
    ("Mid", {}, "invalid"),
    ("IsTest", "true", "invalid"), ("IsTest", 1, "invalid"), ("IsTest", None, None),
    ("Reason", "r" * 1025, None, "ad_hoc"), ("Reason", 5, "invalid", "ad_hoc"),
    ("OfferId", 0, "out_of_range", "offer_completed"), ("OfferId", -1, "out_of_range", "offer_completed"),
    ("OfferId", Raw("9007199254740992"), "out_of_range", "offer_completed"),
    ("OfferId", Raw("9" * 40), "out_of_range", "offer_completed"),
    ("OfferId", Raw("1.5"), "invalid", "offer_completed"), ("OfferId", "7", None, "offer_completed"),
    ("OfferTitle", "", None, "offer_completed"), ("OfferTitle", "t" * 1025, None, "offer_completed"),
    ("OfferTitle", 5, "invalid", "offer_completed"), ("OfferGoalId", 5.5, "invalid", "offer_completed"),
    ("OriginalRewardId", "a b", "invalid", "ad_hoc"), ("OriginalRewardId", 5, "invalid", "ad_hoc"),
]


def label(row):
    return "%s=%.24r" % row[:2]


@pytest.mark.parametrize("row", WRONG, ids=label)
def test_wrong_values(account, row):
    name, value, code = row[:3]
    e = account.event(fresh(), row[3] if len(row) > 3 else "survey_completed")
    e[name] = value
    found = refused(account, e)
    assert {field for field, _ in found} == {name}
    assert {c for _, c in found} <= ({code} if code else {"invalid", "out_of_range", "required"})


GOOD = [
    ("EventId", "E" * 128), ("EventId", "0"), ("EventId", "a_:-Z9"), ("PanelistId", "ü" * 128),
    ("PanelistId", "\u0001\t\"\\ "), ("PanelistId", "😀"), ("SessionId", ""), ("SessionId", LONG),
    ("Mid", LONG), ("IsTest", True), ("IsTest", False),
    ("Reason", LONG, "survey_disqualified"), ("OfferId", Raw("9007199254740991"), "offer_completed"),
    ("OfferTitle", LONG, "offer_clicked"), ("OfferGoalId", "", "offer_completed"),
    ("OriginalRewardId", "whatever-1", "ad_hoc"),
]


@pytest.mark.parametrize("row", GOOD, ids=label)
def test_borders_that_are_good(account, row):
    e = account.event(fresh(), row[2] if len(row) > 2 else "survey_completed")
    e[row[0]] = row[1]
    assert counts(post(account, e)) == (1, 0, 0)


FOREIGN = [("survey_completed", "OfferId", 7), ("survey_completed", "OfferTitle", "t"),
           ("survey_started", "OfferGoalId", "g"), ("offer_completed", "Mid", "m"),
           ("survey_completed", "Reason", "r"), ("survey_completed", "OriginalRewardId", "o"),
           ("offer_completed", "Reason", "r"), ("offer_clicked", "OriginalRewardId", "o")]


@pytest.mark.parametrize("kind,name,value", FOREIGN)
def test_fields_of_other_types_are_refused(account, kind, name, value):
    found = refused(account, account.event(fresh(), kind, **{name: value}))
    assert {field for field, _ in found} == {name}
    assert {code for _, code in found} <= {"invalid", "unknown_field"}


@pytest.mark.parametrize("kind", ["survey_started", "offer_clicked"])
@pytest.mark.parametrize("name", ["Reward", "RevenueAmount"])
def test_starts_and_clicks_carry_no_amounts_or_zero(account, kind, name):
    assert {f for f, _ in refused(account, account.event(fresh(), kind, **{name: Raw("0.01")}))} == {name}
    assert counts(post(account, account.event(fresh(), kind, **{name: Raw("0.00")}))) == (1, 0, 0)


def test_unknown_and_repeated_members(account):
    assert refused(account, account.event(fresh(), Bonus=1)) == {("Bonus", "unknown_field")}
    assert refused(account, account.event(fresh(), eventid="x")) == {("eventid", "unknown_field")}
    event_id = fresh()
    text = encode(account.event(event_id))[:-1] + ',"PanelistId":"user-1"}'
    answer = post(account, text)
    assert refusals(answer) == {0: {("PanelistId", "invalid")}}
    assert counts(post(account, account.event(event_id))) == (1, 0, 0)
    escaped = encode(account.event(fresh()))[:-1] + ',"\\u0050anelistId":"user-2"}'
    assert set(refusals(post(account, escaped))) == {0}


def test_every_fault_is_named_at_once(account):
    found = refused(account, {"EventId": "_", "Type": "survey_completed", "ClientId": account.client,
                              "RevenueAmount": "x", "Bonus": 1})
    assert found == {("EventId", "invalid"), ("PanelistId", "required"), ("RevenueAmount", "invalid"),
                     ("Bonus", "unknown_field")}


def test_items_that_are_no_objects(account):
    good = fresh()
    answer = post(account, encode([5, None, "x", [], account.event(good), True]))
    assert counts(answer) == (1, 0, 5)
    assert set(refusals(answer)) == {0, 1, 2, 3, 5}
    assert {item["EventId"] for item in answer.json["Rejected"]} == {None}


def test_time_window(account):
    for delta, good in ((timedelta(minutes=4, seconds=50), True), (timedelta(minutes=5, seconds=20), False),
                        (timedelta(days=-90, minutes=1), True), (timedelta(days=-90, minutes=-1), False)):
        e = account.event(fresh(), Timestamp=spell(now() + delta, 330))
        if good:
            assert counts(post(account, e)) == (1, 0, 0)
        else:
            assert refused(account, e) == {("Timestamp", "out_of_range")}


def test_timestamp_is_stored_in_utc_cut_to_the_millisecond(account):
    at = now() - timedelta(days=3)
    for text, want in ((spell(at, -345)[:-6] + "999999-05:45", spell(at)),
                       (at.strftime("%Y-%m-%dt%H:%M:%Sz"), at.strftime("%Y-%m-%dT%H:%M:%S.000Z")),
                       (at.strftime("%Y-%m-%dT%H:%M:%S.5Z"), at.strftime("%Y-%m-%dT%H:%M:%S.500Z"))):
        event_id = fresh()
        assert counts(post(account, account.event(event_id, Timestamp=text))) == (1, 0, 0), text
        assert account.daemon.api().callback(event_id, account.partner_id)["Timestamp"] == want


def test_timestamp_defaults_to_now(account):
    event_id = fresh()
    before = spell(now())
    post(account, account.event(event_id))
    assert before <= account.daemon.api().callback(event_id, account.partner_id)["Timestamp"] <= spell(now())


# --- money -----------------------------------------------------------------------------------

SPELLINGS = ["1.1", '"1.1"', "1.10", "1.100000", '"1.100000"', "11e-1", "0.11E1", '"110e-2"', "1.1000000000"]


@pytest.mark.parametrize("text", SPELLINGS)
def test_numbers_and_strings_and_exponents(account, text):
    # trailing zeros beyond the sixth digit do not change an exact value
    e = account.event(fresh(), RevenueAmount=Raw(text))
    assert take(account, e) == ("79.75", "1.10")


PRINTED = [("125", "9062.50", "125.00"), ("0.0125", "0.91", "0.0125"), ("5e-06", "0.00", "0.000005"),
           ("1000000", "72500000.00", "1000000.00"), ("0", "0.00", "0.00"), ("0.35", "25.38", "0.35"),
           ("0.000069", "0.01", "0.000069"), ("0.000068", "0.00", "0.000068"), ("-0", "0.00", "0.00")]


@pytest.mark.parametrize("revenue,reward,printed", PRINTED)
def test_computed_rewards_and_how_amounts_print(account, revenue, reward, printed):
    assert take(account, account.event(fresh(), RevenueAmount=Raw(revenue))) == (reward, printed)


@pytest.mark.parametrize("decimals,revenue,own,reward", [
    (0, "1", None, "72"), (0, "0.5", None, "36"), (0, "0.006945", None, "1"), (0, "0.006944", None, "0"),
    (1, "0.35", None, "25.2"), (3, "0.000007", None, "0.001"), (6, "0.000001", None, "0.000072"),
    (6, "1", None, "72.00"), (2, "0.007", None, "0.50"), (0, "1", "1.5", "1.5"), (0, "1", "72.00", "72"),
    (2, "1", "0.000001", "0.000001"), (2, "1", "1000000000", "1000000000.00"), (2, "1", "0", "0.00"),
])
def test_reward_decimals(daemon, decimals, revenue, own, reward):
    a = Account(daemon, currency="72", RewardDecimals=decimals)
    e = a.event(fresh(), RevenueAmount=revenue, **({"Reward": own} if own else {}))
    assert take(a, e)[0] == reward


def test_half_is_rounded_away_from_zero(daemon):
    a = Account(daemon, currency="0.5")
    assert take(a, a.event(fresh(), RevenueAmount="0.01"))[0] == "0.01"
    assert take(a, a.event(fresh(), RevenueAmount="0.03"))[0] == "0.02"
    assert take(a, a.event(fresh(), RevenueAmount="0.009999"))[0] == "0.00"


def test_a_computed_reward_out_of_range(daemon):
    a = Account(daemon, currency="1000000")
    assert take(a, a.event(fresh(), RevenueAmount="1000"))[0] == "1000000000.00"
    for revenue in ("1000.000001", "1000000"):
        assert {c for _, c in refused(a, a.event(fresh(), RevenueAmount=revenue))} == {"out_of_range"}
    # its own reward stands in place of the product
    assert take(a, a.event(fresh(), RevenueAmount="1000000", Reward=5))[0] == "5.00"


def test_the_ratio_is_the_one_at_acceptance(daemon):
    a = Account(daemon, currency="10")
    first, second = fresh(), fresh()
    assert take(a, a.event(first, Timestamp=ago(days=2)))[0] == "10.00"
    a.patch(CurrencyValue="20")
    assert take(a, a.event(second, Timestamp=ago(days=3)))[0] == "20.00"
    a.patch(CurrencyValue="30", RewardDecimals=0)
    assert [amounts(a, i)[0] for i in (first, second)] == ["10.00", "20.00"]


def test_defaults_of_amounts(account):
    assert take(account, account.event(fresh(), "profiler_completed")) == ("0.00", "0.00")
    assert take(account, account.event(fresh(), "profiler_completed", RevenueAmount=2)) == ("145.00", "2.00")
    assert take(account, account.event(fresh(), "survey_disqualified")) == ("0.00", "0.00")
    assert take(account, account.event(fresh(), "survey_disqualified", RevenueAmount="0.5")) == ("0.00", "0.50")
    assert take(account, account.event(fresh(), "ad_hoc", Reward="3.5")) == ("3.50", "0.00")
    assert take(account, account.event(fresh(), "offer_clicked")) == ("0.00", "0.00")
    assert take(account, account.event(fresh(), "offer_completed", RevenueAmount="2")) == ("145.00", "2.00")


def test_negative_ad_hoc_needs_a_reason(daemon):
    a = Account(daemon, currency="10", NegativeAdHoc=True)
    for amounts_ in ({"Reward": "-5"}, {"Reward": "0", "RevenueAmount": "-1"}):
        assert refused(a, a.event(fresh(), "ad_hoc", **amounts_)) == {("Reason", "required")}
    assert take(a, a.event(fresh(), "ad_hoc", Reward="-5", Reason="fraud")) == ("-5.00", "0.00")


def test_amounts_never_have_opposite_signs(daemon):
    a = Account(daemon, currency="10", NegativeAdHoc=True)
    for reward, revenue in (("5", "-1"), ("-5", "1")):
        assert refused(a, a.event(fresh(), "ad_hoc", Reward=reward, RevenueAmount=revenue, Reason="r")) == \
            {("RevenueAmount", "invalid")}


def test_ids_of_test_callbacks_are_reserved(daemon):
    a = Account(daemon)
    assert refused(a, a.event("test_" + fresh())) == {("EventId", "invalid")}


def test_an_integer_goal_is_kept_as_its_digits(daemon):
    a = Account(daemon)
    e = a.event(fresh(), "offer_completed", OfferGoalId=17)
    take(a, e)
    shown = daemon.api().get("/api/v1/callbacks/" + e["EventId"], query={"partnerId": a.partner_id}).json
    assert json.loads(shown["Body"])["OfferGoalId"] == "17"
    assert counts(post(a, e)) == (0, 1, 0)
    assert refusals(post(a, dict(e, OfferGoalId="17"))) == {0: {("EventId", "conflict")}}


def test_a_reversal_of_a_test_may_not_say_that_it_is_none(daemon):
    a = Account(daemon)
    e = a.event(fresh(), "offer_completed", IsTest=True)
    take(a, e)
    back = a.event(fresh(), "offer_completion_reversed", OriginalRewardId=e["EventId"])
    assert refused(a, dict(back, IsTest=False)) == {("IsTest", "invalid")}
    take(a, back)


def test_of_an_erased_panelist_any_id_matches(daemon):
    a = Account(daemon)
    e = a.event(fresh(), "offer_completed", PanelistId="gone", SessionId="s")
    take(a, e)
    assert daemon.api().post("/api/v1/panelists/erase", {"PanelistId": "gone"},
                             query={"partnerId": a.partner_id}).status == 200
    take(a, a.event(fresh(), "offer_completion_reversed", OriginalRewardId=e["EventId"],
                    PanelistId="gone", SessionId="s"))


def test_negative_ad_hoc_needs_the_switch(daemon):
    a = Account(daemon, currency="10")
    e = a.event(fresh(), "ad_hoc", Reward="-5", RevenueAmount="-1.5", Reason="found in reconciliation",
                OriginalRewardId="other")
    assert refused(a, e) == {("Reward", "out_of_range"), ("RevenueAmount", "out_of_range")}
    a.patch(NegativeAdHoc=True)
    assert take(a, e) == ("-5.00", "-1.50")
    for kind in ("survey_completed", "survey_disqualified", "profiler_completed", "offer_completed"):
        assert refused(a, a.event(fresh(), kind, Reward="-5")) == {("Reward", "out_of_range")}
    assert ("Reward", "out_of_range") in refused(a, a.event(fresh(), "ad_hoc", Reward="-1000000000.000001"))


# --- disqualification rewards ----------------------------------------------------------------

def dq(a, at=None, **more):
    e = a.event(fresh(), "survey_disqualified", **more)
    if at:
        e["Timestamp"] = at if isinstance(at, str) else spell(at)
    return take(a, e)[0]


def test_disqualifications_are_paid_up_to_the_cap(daemon):
    a = Account(daemon, DisqualificationReward="0.5")  # the cap's default is 6
    start = now() - timedelta(days=10)
    paid = [dq(a, start + timedelta(hours=i)) for i in range(8)]
    assert paid == ["0.50"] * 6 + ["0.00"] * 2
    assert dq(a, start + timedelta(hours=8), PanelistId="another") == "0.50"
    assert dq(a, start + timedelta(hours=23, minutes=59)) == "0.00"
    # the first has left the window of 24 h; what was unpaid never counted
    assert dq(a, start + timedelta(hours=24, minutes=1)) == "0.50"
    assert dq(a, start + timedelta(hours=24, minutes=2)) == "0.00"


def test_tests_are_paid_and_not_counted(daemon):
    a = Account(daemon, DisqualificationReward="1", DisqualificationCap=2)
    start = now() - timedelta(days=5)
    assert [dq(a, start + timedelta(minutes=i), IsTest=True) for i in range(4)] == ["1.00"] * 4
    assert [dq(a, start + timedelta(minutes=10 + i)) for i in range(3)] == ["1.00", "1.00", "0.00"]
    assert dq(a, start + timedelta(minutes=20), IsTest=True) == "1.00"


def test_an_own_reward_is_outside_the_cap(daemon):
    a = Account(daemon, DisqualificationReward="1", DisqualificationCap=1)
    start = now() - timedelta(days=5)
    assert [dq(a, start + timedelta(minutes=i), Reward="7") for i in range(3)] == ["7.00"] * 3
    assert dq(a, start + timedelta(minutes=10)) == "1.00"
    assert dq(a, start + timedelta(minutes=11)) == "0.00"
    assert dq(a, start + timedelta(minutes=12), Reward="7") == "7.00"


def test_what_arrives_later_changes_nothing_earlier(daemon):
    a = Account(daemon, DisqualificationReward="1", DisqualificationCap=1)
    start = now() - timedelta(days=5)
    late, early = fresh(), fresh()
    assert take(a, a.event(late, "survey_disqualified", Timestamp=spell(start + timedelta(hours=2)))) == ("1.00", "0.00")
    # with it the 24 h from its own Timestamp on would hold two
    assert take(a, a.event(early, "survey_disqualified", Timestamp=spell(start))) == ("0.00", "0.00")
    assert amounts(a, late)[0] == "1.00"
    assert dq(a, start + timedelta(hours=3)) == "0.00"
    assert dq(a, start - timedelta(hours=22)) == "1.00"


def test_a_hundred_disqualifications_sent_newest_first_are_capped(daemon):
    a = Account(daemon, DisqualificationReward="1")
    start = now() - timedelta(days=5)
    rewards = [dq(a, start - timedelta(minutes=i)) for i in range(100)]
    assert rewards == ["1.00"] * 6 + ["0.00"] * 94


def test_the_cap_is_per_app_and_holds_within_a_batch(daemon):
    a = Account(daemon, clients=("sdk", "iframe"), DisqualificationReward="1", DisqualificationCap=2)
    at = ago(hours=5)
    batch = [dict(a.event(fresh(), "survey_disqualified", Timestamp=at), ClientId=a.clients[i % 2]) for i in range(4)]
    assert counts(post(a, batch)) == (4, 0, 0)
    assert [amounts(a, e["EventId"])[0] for e in batch] == ["1.00", "1.00", "0.00", "0.00"]
    b = Account(daemon, DisqualificationReward="1", DisqualificationCap=0)
    assert dq(b) == "0.00"

"""Receivers that exist: habits of handlers that others wrote, and the settings that suit them."""
import hashlib
import hmac
import re
from pathlib import Path
from urllib.parse import parse_qs, unquote

import pytest

from harness import Account, Receiver, assert_signed, eventually

TYPES = ["survey_completed", "survey_disqualified", "profiler_completed", "ad_hoc",
         "offer_completed", "offer_clicked", "offer_completion_reversed"]


@pytest.fixture
def knows_completions():
    """Written for completed offers; of anything else its switch throws."""
    r = Receiver(lambda request: 200 if request.json["RewardType"] == "offer_completed" else 500)
    yield r
    r.close()


def callback(account, reward_id):
    return account.daemon.api().callback(reward_id, account.partner_id)


def ended(account, reward_id, state):
    return account.daemon.api().wait_state(reward_id, account.partner_id, state)


# --- RewardTypes -------------------------------------------------------------------------------

def test_other_types_are_skipped_and_never_sent(daemon, knows_completions):
    a = Account(daemon, knows_completions.url, RewardTypes=["offer_completed"])
    api = daemon.api()
    api.events([a.event("rt-click", "offer_clicked"), a.event("rt-done", "offer_completed"),
                a.event("rt-survey", "survey_completed")])
    ended(a, "rt-done", "delivered")
    for reward_id in ("rt-click", "rt-survey"):
        found = callback(a, reward_id)
        assert (found["State"], found["Reason"], found["Attempts"]) == ("skipped", "not_wanted", []), found
    feed = api.get("/api/v1/rewards", query={"partnerId": a.partner_id}).json["Items"]
    assert {r["RewardId"]: r["Reason"] for r in feed} == {
        "rt-click": "not_wanted", "rt-done": None, "rt-survey": "not_wanted"}
    earned = api.get("/api/v1/reports/earnings", query={"partnerId": a.partner_id}).json["Rows"]
    assert sum(row["Earnings"] for row in earned) == 2, earned  # both completions, sent or not
    assert [r.json["RewardId"] for r in knows_completions.requests] == ["rt-done"]


def test_what_waits_follows_the_setting_and_a_resend_waits_for_it_too(daemon, knows_completions):
    a = Account(daemon, knows_completions.url)
    resend = "/api/v1/callbacks/rt-wait/resend"
    daemon.api().events(a.event("rt-wait", "offer_clicked"))
    knows_completions.wait_for("rt-wait")
    a.patch(RewardTypes=["offer_completed"])
    found = ended(a, "rt-wait", "skipped")
    assert found["Reason"] == "not_wanted", found
    tries = len(found["Attempts"])
    assert daemon.api().post(resend, query={"partnerId": a.partner_id}).status == 202
    assert len(ended(a, "rt-wait", "skipped")["Attempts"]) == tries
    knows_completions.answer = lambda request: 200
    a.patch(RewardTypes=None)
    assert daemon.api().post(resend, query={"partnerId": a.partner_id}).status == 202
    ended(a, "rt-wait", "delivered")


def test_a_reversal_does_not_wait_for_an_original_that_is_not_wanted(daemon, receiver):
    a = Account(daemon, receiver.url, RewardTypes=["offer_completion_reversed"])
    daemon.api().events([a.event("rt-orig", "offer_completed"),
                         a.event("rt-back", "offer_completion_reversed", OriginalRewardId="rt-orig")])
    ended(a, "rt-back", "delivered")
    assert callback(a, "rt-orig")["Reason"] == "not_wanted"


def test_a_test_callback_of_any_type_is_sent(daemon, receiver):
    a = Account(daemon, receiver.url, RewardTypes=["offer_completed"])
    answer = daemon.api().post("/api/v1/apps/%s/test-callback" % a.app_id,
                               {"RewardType": "survey_completed", "PanelistId": "u"})
    assert answer.status == 200 and answer.json["Status"] == 200, answer


@pytest.mark.parametrize("sent, kept", [
    (None, None), (["ad_hoc"], ["ad_hoc"]), (TYPES[::-1] + ["ad_hoc"], TYPES)])
def test_reward_types_are_kept_in_order_and_audited(daemon, sent, kept):
    a = Account(daemon)
    assert a.patch(RewardTypes=sent)["RewardTypes"] == kept
    assert daemon.api().get("/api/v1/apps/" + a.app_id).json["RewardTypes"] == kept
    entry = daemon.api().get("/api/v1/audit", query={"partnerId": a.partner_id}).json["Items"][0]
    assert (entry["Before"]["RewardTypes"], entry["After"]["RewardTypes"]) == (None, kept), entry


@pytest.mark.parametrize("value, words", [
    ([], "at least one"), ("ad_hoc", "list"), ({}, "list"), (["survey_started"], "only survey_completed, "),
    (["ad_hoc", "other"], "only survey_completed, "), ([None], "only survey_completed, "), ([4], "only survey_completed, ")])
def test_what_is_no_list_of_reward_types_is_refused(daemon, value, words):
    a = Account(daemon, RewardTypes=["ad_hoc"])
    answer = daemon.api().patch("/api/v1/apps/" + a.app_id, {"RewardTypes": value})
    assert answer.status == 400, answer
    fault, = answer.json["errors"]
    assert (fault["Field"], fault["Code"]) == ("RewardTypes", "invalid") and words in fault["Detail"], fault
    assert daemon.api().get("/api/v1/apps/" + a.app_id).json["RewardTypes"] == ["ad_hoc"]


def test_reward_types_hold_after_a_restart(own_daemon, receiver):
    daemon = own_daemon.start()
    a = Account(daemon, receiver.url, RewardTypes=["ad_hoc"])
    daemon.api().events([a.event("rt-kept", "survey_completed")])
    daemon.restart()
    assert callback(a, "rt-kept")["Reason"] == "not_wanted"
    daemon.api().events([a.event("rt-after", "survey_completed"), a.event("rt-hoc", "ad_hoc")])
    ended(a, "rt-hoc", "delivered")
    assert callback(a, "rt-after")["Reason"] == "not_wanted"


# --- WithholdTests ------------------------------------------------------------------------------

def test_tests_are_withheld_where_the_app_says(daemon, receiver):
    a = Account(daemon, receiver.url, WithholdTests=True)
    api = daemon.api()
    api.events([a.event("wt-test", IsTest=True), a.event("wt-offer", "offer_completed", IsTest=True),
                a.event("wt-real"), a.event("wt-back", "offer_completion_reversed", OriginalRewardId="wt-offer")])
    ended(a, "wt-real", "delivered")
    for reward_id in ("wt-test", "wt-offer", "wt-back"):
        found = callback(a, reward_id)
        assert (found["State"], found["Reason"], found["Attempts"]) == ("skipped", "not_wanted", []), found
    answer = api.post("/api/v1/apps/%s/test-callback" % a.app_id, {"RewardType": "ad_hoc", "PanelistId": "u"})
    assert answer.status == 200 and answer.json["Status"] == 200, answer  # asked for, so it is sent
    a.patch(WithholdTests=False)
    assert api.post("/api/v1/callbacks/wt-test/resend", query={"partnerId": a.partner_id}).status == 202
    ended(a, "wt-test", "delivered")


def test_tests_that_wait_are_withheld_too(daemon):
    handler = Receiver(lambda request: 500)
    try:
        a = Account(daemon, handler.url)
        daemon.api().events([a.event("wt-wait", IsTest=True)])
        handler.wait_for("wt-wait")
        a.patch(WithholdTests=True)
        assert ended(a, "wt-wait", "skipped")["Reason"] == "not_wanted"
    finally:
        handler.close()


# --- a type that is refused, without the setting ------------------------------------------------

def test_a_refused_type_does_not_suspend_the_endpoint_for_the_others(own_daemon, knows_completions):
    daemon = own_daemon
    daemon.schedule = "10m"  # no second tries: what is tried is what this test hands in
    daemon.start()
    a = Account(daemon, knows_completions.url)

    def click(name, count):
        daemon.api().events([a.event("%s-%d" % (name, i), "offer_clicked") for i in range(count)])

    def complete(name):
        daemon.api().events([a.event(name, "offer_completed")])
        ended(a, name, "delivered")

    click("mix-first", 1)
    eventually(lambda: callback(a, "mix-first-0")["Attempts"], what="the first click has failed")
    complete("mix-taken")
    click("mix-flood", 40)  # ten times the window
    for i in range(40):
        knows_completions.wait_for("mix-flood-%d" % i)
    complete("mix-after")
    offer, = [e for e in daemon.api().get("/api/v1/apps/%s/endpoints" % a.app_id).json["Endpoints"]
              if e["Endpoint"] == "offer"]
    assert offer["State"] == "open", offer


def test_a_receiver_that_fails_at_every_type_is_suspended(own_daemon):
    daemon = own_daemon
    daemon.schedule = "10m"
    daemon.start()
    receiver = Receiver(lambda request: 500)
    try:
        a = Account(daemon, receiver.url)
        daemon.api().events([a.event("all-%d" % i, ("offer_clicked", "offer_completed")[i % 2]) for i in range(40)])
        eventually(lambda: [e["State"] for e in daemon.api().get(
            "/api/v1/apps/%s/endpoints" % a.app_id).json["Endpoints"] if e["Endpoint"] == "offer"] == ["suspended"],
            what="the endpoint is suspended")
    finally:
        receiver.close()


# --- SuccessAnswer ------------------------------------------------------------------------------

CREDITED = {"Field": "status", "Value": "ok"}


@pytest.fixture
def says_ok_to_known():
    """Answers 200 to everybody, and says in the body that it does not know user "stranger"."""
    known = b'{"status":"ok"}'
    unknown = b'{"status":400,"error":"no such user"}'
    r = Receiver(lambda request: (200, {}, unknown if request.json["PanelistId"] == "stranger" else known))
    yield r
    r.close()


def test_a_200_that_says_it_failed_is_tried_again(daemon, says_ok_to_known):
    a = Account(daemon, says_ok_to_known.url, SuccessAnswer=CREDITED)
    daemon.api().events([a.event("sa-known", "survey_completed"),
                         a.event("sa-stranger", "survey_completed", PanelistId="stranger")])
    ended(a, "sa-known", "delivered")
    eventually(lambda: len(callback(a, "sa-stranger")["Attempts"]) > 1, what="it is tried again")
    found = callback(a, "sa-stranger")
    first = found["Attempts"][0]
    assert (first["Status"], first["Class"]) == (200, "unexpected_answer"), first
    assert '"status" is "400", not "ok"' in first["Detail"], first
    listed = daemon.api().get("/api/v1/callbacks", query={
        "partnerId": a.partner_id, "class": "unexpected_answer"}).json["Items"]
    assert [row["RewardId"] for row in listed] == ["sa-stranger"]
    assert daemon.metrics()['postbackd_attempts_total{result="unexpected_answer"}'] > 0
    a.patch(SuccessAnswer=None)
    daemon.api().post("/api/v1/callbacks/sa-stranger/resend", query={"partnerId": a.partner_id})
    ended(a, "sa-stranger", "delivered")


@pytest.mark.parametrize("wanted, said, good", [
    ({"Body": "OK"}, b" OK\r\n", True), ({"Body": "OK"}, b"OK, later", False), ({"Body": "OK"}, b"", False),
    ({"Contains": "credited"}, b"<p>credited</p>", True), ({"Contains": "credited"}, b"refused", False),
    ({"Field": "/result/0/code", "Value": "1"}, b'{"result":[{"code":1}]}', True),
    ({"Field": "/result/0/code", "Value": "1"}, b'{"result":[]}', False),
    ({"Field": "ok", "Value": "true"}, b'{"ok":true}', True), ({"Field": "ok", "Value": "true"}, b"not json", False),
    ({"Body": "OK"}, b"OK" + b" " * 4094, True), ({"Body": "OK"}, b"OK" + b" " * 4095, False),
    (CREDITED, b'{"status":"ok"}' + b" " * 4081, True), (CREDITED, b'{"status":"ok"}' + b" " * 4081 + b"x", False),
    ({"Body": "OK"}, b"OK" + b" " * 9000, False), ({"Contains": "\u00e9"}, "caf\u00e9".encode(), True),
    ({"Contains": "credited"}, b"\xff\xfe\x00", False)])
def test_a_test_callback_says_whether_the_answer_is_one(daemon, wanted, said, good):
    receiver = Receiver(lambda request: (200, {}, said))
    try:
        a = Account(daemon, receiver.url, SuccessAnswer=wanted)
        answer = daemon.api().post("/api/v1/apps/%s/test-callback" % a.app_id,
                                   {"RewardType": "survey_completed", "PanelistId": "u"})
        assert answer.status == 200 and answer.json["Status"] == 200, answer
        assert answer.json["Class"] == (None if good else "unexpected_answer"), answer.json
    finally:
        receiver.close()


@pytest.mark.parametrize("value, field", [
    ("OK", "SuccessAnswer"), ({}, "SuccessAnswer"), ({"Body": "a", "Contains": "b"}, "SuccessAnswer"),
    ({"Field": "a"}, "SuccessAnswer"), ({"Value": "a"}, "SuccessAnswer"), ({"Body": ""}, "Body"),
    ({"Body": " "}, "Body"), ({"Contains": "x" * 1025}, "Contains"), ({"Field": "/a~2", "Value": "1"}, "Field"),
    ({"Field": "f" * 257, "Value": "1"}, "Field"), ({"Body": 1}, "Body"), ({"Other": "a"}, "Other")])
def test_what_is_no_success_answer_is_refused(daemon, value, field):
    a = Account(daemon, SuccessAnswer=CREDITED)
    answer = daemon.api().patch("/api/v1/apps/" + a.app_id, {"SuccessAnswer": value})
    assert answer.status == 400, answer
    assert field in [fault["Field"] for fault in answer.json["errors"]], answer.json
    assert daemon.api().get("/api/v1/apps/" + a.app_id).json["SuccessAnswer"] == CREDITED


def test_a_success_answer_is_replaced_whole_audited_and_kept(own_daemon):
    daemon = own_daemon.start()
    a = Account(daemon, SuccessAnswer=CREDITED)
    assert a.patch(SuccessAnswer={"Body": "OK"})["SuccessAnswer"] == {"Body": "OK"}
    entry = daemon.api().get("/api/v1/audit", query={"partnerId": a.partner_id}).json["Items"][0]
    assert (entry["Before"]["SuccessAnswer"], entry["After"]["SuccessAnswer"]) == (CREDITED, {"Body": "OK"}), entry
    daemon.restart()
    assert daemon.api().get("/api/v1/apps/" + a.app_id).json["SuccessAnswer"] == {"Body": "OK"}
    assert a.patch(SuccessAnswer=None)["SuccessAnswer"] is None


def test_answers_that_always_say_failed_suspend_the_endpoint(own_daemon):
    daemon = own_daemon
    daemon.schedule = "10m"
    daemon.start()
    receiver = Receiver(lambda request: (200, {}, b"maintenance"))
    try:
        a = Account(daemon, receiver.url, SuccessAnswer={"Body": "OK"})
        daemon.api().events([a.event("sus-%d" % i, ("offer_clicked", "offer_completed")[i % 2]) for i in range(40)])
        eventually(lambda: [e["State"] for e in daemon.api().get(
            "/api/v1/apps/%s/endpoints" % a.app_id).json["Endpoints"] if e["Endpoint"] == "offer"] == ["suspended"],
            what="the endpoint is suspended")
    finally:
        receiver.close()


# --- RequestFormat and macros -------------------------------------------------------------------

class Crediting(Receiver):
    """A handler that reads its values from path and query only: what has no user is a 500, as in
    PHP with an undefined index made an error. It credits each id once."""

    def __init__(self, user, amount, unique):
        super().__init__(self.handle)
        self.names, self.credited = (user, amount, unique), {}

    def handle(self, request):
        path, _, query = request.path.partition("?")
        read = {name: values[0] for name, values in parse_qs(query).items()}
        read["/"] = unquote(path.rpartition("/")[2])
        if not all(name in read for name in self.names):
            return 500
        user, amount, unique = (read[name] for name in self.names)
        self.credited.setdefault(unique, (user, amount))
        return 200


def test_a_handler_that_reads_get_fails_until_it_is_sent_gets(daemon):
    handler = Crediting("PanelistId", "Reward", "RewardId")
    try:
        a = Account(daemon, handler.url)
        daemon.api().events([a.event("get-1", PanelistId="a b")])
        eventually(lambda: [t["Status"] for t in callback(a, "get-1")["Attempts"]][:1] == [500])
        a.patch(RequestFormat="get")
        daemon.api().post("/api/v1/callbacks/get-1/resend", query={"partnerId": a.partner_id})
        ended(a, "get-1", "delivered")
        assert handler.credited == {"get-1": ("a b", "100.00")}
    finally:
        handler.close()


PRESETS = dict(re.findall(
    r"^\| \[([\w -]+)\]\(https://[^)]+\) \| `https://p\.example(/cb\S+)` \|$",
    (Path(__file__).resolve().parents[2] / "docs/request-formats.md").read_text(), re.M))
READS = {"AdGate Media": ("user_id", "point_value", "conversion_id"),
         "ayeT-Studios": ("external_identifier", "amount", "transaction_id"),
         "BitLabs": ("uid", "val", "tx"), "Monlix": ("userId", "rewardValue", "transactionId"),
         "Pollfish": ("/", "reward_value", "tx_id"), "Tapjoy": ("snuid", "currency", "id")}


def test_every_preset_of_the_docs_is_tried():
    assert set(PRESETS) == set(READS)


@pytest.mark.parametrize("network", sorted(READS))
def test_a_receiver_of_another_network_credits(daemon, network):
    handler = Crediting(*READS[network])
    try:
        a = Account(daemon, handler.url.removesuffix("/callback") + PRESETS[network], RequestFormat="get")
        user = "user/1 ü"
        daemon.api().events([a.event("net-survey-" + a.app_id, PanelistId=user),
                             a.event("net-offer-" + a.app_id, "offer_completed", PanelistId=user)])
        for reward_id in ("net-survey-" + a.app_id, "net-offer-" + a.app_id):
            ended(a, reward_id, "delivered")
            assert handler.credited[reward_id] == (user, "100.00")
        query = handler.requests[0].query
        cut = query.rindex("&")
        assert query[cut:].partition("=")[2] == hmac.new(
            a.secret.encode(), query[:cut].encode(), hashlib.sha256).hexdigest()
    finally:
        handler.close()


# --- TrimDecimals, NumericOfferGoalId -----------------------------------------------------------

def test_a_handler_that_counts_in_integers_credits(daemon):
    def counts(request):
        try:
            return 200 if int(request.json["Reward"]) == 100 and "." not in str(request.json["Reward"]) else 500
        except ValueError:
            return 500
    handler = Receiver(counts)
    try:
        a = Account(daemon, handler.url, RequestFormat="form")
        daemon.api().events([a.event("int-1")])
        eventually(lambda: [t["Status"] for t in callback(a, "int-1")["Attempts"]][:1] == [500])
        a.patch(TrimDecimals=True)
        daemon.api().events([a.event("int-2")])
        ended(a, "int-2", "delivered")
        assert "Reward=100&" in handler.wait_for("int-2")[0].body.decode()
        handler.answer = lambda request: 200
        daemon.api().post("/api/v1/callbacks/int-1/resend", query={"partnerId": a.partner_id})
        ended(a, "int-1", "delivered")
        assert b"Reward=100.00&" in handler.wait_for("int-1")[-1].body  # fixed at acceptance
    finally:
        handler.close()


def test_a_goal_is_sent_as_a_number_where_it_is_one(daemon, receiver):
    a = Account(daemon, receiver.url, NumericOfferGoalId=True, TrimDecimals=True)
    daemon.api().events([a.event("goal-5", "offer_completed", OfferGoalId="5"),
                         a.event("goal-05", "offer_completed", OfferGoalId="05")])
    sent = receiver.wait_for("goal-5")[0]
    assert sent.json["OfferGoalId"] == 5 and b'"Reward":100,"RevenueAmount":1,' in sent.body, sent.body
    assert receiver.wait_for("goal-05")[0].json["OfferGoalId"] == "05"
    assert_signed(sent, a.secret)
    shown = daemon.api().post("/api/v1/apps/%s/test-callback" % a.app_id, {
        "RewardType": "offer_completed", "PanelistId": "u", "Reward": "7.50", "Send": False}).json["Body"]
    assert '"Reward":7.5,"RevenueAmount":1,' in shown, shown

"""Receivers that exist: habits of handlers that others wrote, and the settings that suit them."""
import pytest

from harness import Account, Receiver, eventually

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
    ([], "at least one"), ("ad_hoc", "list"), ({}, "list"), (["survey_started"], "RewardTypes only"),
    (["ad_hoc", "other"], "RewardTypes only"), ([None], "RewardTypes only"), ([4], "RewardTypes only")])
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

"""TestCallbackUrl: callbacks of test events go there and nowhere else, real ones never; whatever it answers,
the app's other URLs do not notice. It holds over edits while callbacks wait, reversals, resends and recoveries."""
import threading

import pytest

from harness import Account, Receiver, assert_signed, eventually

TYPES = ("survey_completed", "survey_disqualified", "profiler_completed", "ad_hoc", "offer_clicked", "offer_completed")


class World:
    """An app with a receiver for real callbacks and another one for tests."""

    def __init__(self, daemon, **settings):
        self.said = 200
        self.real, self.tests = Receiver(), Receiver(lambda request: self.said)
        self.daemon, self.api = daemon, daemon.api()
        self.account = Account(daemon, self.real.url, **dict({"TestCallbackUrl": self.tests.url}, **settings))

    def report(self, reward_id, kind="survey_completed", **fields):
        self.api.events([self.account.event(reward_id, kind, **fields)])

    def test(self, reward_id, kind="survey_completed", **fields):
        self.report(reward_id, kind, IsTest=True, **fields)

    def reverse(self, reward_id, original):
        self.api.events([{"EventId": reward_id, "Type": "offer_completion_reversed", "ClientId": self.account.client,
                          "OriginalRewardId": original}])

    def ended(self, reward_id, state, reason=None):
        found = self.api.wait_state(reward_id, self.account.partner_id, state)
        assert found["Reason"] == reason, found
        return found

    def resend(self, reward_id):
        answer = self.api.post("/api/v1/callbacks/%s/resend" % reward_id, query={"partnerId": self.account.partner_id})
        assert answer.status == 202, answer

    def endpoints(self):
        found = self.api.get("/api/v1/apps/%s/endpoints" % self.account.app_id).json["Endpoints"]
        return {e["Endpoint"]: e for e in found}

    def send_test(self, **fields):
        body = dict({"RewardType": "survey_completed", "PanelistId": "u"}, **fields)
        return self.api.post("/api/v1/apps/%s/test-callback" % self.account.app_id, body)

    def close(self):
        self.real.close()
        self.tests.close()


@pytest.fixture
def world(daemon):
    w = World(daemon)
    yield w
    w.close()


def test_tests_go_there_and_real_ones_never(world):
    for kind in TYPES:
        world.test("t-" + kind, kind)
        world.report("r-" + kind, kind)
    world.reverse("t-back", "t-offer_completed")
    world.reverse("r-back", "r-offer_completed")
    for kind in TYPES + ("back",):
        assert world.ended("t-" + kind, "delivered")["Endpoint"] == "test"
        assert world.ended("r-" + kind, "delivered")["Endpoint"] in ("success", "failure", "offer")
    assert all(r.startswith("t-") for r in world.tests.ids()) and all(r.startswith("r-") for r in world.real.ids())
    assert len(world.tests.ids()) == len(world.real.ids()) == 7
    for request in world.tests.requests:  # the app's own secret and format
        assert_signed(request, world.account.secret)
        assert request.header("Postbackd-Test") == "true"
    world.test("t-start", "survey_started")  # owes none
    assert world.api.get("/api/v1/callbacks/t-start", query={"partnerId": world.account.partner_id}).status == 404


def test_it_is_shown(world):
    world.test("shown")
    found = world.ended("shown", "delivered")
    assert (found["Url"], found["Attempts"][0]["Url"]) == (world.tests.url, world.tests.url)
    here = world.endpoints()
    assert here["test"]["Url"] == world.tests.url and set(here) == {"success", "failure", "offer", "test"}
    of = {"partnerId": world.account.partner_id}
    row = world.api.get("/api/v1/callbacks", query=dict(of, format="csv")).text.splitlines()[1]
    assert ",test," in row, row
    entries = world.api.get("/api/v1/audit", query=of).json["Items"]
    assert any((e["After"] or {}).get("TestCallbackUrl") == world.tests.url for e in entries), entries
    statistics = world.api.get("/api/v1/apps/%s/delivery-statistics" % world.account.app_id, query={"endpoint": "test"})
    assert statistics.json["Total"]["Succeeded"] == 1, statistics
    world.account.patch(TestCallbackUrl=None)
    assert set(world.endpoints()) == {"success", "failure", "offer"}


def test_an_app_may_have_no_other_url(daemon):
    w = World(daemon, SuccessCallbackUrl=None, FailureCallbackUrl=None, OfferCallbackUrl=None)
    try:
        w.test("only-test")
        w.report("only-real")
        w.ended("only-test", "delivered")
        w.ended("only-real", "skipped", "no_url")
    finally:
        w.close()


# --- edits while callbacks wait -----------------------------------------------------------------

def test_tests_that_wait_for_a_real_url_are_skipped_once_there_is_one(world):
    world.account.patch(TestCallbackUrl=None, Enabled=False)
    world.test("before")
    world.test("offer-before", "offer_completed")
    world.reverse("back-before", "offer-before")
    world.report("real-before")
    world.account.patch(TestCallbackUrl=world.tests.url)
    world.account.patch(Enabled=True)
    for reward_id in ("before", "offer-before", "back-before"):
        world.ended(reward_id, "skipped", "not_wanted")
    world.ended("real-before", "delivered")
    world.resend("before")
    world.ended("before", "skipped", "not_wanted")
    world.account.patch(TestCallbackUrl=None)
    world.resend("before")
    world.ended("before", "delivered")
    assert world.real.ids() == ["real-before", "before"] and world.tests.ids() == []


def test_tests_that_wait_go_to_the_url_as_it_is_now(world):
    other = Receiver()
    try:
        world.account.patch(Enabled=False)
        world.test("moved")
        world.account.patch(TestCallbackUrl=other.url)
        world.account.patch(Enabled=True)
        world.ended("moved", "delivered")
        assert other.ids() == ["moved"] and world.tests.ids() == world.real.ids() == []
    finally:
        other.close()


def test_tests_that_wait_are_skipped_if_the_url_goes(world):
    world.account.patch(Enabled=False)
    world.test("left")
    world.test("left-offer", "offer_completed")
    world.account.patch(TestCallbackUrl=None)
    world.account.patch(Enabled=True)
    world.ended("left", "skipped", "no_url")
    world.ended("left-offer", "skipped", "no_url")
    world.resend("left")
    world.ended("left", "skipped", "no_url")
    world.reverse("left-back", "left-offer")  # of what no other receiver has heard of
    world.ended("left-back", "skipped", "no_url")
    world.test("as-others")
    world.ended("as-others", "delivered")
    assert world.real.ids() == ["as-others"] and world.tests.ids() == []
    world.account.patch(TestCallbackUrl=world.tests.url)
    for reward_id in ("left", "left-offer", "left-back"):
        world.resend(reward_id)
        world.ended(reward_id, "delivered")
    assert world.real.ids() == ["as-others"]


def test_a_reversal_follows_a_test_that_was_sent(world):
    world.test("sent", "offer_completed")
    world.ended("sent", "delivered")
    world.account.patch(TestCallbackUrl=None)
    world.reverse("sent-back", "sent")
    assert world.ended("sent-back", "skipped", "no_url")["Endpoint"] == "test"
    world.test("live", "offer_completed")
    world.ended("live", "delivered")
    world.account.patch(TestCallbackUrl=world.tests.url)
    world.reverse("live-back", "live")
    assert world.ended("live-back", "delivered")["Endpoint"] == "test"
    assert world.real.ids() == ["live"] and world.tests.ids() == ["sent", "live-back"]


# --- what it answers ----------------------------------------------------------------------------

def test_a_dead_one_neither_slows_nor_suspends_the_others(world):
    world.said = 503
    for i in range(20):
        world.test("sick-%d" % i)
    eventually(lambda: world.endpoints()["test"]["State"] == "suspended", what="the endpoint of tests is suspended")
    for i in range(20):
        world.report("well-%d" % i)
    for i in range(20):
        found = world.ended("well-%d" % i, "delivered")
        assert len(found["Attempts"]) == 1
    here = world.endpoints()
    assert here["success"]["State"] == "open" and here["success"]["Failed1h"] == 0, here
    assert here["test"]["Waiting"] == 20 and here["test"]["OldestWaitingAt"] and here["success"]["Waiting"] == 0


def test_one_that_hangs_on_the_same_host_holds_nobody_up(daemon):
    ends = threading.Event()

    def answer(request):
        if request.path.endswith("/hangs"):
            ends.wait(60)
        return 200

    receiver = Receiver(answer)
    a = Account(daemon, receiver.url, TestCallbackUrl=receiver.url + "/hangs", TimeoutSeconds=30)
    try:
        daemon.api().events([a.event("hang-%d" % i, IsTest=True) for i in range(200)])
        receiver.wait_for("hang-0")
        daemon.api().events([a.event("beside-%d" % i) for i in range(50)])
        for i in range(50):
            receiver.wait_for("beside-%d" % i)  # while the tests still hang
        assert not ends.is_set()
        found = daemon.api().get("/api/v1/apps/%s/endpoints" % a.app_id).json["Endpoints"]
        state = {e["Endpoint"]: e["State"] for e in found}
        assert state["success"] == "open", found
    finally:
        ends.set()
        receiver.close()


def test_gone_disables_it_alone(world):
    world.said = 410
    for i in range(5):
        world.test("gone-%d" % i)
        world.ended("gone-%d" % i, "dead", "gone")
    eventually(lambda: world.endpoints()["test"]["State"] == "disabled", what="the endpoint of tests is disabled")
    world.report("gone-real")
    world.ended("gone-real", "delivered")
    world.said = 200
    path = "/api/v1/apps/%s/endpoints/test/enable" % world.account.app_id
    assert world.api.post(path).status == 200
    world.test("again")
    world.ended("again", "delivered")


def test_recovered_tests_go_there(world):
    world.account.patch(FinalStatuses=[404])
    world.said = 404
    world.test("lost")
    world.report("real")
    world.ended("lost", "dead", "final_status")
    world.ended("real", "delivered")
    world.said = 200
    answer = world.api.post("/api/v1/callbacks/recover", {"From": "2020-01-01T00:00:00Z", "To": "2100-01-01T00:00:00Z",
                                                          "States": ["dead"]}, query={"partnerId": world.account.partner_id})
    assert answer.status == 202, answer
    world.ended("lost", "delivered")
    assert world.real.ids() == ["real"] and world.tests.ids() == ["lost", "lost"]


def test_it_outlives_a_restart(own_daemon):
    own_daemon.start()
    w = World(own_daemon, Enabled=False)
    try:
        w.test("over")
        w.report("over-real")
        own_daemon.restart()
        w.api = own_daemon.api()
        w.account.patch(Enabled=True)
        assert w.ended("over", "delivered")["Endpoint"] == "test"
        w.ended("over-real", "delivered")
        assert (w.tests.ids(), w.real.ids()) == (["over"], ["over-real"])
    finally:
        w.close()


# --- beside other settings ----------------------------------------------------------------------

def test_withheld_ones_are_not_sent_there_either(world):
    world.account.patch(WithholdTests=True)
    world.test("withheld")
    world.ended("withheld", "skipped", "not_wanted")
    world.account.patch(WithholdTests=False, RewardTypes=["ad_hoc"])
    world.test("unwanted")
    world.ended("unwanted", "skipped", "not_wanted")
    world.test("wanted", "ad_hoc")
    world.ended("wanted", "delivered")
    assert world.tests.ids() == ["wanted"]


def test_test_callbacks_go_there_unless_they_name_a_url(world):
    sent = world.send_test().json
    assert sent["Url"] == world.tests.url and world.tests.ids() == [sent["RewardId"]]
    assert world.send_test(Send=False).json["Url"] == world.tests.url
    secret_url = world.real.url.replace("http://", "http://user:pass@")
    world.account.patch(SuccessCallbackUrl=secret_url)
    for url in (secret_url, secret_url.replace("user:pass", "***:***")):  # as it is, and as it is shown
        sent = world.send_test(Url=url).json
        assert sent["Status"] == 200 and "***:***" in sent["Url"], sent
        assert world.real.of(sent["RewardId"])[0].header("Authorization") == "Basic dXNlcjpwYXNz"
    refused = world.send_test(Url="http://***:***@127.0.0.1:9/")
    assert refused.status == 400 and refused.json["errors"][0]["Field"] == "Url", refused
    world.account.patch(SuccessCallbackUrl=None, FailureCallbackUrl=None, OfferCallbackUrl=None)
    assert world.send_test(RewardType="offer_clicked").json["Status"] == 200

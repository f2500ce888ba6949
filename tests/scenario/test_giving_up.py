"""When a callback is given up: after all of its attempts, or because its endpoint stayed down."""

import threading

import pytest
from harness import Account, Receiver, eventually

SCHEDULE = "1s,1s,2s"
ATTEMPTS = 4
MANY = 120


@pytest.fixture
def impatient(own_daemon):
    own_daemon.schedule = SCHEDULE
    own_daemon.options = ["--reads-per-minute", "100000"]
    return own_daemon.start()


def callbacks(daemon, account):
    """All of the account's, with their attempts."""
    api, found, after = daemon.api(), [], None
    while True:
        query = {"partnerId": account.partner_id, "limit": "500", **({"after": after} if after else {})}
        page = api.get("/api/v1/callbacks", query=query).json
        found += page["Items"]
        after = page["Next"]
        if not after:
            return [api.callback(c["RewardId"], account.partner_id) for c in found]


def states(daemon, account):
    page = daemon.api().get("/api/v1/callbacks", query={"partnerId": account.partner_id, "limit": "500"}).json
    return [c["State"] for c in page["Items"]]


def test_a_dead_callback_has_all_its_attempts_or_says_why(impatient):
    down, unknown = Receiver(lambda request: 500), Receiver(lambda request: 404)
    try:
        a, b = Account(impatient, down.url), Account(impatient, unknown.url)
        impatient.api().events([a.event("down-%d" % i) for i in range(MANY)])
        impatient.api().events([b.event("unknown-%d" % i) for i in range(5)])
        eventually(lambda: set(states(impatient, a)) == {"dead"}, 60)
        eventually(lambda: set(states(impatient, b)) == {"dead"}, 60)
        untried = 0
        for c in callbacks(impatient, a):
            untried += not c["Attempts"]
            assert c["Reason"] == ("attempts" if len(c["Attempts"]) == ATTEMPTS else "endpoint_down"), c
        assert untried > MANY / 2
        assert [(c["Reason"], len(c["Attempts"])) for c in callbacks(impatient, b)] == [("attempts", ATTEMPTS)] * 5
        feed = impatient.api().get("/api/v1/rewards", query={"partnerId": a.partner_id}).json["Items"]
        assert feed and {r["Reason"] for r in feed} <= {"attempts", "endpoint_down"}
    finally:
        down.close()
        unknown.close()


def test_a_lane_that_reopens_and_fails_again_gives_up_none_it_has_not_tried(own_daemon):
    own_daemon.schedule = "2s,2s,4s"
    own_daemon.options = ["--reads-per-minute", "100000"]
    daemon = own_daemon.start()
    seen, answered, up_once = [], [], threading.Event()

    def flaps(request):
        """Down but for one answer."""
        seen.append(request.headers["webhook-id"])
        if up_once.is_set():
            up_once.clear()
            answered.append(len(seen))
            return 200
        return 503

    flapping, healthy = Receiver(flaps), Receiver()
    try:
        a = Account(daemon, flapping.url)
        daemon.api().events([a.event("flap-%d" % i) for i in range(MANY)])

        def state():
            return daemon.api().get("/api/v1/apps/%s/endpoints" % a.app_id).json["Endpoints"][0]["State"]

        eventually(lambda: state() == "suspended")
        up_once.set()  # for its first probe, after 5 s: long before anything may be given up, after 16 s
        eventually(lambda: "delivered" in states(daemon, a), 30)
        tried, = answered
        eventually(lambda: len(seen) >= tried + 3 and state() == "suspended", 30)
        again = len(seen)
        eventually(lambda: len(seen) > again, 60)  # a try that fails after their last slot
        for c in callbacks(daemon, a):
            if c["State"] == "dead":
                assert c["Reason"] == "attempts" or c["RewardId"] in seen[tried:], c
        assert states(daemon, a).count("pending") > MANY / 2
        a.patch(SuccessCallbackUrl=healthy.url)
        eventually(lambda: "pending" not in states(daemon, a), 30)
        assert states(daemon, a).count("delivered") > MANY / 2
    finally:
        flapping.close()
        healthy.close()

"""Attempts by how they ended and how long they took, of an endpoint, an app and an account."""
import threading
from collections import Counter

from checks import assert_problem
from harness import Account, Receiver, eventually
from inside import change, rows

PATH = "/api/v1/delivery-statistics"
HOUR_S, DAY_S = 3600, 86400
STEPS_S = {1: HOUR_S // 12, 2: HOUR_S, 3: 6 * HOUR_S}


def statistics(api, path=PATH, **query):
    answer = api.get(path, query=query or None)
    assert answer.status == 200, answer
    return answer.json


def of_app(account):
    return "/api/v1/apps/%s/delivery-statistics" % account.app_id


def counts(found):
    """Of the points and of their sum: the same."""
    sums = Counter()
    for point in found["Points"]:
        assert found["From"] <= point["From"] < found["To"]
        assert sum(point["Failures"].values()) == point["Failed"]
        sums.update(point["Failures"], ok=point["Succeeded"])
    total = found["Total"]
    assert +sums == +Counter(total["Failures"], ok=total["Succeeded"])
    assert total["Failed"] == sum(total["Failures"].values())
    return dict(+sums)


def logged(daemon, account, ids):
    """The same by the log of attempts."""
    classes = Counter()
    for event_id in ids:
        classes.update(a["Class"] or "ok" for a in daemon.api().callback(event_id, account.partner_id)["Attempts"])
    return dict(classes)


def test_what_is_counted_is_what_was_tried(own_daemon):
    daemon = own_daemon
    daemon.schedule = "600s"
    daemon.start()
    silent = threading.Event()
    good, wrong, slow = Receiver(), Receiver(lambda r: 404), Receiver(lambda r: silent.wait(20) and 200)
    try:
        a = Account(daemon, good.url)
        other = Account(daemon, good.url)
        urls = {"SuccessCallbackUrl": good.url, "FailureCallbackUrl": wrong.url, "OfferCallbackUrl": slow.url,
                "TimeoutSeconds": 3}
        assert daemon.api().patch("/api/v1/apps/" + a.app_id, urls).status == 200
        key = daemon.api(a.key("callbacks:read"))
        assert counts(statistics(key)) == {} and statistics(key)["Total"]["LatencyP95Ms"] is None
        daemon.api().events([a.event("good-%d" % i) for i in range(3)]
                            + [a.event("wrong-%d" % i, "survey_disqualified") for i in range(2)]
                            + [a.event("slow", "offer_completed")])
        expected = {"ok": 3, "status": 2, "timeout": 1}
        ids = ["good-0", "good-1", "good-2", "wrong-0", "wrong-1", "slow"]
        eventually(lambda: counts(statistics(key)) == expected, 30)
        assert logged(daemon, a, ids) == expected
        assert counts(statistics(key, of_app(a))) == expected
        for endpoint, of_it in (("success", {"ok": 3}), ("failure", {"status": 2}), ("offer", {"timeout": 1})):
            for period in ("1h", "24h", "7d", "30d"):
                assert counts(statistics(key, of_app(a), endpoint=endpoint, period=period)) == of_it
        offer = statistics(key, of_app(a), endpoint="offer")["Total"]
        assert 2000 < offer["LatencyP50Ms"] <= offer["LatencyP95Ms"] <= 30000

        daemon.kill()
        daemon.start()
        key = daemon.api(key.key)
        assert counts(statistics(key)) == expected
        daemon.api().events([a.event("good-3"), a.event("wrong-2", "survey_disqualified")])
        more = dict(expected, ok=4, status=3)
        eventually(lambda: counts(statistics(key, period="1h")) == more)
        assert logged(daemon, a, ids + ["good-3", "wrong-2"]) == more
        # A resend is an attempt like any other.
        assert daemon.api().post("/api/v1/callbacks/good-0/resend", query={"partnerId": a.partner_id}).status == 202
        more["ok"] += 1
        eventually(lambda: counts(statistics(key)) == more)
        assert daemon.api().patch("/api/v1/apps/" + a.app_id, {"SuccessAnswer": {"Body": "credited"}}).status == 200
        daemon.api().events([a.event("unsaid")])
        more["unexpected_answer"] = 1
        eventually(lambda: counts(statistics(key)) == more)

        # To each their own: the operator names the account, and a stranger finds nothing.
        assert counts(statistics(daemon.api(), partnerId=a.partner_id)) == more
        stranger = daemon.api(other.key("callbacks:read"))
        assert counts(statistics(stranger)) == {}
        assert_problem(stranger.get(of_app(a)), 404)
        assert_problem(stranger.get(PATH, query={"partnerId": a.partner_id}), 404)
    finally:
        silent.set()
        for receiver in (good, wrong, slow):
            receiver.close()


def test_what_is_asked_for(daemon):
    a = Account(daemon)
    api = daemon.api(a.key("callbacks:read"))
    for period, step_s, points in (("1h", 300, 12), ("24h", 3600, 24), ("7d", 21600, 28), ("30d", 86400, 30)):
        found = statistics(api, period=period)
        assert (found["Period"], found["StepSeconds"], found["Points"]) == (period, step_s, [])
    assert statistics(api)["Period"] == "24h"
    assert_problem(api.get(PATH, query={"period": "2h"}), 400, "period")
    assert_problem(api.get(of_app(a), query={"endpoint": "both"}), 400, "endpoint")
    assert_problem(api.get(PATH, query={"endpoint": "success"}), 400, "endpoint")
    assert_problem(daemon.api(a.key("reports:read")).get(PATH), 403)


def test_what_is_old_is_merged_and_then_deleted(own_daemon):
    daemon = own_daemon.start()
    receiver = Receiver()
    try:
        a = Account(daemon, receiver.url)
        daemon.api().events([a.event("e-%d" % i) for i in range(5)])

        def found(period):
            return counts(statistics(daemon.api(), period=period, partnerId=a.partner_id))

        def age(step, by_s):
            """As if the attempts had been made so much earlier; a start looks for what is old."""
            daemon.stop()
            assert change(daemon, "UPDATE delivery_stats SET slot=slot-%d WHERE step=%d"
                          % (by_s // STEPS_S[step], step)) > 0
            daemon.start()

        def steps():
            return {int(step) for step, in rows(daemon, "SELECT DISTINCT step FROM delivery_stats")}

        eventually(lambda: found("1h") == {"ok": 5})
        assert steps() == {1}
        age(1, 3 * HOUR_S)
        eventually(lambda: steps() == {2}, 30)
        assert (found("1h"), found("24h"), found("30d")) == ({}, {"ok": 5}, {"ok": 5})
        age(2, 2 * DAY_S)
        eventually(lambda: steps() == {3}, 30)
        assert (found("24h"), found("7d"), found("30d")) == ({}, {"ok": 5}, {"ok": 5})
        app = statistics(daemon.api(), of_app(a), period="7d", endpoint="success", partnerId=a.partner_id)
        assert counts(app) == {"ok": 5} and app["Total"]["LatencyP50Ms"] is not None
        age(3, 30 * DAY_S)
        eventually(lambda: steps() == set(), 30)
        assert found("30d") == {}
    finally:
        receiver.close()

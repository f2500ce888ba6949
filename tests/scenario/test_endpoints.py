"""Health for people: what is said of an endpoint while it is well, fails, recovers and drains."""
import json
import time

from harness import Account, Receiver, eventually

NOBODY = "http://127.0.0.1:9/refused"  # discard: nothing listens there


def endpoint(daemon, account, name="success"):
    answer = daemon.api().get("/api/v1/apps/%s/endpoints" % account.app_id)
    assert answer.status == 200, answer
    return {e["Endpoint"]: e for e in answer.json["Endpoints"]}[name]


def states_logged(daemon, account):
    found = []
    for line in daemon.log_text().splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        if entry.get("event") == "lane_state" and entry["app"] == account.app_id:
            found.append((entry["endpoint"], entry["from"], entry["to"]))
    return found


def test_a_life_of_an_endpoint(own_daemon):
    daemon = own_daemon
    daemon.schedule = ",".join(["1s"] + ["5s"] * 30)  # longer than it is down
    daemon.start()
    says = {"status": 200}
    receiver = Receiver(answer=lambda r: says["status"])
    try:
        a = Account(daemon, receiver.url)
        found = endpoint(daemon, a)
        assert (found["State"], found["Waiting"], found["OldestWaitingAt"]) == ("open", 0, None)
        assert (found["SuccessRate1h"], found["DrainSeconds"], found["LastError"]) == (None, 0, None)
        daemon.api().events([a.event("ok-%d" % i) for i in range(3)])
        for i in range(3):
            daemon.api().wait_state("ok-%d" % i, a.partner_id, "delivered")
        found = endpoint(daemon, a)
        assert (found["SuccessRate1h"], found["SuccessRate24h"], found["Waiting"]) == (1, 1, 0)
        assert found["LatencyP50Ms"] > 0

        says["status"] = 503
        before = time.time()
        daemon.api().events([a.event("bad-%d" % i) for i in range(20)])
        # Between two tries: while one is under way, none is next.
        found = eventually(lambda: (e := endpoint(daemon, a))["State"] == "suspended" and e["InFlight"] == 0 and e)
        assert found["Waiting"] == 20
        assert found["DrainSeconds"] is None
        assert found["OldestWaitingAt"] >= time.strftime("%Y-%m-%dT%H:%M", time.gmtime(before - 60))
        assert found["Since"] and found["NextTryAt"]
        assert 0 < found["SuccessRate1h"] < 1
        error = found["LastError"]
        assert (error["Class"], error["Status"]) == ("status", 503)
        assert "503" in error["Detail"] and error["Fix"].endswith(".")
        metrics = daemon.metrics()
        assert metrics['postbackd_endpoints{state="suspended"}'] == 1
        assert metrics["postbackd_attempt_duration_seconds_count"] >= 6
        assert a.app_id not in daemon.api(None).get("/metrics").text

        says["status"] = 200
        for i in range(20):
            daemon.api().wait_state("bad-%d" % i, a.partner_id, "delivered", 90)
        found = endpoint(daemon, a)
        assert (found["State"], found["Waiting"], found["DrainSeconds"]) == ("open", 0, 0)
        assert states_logged(daemon, a) == [("success", "open", "suspended"), ("success", "suspended", "open")]
        assert daemon.metrics()["postbackd_delivered_last_minute"] >= 20
    finally:
        receiver.close()


def test_the_fix_is_for_the_request_that_was_made(own_daemon):
    daemon = own_daemon
    daemon.schedule = "1h"
    daemon.start()
    receiver = Receiver(answer=lambda r: 405)
    try:
        a = Account(daemon, receiver.url)
        daemon.api().events([a.event("one")])
        error = eventually(lambda: endpoint(daemon, a)["LastError"])
        assert "POST" in error["Detail"] and error["Fix"].startswith("Route POST ")
        a.patch(RequestFormat="get")
        assert endpoint(daemon, a)["LastError"] == error
        daemon.api().events([a.event("two")])
        error = eventually(lambda: (e := endpoint(daemon, a)["LastError"])["At"] != error["At"] and e)
        assert "GET" in error["Detail"] and error["Fix"].startswith("Route GET ")
    finally:
        receiver.close()


def test_a_host_that_is_down_and_a_pause(own_daemon):
    daemon = own_daemon
    daemon.schedule = ",".join(["1s"] + ["2s"] * 60)
    daemon.start()
    says = {"now": (429, {"Retry-After": "2"}, b"")}
    receiver = Receiver(answer=lambda r: says["now"])
    try:
        a = Account(daemon, receiver.url)
        daemon.api().events([a.event("one")])
        found = eventually(lambda: (e := endpoint(daemon, a))["State"] == "paused" and e)
        assert found["LastError"]["Status"] == 429
        says["now"] = 200
        daemon.api().wait_state("one", a.partner_id, "delivered")
    finally:
        receiver.close()
    b = Account(daemon, NOBODY)
    daemon.api().events([b.event("b-%d" % i) for i in range(12)]
                        + [b.event("o-%d" % i, "offer_clicked") for i in range(12)])
    eventually(lambda: ("success", "open", "suspended") in states_logged(daemon, b)
               or ("success", "open", "host_down") in states_logged(daemon, b))
    found = endpoint(daemon, b)
    assert found["LastError"]["Class"] == "refused"
    assert found["Waiting"] == 12
    assert endpoint(daemon, b, "offer")["Waiting"] == 12
    assert endpoint(daemon, b, "failure")["Waiting"] == 0

"""GET /api/v1/system: what an operator asks first, and nobody else is told."""
from harness import POSTGRESQL, Account, Receiver, eventually
from people import person
from schema import check_fits


def system(daemon):
    answer = daemon.api().get("/api/v1/system")
    assert answer.status == 200, answer
    return answer.json


def test_the_worst_endpoints_come_first(own_daemon):
    daemon = own_daemon
    daemon.schedule = "60s,60s"
    daemon.start()
    down = Receiver(answer=lambda r: 503)
    flaky = Receiver(answer=lambda r: 404)
    good = Receiver()
    try:
        quiet = system(daemon)
        assert (quiet["WorstEndpoints"], quiet["Callbacks"]["DrainSeconds"]) == ([], 0)
        assert (quiet["Accepting"], quiet["Refusal"], quiet["Certificates"]) == (True, None, [])
        a, b, c = (Account(daemon, r.url) for r in (good, flaky, down))
        daemon.api().events([a.event("a-%d" % i) for i in range(3)] + [b.event("b-%d" % i) for i in range(2)]
                            + [c.event("c-%d" % i) for i in range(30)])
        for i in range(3):
            daemon.api().wait_state("a-%d" % i, a.partner_id, "delivered")

        def settled():
            now = system(daemon)
            states = [(e["AppId"], e["Endpoint"]["State"]) for e in now["WorstEndpoints"]]
            return (states == [(c.app_id, "suspended"), (b.app_id, "open")]
                    and now["Callbacks"]["OldestPendingAt"] and now)

        found = eventually(settled)
        worst = found["WorstEndpoints"][0]
        assert (worst["PartnerId"], worst["Endpoint"]["Endpoint"]) == (c.partner_id, "success")
        assert worst["Endpoint"]["Waiting"] == 30
        assert worst["Endpoint"]["DrainSeconds"] is None
        assert worst["Endpoint"]["LastError"]["Status"] == 503
        assert eventually(lambda: same_as_the_endpoint(daemon, c))
        assert found["EndpointStates"]["suspended"] == 1
        assert (found["Events"]["Accepted"], found["Callbacks"]["Delivered"]) == (35, 3)
        assert found["Callbacks"]["Pending"] == 32
        assert found["Callbacks"]["DeliveredLastMinute"] == 3
        assert found["Callbacks"]["DrainSeconds"] == 640
        assert found["Callbacks"]["OldestPendingAt"] <= found["At"]
        document = daemon.api(None).get("/openapi.json").json
        check_fits(found, document["components"]["schemas"]["SystemState"], document)
    finally:
        for receiver in (down, flaky, good):
            receiver.close()


def same_as_the_endpoint(daemon, account):
    """The two answers are one, unless a try came between them."""
    endpoints = daemon.api().get("/api/v1/apps/%s/endpoints" % account.app_id).json["Endpoints"]
    worst = system(daemon)["WorstEndpoints"][0]["Endpoint"]
    return worst in endpoints and worst


def test_bounds_say_how_near_they_are(own_daemon):
    daemon = own_daemon
    daemon.options += ("--waiting-most", "5")
    daemon.schedule = "60s"
    daemon.start()
    receiver = Receiver(answer=lambda r: 503)
    try:
        a = Account(daemon, receiver.url)
        daemon.api().events([a.event("e-%d" % i) for i in range(6)])

        def full():
            now = system(daemon)
            return now["Refusal"] and now

        found = eventually(full)
        assert not found["Accepting"]
        assert found["Refusal"]["Bound"] == "waiting"
        assert found["Refusal"]["Detail"].endswith(".")
        assert daemon.api().post("/api/v1/events", a.event("late")).status == 429
        limits = {one["Bound"]: one for one in system(daemon)["Limits"]}
        assert limits["waiting"] == {"Bound": "waiting", "Unit": "callbacks", "Used": 6, "Most": 5, "Refused": 1}
        assert limits["queue"]["Most"] == 12 << 20
        assert limits["failed"]["Unit"] is None
        if not POSTGRESQL:  # the server's disk is not the daemon's to watch
            assert limits["disk_reserve"]["Used"] < limits["disk_reserve"]["Most"]
    finally:
        receiver.close()


def test_only_admins_are_told(daemon):
    a = Account(daemon)
    assert daemon.api(None).get("/api/v1/system").status == 401
    assert daemon.api(a.key("reports:read", "callbacks:read", "apps:read")).get("/api/v1/system").status == 403
    assert person(daemon, "owner", a.partner_id).get("/api/v1/system").status == 403
    assert person(daemon, "support").get("/api/v1/system").status == 403
    admin = person(daemon, "admin")
    assert admin.get("/api/v1/system").status == 200
    assert admin.post("/api/v1/session/act-as", {"PartnerId": a.partner_id}).status == 200
    assert admin.get("/api/v1/system").status == 403

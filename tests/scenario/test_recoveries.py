"""Recoveries: paced, durable, stopped when told, and no receiver holds up another."""
import time
from datetime import datetime, timedelta, timezone

import pytest

from harness import Account, Api, Daemon, Receiver, assert_signed, eventually
from shim import Clock, shimmed


class Partner:
    """A receiver that refuses every callback with a final answer until it is told to take them."""

    def __init__(self, status=404):
        self.taking, self.status = False, status
        self.taken = []
        self.receiver = Receiver(self.answer)
        self.url = self.receiver.url

    def answer(self, request):
        if not self.taking:
            return self.status
        self.taken.append((time.monotonic(), request))
        return 200

    def ids(self):
        return [request.json["RewardId"] for _, request in self.taken]


@pytest.fixture
def partner():
    p = Partner()
    yield p
    p.receiver.close()


@pytest.fixture
def quick(tmp_path):
    d = Daemon(tmp_path, schedule="1s").start()
    yield d
    d.stop()


def when(seconds):
    return (datetime.now(timezone.utc) + timedelta(seconds=seconds)).isoformat()


def recover(daemon, account, states=("dead",), rate=50, begin=-600, end=600, **more):
    answer = daemon.api().post("/api/v1/callbacks/recover", query={"partnerId": account.partner_id},
                               body={"From": when(begin), "To": when(end), "States": list(states),
                                     "RatePerSecond": rate, **more})
    assert answer.status == 202, answer
    assert answer.headers["Location"] == "/api/v1/recoveries/" + answer.json["RecoveryId"]
    return answer.json["RecoveryId"], answer.json["Matched"]


def test_what_is_delivered_meanwhile_is_not_sent_once_more(quick):
    """More than a page of them, so that the last are looked up when their own retries have delivered others."""
    taking = []
    receiver = Receiver(lambda r: 200 if taking or r.json["RewardId"].startswith("d") else 404)
    daemon = quick
    daemon.stop()
    daemon.schedule = ",".join(["1s"] * 12)
    account = Account(daemon.start(), receiver.url)
    api = daemon.api()
    names = ["d-%d" % i for i in range(300)] + ["p-%d" % i for i in range(40)]
    api.events([account.event(name) for name in names])
    eventually(lambda: len({r.json["RewardId"] for r in receiver.requests}) == len(names))
    eventually(lambda: daemon.metrics()["postbackd_callbacks_pending"] == 40)
    recovery, matched = recover(daemon, account, ["delivered"], rate=100)
    assert matched == 300
    taking.append(True)
    done = eventually(lambda: (lambda r: r["State"] == "done" and r)(
        api.get("/api/v1/recoveries/" + recovery, query={"partnerId": account.partner_id}).json))
    assert done["Resent"] == 300, done
    assert eventually(lambda: daemon.metrics()["postbackd_callbacks_pending"] == 0)
    for name in names[300:]:
        attempts = api.callback(name, account.partner_id)["Attempts"]
        assert len(attempts) > 1 and not any(a["Manual"] for a in attempts)
    receiver.close()


def test_a_dry_run_counts_and_sends_nothing(quick, partner):
    account = Account(quick, partner.url)
    make_dead(quick, account, 3)
    api = quick.api(account.key("callbacks:read", "callbacks:write"))
    body = {"From": when(-600), "To": when(600), "States": ["dead"], "DryRun": True}
    before = len(partner.receiver.requests)
    for _ in range(25):  # more than may run at a time: none does
        answer = api.post("/api/v1/callbacks/recover", body)
        assert (answer.status, answer.json) == (200, {"RecoveryId": None, "Matched": 3}), answer
        assert "Location" not in answer.headers
    assert api.post("/api/v1/callbacks/recover", {**body, "DryRun": 1}).status == 400
    states = [quick.api().callback("r-%d" % i, account.partner_id)["State"] for i in range(3)]
    assert states == ["dead"] * 3 and len(partner.receiver.requests) == before


def look(daemon, recovery_id):
    answer = daemon.api().get("/api/v1/recoveries/" + recovery_id)
    assert answer.status == 200, answer
    return answer.json


def wait_done(daemon, recovery_id, timeout_s=30):
    def done():
        found = look(daemon, recovery_id)
        return found if found["State"] == "done" else None
    return eventually(done, timeout_s, what="the recovery is done")


def make_dead(daemon, account, count, prefix="r"):
    daemon.api().events([account.event("%s-%d" % (prefix, i)) for i in range(count)])
    def all_dead():
        found = daemon.api().get("/api/v1/callbacks", query={
            "partnerId": account.partner_id, "appId": account.app_id, "state": "dead", "limit": 500})
        return len(found.json["Items"]) == count
    eventually(all_dead, 30, what="%d callbacks are dead" % count)


def test_dead_callbacks_go_out_again_at_their_pace(quick, partner):
    a = Account(quick, partner.url)
    make_dead(quick, a, 30)
    partner.taking = True
    begun = time.monotonic()
    recovery_id, matched = recover(quick, a, rate=10, AppId=a.app_id)
    assert matched == 30
    found = look(quick, recovery_id)
    assert (found["Matched"], found["AppId"], found["RatePerSecond"]) == (30, a.app_id, 10)
    assert found["States"] == ["dead"]
    assert wait_done(quick, recovery_id)["Resent"] == 30
    eventually(lambda: len(partner.taken) >= 30, what="all arrived")
    assert sorted(partner.ids()) == sorted("r-%d" % i for i in range(30))
    # 30 at 10 a second take 3 s less what one tick may hold; the slowest machine only adds to it.
    assert partner.taken[-1][0] - begun > 2.0
    assert_signed(partner.taken[0][1], a.secret)
    # They are sent in the order of acceptance. They may arrive in another: those on their way
    # together overtake each other.
    sent = [quick.api().wait_state("r-%d" % i, a.partner_id, "delivered")["Attempts"][-1] for i in range(30)]
    assert [attempt["At"] for attempt in sent] == sorted(attempt["At"] for attempt in sent)
    assert all(attempt["Manual"] for attempt in sent)
    assert recover(quick, a)[1] == 0


def test_what_is_accepted_meanwhile_does_not_wait_for_its_end(quick, partner):
    """At most what the endpoint had room for stands before it: 16, a first window and one that is being sent."""
    a = Account(quick, partner.url, MaxConcurrency=1)
    make_dead(quick, a, 60)
    answer = partner.receiver.answer
    partner.receiver.answer = lambda request: time.sleep(0.03) or answer(request)
    partner.taking = True
    recovery_id, _ = recover(quick, a, rate=1000)
    eventually(lambda: len(partner.taken) >= 5)
    quick.api().events([a.event("fresh")])
    before = len(partner.taken)
    quick.api().wait_state("fresh", a.partner_id, "delivered")
    assert partner.ids().index("fresh") - before <= 16 + 4 + 1
    assert wait_done(quick, recovery_id)["Resent"] == 60
    eventually(lambda: len(partner.taken) == 61, what="all arrived")


def test_what_a_clock_that_was_ahead_has_dated_is_not_left_out(tmp_path):
    """One callback was delivered in that future, another one accepted in it, too."""
    taking, clock = [], Clock(tmp_path / "clock")
    receiver = Receiver(lambda r: 200 if taking else 503)
    daemon = Daemon(tmp_path / "d", schedule=",".join(["1s"] * 12), env=shimmed(SHIM_CLOCK=clock.path)).start()
    try:
        account = Account(daemon, receiver.url)
        api = daemon.api()
        api.events([account.event("early")])
        receiver.wait_for("early")
        clock.jump(3600)
        taking.append(True)
        api.events([account.event("late")])
        for name in ("early", "late"):
            api.wait_state(name, account.partner_id, "delivered")
        clock.jump(-3600)
        known = len(receiver.ids())
        in_range, matched = recover(daemon, account, ["delivered"], end=-0.001)
        assert (matched, wait_done(daemon, in_range)["Resent"]) == (1, 1)
        eventually(lambda: receiver.ids()[known:] == ["early"])
        so_far, matched = recover(daemon, account, ["delivered"], end=1)
        assert (matched, wait_done(daemon, so_far)["Resent"]) == (2, 2)
        eventually(lambda: sorted(receiver.ids()[known + 1:]) == ["early", "late"])
    finally:
        daemon.stop()
        receiver.close()


def test_a_range_and_its_states_are_all_that_moves(quick, partner):
    a = Account(quick, partner.url)
    make_dead(quick, a, 3)
    none = Account(quick)
    quick.api().events([none.event("n-1")])
    partner.taking = True
    quick.api().events([a.event("good")])
    quick.api().wait_state("good", a.partner_id, "delivered")
    assert recover(quick, a, begin=-600, end=-300)[1] == 0
    assert recover(quick, a, states=("pending", "skipped"))[1] == 0
    recovery_id, matched = recover(quick, none, states=("skipped",))
    assert matched == 1
    assert wait_done(quick, recovery_id)["Resent"] == 1
    quick.api().wait_state("n-1", none.partner_id, "skipped")
    recovery_id, matched = recover(quick, a, states=("delivered", "dead", "dead"))
    assert matched == 4
    assert wait_done(quick, recovery_id)["Resent"] == 4
    eventually(lambda: len(partner.taken) >= 5)
    assert sorted(partner.ids()) == ["good", "good", "r-0", "r-1", "r-2"]
    assert quick.api().callback("good", a.partner_id)["State"] == "delivered"


def test_it_goes_on_after_kill_9(quick, partner):
    a = Account(quick, partner.url)
    make_dead(quick, a, 40)
    partner.taking = True
    recovery_id, matched = recover(quick, a, rate=10)
    assert matched == 40
    eventually(lambda: len(partner.taken) >= 12)
    quick.kill()
    before = look(quick.start(), recovery_id)
    assert before["Matched"] == 40
    found = wait_done(quick, recovery_id)
    assert found["Resent"] <= 40
    eventually(lambda: len(set(partner.ids())) == 40, what="all arrived")
    for i in (0, 20, 39):
        quick.api().wait_state("r-%d" % i, a.partner_id, "delivered")
    # what its 2xx was not on disk for may come twice, nothing else
    assert len(partner.ids()) <= 40 + 12
    assert quick.restart() and look(quick, recovery_id)["State"] == "done"


def test_deleting_stops_it(quick, partner):
    a = Account(quick, partner.url)
    make_dead(quick, a, 30)
    partner.taking = True
    recovery_id, _ = recover(quick, a, rate=5)
    eventually(lambda: len(partner.taken) >= 3)
    assert quick.api().delete("/api/v1/recoveries/" + recovery_id).status == 204
    assert quick.api().get("/api/v1/recoveries/" + recovery_id).status == 404
    assert quick.api().delete("/api/v1/recoveries/" + recovery_id).status == 404
    eventually(lambda: quick.metrics()["postbackd_callbacks_pending"] == 0, what="what was resent has come")
    count = len(partner.taken)
    assert quick.api().callback("r-29", a.partner_id)["State"] == "dead"
    assert quick.restart().api().get("/api/v1/recoveries/" + recovery_id).status == 404
    assert len(partner.taken) == count < 30


def test_a_receiver_that_is_down_holds_up_no_other(quick, partner):
    a = Account(quick, partner.url)
    down = Partner(status=503)
    answer = quick.api().post("/api/v1/partners/%s/apps" % a.partner_id,
                              {"AppId": a.app_id + "_down", "Name": "Down", "CurrencyValue": "1",
                               "SuccessCallbackUrl": down.url})
    assert answer.status == 201, answer
    client = quick.api().post("/api/v1/apps/%s_down/clients" % a.app_id,
                              {"ClientId": a.client + "_down", "Name": "c", "Integration": "sdk"})
    assert client.status == 201, client
    quick.api().events([a.event("down-%d" % i, ClientId=a.client + "_down") for i in range(20)])
    eventually(lambda: len(quick.api().get("/api/v1/callbacks", query={
        "partnerId": a.partner_id, "appId": a.app_id + "_down", "state": "dead"}).json["Items"]) >= 5, 60)
    make_dead(quick, a, 20)
    partner.taking = True
    asked = len(down.receiver.requests)
    recovery_id, matched = recover(quick, a, rate=1000)
    assert matched >= 25
    eventually(lambda: len(set(partner.ids())) == 20, 30, what="the healthy app's callbacks arrived")
    assert look(quick, recovery_id)["State"] == "running"
    assert len(down.receiver.requests) - asked < 15, "the one that is down is not flooded"
    assert quick.api().delete("/api/v1/recoveries/" + recovery_id).status == 204
    down.receiver.close()


def test_what_may_be_asked_and_by_whom(quick):
    a, b = Account(quick), Account(quick)
    path = "/api/v1/callbacks/recover"
    good = {"From": when(-60), "To": when(0), "States": ["dead"], "RatePerSecond": 5}
    api = Api(quick.port, a.key("callbacks:write", "callbacks:read"))
    for change, field in (({"From": None}, "From"), ({"From": "yesterday"}, "From"), ({"To": 5}, "To"),
                          ({"From": when(60)}, "From"), ({"States": []}, "States"), ({"States": "dead"}, "States"),
                          ({"States": ["gone"]}, "States"), ({"RatePerSecond": 0}, "RatePerSecond"),
                          ({"RatePerSecond": 1.5}, "RatePerSecond"), ({"RatePerSecond": 1001}, "RatePerSecond"),
                          ({"AppId": 5}, "AppId"), ({"Rate": 5}, "Rate")):
        answer = api.post(path, {**good, **change})
        assert answer.status == 400, (change, answer)
        assert answer.json["errors"][0]["Field"] == field, (change, answer)
    for field in ("From", "To", "States"):
        answer = api.post(path, {k: v for k, v in good.items() if k != field})
        assert (answer.status, answer.json["errors"][0]["Code"]) == (400, "required")
    assert api.post(path, {**good, "AppId": b.app_id}).status == 404
    assert api.post(path, {**good, "AppId": "none"}).status == 404
    made = api.post(path, good)
    assert (made.status, made.json["Matched"]) == (202, 0)
    at = "/api/v1/recoveries/" + made.json["RecoveryId"]
    assert api.get(at).json["State"] == "done"
    other = Api(quick.port, b.key("callbacks:write", "callbacks:read"))
    reader = Api(quick.port, a.key("callbacks:read"))
    assert (other.get(at).status, other.delete(at).status) == (404, 404)
    assert (reader.get(at).status, reader.delete(at).status, reader.post(path, good).status) == (200, 403, 403)
    assert api.get("/api/v1/recoveries/rec_none").status == 404
    assert quick.api().post(path, good).status == 400, "an operator must say whose"
    assert api.delete(at).status == 204
    # the path is the route's own; a RewardId of that name is spelled another way
    quick.api().events([a.event("recover")])
    assert api.get(path).status == 405
    assert api.get("/api/v1/callbacks/%72ecover").json["RewardId"] == "recover"


def test_recoveries_wait_for_the_next_try_of_what_is_down(tmp_path):
    """One resend by hand is tried at once; many at a time keep to the endpoint's own spacing."""
    tried = []
    receiver = Receiver(lambda request: tried.append(datetime.now(timezone.utc)) or 500)
    daemon = Daemon(tmp_path, schedule="10m,1h").start()
    try:
        account = Account(daemon, receiver.url)
        path = "/api/v1/apps/%s/endpoints" % account.app_id
        daemon.api().events([account.event("down-%d" % i) for i in range(12)])

        def suspended():
            endpoint = daemon.api().get(path).json["Endpoints"][0]
            return endpoint["State"] == "suspended" and endpoint["InFlight"] == 0 and endpoint

        next_try = datetime.fromisoformat(eventually(suspended)["NextTryAt"].replace("Z", "+00:00"))
        before = len(tried)
        for _ in range(5):
            recover(daemon, account, states=["pending"], rate=100)
        eventually(lambda: len(tried) > before, what="the next try")
        assert tried[before] >= next_try - timedelta(milliseconds=100), (tried, next_try)
    finally:
        daemon.stop()
        receiver.close()

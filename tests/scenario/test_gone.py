"""410: one ends its callback, five in a row disable the endpoint, and nothing that waits is lost."""

import threading

import pytest
from harness import Account, Receiver, eventually


def endpoint(daemon, account):
    answer = daemon.api().get("/api/v1/apps/%s/endpoints" % account.app_id)
    assert answer.status == 200, answer
    return answer.json["Endpoints"][0]


def test_a_410_from_the_url_before_leaves_the_new_one_alone(daemon):
    asked, patched = threading.Event(), threading.Event()

    def slow_goodbye(request):
        asked.set()
        patched.wait(60)
        return 410

    old, new = Receiver(slow_goodbye), Receiver()
    try:
        account = Account(daemon, old.url, TimeoutSeconds=30)
        daemon.api().events([account.event("gone-1")])
        assert asked.wait(60)
        account.patch(SuccessCallbackUrl=new.url)
        patched.set()
        assert daemon.api().wait_state("gone-1", account.partner_id, "dead")["Reason"] == "gone"
        daemon.api().events([account.event("gone-2")])
        daemon.api().wait_state("gone-2", account.partner_id, "delivered")
        assert new.ids() == ["gone-2"]
        assert endpoint(daemon, account)["State"] == "open"
    finally:
        old.close()
        new.close()


def states(daemon, account):
    page = daemon.api().get("/api/v1/callbacks", query={"partnerId": account.partner_id, "limit": "500"}).json
    return {c["RewardId"]: (c["State"], c["Reason"]) for c in page["Items"]}


def disable(daemon, account, name):
    """Five callbacks that are answered 410, one after the other."""
    for i in range(5):
        daemon.api().events([account.event("%s-%d" % (name, i))])
        daemon.api().wait_state("%s-%d" % (name, i), account.partner_id, "dead")
        assert i == 4 or endpoint(daemon, account)["State"] == "open"
    eventually(lambda: endpoint(daemon, account)["State"] == "disabled")


def enable(daemon, account):
    path = "/api/v1/apps/%s/endpoints/success/enable" % account.app_id
    answer = daemon.api().post(path)
    assert answer.status == 200 and answer.json["AppId"] == account.app_id, answer


def set_url_again(daemon, account):
    account.patch(SuccessCallbackUrl=account.url)


def test_one_removed_user_takes_no_rewards_from_others(daemon):
    receiver = Receiver(lambda r: 410 if r.json["PanelistId"] == "removed" else 200)
    try:
        account = Account(daemon, receiver.url)
        daemon.api().events([account.event("user-%d" % i, PanelistId="removed" if i % 3 == 0 else "user-%d" % i)
                             for i in range(60)])
        eventually(lambda: all(state in ("delivered", "dead") for state, _ in states(daemon, account).values()))
        found = states(daemon, account)
        for i in range(60):
            assert found["user-%d" % i] == (("dead", "gone") if i % 3 == 0 else ("delivered", None))
        assert endpoint(daemon, account)["State"] == "open"
    finally:
        receiver.close()


@pytest.mark.parametrize("let_go", [enable, set_url_again])
def test_a_disabled_endpoint_holds_what_it_is_owed(own_daemon, let_go):
    own_daemon.schedule = "1h,1h"
    daemon = own_daemon.start()
    answers = {"status": 410}
    receiver = Receiver(lambda r: answers["status"])
    try:
        account = Account(daemon, receiver.url)
        account.url = receiver.url
        disable(daemon, account, "gone")
        daemon.api().events([account.event("held-%d" % i) for i in range(20)])
        found = eventually(lambda: (lambda e: e if e["Waiting"] == 20 else None)(endpoint(daemon, account)))
        assert "wait: 20 now" in found["Warning"]
        warnings = daemon.api().get("/healthz").json["Warnings"]
        assert [w["Check"] for w in warnings] == ["endpoints_disabled"]
        daemon.kill()
        daemon.start()  # it stays disabled
        assert endpoint(daemon, account)["State"] == "disabled"
        assert [s for s in states(daemon, account).values()].count(("pending", None)) == 20
        assert len(receiver.requests) == 5
        answers["status"] = 200
        let_go(daemon, account)
        for i in range(20):
            daemon.api().wait_state("held-%d" % i, account.partner_id, "delivered")
        assert endpoint(daemon, account)["State"] == "open"
        assert "Warnings" not in daemon.api().get("/healthz").json
    finally:
        receiver.close()


def test_what_missed_its_last_slot_is_skipped_when_the_endpoint_is_enabled(own_daemon):
    own_daemon.schedule = "1s"
    daemon = own_daemon.start()
    answers = {"status": 410}
    receiver = Receiver(lambda r: answers["status"])
    try:
        account = Account(daemon, receiver.url)
        disable(daemon, account, "gone")
        daemon.api().events([account.event("late-%d" % i) for i in range(5)])
        clock = Account(daemon, receiver.url)  # two lives, one after the other: longer than one, whatever the jitter
        answers["status"] = 404
        for life in ("first", "second"):
            daemon.api().events([clock.event(life)])
            daemon.api().wait_state(life, clock.partner_id, "dead")
        found = states(daemon, account)
        assert [found["late-%d" % i] for i in range(5)] == [("pending", None)] * 5
        answers["status"] = 200
        enable(daemon, account)
        for i in range(5):
            found = daemon.api().wait_state("late-%d" % i, account.partner_id, "skipped")
            assert (found["Reason"], found["Attempts"]) == ("disabled", [])
        path = "/api/v1/callbacks/late-0/resend"
        assert daemon.api().post(path, query={"partnerId": account.partner_id}).status == 202
        daemon.api().wait_state("late-0", account.partner_id, "delivered")
    finally:
        receiver.close()


def test_only_endpoints_that_exist_are_enabled(daemon, receiver):
    account = Account(daemon, receiver.url)
    path = "/api/v1/apps/%s/endpoints/%s/enable"
    assert daemon.api().post(path % (account.app_id, "nothing")).status == 404
    assert daemon.api().post(path % ("nobody", "success")).status == 404
    assert daemon.api(account.key("callbacks:write")).post(path % (account.app_id, "success")).status == 403
    assert daemon.api(account.key("apps:write")).post(path % (account.app_id, "success")).status == 200

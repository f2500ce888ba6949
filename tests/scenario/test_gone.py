"""A 410 speaks of the URL that was asked, not of one that has taken its place meanwhile."""

import threading

from harness import Account, Receiver


def endpoint(daemon, account):
    answer = daemon.api().get("/api/v1/apps/%s/endpoints" % account.app_id)
    assert answer.status == 200, answer
    return answer.json["Endpoints"][0]


def test_a_410_from_the_url_before_leaves_the_new_one_alone(daemon):
    asked, patched = threading.Event(), threading.Event()

    def slow_goodbye(request):
        asked.set()
        patched.wait(10)
        return 410

    old, new = Receiver(slow_goodbye), Receiver()
    try:
        account = Account(daemon, old.url)
        daemon.api().events([account.event("gone-1")])
        assert asked.wait(10)
        account.patch(SuccessCallbackUrl=new.url)
        patched.set()
        daemon.api().wait_state("gone-1", account.partner_id, "dead")
        daemon.api().events([account.event("gone-2")])
        daemon.api().wait_state("gone-2", account.partner_id, "delivered")
        assert new.ids() == ["gone-2"]
        assert endpoint(daemon, account)["State"] == "open"
    finally:
        old.close()
        new.close()


"""A panelist is erased at one node while another one is sending the callbacks."""
import signal
import threading
import time

from harness import Receiver, eventually


def test_an_attempt_under_way_elsewhere_is_the_last(cluster):
    gate = threading.Event()
    receiver = Receiver(lambda r: 404 if gate.wait(60) else 503)
    a, _ = cluster.start("a", schedule="1s,1s,1s,1s,1h"), cluster.start("b", schedule="1s,1s,1s,1s,1h")
    cluster.wait_even("a", "b")
    accounts = cluster.accounts(8, receiver.url, a)
    api = a.api()
    for account in accounts:
        account.patch(TimeoutSeconds=30)
    cluster.accounts(1, receiver.url, a)  # known at each node: so the timeouts are, too

    def of(panelist):
        return [r.json["RewardId"] for r in receiver.requests if r.json["PanelistId"] == panelist]

    api.events([account.event("e-" + account.app_id, PanelistId="zebra") for account in accounts])
    eventually(lambda: len(of("zebra")) == len(accounts))
    for account in accounts:
        assert api.post("/api/v1/panelists/erase", {"PanelistId": "zebra"},
                        query={"partnerId": account.partner_id}).status == 200
    cluster.accounts(1, receiver.url, a)  # known at each node: so the erasures are, too
    gate.set()
    for account in accounts:
        found = api.wait_state("e-" + account.app_id, account.partner_id, "skipped")
        eventually(lambda i=account: api.callback("e-" + i.app_id, i.partner_id)["AttemptCount"] == 1)
        assert found["PanelistId"] != "zebra" and found["Body"] is None
    api.events([account.event("n-" + account.app_id, PanelistId="yak") for account in accounts])
    eventually(lambda: all(of("yak").count("n-" + i.app_id) == 4 for i in accounts), 30, what="retries of the others")
    assert sorted(of("zebra")) == sorted("e-" + account.app_id for account in accounts)
    receiver.close()


def test_a_node_that_was_paused_looks_for_erasures_before_it_sends(cluster):
    gate = threading.Event()
    receiver = Receiver(lambda r: 200 if r.json["PanelistId"] != "zebra" or gate.wait(60) else 503)
    a, b = cluster.start("a"), cluster.start("b")
    cluster.wait_even("a", "b")
    accounts = cluster.accounts(8, receiver.url, a)
    api = a.api()

    def of(panelist):
        return [r.json["RewardId"] for r in receiver.requests if r.json["PanelistId"] == panelist]

    def patch(account):
        return api.patch("/api/v1/apps/" + account.app_id, {"MaxConcurrency": 1, "TimeoutSeconds": 30}, query={"partnerId": account.partner_id})

    assert all(patch(i).status == 200 for i in accounts)
    cluster.accounts(1, receiver.url, a)  # known at each node: so the limits are, too
    api.events([i.event("e%d-%s" % (n, i.app_id), PanelistId="zebra") for n in range(20) for i in accounts])
    eventually(lambda: len(of("zebra")) == len(accounts))
    b.process.send_signal(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        for i in accounts:
            assert api.post("/api/v1/panelists/erase", {"PanelistId": "zebra"},
                            query={"partnerId": i.partner_id}).status == 200
        gate.set()
        time.sleep(max(0, 1.5 - (time.monotonic() - begin)))  # the last look is old, and the lease goes on
    finally:
        b.process.send_signal(signal.SIGCONT)
    api.events([i.event("n-" + i.app_id, PanelistId="yak") for i in accounts])
    eventually(lambda: sorted(of("yak")) == sorted("n-" + i.app_id for i in accounts))
    for i in accounts:
        api.wait_state("e19-" + i.app_id, i.partner_id, "skipped")
    assert len(of("zebra")) == len(accounts)
    receiver.close()

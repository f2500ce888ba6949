"""A panelist is erased at one node while another one is sending the callbacks."""
import threading

import nodes
import pytest
from harness import Receiver, eventually


@pytest.fixture
def cluster(tmp_path, database):
    found = nodes.Cluster(tmp_path, database)
    yield found
    found.stop()


def test_an_attempt_under_way_elsewhere_is_the_last(cluster):
    gate = threading.Event()
    receiver = Receiver(lambda r: 404 if gate.wait(20) else 503)
    a, _ = cluster.start("a", schedule="1s,1s,1s,1s,1h"), cluster.start("b", schedule="1s,1s,1s,1s,1h")
    cluster.wait_even("a", "b")
    accounts = cluster.accounts(8, receiver.url, a)
    api = a.api()

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

"""Each node knows the endpoints it delivers to: together they answer for a whole account."""
import signal

import nodes
from harness import Receiver, eventually
from shim import Clock, shimmed

STATES = "disabled suspended host_down paused failing app_disabled unknown open not_configured".split()


def health(node, account):
    answer = node.api().get("/api/v1/endpoints", query={"partnerId": account.partner_id} if account else None)
    assert answer.status == 200, answer
    assert sorted(answer.json["States"]) == sorted(STATES)
    return answer.json


def down_in(found):
    return sorted(one["AppId"] for one in found["NotHealthy"] if one["Endpoint"]["Health"] == "suspended")


def test_any_node_answers_for_all(cluster):
    a, b = cluster.start("a"), cluster.start("b")
    cluster.wait_even("a", "b")
    good, down = Receiver(), Receiver(answer=lambda r: 503)
    try:
        account = cluster.accounts(1, good.url, a)[0]
        apps = ["many-%d" % n for n in range(24)]
        for n, app in enumerate(apps):  # so many are not one node's alone
            url = down.url if n % 2 else good.url
            made = a.api().post("/api/v1/partners/%s/apps" % account.partner_id,
                                {"AppId": app, "CurrencyValue": "100", "SuccessCallbackUrl": url})
            assert made.status == 201, made
            assert a.api().post("/api/v1/apps/%s/clients" % app,
                                {"ClientId": app + "-c", "Integration": "sdk"}).status == 201
        eventually(lambda: b.api().get("/api/v1/clients/%s-c" % apps[-1]).status == 200, 30)
        a.api().events([dict(account.event("e-%s-%d" % (app, i)), ClientId=app + "-c")
                        for app in apps for i in range(12)])
        bad = sorted(apps[1::2])
        for node in (a, b):
            found = eventually(lambda n=node: (h := health(n, account)) and down_in(h) == bad and h, 60)
            assert sum(found["States"].values()) == 3 * 25
            assert [one["AppId"] for one in found["Apps"]] == bad
            assert [one["PartnerId"] for one in health(node, None)["Partners"]] == [account.partner_id]

        # While a node does not answer, nothing of it is called healthy; then its shards are another's.
        b.process.send_signal(signal.SIGSTOP)
        try:
            seen = []

            def taken_over():
                seen.append(health(a, account))
                return cluster.sum("postbackd_shards_held", "a") == nodes.SHARDS

            eventually(taken_over, 60)
            assert all(sum(one["States"].values()) == 3 * 25 for one in seen)
            assert any(one["States"]["unknown"] for one in seen)
            eventually(lambda: health(a, account)["States"]["unknown"] == 0)
        finally:
            b.process.send_signal(signal.SIGCONT)
    finally:
        good.close()
        down.close()


def test_a_clock_that_is_not_the_servers_is_told_of(cluster, tmp_path):
    clock = Clock(tmp_path / "clock")
    right, wrong = cluster.start("right"), cluster.start("wrong", env=shimmed(SHIM_CLOCK=clock.path))

    def ahead_s(node):
        warnings = {w["Check"]: w["Detail"] for w in node.api().get("/healthz").json.get("Warnings", [])}
        return float(node.metrics()["postbackd_clock_ahead_seconds"]), warnings.get("clock", "")

    assert ahead_s(wrong) == (0, "")
    for jump, words in ((9, ""), (31, "ahead of"), (-80, "behind")):
        clock.jump(jump)
        eventually(lambda: abs(ahead_s(wrong)[0] - clock.seconds) < 3 and words in ahead_s(wrong)[1])
        assert bool(words) == bool(ahead_s(wrong)[1]), ahead_s(wrong)
    assert '"event":"clock_apart"' in wrong.log_text()
    clock.jump(-clock.seconds)
    eventually(lambda: ahead_s(wrong) == (0, "") and '"event":"clock_together"' in wrong.log_text())
    assert ahead_s(right) == (0, "") and "clock_apart" not in right.log_text()

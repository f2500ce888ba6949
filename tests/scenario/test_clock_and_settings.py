"""What was set while the clock was ahead does no harm once it is right again."""
import pytest

from harness import Account, Daemon, Receiver, eventually
from shim import Clock, shimmed

AHEAD_S = 40 * 86400


@pytest.fixture
def world(tmp_path):
    """A daemon with a clock of its own, and a receiver whose answer can be set."""
    answers = {"status": 200}
    clock, receiver = Clock(tmp_path / "clock"), Receiver(lambda r: answers["status"])
    d = Daemon(tmp_path / "d", env=shimmed(SHIM_CLOCK=tmp_path / "clock"), schedule="1s,1s,2s").start()
    try:
        yield d, clock, receiver, answers
    finally:
        d.stop()
        receiver.close()


def endpoint_state(d, account):
    return d.api().get("/api/v1/apps/%s/endpoints" % account.app_id).json["Endpoints"][0]["State"]


def disable_by_410s(d, account, answers):
    answers["status"] = 410
    for i in range(5):
        d.api().events([account.event("gone-%d" % i)])
        d.api().wait_state("gone-%d" % i, account.partner_id, "dead")
    eventually(lambda: endpoint_state(d, account) == "disabled")
    answers["status"] = 200


def enable_url(d, account, answers):
    disable_by_410s(d, account, answers)
    answer = d.api().post("/api/v1/apps/%s/endpoints/success/enable" % account.app_id)
    assert answer.status == 200, answer


def set_url(d, account, answers):
    disable_by_410s(d, account, answers)
    account.patch(SuccessCallbackUrl=account.url + "?again")


def enable_app(d, account, answers):
    account.patch(Enabled=False)
    account.patch(Enabled=True)


@pytest.mark.parametrize("change", [enable_url, set_url, enable_app])
def test_what_was_enabled_while_the_clock_was_ahead_delivers(world, change):
    d, clock, receiver, answers = world
    account = Account(d, receiver.url)
    account.url = receiver.url
    clock.jump(AHEAD_S)
    change(d, account, answers)
    d.api().events([account.event("ahead", Timestamp=clock.now().isoformat())])
    d.api().wait_state("ahead", account.partner_id, "delivered")
    clock.jump(-AHEAD_S)
    d.api().events([account.event("right")])
    d.api().wait_state("right", account.partner_id, "delivered")
    d.stop()
    d.start()
    d.api().events([account.event("after-restart")])
    d.api().wait_state("after-restart", account.partner_id, "delivered")

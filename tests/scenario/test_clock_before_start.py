"""Callbacks that a process with a wrong clock has dated: the next process, with the right one, delivers them in time."""
import pytest

from harness import Account, Daemon, Receiver, eventually
from shim import Clock, shimmed


# two hours are less than a Retry-After may ask for: only the events of the future prove them wrong
@pytest.mark.parametrize("ahead_s", [40 * 86400, 7200])
def test_a_start_with_the_clock_put_back_strands_no_callback(tmp_path, ahead_s):
    answers = {"status": 503}
    clock, receiver = Clock(tmp_path / "clock"), Receiver(lambda r: answers["status"])
    d = Daemon(tmp_path, env=shimmed(SHIM_CLOCK=tmp_path / "clock"), schedule="1s,1s,2s,2s,2s,2s,2s,2s")
    try:
        clock.jump(ahead_s)
        d.start()
        a = Account(d, receiver.url)
        events = ["e%d" % i for i in range(5)]
        d.api().events([a.event(e) for e in events])
        for e in events:
            receiver.wait_for(e)
        eventually(lambda: all(d.api().callback(e, a.partner_id)["AttemptCount"] for e in events))
        d.kill()
        clock.jump(-ahead_s)
        answers["status"] = 200
        d.start()
        for e in events:
            d.api().wait_state(e, a.partner_id, "delivered")
    finally:
        d.stop()
        receiver.close()

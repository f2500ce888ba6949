"""A clock that reads a time no clock can have: a start is refused, and a daemon that runs goes on."""
import pytest

from harness import Account, Daemon, Receiver, eventually
from shim import Clock, shimmed

YEAR_S = 365 * 86400
BOUNDS = "and must be from 1970-01-01T00:00:01.000Z to 9000-01-01T00:00:00.000Z: set it"


@pytest.mark.parametrize("jump_s, bound", [(-100 * YEAR_S, "1970-01-01"), (9000 * YEAR_S, "9000-01-01")])
def test_a_clock_out_of_bounds(tmp_path, jump_s, bound):
    clock, receiver = Clock(tmp_path / "clock"), Receiver()
    d = Daemon(tmp_path, env=shimmed(SHIM_CLOCK=tmp_path / "clock")).start()
    try:
        account, api = Account(d, receiver.url), d.api()
        key = d.api(account.key("callbacks:read", "reports:read"))
        clock.jump(jump_s)
        eventually(lambda: "clock_impossible" in d.log_text() and "clock_jumped" in d.log_text())
        api.events(account.event("while"))
        assert api.wait_state("while", account.partner_id, "delivered")["CreatedAt"].startswith(bound)
        for path in ("callbacks", "reports/earnings", "rewards", "apps/%s/endpoints" % account.app_id):
            assert key.get("/api/v1/" + path).status == 200, path
        clock.jump(-jump_s)
        eventually(lambda: d.log_text().count("clock_jumped") == 2)
        api.events(account.event("after"))
        api.wait_state("after", account.partner_id, "delivered")
        assert d.log_text().count("clock_impossible") == 1
        clock.jump(jump_s)
        assert d.stop() == 0
        begin = d.spawn()
        assert d.process.wait(30) == 1
        assert "the system's clock reads " in d.log_text(begin) and BOUNDS in d.log_text(begin)
    finally:
        d.kill()
        receiver.close()

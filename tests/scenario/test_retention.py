"""What is purged is gone for good: no clock that is wrong for a start may decide it."""

from harness import Account, Daemon, Receiver, eventually
from inside import rows
from shim import Clock, shimmed

AHEAD_S = 130 * 86400  # attempts are kept for 30 days, bodies for 90 and four more


def delivered(d, partner_id, *event_ids):
    """All are in the database; on SQLite what a start purges is purged before."""
    for event_id in event_ids:
        d.api().wait_state(event_id, partner_id, "delivered")
    eventually(lambda: d.metrics()["postbackd_callbacks_delivered_total"] >= len(event_ids))


def test_a_start_with_a_clock_far_ahead_purges_nothing(tmp_path):
    clock, receiver = Clock(tmp_path / "clock"), Receiver()
    d = Daemon(tmp_path, env=shimmed(SHIM_CLOCK=tmp_path / "clock"))
    try:
        d.start()
        a = Account(d, receiver.url)
        d.api().events([a.event("before")])
        delivered(d, a.partner_id, "before")
        eventually(lambda: rows(d, "SELECT 1 FROM meta WHERE name='retention_clock_ms'"))
        d.stop()
        clock.jump(AHEAD_S)
        d.start()
        d.api().events([a.event("meanwhile")])  # that an event is taken is no proof of the clock
        delivered(d, a.partner_id, "before", "meanwhile")
        d.restart()
        delivered(d, a.partner_id, "before", "meanwhile")
        eventually(lambda: "retention_waits" in d.log_text(), what="what is old was looked for")
        d.stop()
        clock.jump(-AHEAD_S)
        d.start()
        kept = d.api().callback("before", a.partner_id)
        assert len(kept["Attempts"]) == 1 and kept["Body"], kept
        assert d.api().post("/api/v1/callbacks/before/resend", query={"partnerId": a.partner_id}).status == 202
        receiver.wait_for("before", 2)
    finally:
        d.stop()
        receiver.close()

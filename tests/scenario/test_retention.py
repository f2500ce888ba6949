"""What is purged is gone for good: no clock that is wrong for a start may decide it."""

from harness import Account, Daemon, Receiver, eventually
from inside import by_store, lived_until, rows
from shim import Clock, shimmed

KEPT = by_store("SELECT 1 FROM sqlite_schema WHERE name='attempts_kept'", "SELECT 1 FROM attempt_kept")
AGAIN_S = 90  # PostgreSQL gives a lock half a second, and then tries again in a minute
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


def live_until(d, clock, days):
    """The daemon runs again, so many days later, and has purged what a start purges."""
    eventually(lambda: rows(d, "SELECT 1 FROM meta WHERE name='retention_clock_ms'"))
    d.stop()
    clock.jump(days * 86400)
    lived_until(d, clock)
    d.start()


def test_what_waited_for_long_is_kept_by_its_final_state(tmp_path):
    """Its app was disabled for 100 days: the body would have gone within the hour of the delivery."""
    clock = Clock(tmp_path / "clock")
    receiver = Receiver(answer=lambda request: 404)
    d = Daemon(tmp_path, env=shimmed(SHIM_CLOCK=tmp_path / "clock"), schedule="1h,1h")
    path = "/api/v1/callbacks/waits"
    try:
        d.start()
        a = Account(d, receiver.url)
        at = {"partnerId": a.partner_id}

        def attempts():
            return [one["Number"] for one in d.api().callback("waits", a.partner_id)["Attempts"]]

        def resend():  # 429 while the daemon deletes old bodies
            return eventually(lambda: (s := d.api().post(path + "/resend", query=at).status) != 429 and s)

        d.api().events([a.event("waits")])
        eventually(attempts, what="it was tried")
        a.patch(Enabled=False)
        live_until(d, clock, 100)
        eventually(lambda: rows(d, KEPT), AGAIN_S, what="its attempt is older than its limit, and kept as it waits")
        receiver.answer = lambda request: 200
        d.api().events([Account(d, receiver.url).event("other")])  # where bodies are kept together, not with that one
        a.patch(Enabled=True)
        delivered(d, a.partner_id, "waits")
        live_until(d, clock, 38)
        eventually(lambda: attempts() == [1], AGAIN_S, what="its last attempt is old; the one that was kept is not")
        d.api().events([a.event("next")])
        delivered(d, a.partner_id, "next", "waits")
        assert d.api().callback("waits", a.partner_id)["Body"]
        assert resend() == 202
        eventually(lambda: len(receiver.of("waits")) == 3 and max(attempts()) == 3, what="it was sent again")
        live_until(d, clock, 92)
        eventually(lambda: d.api().callback("waits", a.partner_id)["Body"] is None, AGAIN_S, what="its time is over")
        assert resend() == 409
    finally:
        d.stop()
        receiver.close()

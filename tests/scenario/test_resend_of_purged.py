"""A callback whose body is gone can be read, and a resend says what is gone and what to do."""
from datetime import datetime, timedelta, timezone

from harness import Account, eventually
from inside import by_store, change, rows


def resend(daemon, account, reward_id):
    return daemon.api().post("/api/v1/callbacks/%s/resend" % reward_id, query={"partnerId": account.partner_id})


def delivered(daemon, account, *event_ids):
    """Delivered, and in the database with their bodies."""
    daemon.api().events([account.event(event_id, PanelistId="p-" + event_id) for event_id in event_ids])
    for event_id in event_ids:
        daemon.api().wait_state(event_id, account.partner_id, "delivered")
    eventually(lambda: len(rows(daemon, "SELECT event_id FROM event WHERE state=3")) == len(event_ids),
               what="all are in the database")


def purge_bodies(daemon):
    """As retention would; the daemon is stopped."""
    for table in by_store(lambda: [name for name, in rows(
            daemon, "SELECT name FROM sqlite_schema WHERE type='table' AND name GLOB 'bodies_*'")],
            lambda: ["body"])():
        assert change(daemon, "DELETE FROM %s" % table) > 0


def check_gone(answer, *words):
    assert answer.status == 409, answer
    assert answer.headers["Content-Type"] == "application/problem+json"
    for word in words + ("RewardId", "nothing was sent"):
        assert word in answer.json["detail"], answer.json


def test_a_resend_says_that_the_body_was_purged(own_daemon, receiver):
    daemon = own_daemon.start()
    account = Account(daemon, receiver.url)
    delivered(daemon, account, "r-1", "r-2")
    daemon.stop()
    purge_bodies(daemon)
    daemon.start()
    read = daemon.api().callback("r-1", account.partner_id)
    assert read["State"] == "delivered" and read["Body"] is None, read
    check_gone(resend(daemon, account, "r-1"), "retention", "90 days")
    assert resend(daemon, account, "r-3").status == 404
    assert resend(daemon, Account(daemon, receiver.url), "r-1").status == 404
    audit = daemon.api().get("/api/v1/audit", query={"partnerId": account.partner_id}).json["Items"]
    assert "callback.resent" not in [entry["Action"] for entry in audit]


def test_a_resend_says_that_the_panelist_was_erased(own_daemon, receiver):
    daemon = own_daemon.start()
    account = Account(daemon, receiver.url)
    delivered(daemon, account, "r-1")
    erased = daemon.api().post("/api/v1/panelists/erase", query={"partnerId": account.partner_id},
                               body={"PanelistId": "p-r-1"})
    assert erased.json["Erased"] == 1, erased
    check_gone(resend(daemon, account, "r-1"), "erased")
    daemon.restart()
    check_gone(resend(daemon, account, "r-1"), "erased")


def test_a_recovery_counts_what_is_gone(own_daemon, receiver):
    daemon = own_daemon.start()
    account = Account(daemon, receiver.url)
    delivered(daemon, account, "r-1", "r-2", "r-3")
    daemon.stop()
    purge_bodies(daemon)
    daemon.start()
    daemon.api().post("/api/v1/panelists/erase", query={"partnerId": account.partner_id},
                      body={"PanelistId": "p-r-3"})
    daemon.api().events([account.event("r-4")])
    daemon.api().wait_state("r-4", account.partner_id, "delivered")
    now = datetime.now(timezone.utc)
    made = daemon.api().post("/api/v1/callbacks/recover", query={"partnerId": account.partner_id},
                             body={"From": (now - timedelta(hours=1)).isoformat(),
                                   "To": (now + timedelta(hours=1)).isoformat(),
                                   "States": ["delivered"], "RatePerSecond": 100})
    assert made.json["Matched"] == 4, made
    path = "/api/v1/recoveries/" + made.json["RecoveryId"]
    eventually(lambda: daemon.api().get(path).json["State"] == "done")
    told = daemon.api().get(path).json
    assert (told["Resent"], told["Purged"], told["Erased"]) == (1, 2, 1), told
    eventually(lambda: daemon.api().get("/api/v1/callbacks/r-4", query={
        "partnerId": account.partner_id}).json["Attempts"][1:], what="the one that is there was sent")
    daemon.restart()
    assert daemon.api().get(path).json == told

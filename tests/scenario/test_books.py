"""The daemon's own books: they hold through what a day brings, and what is wrong is named."""
import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest

from harness import Account, eventually
from inside import by_store, change, rows

TODAY = datetime.now(timezone.utc)
YESTERDAY = (TODAY - timedelta(days=1)).strftime("%Y-%m-%d")


def logged(daemon, event):
    found = []
    for line in daemon.log_text().splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        if entry.get("event") == event:
            found.append(entry)
    return found


def all_checked(daemon):
    """Everything has been looked at since the start."""
    return eventually(lambda: daemon.metrics()["postbackd_books_round_age_seconds"] >= 0, 20,
                      what="a round of the books")


def day_of_trade(daemon, receiver):
    a = Account(daemon, receiver.url, NegativeAdHoc=True)
    at = YESTERDAY + "T12:00:00Z"
    daemon.api().events([a.event("s-%d" % i, RevenueAmount="1.25", Timestamp=at) for i in range(5)]
                        + [a.event("t-1", IsTest=True, Timestamp=at),
                           a.event("n-1", "survey_started", Timestamp=at),
                           a.event("o-1", "offer_completed", RevenueAmount="2", Timestamp=at),
                           a.event("x-1", "offer_completion_reversed", OriginalRewardId="o-1", Timestamp=at),
                           a.event("g-1", "ad_hoc", Reward="-3", Reason="fraud", Timestamp=at)])
    for reward_id in ("s-0", "s-1", "s-2", "s-3", "s-4", "t-1", "x-1", "g-1"):
        daemon.api().wait_state(reward_id, a.partner_id, "delivered")
    return a


def test_books_hold_and_agree_with_the_statement(own_daemon, receiver):
    daemon = own_daemon.start()
    a = day_of_trade(daemon, receiver)
    b = Account(daemon)  # nothing configured: skipped
    daemon.api().events([b.event("q-1")])
    daemon.restart()
    all_checked(daemon)
    metrics = daemon.metrics()
    assert metrics["postbackd_books_wrong"] == 0
    assert metrics["postbackd_books_callbacks_checked_total"] >= 10
    assert daemon.api(None).get("/healthz").json == {"Status": "ok"}
    assert logged(daemon, "books_wrong") == []
    item, = daemon.api().get("/api/v1/statements",
                             query={"day": YESTERDAY, "partnerId": a.partner_id}).json["Items"]
    daemon.stop()
    sums = by_store("sum(reward_high*1000000000000000+reward_low), sum(revenue_high*1000000000000000+revenue_low)",
                    "sum(reward_micros), sum(revenue_micros)")
    day = int(datetime.fromisoformat(YESTERDAY + "T00:00:00+00:00").timestamp()) // 86400
    ledger, = rows(daemon, "SELECT sum(count), %s FROM book WHERE state=0 AND NOT is_test AND day=%d" % (sums, day))
    assert int(ledger[0]) == item["Count"] == 8
    assert Decimal(ledger[1]) / 1000000 == Decimal(str(item["Reward"]))
    assert Decimal(ledger[2]) / 1000000 == Decimal(str(item["RevenueAmount"]))


@pytest.mark.parametrize("damage, rule, difference", [
    # a row of the events: its state, its money, itself
    ("UPDATE event SET state=4 WHERE event_id='s-1'", "ledger_is_not_the_sum_of_its_events",
     "1 callbacks, Reward 125.00, RevenueAmount 1.25"),
    ("UPDATE event SET revenue_micros=revenue_micros+1 WHERE event_id='s-2'",
     "ledger_is_not_the_sum_of_its_events", "0 callbacks, Reward 0.00, RevenueAmount -0.000001"),
    ("DELETE FROM event WHERE event_id='s-3'", "ledger_is_not_the_sum_of_its_events",
     "1 callbacks, Reward 125.00, RevenueAmount 1.25"),
    # a test event
    ("UPDATE event SET reward_micros=0 WHERE event_id='t-1'", "ledger_is_not_the_sum_of_its_events",
     "0 callbacks, Reward 100.00, RevenueAmount 0.00"),
    # the ledger itself
    ("UPDATE book SET count=count+1 WHERE state=3 AND lane=3", "owed_is_not_the_sum_of_its_states",
     "-1 callbacks, Reward 0.00, RevenueAmount 0.00"),
    ("DELETE FROM book WHERE lane=1", "ledger_is_not_the_sum_of_its_events",
     "-6 callbacks, Reward -622.00, RevenueAmount -6.25"),
    # the report counters
    ("UPDATE report SET " + by_store("live_survey_low=live_survey_low-250000",
                                     "live_survey_micros=live_survey_micros-250000"), "revenue_owed_is_not_earnings",
     "0 callbacks, Reward 0.00, RevenueAmount 0.25"),
])
def test_a_corrupt_row_is_named(own_daemon, receiver, damage, rule, difference):
    daemon = own_daemon.start()
    a = day_of_trade(daemon, receiver)
    daemon.stop()
    assert change(daemon, damage) > 0
    daemon.start()
    eventually(lambda: daemon.metrics()["postbackd_books_wrong"] == 1, 30, what="the books are wrong")
    found = eventually(lambda: [e for e in logged(daemon, "books_wrong") if e["rule"] == rule])
    assert all(e["app"] == a.app_id and e["day"] == YESTERDAY for e in found)
    assert difference in [e["ledger_less_found"] for e in found], found
    health = daemon.api(None).get("/healthz")
    assert health.status == 200
    assert health.json["Status"] == "failing"
    assert health.json["Failures"][0]["Check"] == "books"
    assert YESTERDAY in health.json["Failures"][0]["Detail"]
    assert a.app_id not in health.text  # no key is asked for here
    # delivery goes on
    assert daemon.api(None).get("/readyz").status == 200
    daemon.api().events([a.event("after")])
    receiver.wait_for("after")


def test_mended_books_hold_again(own_daemon, receiver):
    daemon = own_daemon.start()
    day_of_trade(daemon, receiver)
    daemon.stop()
    change(daemon, "UPDATE book SET count=count+1 WHERE state=3 AND lane=3")
    daemon.start()
    eventually(lambda: daemon.metrics()["postbackd_books_wrong"] == 1, 30)
    said = len(logged(daemon, "books_wrong"))
    # mended under the running daemon: the recent days are looked at again and again
    change(daemon, "UPDATE book SET count=count-1 WHERE state=3 AND lane=3")
    eventually(lambda: daemon.metrics()["postbackd_books_wrong"] == 0, 40)
    assert logged(daemon, "books_hold_again")
    assert len(logged(daemon, "books_wrong")) == said
    # Pages that this test has written lack our checksum, so a pass of the scrub may call them damaged.
    warnings = daemon.api(None).get("/healthz").json.get("Warnings", [])
    assert [one for one in warnings if one["Check"] != "store_damaged"] == []

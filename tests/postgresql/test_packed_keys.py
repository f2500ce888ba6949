"""Keys of events that the daemon has packed: duplicates, conflicts, reversals, resends, look-ups and a
copy find them, at every node and behind a kill."""
import sqlite3

from harness import Account, eventually
from postgresql import sql
from test_copy import must_copy

EVENTS = 300  # enough of one account to be packed


def packed(database):
    return sql(database, "SELECT (SELECT count(*) FROM event_key)||' '||coalesce(sum(octet_length(keys)/30),0)"
                         " FROM key_page")


def test_packed_keys_are_known(database, database_daemon, receiver, tmp_path):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    events = [account.event("offer-%03d" % i, "offer_completed") for i in range(EVENTS)]
    daemon.api().events(events)
    eventually(lambda: packed(database) == "0 %d" % EVENTS, 60, what="the keys are packed")
    assert "keys_not_packed" not in daemon.log_text()
    daemon.kill()
    daemon.start()
    api = daemon.api()
    found = api.events(events + [account.event("new")])
    assert (found["Accepted"], found["Duplicates"]) == (1, EVENTS)
    other = account.event("offer-007", "offer_completed", RevenueAmount="2.00")
    found = api.post("/api/v1/events", [other]).json
    assert [error["Code"] for error in found["Rejected"][0]["Errors"]] == ["conflict"], found
    reversal = account.event("back", "offer_completion_reversed", OriginalRewardId="offer-042")
    assert api.events([reversal])["Accepted"] == 1
    assert api.wait_state("offer-123", account.partner_id, "delivered")
    receiver.wait_for("offer-123")
    answer = api.post("/api/v1/callbacks/offer-123/resend", query={"partnerId": account.partner_id})
    assert answer.status == 202, answer
    eventually(lambda: len(receiver.of("offer-123")) == 2, what="it is sent again")
    api.wait_state("back", account.partner_id, "delivered")
    daemon.stop()
    assert packed(database) == "2 %d" % EVENTS
    must_copy(database, "sqlite:%s" % (tmp_path / "copy"))
    with sqlite3.connect(tmp_path / "copy" / "postbackd.db") as db:
        assert db.execute("SELECT count(*) FROM event").fetchone() == (EVENTS + 2,)

"""A row of bodies that the disk has changed: its callbacks are passed over, everything else goes on. A page of events
that SQLite cannot read ends the daemon, which says so."""
import sqlite3

import pytest

from harness import Account, eventually

pytestmark = pytest.mark.sqlite("rows of packed bodies; PostgreSQL checks its own pages")

EVENTS = 40  # three rows of 16


def database(daemon):
    return sqlite3.connect(daemon.directory / "store" / "postbackd.db")


def damage_second_row(daemon):
    """One bit of its last byte; the daemon is stopped. The numbers of the events in it."""
    db = database(daemon)
    (table,), = db.execute("SELECT name FROM sqlite_schema WHERE name GLOB 'bodies_*'")
    block, bodies = db.execute("SELECT block,bodies FROM %s ORDER BY block LIMIT 1 OFFSET 1" % table).fetchone()
    changed = bodies[:-1] + bytes([bodies[-1] ^ 1])
    assert db.execute("UPDATE %s SET bodies=? WHERE block=?" % table, (changed, block)).rowcount == 1
    found = [event_id for event_id, in db.execute("SELECT event_id FROM event WHERE id>>4=?", (block,))]
    db.commit()
    db.close()
    return found


@pytest.fixture
def damaged(own_daemon, receiver):
    """The daemon runs; the account's callbacks wait in the database, those of one row without bodies."""
    receiver.answer = lambda request: 503
    daemon = own_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("e-%d" % i, PanelistId="p-%d" % i) for i in range(EVENTS)])
    daemon.stop()
    lost = damage_second_row(daemon)
    assert len(lost) == 16, lost
    receiver.answer = lambda request: 200
    receiver.requests.clear()
    daemon.start()
    return daemon, account, lost


def test_all_others_are_delivered(damaged, receiver):
    daemon, account, lost = damaged
    other = Account(daemon, receiver.url)
    daemon.api().events([other.event("other")])
    daemon.api().wait_state("other", other.partner_id, "delivered")
    for i in range(EVENTS):
        if "e-%d" % i not in lost:
            daemon.api().wait_state("e-%d" % i, account.partner_id, "delivered")
    assert {r.json["RewardId"] for r in receiver.requests}.isdisjoint(lost)
    assert '"event":"bodies_damaged","segment":1,"block":' in daemon.log_text()
    read = daemon.api().callback(lost[0], account.partner_id)
    assert read["State"] == "pending" and read["Body"] is None, read
    listed = daemon.api().get("/api/v1/callbacks", query={"partnerId": account.partner_id, "limit": 100})
    assert len(listed.json["Items"]) == EVENTS


def test_a_panelist_of_the_row_can_be_erased(damaged):
    daemon, account, lost = damaged
    erased = daemon.api().post("/api/v1/panelists/erase", query={"partnerId": account.partner_id},
                               body={"PanelistId": lost[3].replace("e-", "p-")})
    assert erased.status == 200 and erased.json["Erased"] == 1, erased
    daemon.restart()
    eventually(lambda: daemon.api().callback(lost[3], account.partner_id)["State"] == "skipped")


def test_waiting_callbacks_that_cannot_be_read_end_the_daemon(own_daemon, receiver):
    """Otherwise a whole loop of lanes would stand still, and nobody would see it."""
    receiver.answer = lambda request: 503
    daemon = own_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("e-%d" % i) for i in range(400)])
    daemon.stop()
    db = database(daemon)
    pages = [page for page, in db.execute("SELECT pageno FROM dbstat WHERE name='event' AND pagetype='leaf' ORDER BY path")]
    db.close()
    assert len(pages) > 4, pages
    with open(daemon.directory / "store" / "postbackd.db", "r+b") as file:
        file.seek((pages[2] - 1) * 4096)
        file.write(b"\xff" * 4096)
    daemon.spawn()
    assert daemon.process.wait(60) == 1
    log = daemon.log_text()
    assert '"event":"page_not_read"' in log and "waiting callbacks cannot be read" in log, log[-2000:]

"""What one answer shows is of one moment: nothing that is committed while it is read is in a part of
it only. The reader is held up between two of its statements by a lock of the test's own."""
from harness import Account, eventually
from postgresql import Session, sql
from test_doubt import Asking

HOUR = "1h,1h,1h"


def is_between(database, before, table):
    """Whether somebody who has read `before` waits for `table`."""
    return sql(database, "SELECT count(*) FROM pg_locks a JOIN pg_locks b USING(pid) WHERE b.granted"
               " AND NOT a.granted AND b.relation='%s'::regclass AND a.relation='%s'::regclass"
               % (before, table)) != "0"


def while_it_reads(database, read, before, table, *changes):
    """The answer of `read`, which reads `before`, and `table` after those changes."""
    with Session(database) as other:
        assert other.say("BEGIN; LOCK TABLE %s; SELECT 'locked';" % table) == "locked"
        asking = Asking(read)
        eventually(lambda: is_between(database, before, table), 30, what="the reader has come to " + table)
        assert other.say("%s; COMMIT; SELECT 'changed';" % "; ".join(changes)) == "changed"
        return asking.result()


def test_a_callback_and_its_attempts_are_of_one_moment(database, database_daemon, receiver):
    receiver.answer = lambda request: 500
    database_daemon.schedule = HOUR
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("e")])
    eventually(lambda: daemon.api().callback("e", account.partner_id)["Attempts"], 30)
    before = daemon.api().callback("e", account.partner_id)
    assert (before["State"], len(before["Attempts"])) == ("pending", 1)
    during = while_it_reads(
        database, lambda: daemon.api().callback("e", account.partner_id), "event", "attempt",
        "INSERT INTO attempt SELECT account_no,event_no,week,2,at_ms+1000,lane,false,1,200,0,url"
        " FROM attempt",
        "UPDATE event SET state=3,wait=0,attempts=2")
    after = daemon.api().callback("e", account.partner_id)
    assert (after["State"], len(after["Attempts"])) == ("delivered", 2)
    assert during in (before, after)


def test_what_waits_and_since_when_is_of_one_moment(database, database_daemon, receiver):
    """Nothing is said to wait without a time since when."""
    receiver.answer = lambda request: 500
    database_daemon.schedule = HOUR
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("e")])
    eventually(lambda: daemon.api().callback("e", account.partner_id)["Attempts"], 30)

    def waiting():
        found = daemon.api().get("/api/v1/apps/%s/endpoints" % account.app_id,
                                 query={"partnerId": account.partner_id}).json
        return [(lane["Waiting"], lane["OldestWaitingAt"] is None)
                for lane in found["Endpoints"] if lane["Waiting"]]

    assert waiting() == [(1, False)]
    assert while_it_reads(database, waiting, "book", "waiting",
                          "DELETE FROM waiting", "DELETE FROM book WHERE state=1") in ([(1, False)], [])

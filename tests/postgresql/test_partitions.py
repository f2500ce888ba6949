"""Old partitions go, whatever plan the server has for finding them and whatever else is there."""
import subprocess

from harness import Account, eventually
from postgresql import sql

OTHER_PLANS = ("enable_nestloop", "enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan")


def partitions(database):
    return set(sql(database, "SELECT relname FROM pg_class WHERE relname ~ '^attempt_'"
                   " AND relkind IN('r','f')").splitlines())


def test_old_partitions_are_dropped_and_nothing_else(database, database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("e")])
    daemon.api().wait_state("e", account.partner_id, "delivered")
    daemon.stop()
    kept = partitions(database)
    stored = sql(database, "SELECT DISTINCT c.relname ~ '1[0-9]+$',attname,attstorage FROM pg_attribute JOIN pg_class c"
                 " ON c.oid=attrelid AND relkind='r' WHERE relname ~ '^(body|attempt)_' AND attname IN('body','texts')")
    assert sorted(stored.splitlines()) == ["f|texts|e", "t|body|e", "t|texts|e"]  # not compressed twice
    newest = max(int(name.split("_")[1]) for name in kept if name.split("_")[1].isdigit())
    week = int(sql(database, "SELECT max(week) FROM attempt"))
    sql(database, "CREATE TABLE attempt_%d PARTITION OF attempt FOR VALUES FROM (%d) TO (%d)"
        % (newest - 100, week - 100, week - 99))
    # A partition of the operator's own, a foreign table that looks like an old one, and a table.
    sql(database, "CREATE TABLE attempt_by_hand PARTITION OF attempt FOR VALUES FROM (%d) TO (%d)"
        % (week - 200, week - 199))
    sql(database, "CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;"
                  "CREATE FOREIGN TABLE attempt_%d(i int) SERVER nowhere; CREATE TABLE attempt_%d(i int)"
        % (newest - 101, newest - 102))
    for setting in OTHER_PLANS:
        sql(database, 'ALTER DATABASE "%s" SET %s=off' % (database.split("@/")[1].split("?")[0], setting))
    others = {"attempt_by_hand"} | {"attempt_%d" % (newest - n) for n in (101, 102)}
    old = "attempt_%d" % (newest - 100)
    assert partitions(database) == kept | others | {old}
    daemon.start()
    eventually(lambda: old not in partitions(database), 30, what="the old one is dropped")
    assert kept | others <= partitions(database)  # and perhaps one that was made ahead
    assert "partitions_not_kept" not in daemon.log_text()


def test_new_events_and_lists_of_them_go_on_while_an_old_partition_is_locked(database, database_daemon, receiver):
    """As VACUUM FULL locks it."""
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("before")])
    daemon.api().wait_state("before", account.partner_id, "delivered")
    sql(database, "CREATE TABLE event_100600 (LIKE event INCLUDING ALL);"
                  "ALTER TABLE event ATTACH PARTITION event_100600 FOR VALUES FROM (600) TO (601)")
    locked = subprocess.Popen(["psql", "-XqAt", database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        locked.stdin.write("BEGIN; LOCK TABLE event_100600 IN ACCESS EXCLUSIVE MODE; SELECT 'locked';\n")
        locked.stdin.flush()
        assert locked.stdout.readline() == "locked\n"
        daemon.api().events([account.event("meanwhile")])
        daemon.api().wait_state("meanwhile", account.partner_id, "delivered")
        query = {"partnerId": account.partner_id}
        assert [row["Conversions"] for row in daemon.api().get("/api/v1/reports/conversions", query=query).json["Rows"]] == [2]
        assert len(daemon.api().get("/api/v1/callbacks", query=query).json["Items"]) == 2
        assert daemon.api().post("/api/v1/callbacks/before/resend", query=query).status == 202
        assert daemon.api().get("/readyz").status == 200
    finally:
        locked.kill()  # the server then ends the transaction
        locked.communicate()


def test_partitions_that_were_dropped_meanwhile_are_made_again(database, database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("before")])
    daemon.api().wait_state("before", account.partner_id, "delivered")
    names = sql(database, "SELECT relname FROM pg_class WHERE relname ~ '^(body|attempt)_1[0-9]+$'").split()
    sql(database, "DROP TABLE %s" % ",".join(names))
    daemon.api().events([account.event("after")])
    daemon.api().wait_state("after", account.partner_id, "delivered")
    assert len(daemon.api().callback("after", account.partner_id)["Attempts"]) == 1

"""A URI's servers that have no store, or another one's: nothing is acknowledged there, whatever is down,
restarted or named in another order meanwhile."""
import os
import subprocess
from urllib.parse import quote

from harness import BINARY, MASTER_KEY, Account, eventually
from moving import move, pair  # noqa: F401  (pair is a fixture)
from nodes import DatabaseDaemon, Outbox, check_all
from postgresql import Cluster, Replica, new_database, sql

TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname='public'"


def sessions(server):
    """How many there have been in the server's database `postbackd`."""
    return int(sql(server.uri(), "SELECT coalesce(sum(sessions),0) FROM pg_stat_database WHERE datname='postbackd'"))


def refused(uri):
    """What a start says that must fail."""
    done = subprocess.run([BINARY, "serve", "--store", uri, "--listen", "127.0.0.1:0"], capture_output=True,
                          text=True, timeout=60, env={"POSTBACKD_OPERATOR_KEY": "operator-key-of-the-tests",
                                                             "POSTBACKD_MASTER_KEY": MASTER_KEY})
    assert done.returncode == 1, done
    return done.stderr


def test_an_empty_server_is_not_taken_while_the_other_is_away(pair, receiver):  # noqa: F811
    """The first step of a move: both servers are named, and the new one is empty."""
    one, two = [pair.cluster.start(name) for name in ("one", "two")]
    accounts = pair.cluster.accounts(2, receiver.url, one)
    outbox = Outbox(pair.cluster, accounts)
    outbox.start()
    outbox.wait_more()
    before = sessions(pair.servers[1])
    pair.servers[0].kill()
    two.stop()
    eventually(lambda: sessions(pair.servers[1]) > before + 20, what="the empty server has been tried")
    said = refused(pair.uri)
    assert "no server of the URI that answers has a store" in said and "name only the server" in said, said
    migrated = subprocess.run([BINARY, "migrate", "--store", pair.uri], capture_output=True, text=True, timeout=60)
    assert migrated.returncode == 1 and "may have it" in migrated.stderr, migrated
    assert one.api().post("/api/v1/events", [accounts[0].event("away")]).status == 503
    assert sql(pair.new, TABLES) == "0"
    pair.servers[0].start()
    eventually(lambda: one.api().post("/api/v1/events", [accounts[0].event("back")]).status == 202, 60)
    two.start()
    outbox.wait_more()
    move(pair.old, pair.new)
    outbox.wait_more()
    outbox.end()
    check_all(one, accounts, receiver, outbox.acknowledged + ["back"])


def test_the_servers_may_be_named_in_any_order(pair, tmp_path, receiver):  # noqa: F811
    old, new = pair.uri.split("&host=")[1].split(",")
    first = DatabaseDaemon(tmp_path / "first", pair.uri).start()
    account = Account(first, receiver.url)
    first.api().events([account.event("before")])
    first.stop()
    uri = pair.uri.replace("%s,%s" % (old, new), "%s,%s" % (new, old))
    turned = DatabaseDaemon(tmp_path / "turned", uri).start()
    try:
        shown = subprocess.run([BINARY, "clusters", "--store", uri], capture_output=True, text=True, timeout=60,
                               env={"PATH": os.environ["PATH"]})
        assert shown.returncode == 0 and shown.stdout.splitlines()[1].endswith("in use"), shown
        assert turned.api().events([account.event("before"), account.event("behind")])["Duplicates"] == 1
    finally:
        turned.stop()
    assert sql(pair.new, TABLES) == "0"


def test_the_first_start_waits_for_all_servers(pair):  # noqa: F811
    pair.servers[1].kill()
    assert "one that does not answer may have it" in refused(pair.uri)
    assert sql(pair.old, TABLES) == "0"
    pair.servers[0].kill()
    assert "Connection refused" in refused(pair.uri)


def test_a_first_start_on_a_primary_and_its_standby(tmp_path):
    """Also where the URI asks for the one that can be written."""
    primary = Cluster().start()
    new_database(primary.uri(), "postbackd")
    standby = Replica(primary).start()
    try:
        for attributes in "", "&target_session_attrs=read-write":
            uri = "postgresql:///postbackd?user=postgres&host=%s,%s%s" % (
                *(quote(str(s.folder), safe="") for s in (standby, primary)), attributes)
            daemon = DatabaseDaemon(tmp_path / ("d%d" % len(attributes)), uri).start()
            assert daemon.api().get("/readyz").status == 200
            daemon.stop()
    finally:
        standby.remove()
        primary.remove()


def test_another_store_at_the_same_address_is_left_alone(tmp_path, receiver):
    """As when a name, an address or a database comes to mean another one: while a daemon runs, and with a
    store of another installation or with none."""
    server = Cluster().start()
    try:
        uri = new_database(server.uri(), "postbackd")
        daemon, stranger = [DatabaseDaemon(tmp_path / name, uri) for name in ("daemon", "stranger")]
        account = Account(daemon.start(), receiver.url)
        daemon.api().events([account.event("e-0")])
        for i, other in enumerate(("nothing", "another")):
            swap(server, "postbackd", "kept")
            new_database(server.uri(), "postbackd")
            if other == "another":
                stranger.start()
                stranger.stop()
            eventually(lambda: daemon.api().get("/readyz").status == 503, 60, what="it is away")
            before = sessions(server)
            eventually(lambda: sessions(server) > before + 40, what="every connection has tried, and again")
            assert daemon.api().post("/api/v1/events", [account.event("lost")]).status == 503
            assert sql(uri, TABLES) == "0" or sql(uri, "SELECT (SELECT count(*) FROM event)+count(*) FROM node") == "0"
            swap(server, "postbackd", other)
            swap(server, "kept", "postbackd")
            eventually(lambda: daemon.api().get("/readyz").status == 200, 60, what="it is back")
            daemon.api().events([account.event("e-%d" % (i + 1))])
        daemon.stop()
        assert sql(uri, "SELECT count(*) FROM event") == "3"
    finally:
        server.remove()


def swap(server, name, to):
    """Renames a database; its sessions end."""
    sql(server.uri(), "ALTER DATABASE %s ALLOW_CONNECTIONS false" % name)
    sql(server.uri(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname='%s'" % name)
    sql(server.uri(), "ALTER DATABASE %s RENAME TO %s" % (name, to))
    sql(server.uri(), "ALTER DATABASE %s ALLOW_CONNECTIONS true" % to)


def test_a_move_refuses_a_database_of_another_name(pair):  # noqa: F811
    DatabaseDaemon(pair.directory / "one", pair.uri).start().stop()
    other = new_database(pair.servers[1].uri(), "postbackd_2")
    said = move(pair.old, other, status=1)
    assert "is called postbackd_2, that of --store is called postbackd" in said
    assert sql(other, "SHOW default_transaction_read_only") == "off" and sql(other, TABLES) == "0"

"""postbackd move: a database goes to another server while daemons use it, and back."""
import re
import signal
import subprocess

import pytest
from harness import BINARY, Account, eventually
from moving import Load, begin, check_same, move, move_killed_at, pair, shown  # noqa: F401  (pair is a fixture)
from nodes import DatabaseDaemon
from postgresql import Cluster, Replica, new_database, sql, tools


def test_a_database_moves_under_load_and_back(pair, receiver):  # noqa: F811
    load = Load(pair, receiver)
    assert "2 of 2 nodes use --to" in move(pair.old, pair.new)
    load.wait_more()
    with pytest.raises(RuntimeError, match="moved to another server"):
        sql(pair.old, "SET TRANSACTION READ WRITE; UPDATE account SET last_event_no=0")
    assert "already switched" in move(pair.old, pair.new)
    assert "2 of 2 nodes use --to" in move(pair.new, pair.old)
    load.wait_more()
    load.end()
    check_same(pair, pair.old, pair.new)
    assert "--to is in use" in move(pair.new, pair.old, "--finish")
    for uri in (pair.old, pair.new):
        assert sql(uri, "SELECT count(*) FROM pg_replication_slots") == "0"
        assert sql(uri, "SELECT count(*) FROM pg_subscription") == "0"
        assert sql(uri, "SELECT count(*) FROM pg_publication") == "0"
    assert sql(pair.old, "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal") == "0"
    assert "what it has is old" in move(pair.new, pair.old, status=1)


def test_a_transaction_of_the_target_does_not_hold_the_switch_up(pair, receiver):  # noqa: F811
    """The slot for the way back waits for it, in whatever database it is; nobody else does."""
    load = Load(pair, receiver)
    other = subprocess.Popen([str(tools() / "psql"), "-XAtq", pair.servers[1].uri()], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    other.stdin.write("BEGIN; SELECT pg_current_xact_id();\n")
    other.stdin.flush()
    assert int(other.stdout.readline())
    said = move(pair.old, pair.new, status=1)
    assert said.count("--store is in use again") == 3 and "holds the switch up" in said
    load.wait_more()
    other.communicate("COMMIT;\n", timeout=60)
    assert "2 of 2 nodes use --to" in move(pair.old, pair.new)
    load.wait_more()
    load.end()
    check_same(pair, pair.new, pair.old)


def test_a_move_is_given_up_before_the_switch(pair, receiver):  # noqa: F811
    node = pair.cluster.start("a")
    account = Account(node, receiver.url)
    move_killed_at("copying", pair.old, pair.new)
    eventually(lambda: sql(pair.new, "SELECT count(*) FROM meta") != "0", 30, what="the settings were copied")
    assert "--store is in use" in move(pair.old, pair.new, "--finish")
    node.api().events([account.event("behind")])
    receiver.wait_for("behind")
    said = move(pair.old, pair.new, status=1)
    assert "not empty and does not follow --store" in said, said
    assert sql(pair.old, "SELECT count(*) FROM pg_replication_slots") == "0"


def has_partition(uri, name):
    return sql(uri, "SELECT to_regclass('%s') IS NOT NULL" % name) == "t"


def make_partition(uri, number):
    sql(uri, "CREATE TABLE attempt_%d (LIKE attempt INCLUDING ALL);"
        "ALTER TABLE attempt ATTACH PARTITION attempt_%d FOR VALUES FROM (%d) TO (%d)" %
        (100000 + number, 100000 + number, number, number + 1))


def test_partitions_come_along_and_none_is_dropped_meanwhile(pair):  # noqa: F811
    node = pair.cluster.start("a")
    move_killed_at("copying", pair.old, pair.new)
    make_partition(pair.old, 9000)
    move(pair.old, pair.new)
    assert has_partition(pair.new, "attempt_109000")
    make_partition(pair.new, 1)
    sql(pair.new, "INSERT INTO question(id,shard,app_no,scope,asker,asked_at) VALUES(1,0,0,0,0,now()-interval '1 h')")
    node.restart()
    eventually(lambda: sql(pair.new, "SELECT count(*) FROM question") == "0", 30,
               what="the keeper cleans up, behind what it drops")
    assert has_partition(pair.new, "attempt_100001")
    move(pair.old, pair.new, "--finish")
    node.restart()
    eventually(lambda: not has_partition(pair.new, "attempt_100001"), 30, what="the old partition is dropped")


def test_what_does_not_fit_is_refused(pair, receiver, tmp_path):  # noqa: F811
    daemon = DatabaseDaemon(tmp_path / "own", pair.old).start()
    Account(daemon, receiver.url)
    sql(pair.new, "CREATE TABLE mine(n int)")
    assert "has tables of something else" in move(pair.old, pair.new, status=1)
    sql(pair.new, "DROP TABLE mine")
    foreign = new_database(pair.servers[1].uri(), "foreign")
    DatabaseDaemon(tmp_path / "foreign", foreign).start().stop()
    assert "belongs to another installation" in move(pair.old, foreign, status=1)
    assert "there is no store" in move(pair.new, foreign, status=1)
    assert "the same database" in move(pair.old, pair.old, status=1)
    assert "name one server" in move(pair.uri, pair.new, status=1)
    assert "sqlite" in move("sqlite:" + str(tmp_path), pair.new, status=2)
    subprocess.run([BINARY, "migrate", "--store", pair.new], check=True)
    sql(pair.new, "INSERT INTO total VALUES(7,0,0,0)")
    assert "table total has rows" in move(pair.old, pair.new, status=1)
    sql(pair.servers[1].uri(), "CREATE ROLE plain LOGIN")
    assert "must be a superuser" in move(pair.old, pair.new.replace("postgres@", "plain@"), status=1)
    server = Cluster().start()
    try:
        small = new_database(server.uri(), "postbackd")
        assert "--to: wal_level is replica and must be logical" in move(pair.old, small, status=1)
    finally:
        server.remove()
    assert sql(pair.old, "SELECT count(*) FROM pg_publication") == "0"
    daemon.stop()


def test_a_replica_of_the_server_of_before_is_not_read(pair, tmp_path):  # noqa: F811
    replica = Replica(pair.servers[0]).start()
    node = DatabaseDaemon(tmp_path / "n", pair.uri, "--read-replica", replica.uri("postbackd")).start()

    def state():
        answer = node.api().get("/api/v1/system")
        return answer.status == 200 and answer.json["ReadReplica"]["State"]
    try:
        eventually(lambda: state() == "used", 30, what="the replica is used")
        move(pair.old, pair.new)
        eventually(lambda: state() == "away", 30, what="the replica is away")
    finally:
        node.stop()
        replica.remove()


def test_a_cluster_of_several_moves(pair, receiver, tmp_path):  # noqa: F811
    """Its accounts wait; those of the first cluster do not, and the first one moves, too."""
    home = pair.servers[0]
    first = new_database(home.uri(), "first")
    node = DatabaseDaemon(tmp_path / "n", first, "--store-cluster", pair.uri).start()
    try:
        accounts = [Account(node, receiver.url) for _ in range(2)]
        node.api().events([a.event("before-" + a.app_id) for a in accounts])
        move(pair.old, pair.new)
        behind = [a.event("behind-" + a.app_id) for a in accounts]
        # 503 until each of the node's connections has found the new server
        eventually(lambda: node.api().post("/api/v1/events", behind).status == 202)
        for account in accounts:
            receiver.wait_for("behind-" + account.app_id)
        assert sql(pair.new, "SELECT count(*) FROM event") == "2"
        assert "is cluster 1 of the installation, --store is cluster 0" in move(first, pair.new, status=1)
    finally:
        node.stop()


def test_each_step_of_a_move_is_shown(pair, receiver):  # noqa: F811
    node = pair.cluster.start("a")
    account = Account(node, receiver.url)
    node.api().events([account.event("%d" % n) for n in range(10)])
    old, new = ["%s:5432" % server.folder for server in pair.servers]
    stopped = "; stopped: run the same postbackd move again"

    def state():
        return shown(pair.uri)[0][0]

    def system(step):
        def seen():
            cluster, = node.api().get("/api/v1/system").json["ClusterList"]
            return cluster if cluster["Server"] and (cluster["Move"] or {}).get("Step") == step else None
        return eventually(seen, 30, what="the system page shows the step %s" % step)

    assert state() == "in use" and system(None)["Server"] == old
    process = begin(pair.old, pair.new)
    for line in process.stdout:
        if "copying" in line or "following" in line:
            break
    process.send_signal(signal.SIGSTOP)
    assert re.fullmatch("moving to %s: (copying|following).* KB of changes behind" % new, state()), state()
    process.kill()
    process.communicate(timeout=60)
    eventually(lambda: re.fullmatch("moving to %s: following, \\d+ KB of changes behind%s" % (new, stopped), state()),
               30, what="the target follows")
    page = system("following")
    assert page["State"] == "moving" and page["Server"] == old and page["Move"]["Server"] == new
    assert page["Move"]["TablesCopied"] == page["Move"]["Tables"] > 10 and not page["Move"]["Running"]
    assert page["Move"]["Errors"] >= 0 and not page["ShouldMove"]
    assert node.metrics()['postbackd_cluster_move_behind_bytes{cluster="0"}'] >= 0
    assert shown(pair.old)[0][0].startswith("in a move: the other server does not answer or is not in the URI, ")

    move(pair.old, pair.new)
    assert state() == "moved, kept up to date at %s: finish with postbackd move --finish" % old
    page = system("switched")
    assert (page["State"], page["Server"], page["Move"]["Server"]) == ("moved", new, old)
    assert (page["Partners"], page["Events"], page["RecentEvents"]) == (1, 10, 10)
    assert shown(pair.old, status=1)[0] == ["away: it was moved to another server, which the URI does not name"]
    move(pair.new, pair.old)
    assert state() == "moved, kept up to date at %s: finish with postbackd move --finish" % new
    move(pair.new, pair.old, "--finish")
    assert state() == "in use" and system(None)["Server"] == old

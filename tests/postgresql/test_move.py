"""postbackd move: a database goes to another server while daemons use it, and back. What a killed
command leaves is finished by the next one."""
import os
import re
import signal
import subprocess
import threading
import time
from urllib.parse import quote

import nodes
import pytest
from harness import BINARY, Account, eventually
from nodes import DatabaseDaemon, Outbox, check_all
from postgresql import Cluster, Replica, dump, new_database, sql, tools

STEPS = ["making the tables", "beginning to copy", "copying", "switching", "switched", "nodes use"]


class Pair:
    """Two servers, with a database of the same name on each; daemons name both."""

    def __init__(self, directory):
        self.directory = directory
        self.servers = [Cluster(wal_level="logical").start() for _ in range(2)]
        self.old, self.new = [new_database(s.uri(), "postbackd") for s in self.servers]
        self.uri = "postgresql:///postbackd?user=postgres&host=" + ",".join(
            quote(str(s.folder), safe="") for s in self.servers)
        self.cluster = nodes.Cluster(directory, self.uri)

    def remove(self):
        self.cluster.stop()
        for server in self.servers:
            server.remove()


@pytest.fixture
def pair(tmp_path):
    p = Pair(tmp_path)
    yield p
    p.remove()


def begin(source, target, *options):
    return subprocess.Popen([BINARY, "move", "--store", source, "--to", target, *options], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def move_once(source, target, *options):
    process = begin(source, target, *options)
    try:
        said = process.communicate(timeout=120)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("the move does not end: " + process.communicate()[0]) from None
    print(said)
    return process.returncode, said


def move(source, target, *options, status=0):
    """What it says. Where this machine was too slow for a switch of 1.5 s, three times, the command is
    run again, as it says itself."""
    found, all_said = move_once(source, target, *options)
    while found == 1 and status == 0 and all_said.count("--store is in use again") in (3, 6):
        found, said = move_once(source, target, *options)
        all_said += said
    assert found == status, all_said
    return all_said


def move_killed_at(step, source, target):
    """Killed once it has said that; what was done before is not said again."""
    process = begin(source, target)
    for line in process.stdout:
        if step in line:
            process.kill()
            break
    process.communicate(timeout=120)


class Probe(threading.Thread):
    """Posts one event at a time until it is taken, and measures how long each had to wait."""

    def __init__(self, node, account):
        super().__init__(daemon=True)
        self.node, self.account = node, account
        self.ids, self.waits_s, self.failure = [], [], None
        self.ending = threading.Event()

    def run(self):
        try:
            while not self.ending.is_set():
                event_id = "probe-%d" % len(self.ids)
                begun = time.monotonic()
                while True:
                    answer = self.node.api().post("/api/v1/events", [self.account.event(event_id)], timeout=60)
                    if answer.status == 202:
                        break
                    assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
                    time.sleep(0.01)
                self.waits_s.append(time.monotonic() - begun)
                self.ids.append(event_id)
                self.ending.wait(0.02)
        except Exception as problem:  # noqa: BLE001  (said by the test)
            self.failure = problem

    def end(self):
        self.ending.set()
        self.join(90)
        assert not self.is_alive() and self.failure is None, repr(self.failure)


class Load:
    """Two nodes that take events and deliver callbacks all the time, fewer than one process of the
    target can apply beside everything else that runs here: a switch waits for it."""

    def __init__(self, pair, receiver):
        self.receiver = receiver
        self.nodes = [pair.cluster.start(name) for name in ("a", "b")]
        pair.cluster.wait_even("a", "b")
        self.accounts = pair.cluster.accounts(3, receiver.url, self.nodes[0])
        self.outboxes = [Outbox(pair.cluster, self.accounts, pause_s=0.2) for _ in range(2)]
        self.probe = Probe(self.nodes[1], self.accounts[0])
        for thread in (*self.outboxes, self.probe):
            thread.start()
        self.wait_more()

    def wait_more(self):
        for outbox in self.outboxes:
            outbox.wait_more()

    def end(self, may_come_twice=False):
        """Nothing is lost, and nothing counts or comes twice."""
        for thread in (*self.outboxes, self.probe):
            thread.end()
        ids = self.probe.ids + [i for outbox in self.outboxes for i in outbox.acknowledged]
        twice = check_all(self.nodes[0], self.accounts, self.receiver, ids)
        print("%d events, %d callbacks came twice, longest wait %.3f s" %
              (len(ids), twice, max(self.probe.waits_s)))
        for node in self.nodes:
            node.restart()  # and checks the books of all days
        eventually(lambda: max(n.metrics()["postbackd_books_round_age_seconds"] for n in self.nodes) >= 0, 60,
                   what="the books were checked")
        assert all(n.metrics()["postbackd_books_wrong"] == 0 for n in self.nodes)
        assert twice == 0 or may_come_twice


def rows_of(uri):
    """Every row of the store, wherever its partition is."""
    lines = [re.sub(rb"^INSERT INTO public\.(\w+?)(_\d+)? ", rb"\1 ", line) for line in dump(uri).splitlines()
             if line.startswith(b"INSERT INTO public.") and b".schema_version " not in line]
    assert len(lines) > 500
    return sorted(lines)


def check_same(pair, ahead, behind):
    """Without daemons, once the last change has arrived."""
    pair.cluster.stop()
    eventually(lambda: rows_of(ahead) == rows_of(behind), 30, what="both have the same rows")


def test_a_database_moves_under_load_and_back(pair, receiver):
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


@pytest.mark.parametrize("steps", (STEPS, ["switched"]), ids=("each", "switched"))
def test_a_killed_move_goes_on(pair, receiver, steps):
    """Killed at one step, then the next command at the next one."""
    load = Load(pair, receiver)
    for step in steps:
        move_killed_at(step, pair.old, pair.new)
    move(pair.old, pair.new)
    load.wait_more()
    load.end()
    check_same(pair, pair.new, pair.old)


def test_a_move_back_that_is_killed_goes_on(pair, receiver):
    load = Load(pair, receiver)
    move(pair.old, pair.new)
    for step in STEPS[2:]:
        move_killed_at(step, pair.new, pair.old)
    move(pair.new, pair.old)
    load.wait_more()
    load.end()
    check_same(pair, pair.old, pair.new)


# The mark of the first switch is told from those before, and the target takes longer for it than a
# switch may.
SLOW_SWITCH = ("""
CREATE FUNCTION postbackd_move.tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF to_regproc('postbackd_move.refuse') IS NOT NULL AND NEW.mark<1000000 THEN NEW.mark:=1000000; END IF;
  RETURN NEW; END $$;
CREATE TRIGGER tell BEFORE UPDATE ON postbackd_move.mark FOR EACH ROW EXECUTE FUNCTION postbackd_move.tell();
""", """
CREATE FUNCTION postbackd_move.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.mark=1000000 THEN PERFORM pg_sleep(3); END IF; RETURN NEW; END $$;
CREATE TRIGGER slow BEFORE UPDATE ON postbackd_move.mark FOR EACH ROW EXECUTE FUNCTION postbackd_move.slow();
ALTER TABLE postbackd_move.mark ENABLE REPLICA TRIGGER slow;
""")


def make_switch_slow(pair):
    move_killed_at("copying", pair.old, pair.new)
    sql(pair.old, "INSERT INTO postbackd_move.mark VALUES(1,1) ON CONFLICT DO NOTHING")
    for uri, text in zip((pair.old, pair.new), SLOW_SWITCH):
        sql(uri, "SET TRANSACTION READ WRITE;" + text)


def is_fenced(uri):
    return sql(uri, "SELECT to_regproc('postbackd_move.refuse') IS NOT NULL") == "t"


def test_a_move_that_is_killed_between_the_two_goes_on(pair, receiver):
    """Neither can be written; the next command opens the source again, and ends the switch."""
    load = Load(pair, receiver)
    make_switch_slow(pair)
    process = begin(pair.old, pair.new)
    eventually(lambda: is_fenced(pair.old), 60, what="the source is fenced")
    process.kill()
    process.communicate(timeout=60)
    assert is_fenced(pair.old) and is_fenced(pair.new)
    assert "interrupted: run that command again" in move(pair.new, pair.old, status=1)
    assert "switch is not complete" in move(pair.old, pair.new, "--finish", status=1)
    move(pair.old, pair.new)
    assert is_fenced(pair.old) and not is_fenced(pair.new)
    load.wait_more()
    load.end()
    check_same(pair, pair.new, pair.old)


def end_sessions_of(process, uri):
    """Of that command, at that server."""
    assert sql(uri, "SELECT count(pg_terminate_backend(l.pid)) FROM pg_locks l WHERE locktype='advisory'"
                    " AND database=(SELECT oid FROM pg_database WHERE datname=current_database())") == "1"
    assert process.poll() is None


def test_a_move_that_is_held_up_in_the_switch_keeps_others_away(pair, receiver):
    """It has lost one of its connections, and does not know. Whatever step it takes next, no other
    command may have taken one meanwhile: both sides could be open."""
    load = Load(pair, receiver)
    make_switch_slow(pair)
    process = begin(pair.old, pair.new)
    eventually(lambda: is_fenced(pair.old), 60, what="the source is fenced")
    process.send_signal(signal.SIGSTOP)
    try:
        end_sessions_of(process, pair.new)
        said = move(pair.old, pair.new, status=1)
        assert "--store: another move of this database is running" in said
        assert is_fenced(pair.old) and is_fenced(pair.new)
    finally:
        process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert not is_fenced(pair.old) and is_fenced(pair.new)
    move(pair.old, pair.new)
    assert is_fenced(pair.old) and not is_fenced(pair.new)
    load.wait_more()
    load.end(may_come_twice=True)  # leases end while no database can be written
    check_same(pair, pair.new, pair.old)


def test_a_switch_that_would_take_too_long_is_taken_back(pair, receiver):
    load = Load(pair, receiver)
    make_switch_slow(pair)
    said = move(pair.old, pair.new)
    assert said.count("switching") >= 2
    assert said.index("--store is in use again") < said.index("2 of 2 nodes use --to")
    load.wait_more()
    load.end()
    check_same(pair, pair.new, pair.old)


def test_a_transaction_of_the_target_does_not_hold_the_switch_up(pair, receiver):
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


def test_a_move_is_given_up_before_the_switch(pair, receiver):
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


def test_partitions_come_along_and_none_is_dropped_meanwhile(pair):
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


def test_what_does_not_fit_is_refused(pair, receiver, tmp_path):
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


def test_a_replica_of_the_server_of_before_is_not_read(pair, tmp_path):
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


def test_a_cluster_of_several_moves(pair, receiver, tmp_path):
    """Its accounts wait; those of the first cluster do not, and the first one moves, too."""
    home = pair.servers[0]
    first = new_database(home.uri(), "first")
    node = DatabaseDaemon(tmp_path / "n", first, "--store-cluster", pair.uri).start()
    try:
        accounts = [Account(node, receiver.url) for _ in range(2)]
        node.api().events([a.event("before-" + a.app_id) for a in accounts])
        move(pair.old, pair.new)
        node.api().events([a.event("behind-" + a.app_id) for a in accounts])
        for account in accounts:
            receiver.wait_for("behind-" + account.app_id)
        assert sql(pair.new, "SELECT count(*) FROM event") == "2"
        assert "is cluster 1 of the installation, --store is cluster 0" in move(first, pair.new, status=1)
    finally:
        node.stop()


def shown(*uris, status=0):
    """The states that `postbackd clusters` shows, by cluster, and all that it prints."""
    words = ["--store", uris[0]] + [word for uri in uris[1:] for word in ("--store-cluster", uri)]
    done = subprocess.run([BINARY, "clusters", *words], text=True, capture_output=True, timeout=60,
                          env={"PATH": os.environ["PATH"]})
    assert (done.returncode, done.stderr) == (status, ""), done
    lines = done.stdout.splitlines()
    at = lines[0].index("state")
    return [line[at:] for line in lines[1:1 + len(uris)]], done.stdout


def test_each_step_of_a_move_is_shown(pair, receiver):
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


def test_a_switch_that_was_killed_is_shown(pair, receiver):
    node = pair.cluster.start("a")
    Account(node, receiver.url)
    make_switch_slow(pair)
    process = begin(pair.old, pair.new)
    eventually(lambda: is_fenced(pair.old), 60, what="the source is fenced")
    process.send_signal(signal.SIGSTOP)
    assert shown(pair.uri, status=1)[0] == ["away: a move switches"]
    process.kill()
    process.communicate(timeout=60)
    eventually(lambda: shown(pair.uri, status=1)[0] ==
               ["away: a move was stopped in the switch: run the same postbackd move again"], 30)
    move(pair.old, pair.new)
    assert shown(pair.uri)[0][0].startswith("moved, kept up to date at ")

"""A database that `postbackd move` moves while daemons use it: what the tests of it share."""
import os
import re
import subprocess
import threading
import time
from urllib.parse import quote

import nodes
import pytest
from harness import BINARY, eventually
from nodes import Outbox, check_all
from postgresql import Cluster, dump, new_database, sql


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


def shown(*uris, status=0):
    """The states that `postbackd clusters` shows, by cluster, and all that it prints."""
    words = ["--store", uris[0]] + [word for uri in uris[1:] for word in ("--store-cluster", uri)]
    done = subprocess.run([BINARY, "clusters", *words], text=True, capture_output=True, timeout=60,
                          env={"PATH": os.environ["PATH"]})
    assert (done.returncode, done.stderr) == (status, ""), done
    lines = done.stdout.splitlines()
    at = lines[0].index("state")
    return [line[at:] for line in lines[1:1 + len(uris)]], done.stdout

#!/usr/bin/env python3
"""How soon callbacks go on when the primary is lost, and whether anything is, with Patroni.

Three PostgreSQL servers under Debian's Patroni with the file of docs/operators/failover.md, one
daemon, events all the while, each batch repeated until it is acknowledged. A fault is made KILLS
times. Two interruptions are measured for each: of commits, by a row written at each of the servers
again and again, and of callbacks. What counts is how much later callbacks come back than commits do. At the end every acknowledged event
must have had its callback.

    bench/failover.py [KIND=TIMES]...      without any: server=20

server      the primary's processes are killed by SIGKILL; its Patroni is not
machine     its Patroni is killed, too, and started again when there is a new primary
frozen      both are stopped (SIGSTOP), and go on when there is a new primary
switchover  by patronictl
replica     the processes of the synchronous replica are killed
etcd        etcd is killed for 30 s: the primary gives up
"""
import itertools
import signal
import statistics
import sys
import threading
import time

from common import Daemon, header, row
from database import OTHERS_CORE

import patroni
import postgresql
from harness import Api, Receiver, eventually
from common import KEY

POSTERS, BATCH, PAUSE_S = 2, 10, 0.1


# Not an error at a replica: its log would be full of them.
PROBE = """
CREATE TABLE probe(n int);
CREATE FUNCTION probe() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF pg_is_in_recovery() THEN RETURN 'replica'; END IF;
  INSERT INTO probe VALUES(1);
  RETURN 'done';
END $$;
"""


class Prober(threading.Thread):
    """Writes a row at one server again and again; when that was done."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.done, self.ending = server, [], False

    def run(self):
        while not self.ending:
            with postgresql.Session(self.server.uri()) as session:
                while not self.ending and self.probe(session):
                    time.sleep(0.02)
            time.sleep(0.05)

    def probe(self, session):
        """False: that connection is over."""
        try:
            said = session.say("SELECT probe();")
        except BrokenPipeError:
            return False
        if said == "done":
            self.done.append(time.time())
        return said in ("done", "replica")


class Poster(threading.Thread):
    """An operator's outbox: a batch is repeated until it was taken."""

    def __init__(self, daemon, number):
        super().__init__(daemon=True)
        self.api, self.number, self.acknowledged, self.ending = Api(daemon.port, KEY), number, [], False

    def run(self):
        for batch in itertools.count():
            if self.ending:
                return
            ids = ["e%d-%d-%d" % (self.number, batch, i) for i in range(BATCH)]
            while not self.report(ids):
                time.sleep(0.05)
            self.acknowledged += ids
            time.sleep(PAUSE_S)

    def report(self, ids):
        events = [{"EventId": i, "Type": "survey_completed", "ClientId": "bench_%d" % (n % 10),
                   "PanelistId": "p-" + i, "RevenueAmount": "1.00"} for n, i in enumerate(ids)]
        answer = self.api.post("/api/v1/events", events, timeout=120)
        if answer.status in (429, 503):
            return False
        if answer.status != 202 or answer.json["Rejected"]:
            raise RuntimeError(repr(answer))
        return True


def interruption(times, begin):
    """(how long, when it ended): from the first pause of a second or more to the end of the last, as a
    new primary's first commits may still be interrupted; without one, the longest."""
    times = [begin] + sorted(t for t in times if t > begin)
    pauses = sorted((after - before, before, after) for before, after in zip(times, times[1:]))
    long = [p for p in pauses if p[0] >= 1] or pauses[-1:]
    start, end = min(p[1] for p in long), max(p[2] for p in long)
    return end - start, end


class Fault:
    """One kind, made once; `mend` is called when there is a primary again."""

    def __init__(self, servers, kind):
        self.servers, self.kind = servers, kind
        self.primary = servers.leader()

    def make(self):
        getattr(self, self.kind)()

    def server(self):
        self.primary.signal_postgresql(signal.SIGKILL)

    def machine(self):
        self.primary.signal(signal.SIGKILL)

    def frozen(self):
        self.primary.signal(signal.SIGSTOP)

    def switchover(self):
        self.servers.switch_over()

    def replica(self):
        name = postgresql.sql(self.primary.uri(), "SELECT application_name FROM pg_stat_replication"
                              " WHERE sync_state='sync'")
        next(s for s in self.servers.servers if s.name == name).signal_postgresql(signal.SIGKILL)

    def etcd(self):
        self.servers.etcd.kill()
        self.servers.etcd.wait()
        time.sleep(30)
        self.servers.start_etcd()

    def mend(self):
        if self.kind == "machine":
            self.primary.start()
        elif self.kind == "frozen":
            self.primary.signal_postgresql(signal.SIGCONT)
            self.primary.process.send_signal(signal.SIGCONT)


def once(servers, kind, probers, receiver):
    """(without a commit, without a callback, how much later the callbacks), seconds."""
    def commits():
        return [t for p in probers for t in p.done]

    def callbacks():
        with receiver.lock:
            return [r.at for r in receiver.requests]
    servers.wait_whole()
    time.sleep(2)
    fault, begin = Fault(servers, kind), time.time()
    fault.make()
    if kind in ("server", "machine", "frozen"):
        eventually(lambda: servers.leader_is_not(fault.primary), 120, what="there is a new primary")
    eventually(lambda: sum(t > time.time() - 1 for t in commits()) > 5, 120, what="commits go on")
    back = time.time()
    eventually(lambda: sum(t > back for t in callbacks()) > 100, 120, what="callbacks go on")
    fault.mend()
    without_commit, committed = interruption(commits(), begin)
    without_callback, arrived = interruption(callbacks(), begin)
    return without_commit, without_callback, arrived - committed


def check(posters, receiver, daemon):
    """How many were acknowledged, and how many callbacks came twice."""
    acknowledged = [i for p in posters for i in p.acknowledged]
    eventually(lambda: set(acknowledged) <= set(receiver.ids()), 120, what="every callback arrives")
    eventually(lambda: daemon.metrics()["postbackd_callbacks_pending"] == 0, 60)
    return len(acknowledged), len(receiver.ids()) - len(set(receiver.ids()))


def measure(servers, kinds):
    uri, receiver = servers.uri(), Receiver()
    postgresql.sql(servers.leader().uri(), PROBE)
    daemon = Daemon(core=OTHERS_CORE, uri=uri)
    try:
        daemon.accounts(10, lambda i: receiver.url)
        probers = [Prober(s) for s in servers.servers]
        posters = [Poster(daemon, i) for i in range(POSTERS)]
        for thread in probers + posters:
            thread.start()
        header()
        for kind, times in kinds:
            found = []
            for _ in range(times):
                found.append(once(servers, kind, probers, receiver))
                print("#", kind, *("%.2f" % f for f in found[-1]), file=sys.stderr, flush=True)
            commit, callback, later = zip(*found)
            row("%s, %d times: later than commits, s" % (kind, times),
                "%.2f (worst %.2f)" % (statistics.median(later), max(later)),
                "no commit for %.1f (%.1f to %.1f)" % (statistics.median(commit), min(commit), max(commit)),
                goal="2 s")
        for poster in posters:
            poster.ending = True
            poster.join(180)
        count, twice = check(posters, receiver, daemon)
        row("acknowledged events without a callback", "0 of %d" % count, "%d callbacks came twice" % twice, goal="0")
        for prober in probers:
            prober.ending = True
    finally:
        daemon.close()
        receiver.close()


def main():
    if patroni.missing():
        sys.exit(patroni.missing() + " (Debian's packages patroni and etcd-server)")
    kinds = [(kind, int(times)) for kind, times in (word.split("=") for word in sys.argv[1:] or ["server=20"])]
    servers = patroni.Patroni()
    try:
        measure(servers.start(), kinds)
    finally:
        servers.remove()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What `postbackd move` costs, and how long requests wait for it: a database of GB moves to another
server and back while two nodes take in RATE events/s, in batches of 10 and single ones.

    bench/move.py [GB] [SECONDS] [RATE]        bench/move.py 1 20 for a short one

The database is filled directly (bench/database_fill.py): final callbacks of twelve weeks with their
bodies, and attempts of the last four. SECONDS is how long it is measured before the move, and after
it, while the old server is kept up to date. Beside the copy stands a bare one: psql copies the
largest partition to the other server, into a table with the same indexes, under the same load.

Afterwards every acknowledged event must have had its callback, once, and both databases must have
the same rows. If not, the folder with the nodes' logs and with what arrived stays, and what is known
of callbacks that came twice is printed. Then the subscription is disabled while RATE * SECONDS events come in as fast as they
are taken, and enabled: how many events/s the one process applies that applies all changes.

Default: 20 GB, 60 s and 300/s. It takes 50 GB of disk (2.2 * GB and 6 for WAL), where BENCH_DIR says,
and on two cores an hour, of which half is for filling. Both servers have all cores, nodes and load
one of them.
"""
import collections
import http.client
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote

from common import (BENCH_DIR, BUILD, CORES, KEY, SENT, Daemon, ages, argument, free_port, header, pinned, row,
                    wait_port)
from database import OTHERS_CORE, TICKS, Nodes, Server, sql, ticks
from database_fill import fill

import postgresql

APPS, PARTNERS, NODES = 50, 10, 2
BATCHES, BATCH, SINGLES = 8, 10, 8  # senders; single ones send a fifth of all events
SWITCH_MARGIN_S = 3  # what of the time around a switch counts to it
TOO_SLOW = "--store is in use again"
SUBSCRIPTION = "postbackd_move"

Post = collections.namedtuple("Post", "at waited_s refused ids")


class Sender(threading.Thread):
    """An operator's outbox: a batch is repeated, at the next node, until it was taken."""

    def __init__(self, nodes, number, size, rate):
        super().__init__(daemon=True)
        self.ports, self.number, self.size, self.every_s = [d.port for d in nodes.all], number, size, size / rate
        self.connections = [None] * len(self.ports)
        self.posts, self.turn, self.ending, self.failure = [], number, False, None

    def run(self):
        try:
            due = time.monotonic()
            for batch in itertools.count():
                time.sleep(max(0, due - time.monotonic()))
                due = max(due, time.monotonic() - 1) + self.every_s
                if self.ending:
                    return
                self.posts.append(self.send(["m%d-%d-%d" % (self.number, batch, i) for i in range(self.size)]))
        except Exception as problem:  # noqa: BLE001  (said at the end)
            self.failure = problem

    def send(self, ids):
        begun, at = time.monotonic(), time.time()
        body = json.dumps([{"EventId": one, "Type": "survey_completed", "RevenueAmount": 0.5,
                            "ClientId": "bench_%d" % (hash(one) % APPS),
                            "PanelistId": "%d-%s" % (at * 1e6, one)} for one in ids])
        for refused in itertools.count():
            if self.is_taken(body, len(ids)):
                return Post(at, time.monotonic() - begun, refused, ids)
            time.sleep(0.02)

    def is_taken(self, body, count):
        self.turn += 1
        place = self.turn % len(self.ports)
        if not self.connections[place]:
            self.connections[place] = http.client.HTTPConnection("127.0.0.1", self.ports[place], timeout=60)
        self.connections[place].request("POST", "/api/v1/events", body,
                                        {"X-Api-Key": KEY, "Content-Type": "application/json"})
        answer = self.connections[place].getresponse()
        found = json.loads(answer.read())
        if answer.status == 503:
            return False
        if answer.status != 202 or found["Accepted"] + found["Duplicates"] != count:
            raise RuntimeError("%d %s" % (answer.status, found))
        return True


class Load:
    """All senders, and what arrived of their events."""

    def __init__(self, nodes, rate, arrivals, port):
        self.arrivals, self.port = arrivals, port
        sizes = [(BATCH, rate * 0.8 / BATCHES)] * BATCHES + [(1, rate * 0.2 / SINGLES)] * SINGLES
        self.senders = [Sender(nodes, i, size, each) for i, (size, each) in enumerate(sizes)]
        for sender in self.senders:
            sender.start()

    def end(self):
        for sender in self.senders:
            sender.ending = True
        for sender in self.senders:
            sender.join(120)
            if sender.is_alive() or sender.failure:
                raise RuntimeError("a sender: %r" % sender.failure)

    def posts(self):
        return [post for sender in self.senders for post in list(sender.posts)]

    def read_arrivals(self):
        """[(when, how old, which)], in seconds."""
        ages(self.port)  # the sink writes what it still holds
        lines = (line.split(" ", 2) for line in self.arrivals.read_text().splitlines())
        return [(int(at) / 1e6, int(age) / 1e6, one) for at, age, one in lines]


class Move:
    """One command; on a machine that is too slow for a switch it is run again, as it says itself."""

    def __init__(self, source, target):
        self.source, self.target = source, target
        self.at, self.behind_kb, self.too_slow, self.gap_ms, self.copied_mb = {}, [], 0, None, 0
        for _ in range(10):
            if self.run() == 0:
                return
            if not self.too_slow:
                break
        raise RuntimeError("the move fails")

    def run(self):
        process = subprocess.Popen([BUILD / "postbackd", "move", "--store", self.source, "--to", self.target],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in process.stdout:
            print("#", time.strftime("%H:%M:%S"), line, end="", file=sys.stderr, flush=True)
            self.hear(line)
        return process.wait()

    def hear(self, line):
        now = time.time()
        if line.startswith("switching"):
            self.at.setdefault("following", now)
            self.at["switching"] = now
        elif found := re.match(r"switched: .* (\d+) ms", line):
            self.at["switched"], self.gap_ms = now, int(found[1])
        elif found := re.match(r"(copying|following)\b.*, (\d+) KB of changes behind", line):
            self.at.setdefault(found[1], now)
            self.behind_kb.append(int(found[2]))
        elif line.startswith("beginning to copy"):
            self.at["copying"] = now
        self.too_slow += TOO_SLOW in line

    def switch(self):
        return self.at["switching"] - SWITCH_MARGIN_S, self.at["switched"] + SWITCH_MARGIN_S


class Pair:
    """Two servers with a database of the same name on each, and the nodes' URI with both hosts."""

    def __init__(self):
        settings = {"wal_level": "logical", "max_wal_size": "2GB", "min_wal_size": "256MB",
                    "max_replication_slots": "40", "max_wal_senders": "40"}  # docs/operators/clusters.md
        self.servers = [Server(CORES, **settings) for _ in range(2)]
        self.old, self.new = [server.database("moved") for server in self.servers]
        self.uri = "postgresql:///moved?user=postgres&host=" + ",".join(
            quote(str(server.cluster.folder), safe="") for server in self.servers)

    def prepare(self, port, gb):
        """How many callbacks there are."""
        daemon = Daemon(core=OTHERS_CORE, uri=self.old)
        try:
            daemon.accounts(APPS, lambda i: "http://127.0.0.1:%d/" % port, partners=PARTNERS)
            for i in range(APPS):
                daemon.load(1, 1, batch=1, connections=1, first=i, core=OTHERS_CORE)
            daemon.wait_delivered(APPS)
        finally:
            daemon.close()
        count = fill(self.old, gb, APPS, PARTNERS)
        self.servers[0].checkpoint()
        return count

    def close(self):
        for server in self.servers:
            server.close()


def megabytes(uri, what="pg_database_size(current_database())"):
    return int(sql(uri, "SELECT " + what)) / 1e6


def bare_copy(pair):
    """MB/s of psql, of a table with its indexes, and when."""
    bare = pair.servers[1].database("bare")
    subprocess.run([BUILD / "postbackd", "migrate", "--store", bare], check=True, stdout=subprocess.DEVNULL)
    partition, table = sql(pair.old, "SELECT relid||' '||parentrelid FROM (SELECT (pg_partition_tree(t)).* FROM"
                           " unnest(ARRAY['event','body','attempt']::regclass[]) t) p WHERE isleaf"
                           " ORDER BY pg_table_size(relid) DESC LIMIT 1").split()
    sql(bare, "CREATE TABLE copied (LIKE %s INCLUDING ALL)" % table)
    began, psql = time.time(), [postgresql.tools() / "psql", "-Xqc"]
    read = subprocess.Popen([*psql, "COPY %s TO STDOUT" % partition, pair.old], stdout=subprocess.PIPE)
    subprocess.run([*psql, "COPY copied FROM STDIN", bare], stdin=read.stdout, check=True)
    if read.wait():
        raise RuntimeError("the bare copy fails")
    ended = time.time()
    mb = megabytes(bare, "pg_total_relation_size('copied')")
    pair.servers[1].drop(bare)
    return mb, (began, ended)


ATTEMPTS = """SELECT e.account_no,e.event_no,e.app_no,e.state,e.attempts,e.accepted_ms,array_agg((a.number,a.at_ms,
a.duration_ms,a.class,a.status)) FROM event e LEFT JOIN attempt a USING (account_no,event_no)
WHERE e.event_id='%s' GROUP BY 1,2,3,4,5,6"""


ROWS = """SELECT (SELECT count(*)||' '||sum(hashtext(event_id)::bigint)||' '||sum(state) FROM event),
(SELECT count(*)||' '||sum(hashtext(body::text)::bigint) FROM body), (SELECT count(*)||' '||sum(at_ms) FROM attempt),
(SELECT count(*)||' '||sum(event_no) FROM event_key), (SELECT count(*)||' '||sum(hashtext(keys::text)::bigint) FROM key_page), (SELECT sum(count)||' '||sum(reward_micros) FROM book),
(SELECT sum(delivered)||' '||sum(pending) FROM total), (SELECT count(*) FROM waiting), (SELECT count(*) FROM handover),
(SELECT count(*) FROM object), (SELECT max(revision) FROM revision)"""


# What the daemon checks, too, but in rests: the days of a large database take it hours. A row with state
# -1 is pending if it waits, and delivered otherwise.
WRONG_BOOKS = """WITH event AS (SELECT account_no,day,app_no,lane,is_test,reward_micros,revenue_micros,
(CASE WHEN state<>-1 THEN state WHEN EXISTS(SELECT FROM waiting w WHERE w.account_no=e.account_no
AND w.lane=e.app_no::bigint*5+e.lane AND w.due_ms=coalesce(e.due_ms,e.accepted_ms) AND w.event_no=e.event_no)
THEN 1 ELSE 3 END)::smallint AS state FROM event e), found AS (SELECT account_no,day,app_no,lane,is_test,coalesce(state,0::smallint) AS state,
count(*) AS count,sum(reward_micros) AS reward,sum(revenue_micros) AS revenue FROM event GROUP BY GROUPING SETS
((account_no,day,app_no,lane,is_test,state),(account_no,day,app_no,lane,is_test))), kept AS (SELECT * FROM book
WHERE count<>0), earned AS (SELECT account_no,day,sum(revenue) FROM found WHERE state=0 GROUP BY 1,2),
reported AS (SELECT account_no,day,sum(live_survey_micros) FROM report GROUP BY 1,2)
SELECT (SELECT count(*) FROM ((TABLE found EXCEPT TABLE kept) UNION ALL (TABLE kept EXCEPT TABLE found)) x)
+(SELECT count(*) FROM (TABLE earned EXCEPT TABLE reported) y)"""


def has_same_rows(pair):
    """Without daemons; the last changes may still be under way."""
    for _ in range(10):
        if sql(pair.old, ROWS) == sql(pair.new, ROWS):
            return True
        time.sleep(1)
    return False


def apply_backlog(pair, nodes, events):
    """(events/s applied by the one process, us of its CPU an event, events/s that made the backlog):
    the old server is in use, and the new one follows."""
    def set_subscription(how):
        sql(pair.new, "SET TRANSACTION READ WRITE; ALTER SUBSCRIPTION %s %s" % (SUBSCRIPTION, how))

    def worker():
        return int(sql(pair.new, "SELECT coalesce(max(pid),0) FROM pg_stat_subscription"))
    set_subscription("DISABLE")
    began, sent = time.monotonic(), nodes.sum(SENT)
    events = nodes.load(APPS, events, 8)
    while nodes.sum(SENT) < sent + events or nodes.all[0].metrics()["postbackd_callbacks_pending"]:
        time.sleep(0.1)
    took = time.monotonic() - began
    last = sql(pair.old, "SELECT pg_current_wal_lsn()")
    set_subscription("ENABLE")
    began = time.monotonic()
    while not (pid := worker()):
        time.sleep(0.01)
    while sql(pair.old, "SELECT bool_and(confirmed_flush_lsn>='%s') FROM pg_replication_slots" % last) != "t":
        time.sleep(0.05)
    applied = time.monotonic() - began
    return events / applied, ticks(pid, False) / TICKS / events * 1e6, events / took


class Phases:
    """Prints what requests and callbacks of each stretch of time took, beside those before the move."""

    def __init__(self, load):
        self.posts, self.arrived, self.before = load.posts(), load.read_arrivals(), None

    def row(self, name, when, goal=""):
        begin, end = when
        old = sorted(age for at, age, _ in self.arrived if begin <= at < end)
        posts = [post for post in self.posts if begin <= post.at < end]
        if not old or not posts:
            row(name, "none in %.1f s" % (end - begin))
            return
        p99_ms = old[(len(old) - 1) * 99 // 100] * 1000
        self.before = self.before or p99_ms
        row(name + ", p99 ms; arrived/s", "%.1f; %.0f in %.0f s" % (p99_ms, len(old) / (end - begin), end - begin),
            "before: %.1f" % self.before, p99_ms / self.before)
        row("    longest request, s; with 503", "%.2f; %d of %d" % (
            max(post.waited_s for post in posts), sum(post.refused > 0 for post in posts), len(posts)), goal=goal)

    def check(self):
        """The RewardIds that came twice, and whether all came."""
        acknowledged = {one for post in self.posts for one in post.ids}
        times = collections.Counter(one for _, _, one in self.arrived)
        row("acknowledged; lost; came twice", "%d; %d; %d" % (
            len(acknowledged), len(acknowledged - set(times)), sum(n - 1 for n in times.values())), goal="0; 0")
        return [one for one, n in times.items() if n > 1], acknowledged <= set(times)

    def tell_of(self, twice, uri):
        """When each of them arrived, and its attempts as they were recorded."""
        for one in twice[:100]:
            arrivals = ["%.3f" % at for at, _, found in self.arrived if found == one]
            print("#", one, "arrived", *arrivals, "event and attempts:", sql(uri, ATTEMPTS % one), file=sys.stderr)


def print_move(there, back, bare, size_mb):
    copying_s = there.at["following"] - there.at["copying"]
    bare_mb, (began, ended) = bare
    row("copied, minutes; MB/s", "%.1f; %.1f of %.0f MB" % (copying_s / 60, size_mb / copying_s, size_mb),
        "bare COPY of %.0f MB: %.1f MB/s" % (bare_mb, bare_mb / (ended - began)),
        size_mb / copying_s / (bare_mb / (ended - began)))
    row("behind, KB, at most", "%d" % max(there.behind_kb))
    for name, move in (("there", there), ("back", back)):
        row("%s: no database could be written, ms" % name, "%d" % move.gap_ms,
            "%d switches were too slow before" % move.too_slow, goal="<= 2,000")


def measure(pair, load, seconds):
    """{name: when}, and what is printed apart."""
    when, began = {}, time.time()
    time.sleep(seconds)
    when["before"] = began, time.time()
    bare = bare_copy(pair)
    when["beside a bare COPY"] = bare[1]
    there = Move(pair.old, pair.new)
    size_mb = megabytes(pair.new)
    when["while copying"] = there.at["copying"], there.at["following"]
    when["from there to the switch"] = there.at["following"], there.at["switching"]
    when["around the switch"] = there.switch()
    began = time.time() + SWITCH_MARGIN_S
    time.sleep(SWITCH_MARGIN_S + seconds)
    when["after, the old server follows"] = began, time.time()
    back = Move(pair.new, pair.old)
    time.sleep(SWITCH_MARGIN_S)
    when["around the switch back"] = back.switch()
    return when, there, back, bare, size_mb


def run(pair, nodes, port, arrivals, seconds, rate):
    load = Load(nodes, rate, arrivals, port)
    time.sleep(3)  # connections open, plans made
    when, *moves = measure(pair, load, seconds)
    load.end()
    while nodes.all[0].metrics()["postbackd_callbacks_pending"]:
        time.sleep(0.1)
    print_move(*moves)
    phases = Phases(load)
    for name, between in when.items():
        phases.row(name, between, "<= 2 s" if "switch" in name else "")
    twice, is_whole = phases.check()
    phases.tell_of(twice, pair.old)
    applied, cpu_us, taken = apply_backlog(pair, nodes, int(rate * seconds))
    row("changes applied by one process, events/s", "%.0f; %.0f us of its CPU an event" % (applied, cpu_us),
        "taken in and delivered: %.0f/s" % taken, applied / taken)
    wrong = nodes.sum("postbackd_books_wrong")
    nodes.close()
    row("both databases have the same rows", "yes" if has_same_rows(pair) else "NO", goal="yes")
    row("books that are wrong: as nodes say; in all", "%d; %s" % (wrong, sql(pair.old, WRONG_BOOKS)), goal="0; 0")
    subprocess.run([BUILD / "postbackd", "move", "--store", pair.new, "--to", pair.old, "--finish"], check=True,
                   stdout=sys.stderr)
    return is_whole and not twice


def main():
    gb, seconds, rate = argument(1, 20.0), argument(2, 60.0), argument(3, 300.0)
    where = BENCH_DIR or tempfile.gettempdir()
    if shutil.disk_usage(where).free < (2.2 * gb + (6 if gb >= 1 else 1)) * 1e9:
        sys.exit("there is too little room in %s for %g GB" % (where, gb))
    folder, port, nodes = Path(tempfile.mkdtemp(prefix="bench-move-", dir=BENCH_DIR)), free_port(), None
    is_good = False
    sink = subprocess.Popen(pinned(OTHERS_CORE, [BUILD / "bench" / "sink", port, folder / "arrivals"]))
    pair = Pair()
    try:
        wait_port(port)
        began = time.time()
        count = pair.prepare(port, gb)
        header()
        row("filled: callbacks; GB; minutes", "%d; %.2f; %.1f" % (
            count, megabytes(pair.old) / 1000, (time.time() - began) / 60))
        nodes = Nodes(pair.uri, NODES, logs=folder)
        is_good = run(pair, nodes, port, folder / "arrivals", seconds, rate)
    finally:
        if nodes:
            nodes.close()
        pair.close()
        sink.terminate()
        sink.wait()
        if is_good:
            shutil.rmtree(folder)
        else:
            print("logs and arrivals are in", folder, file=sys.stderr)


if __name__ == "__main__":
    main()

"""What the benchmarks on PostgreSQL share: a server of their own (that of the tests, on a disk and on
a core that is said), what it spends, and daemons that are nodes of one database."""
import os
import subprocess
import sys
import threading
import time

from common import BENCH_DIR, CORES, ROOT, Daemon

sys.path.insert(0, str(ROOT / "tests" / "scenario"))

import postgresql  # noqa: E402  (of the tests)
from postgresql import sql  # noqa: E402, F401

SERVER_CORE, OTHERS_CORE = CORES[0], CORES[-1]
SHARDS = 256
TICKS = os.sysconf("SC_CLK_TCK")


def ticks(pid, with_children):
    try:
        f = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return 0
    return sum(int(f[i]) for i in (11, 12) + ((13, 14) if with_children else ()))


class Server:
    """Debian's, on the disk of BENCH_DIR or of the system's temporary folder, so that a sync is one.
    Checkpoints come when they are asked for: not in the middle of one measurement alone."""

    def __init__(self, cores=(SERVER_CORE,), **settings):
        where = BENCH_DIR or "/tmp"
        self.cluster = postgresql.Cluster(where, **dict({
            "shared_buffers": "1GB", "min_wal_size": "2GB", "max_wal_size": "16GB", "checkpoint_timeout": "1h",
            "max_connections": "60"}, **settings)).start()
        self.cores = set(cores)
        for pid in [self.cluster.process.pid] + self.children():
            try:
                os.sched_setaffinity(pid, self.cores)  # what is forked later inherits it
            except ProcessLookupError:
                pass

    def children(self):
        out = subprocess.run(["pgrep", "-P", str(self.cluster.process.pid)], capture_output=True, text=True).stdout
        return [int(pid) for pid in out.split()]

    def database(self, name, template=None):
        sql(self.cluster.uri(), 'CREATE DATABASE "%s"%s' % (name, ' TEMPLATE "%s"' % template if template else ""))
        return self.cluster.uri(name)

    def drop(self, uri):
        postgresql.drop_database(uri)

    def checkpoint(self):
        sql(self.cluster.uri(), "CHECKPOINT")

    def wal_bytes(self):
        """What was ever written to the write-ahead log."""
        return int(sql(self.cluster.uri(), "SELECT pg_current_wal_insert_lsn() - '0/0'"))

    def cpu_seconds(self):
        """Of all its processes, those that have ended too: read when none ends meanwhile."""
        while True:
            before = self.children()
            total = ticks(self.cluster.process.pid, True) + sum(ticks(pid, False) for pid in before)
            if self.children() == before:
                return total / TICKS

    def close(self):
        self.cluster.remove()


class Nodes:
    """Daemons on one database."""

    def __init__(self, uri, count, core=OTHERS_CORE, options=(), logs=None):
        """logs: a folder for a log of each."""
        self.uri, self.all = uri, []
        try:
            for i in range(count):
                self.all.append(Daemon(core=core, uri=uri, options=["--node-name", "node-%d" % i, *options],
                                       log=logs and logs / ("node-%d.log" % i)))
            self.wait_even()
        except BaseException:
            self.close()
            raise

    def wait_even(self, timeout_s=60):
        """All shards are held, as many by each."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            found = [d.metrics() for d in self.all]
            held = [m["postbackd_shards_held"] for m in found]
            if sum(held) == SHARDS and max(held) - min(held) <= 1 and {m["postbackd_nodes"] for m in found} == {len(self.all)}:
                return
            time.sleep(0.1)
        raise RuntimeError("the shards do not come to be even")

    def cpu_seconds(self):
        return sum(d.cpu_seconds() for d in self.all)

    def load(self, clients, events, connections, rate=0, **more):
        """Events to all of them at once, as many to each."""
        count = len(self.all)
        sides = [threading.Thread(target=d.load, args=(clients, events // count), kwargs=dict(
            connections=max(1, connections // count), core=OTHERS_CORE, rate=rate / count, **more)) for d in self.all]
        for side in sides:
            side.start()
        for side in sides:
            side.join()
        return events // count * count

    def sum(self, metric):
        return sum(d.metrics()[metric] for d in self.all)

    def close(self):
        for d in self.all:
            d.close()

#!/usr/bin/env python3
"""Isolation: does steady traffic to bad receivers make the healthy ones wait?

200 healthy events a second to 20 receivers, and 2 a second to each of BAD bad ones, against the
same rate to as many healthy ones. Alternating pairs on fresh daemons; the ratio of the healthy p99
(sent to arrived) is what counts.

    bench/isolation.py [--nodes N] [KIND] [BAD] [SECONDS measured] [PAIRS] [SECONDS before] [FILE]

--nodes: so many nodes on one PostgreSQL instead of one daemon on SQLite; all traffic is spread
evenly over them, so that most of it comes in where it is not delivered from.
KIND: one of bench/bad.c's; `refuse` (nothing listens), `tls` (a handshake that stalls), `nxdomain`
and `nodns` (a name server that says no, or nothing); `mix`: all of these in turn; `host`: as many
partners, one each, on one host that refuses. SECONDS before: how long the bad ones are under way
first, so that their retries (after 1 s, 5 s, then minutes; `default` schedule with 60 and more) are
in what is measured; the healthy ones, which have none, are not waited for. FILE: pairs are kept in
it and those found there count too, so that a long table can be made in several goes.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from common import (BENCH_DIR, BUILD, DAEMON_CORE, LOAD_CORE, Daemon, ages, free_port, header, pinned, row, spread,
                    wait_port)
from database import Nodes, Server

HEALTHY = 20
PER_BAD = 2
RATE = 200
WARM_UP = 10  # seconds; healthy receivers have no retries to wait for
PLAIN = ["hole", "full", "shut", "reset", "mute", "drip", "slow", "500", "429", "body", "head", "garbage"]
KINDS = PLAIN + ["refuse", "tls", "nxdomain", "nodns"]


class Bad:
    def __init__(self):
        self.process = subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "bad"]), stdout=subprocess.PIPE, text=True)
        self.ports = json.loads(self.process.stdout.readline())
        self.closed = free_port()

    def url(self, kind, i):
        at = "127.1.%d.%d" % (i // 250, i % 250 + 1)
        if kind == "mix":
            kind = KINDS[i % len(KINDS)]
        if kind == "host":
            return "http://127.1.0.1:%d/app/%d" % (self.closed, i)
        if kind == "refuse":
            return "http://%s:%d/app/%d" % (at, self.closed, i)
        if kind == "tls":
            return "https://%s:%d/app/%d" % (at, self.ports["mute"], i)
        if kind in ("nxdomain", "nodns"):
            return "http://%s%d.example.test/app/%d" % ("nx" if kind == "nxdomain" else "mute", i, i)
        return "http://%s:%d/app/%d" % (at, self.ports[kind], i)

    def close(self):
        self.process.terminate()
        self.process.wait()


class Single:
    """One daemon on SQLite; a store is a folder."""

    def prepare(self, fill):
        daemon = Daemon()
        fill(daemon)
        daemon.stop()
        return daemon.dir

    def start(self, store, options):
        """Of a copy of the store."""
        copy = tempfile.mkdtemp(prefix="bench-store-", dir=BENCH_DIR)
        shutil.copytree(store, copy, dirs_exist_ok=True)
        self.daemon = Daemon(store=copy, options=options)
        self.load = self.daemon.load
        return [self.daemon]

    def end(self):
        self.daemon.process.kill()
        self.daemon.close()

    def drop(self, store):
        shutil.rmtree(store, ignore_errors=True)

    def close(self):
        pass


class Several:
    """Nodes on one PostgreSQL; a store is a database."""

    def __init__(self, count):
        self.count, self.made, self.server = count, 0, Server()

    def prepare(self, fill):
        self.made += 1
        name = "base%d" % self.made
        daemon = Daemon(uri=self.server.database(name))
        try:
            fill(daemon)
        finally:
            daemon.close()
        return name

    def start(self, store, options):
        self.uri = self.server.database("run", store)
        self.nodes = Nodes(self.uri, self.count, core=DAEMON_CORE, options=options)
        self.load = self.nodes.load
        return self.nodes.all

    def end(self):
        for daemon in self.nodes.all:
            daemon.process.kill()
        self.nodes.close()
        self.server.drop(self.uri)

    def drop(self, store):
        pass

    def close(self):
        self.server.close()


class Bench:
    """Two stores with their accounts, made once and copied for each run."""

    def __init__(self, on, kind, count, seconds, before):
        self.on, self.kind, self.count, self.seconds, self.before = on, kind, count, seconds, before
        self.ports = [free_port(), free_port()]
        self.sinks = [subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "sink", p])) for p in self.ports]
        self.bad = Bad()
        for p in self.ports:
            wait_port(p)
        self.options = ["--dns-server", "127.0.0.1:%d" % self.bad.ports["dns"]]
        if before < 60:
            self.options += ["--retry-schedule", "1s,5s,5m,15m"]
        self.stores = {True: self.prepare(lambda i: self.bad.url(kind, i)),
                       False: self.prepare(lambda i: "http://127.0.0.1:%d/other/%d" % (self.ports[1], i))}

    def prepare(self, url):
        return self.on.prepare(lambda daemon: daemon.accounts(
            HEALTHY + self.count, lambda i: "http://127.0.0.1:%d/app/%d" % (self.ports[0], i)
            if i < HEALTHY else url(i - HEALTHY), partners=500 if self.kind == "host" else 10))

    def measure(self, hurt):
        daemons = self.on.start(self.stores[hurt], self.options)
        try:
            rate = self.count * PER_BAD
            before = self.before if hurt else min(self.before, WARM_UP)
            side = threading.Thread(target=self.on.load, args=(self.count, rate * (before + self.seconds)), kwargs=dict(
                batch=10, connections=1, rate=rate, first=HEALTHY))
            side.start()
            self.on.load(HEALTHY, before * RATE, batch=1, connections=2, rate=RATE)
            ages(self.ports[0])
            self.on.load(HEALTHY, self.seconds * RATE, batch=1, connections=2, rate=RATE)
            side.join()
            time.sleep(0.5)
            found = ages(self.ports[0])
            found["rss_mib"] = max(daemon.rss_mib() for daemon in daemons)
            found["suspended"] = sum(daemon.metrics()["postbackd_lanes_suspended"] for daemon in daemons)
            return found
        finally:
            self.on.end()

    def close(self):
        self.bad.close()
        for sink in self.sinks:
            sink.terminate()
            sink.wait()
        for store in self.stores.values():
            self.on.drop(store)


def print_table(name, pairs, goal):
    good, hurt = [p["good"] for p in pairs], [p["hurt"] for p in pairs]
    for what in ("p50_us", "p99_us"):
        row("%s: healthy %s" % (name, what), spread([h[what] for h in hurt]),
            "as many healthy ones " + spread([g[what] for g in good]),
            statistics.median(h[what] / g[what] for h, g in zip(hurt, good)), goal)
    row("%s: healthy arrived" % name, spread([h["count"] for h in hurt]), "of " + spread([g["count"] for g in good]))
    row("%s: memory, MiB" % name, spread([h["rss_mib"] for h in hurt]), spread([g["rss_mib"] for g in good]),
        goal="%d lanes suspended" % hurt[-1]["suspended"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=0)
    parser.add_argument("rest", nargs="*")
    words = parser.parse_args()
    given = words.rest + [None] * 6
    kind, count = given[0] or "mix", int(given[1] or 100)
    if kind not in KINDS + ["mix", "host"]:
        parser.error("%s is no KIND: it is one of %s, mix and host" % (kind, ", ".join(KINDS)))
    seconds, pairs, before, kept = int(given[2] or 15), int(given[3] or 7), int(given[4] or 7), given[5]
    found = [json.loads(line) for line in open(kept)] if kept and os.path.exists(kept) else []
    on, bench = Several(words.nodes) if words.nodes else Single(), None
    try:
        bench = Bench(on, kind, count, seconds, before)
        for _ in range(pairs):
            good = bench.measure(False)
            pair = {"kind": kind, "count": count, "nodes": words.nodes, "good": good, "hurt": bench.measure(True)}
            found.append(pair)
            if kept:
                with open(kept, "a") as f:
                    f.write(json.dumps(pair) + "\n")
    finally:
        if bench:
            bench.close()
        on.close()
    header()
    for k, n, nodes in sorted({(p["kind"], p["count"], p.get("nodes", 0)) for p in found}):
        print_table("%d x %s%s" % (n, k, ", %d nodes" % nodes if nodes else ""),
                    [p for p in found if (p["kind"], p["count"], p.get("nodes", 0)) == (k, n, nodes)],
                    "<= 1.5" if nodes else "<= 1.2")


main()

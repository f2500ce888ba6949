#!/usr/bin/env python3
"""Durable ingest over HTTP on PostgreSQL, in batches, beside a bare libpq loop with the same batches.

The daemon takes batches of BATCH in and answers when they are durable: over MANY connections, where
several of them become one transaction, and over one, where each is a transaction as in the loop.
The loop (ingest_postgresql.c) inserts the same tables' rows without HTTP, JSON, look-ups and
decisions, each batch durable before the next, on a database of its own on the same server. The apps
are paused, so that both leave the owed callbacks waiting. The server has one core, daemon, load and
loop share the other. Both databases have PRELOAD events and grow from pair to pair.

    bench/postgresql_ingest.py [EVENTS per run] [PRELOAD] [PAIRS] [BATCH]
"""
import json
import statistics
import subprocess
import sys

from common import BUILD, Daemon, header, pinned, row, spread
from database import OTHERS_CORE, Server, sql

MANY = 8


class Taken:
    """What was measured of one side, a figure per round."""

    def __init__(self):
        self.rates, self.server_us, self.own_us = [], [], []


def measured(server, side, events, run):
    """run() takes the events in and returns seconds, and its own CPU seconds."""
    before = server.cpu_seconds()
    seconds, own = run()
    side.rates.append(events / seconds)
    side.server_us.append((server.cpu_seconds() - before) / events * 1e6)
    side.own_us.append(own / events * 1e6)


def bare(uri, events, batch):
    out = subprocess.run(pinned(OTHERS_CORE, [BUILD / "bench" / "bench_ingest_postgresql", uri, events, batch]),
                         capture_output=True, text=True, check=True).stdout
    found = json.loads(out)
    return found["seconds"], found["cpu_us_per_event"] * events / 1e6


def ingest(daemon, events, batch, connections):
    cpu = daemon.cpu_seconds()
    seconds = daemon.load(100, events, batch=batch, connections=connections, core=OTHERS_CORE)["seconds"]
    return seconds, daemon.cpu_seconds() - cpu


def main():
    given = [int(word) for word in sys.argv[1:]]
    events, preload, pairs, batch = given + [100000, 200000, 5, 256][len(given):]
    server, daemon = Server(), None
    try:
        uris = {name: server.database(name) for name in ("ours", "bare")}
        daemon = Daemon(core=OTHERS_CORE, uri=uris["ours"])
        daemon.accounts(100, lambda i: "http://127.0.0.1:9/app/%d" % i)
        for i in range(100):
            daemon.request("PATCH", "/api/v1/apps/bench_a%d" % i, {"Enabled": False})
        ingest(daemon, preload, batch, MANY)
        bare(uris["bare"], preload, batch)
        for uri in uris.values():
            sql(uri, "VACUUM ANALYZE")
        server.checkpoint()
        yard, ours = Taken(), {MANY: Taken(), 1: Taken()}
        for _ in range(pairs):
            measured(server, yard, events, lambda: bare(uris["bare"], events, batch))
            for connections, side in ours.items():
                measured(server, side, events, lambda n=connections: ingest(daemon, events, batch, n))
        taken = int(sql(uris["ours"], "SELECT sum(last_event_no) FROM account"))
        assert taken == preload + pairs * events * len(ours), taken
        header()
        for connections, side in ours.items():
            name = "%d connection%s: " % (connections, "s"[:connections > 1])
            row(name + "batches of %d, events/s" % batch, spread(side.rates), "libpq loop " + spread(yard.rates),
                statistics.median(a / b for a, b in zip(side.rates, yard.rates)), ">= 0.7")
            row(name + "CPU of the server, us/event", spread(side.server_us), "libpq loop " + spread(yard.server_us),
                statistics.median(a / b for a, b in zip(side.server_us, yard.server_us)))
            row(name + "CPU of the daemon, us/event", spread(side.own_us), "libpq loop " + spread(yard.own_us))
    finally:
        if daemon:
            daemon.close()
        server.close()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Durable ingest over HTTP, in batches, beside a bare, tuned SQLite loop with the same batches.

The daemon takes batches of BATCH in, answers when they are durable, and its time ends when all of
them stand in SQLite too. The loop (ingest_store_bare.c) decides and inserts the same tables' rows
without HTTP, JSON or a second copy, each batch durable before the next. The apps are paused, so
that both leave the owed callbacks waiting. One core for either; the load has the other. EventIds
are random. The daemon's store grows from pair to pair, the loop begins anew.

    bench/ingest.py [EVENTS per run] [PRELOAD] [PAIRS]
"""
import re
import statistics
import subprocess
import time

from common import BUILD, DAEMON_CORE, Daemon, argument, header, pinned, row, spread

BATCH = 256  # as in ingest_store.h


def bare(events, preload, folder):
    out = subprocess.run(pinned(DAEMON_CORE, [BUILD / "bench" / "bench_ingest_store", events, preload, 1, "p"]),
                         cwd=folder, capture_output=True, text=True, check=True).stdout
    found = re.search(r"plain SQLite loop +(\d+) events/s.*peak RSS (\d+) MB", out)
    return float(found.group(1)), float(found.group(2))


def main():
    events = argument(1, 300000)
    preload = argument(2, 300000)
    pairs = argument(3, 5)
    daemon = Daemon()
    try:
        daemon.accounts(100, lambda i: "http://127.0.0.1:9/app/%d" % i)
        for i in range(100):
            daemon.request("PATCH", "/api/v1/apps/bench_a%d" % i, {"Enabled": False})
        idle = daemon.rss_mib()
        daemon.load(100, preload, batch=BATCH)
        daemon.settle()
        ours, yard, cpus, loop_mb = [], [], [], []
        for _ in range(pairs):
            rate, mb = bare(events, preload, daemon.dir)
            yard.append(rate)
            loop_mb.append(mb)
            cpu, begin = daemon.cpu_seconds(), time.monotonic()
            daemon.load(100, events, batch=BATCH)
            daemon.settle()
            ours.append(events / (time.monotonic() - begin))
            cpus.append((daemon.cpu_seconds() - cpu) / events * 1e6)
        header()
        row("durable ingest, batches of %d, events/s" % BATCH, spread(ours), "SQLite loop " + spread(yard),
            statistics.median(a / b for a, b in zip(ours, yard)), ">= 2")
        row("CPU of the daemon, us/event", spread(cpus))
        row("memory, MiB", "idle %.0f, after %.0f" % (idle, daemon.rss_mib()), "loop " + spread(loop_mb))
    finally:
        daemon.close()


main()

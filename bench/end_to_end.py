#!/usr/bin/env python3
"""End to end: events in at full speed, callbacks delivered and recorded, beside wrk on the same sink.

100 URLs, random EventIds, PRELOAD events in the store before. The daemon has one core, load and
sink share the other. A run counts from the first event sent to the last callback delivered. Beside
the CPU of an event stands what its parts cost bare, in the same run.

    bench/end_to_end.py [EVENTS per run] [PRELOAD] [RUNS]
"""
import statistics
import sys
import time

from common import Daemon, Sink, header, parts, row, spread, wrk


ATTEMPTS = 'postbackd_attempts_total{result="ok"}'


def drained(daemon, attempts):
    """Waits until so many attempts have succeeded, and all is recorded and in SQLite."""
    while daemon.metrics()[ATTEMPTS] < attempts:
        time.sleep(0.02)
    daemon.settle()
    while daemon.metrics()["postbackd_callbacks_pending"] > 0:
        time.sleep(0.02)
        daemon.settle()


def main():
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 600000
    preload = int(sys.argv[2]) if len(sys.argv) > 2 else 2000000
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    sink, daemon = Sink(), Daemon()
    try:
        daemon.accounts(100, lambda i: "http://127.0.0.1:%d/app/%d" % (sink.port, i))
        idle = daemon.rss_mib()
        if preload:
            daemon.load(100, preload, batch=1000, query="?deliver=false")
        rates, ceilings, cpus = [], [], []
        for _ in range(runs):
            ceilings.append(wrk(sink.port))
            sent = daemon.metrics()[ATTEMPTS]
            cpu, begin = daemon.cpu_seconds(), time.monotonic()
            daemon.load(100, events, batch=100, connections=4)
            drained(daemon, sent + events)
            seconds = time.monotonic() - begin
            rates.append(events / seconds)
            cpus.append((daemon.cpu_seconds() - cpu) / events * 1e6)
        header()
        ratios = [r / c for r, c in zip(rates, ceilings)]
        row("end to end, events/s", spread(rates), "wrk " + spread(ceilings), statistics.median(ratios), ">= 0.30")
        bare = parts(sink)
        row("CPU of the daemon, us/event", spread(cpus), "sum of its parts %.3g" % sum(bare.values()),
            statistics.median(cpus) / sum(bare.values()))
        for name, us in bare.items():
            row("  part: %s, us/event" % name, "%.3g" % us)
        row("memory, MiB", "idle %.0f, after %.0f" % (idle, daemon.rss_mib()))
        m = daemon.metrics()
        row("commits", "%d, mean %.2f ms" % (m["postbackd_store_commits_total"], 1000 * m["postbackd_store_commit_seconds_sum"] / max(1, m["postbackd_store_commits_total"])))
    finally:
        daemon.close()
        sink.close()


main()

#!/usr/bin/env python3
"""End to end: events in at full speed, callbacks delivered and recorded, beside wrk on the same sink.

100 URLs, random EventIds, PRELOAD events in the store before. The daemon has one core, load and
sink share the other. A run counts from the first event sent to the last callback delivered. Beside
the CPU of an event stands what its parts cost bare, in the same run.

Each run has two parts, behind a measurement of wrk: a stream in batches of 100, which delivery keeps
up with, and a burst in batches of 2,000, which outruns it, so that most of its callbacks wait in the
store and are read back from there.

    bench/end_to_end.py [EVENTS of a stream] [PRELOAD] [RUNS] [EVENTS of a burst; 0: none]
"""
import statistics
import time

from common import Daemon, Sink, argument, header, parts, row, spread, wrk


ATTEMPTS = 'postbackd_attempts_total{result="ok"}'
READ_BACK = "postbackd_callbacks_read_back_total"


def drained(daemon, attempts):
    """Waits until so many attempts have succeeded, and all is recorded and in SQLite."""
    while daemon.metrics()[ATTEMPTS] < attempts:
        time.sleep(0.02)
    daemon.settle()
    while daemon.metrics()["postbackd_callbacks_pending"] > 0:
        time.sleep(0.02)
        daemon.settle()


class Load:
    """Events in batches of one size; what each run of them gave."""

    def __init__(self, name, events, batch):
        self.name, self.events, self.batch = name, events, batch
        self.rates, self.taken, self.cpus, self.read_back, self.memory = [], [], [], [], []

    def run(self, daemon):
        before = daemon.metrics()
        daemon.forget_most_rss()
        cpu, begin = daemon.cpu_seconds(), time.monotonic()
        daemon.load(100, self.events, batch=self.batch, connections=4)
        self.taken.append(self.events / (time.monotonic() - begin))
        drained(daemon, before[ATTEMPTS] + self.events)
        self.rates.append(self.events / (time.monotonic() - begin))
        self.cpus.append((daemon.cpu_seconds() - cpu) / self.events * 1e6)
        self.read_back.append(daemon.metrics()[READ_BACK] - before[READ_BACK])
        self.memory.append(daemon.rss_mib("VmHWM"))

    def print(self, ceilings, bare):
        ratios = [r / c for r, c in zip(self.rates, ceilings)]
        row("%s, events/s" % self.name, spread(self.rates), "wrk " + spread(ceilings), statistics.median(ratios), ">= 0.30")
        row("  taken in, events/s", spread(self.taken))
        row("  CPU of the daemon, us/event", spread(self.cpus), "sum of its parts %.3g" % bare,
            statistics.median(self.cpus) / bare)
        row("  callbacks read back from the store", spread(self.read_back), "events %d" % self.events,
            statistics.median(self.read_back) / self.events)
        row("  memory at the most, MiB", spread(self.memory))


def main():
    events = argument(1, 600000)
    preload = argument(2, 2000000)
    runs = argument(3, 5)
    burst_events = argument(4, 400000)
    stream, burst = Load("end to end", events, 100), Load("burst", burst_events, 2000)
    loads = [stream, burst] if burst_events else [stream]
    sink, daemon = Sink(), Daemon()
    try:
        daemon.accounts(100, lambda i: "http://127.0.0.1:%d/app/%d" % (sink.port, i))
        idle = daemon.rss_mib()
        if preload:
            daemon.load(100, preload, batch=1000, query="?deliver=false")
        ceilings = []
        for _ in range(runs):
            ceilings.append(wrk(sink.port))
            for load in loads:
                load.run(daemon)
        header()
        bare = parts(sink)
        for load in loads:
            load.print(ceilings, sum(bare.values()))
        if burst_events:
            row("CPU of a burst's event beside a stream's, us", "%.3g" % statistics.median(burst.cpus),
                "%.3g" % statistics.median(stream.cpus),
                statistics.median(b / s for b, s in zip(burst.cpus, stream.cpus)), "<= 1.0")
        for name, us in bare.items():
            row("part: %s, us/event" % name, "%.3g" % us)
        row("memory, MiB", "idle %.0f, after %.0f" % (idle, daemon.rss_mib()))
        m = daemon.metrics()
        row("commits", "%d, mean %.2f ms" % (m["postbackd_store_commits_total"], 1000 * m["postbackd_store_commit_seconds_sum"] / max(1, m["postbackd_store_commits_total"])))
    finally:
        daemon.close()
        sink.close()


main()

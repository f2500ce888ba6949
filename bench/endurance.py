#!/usr/bin/env python3
"""Endurance: MINUTES at SHARE of the maximum, with retries, callbacks given up and checkpoints in
steady state. Memory flat, p99 flat, nothing lost.

First the maximum of this machine in this run: as many events as are taken to 100 receivers, until
all are delivered and recorded. Then SHARE of that rate: 95 % to the same receivers, 4 % to three
that answer 500 (suspended, swept at the end of a short schedule) and 1 % to one that answers
nonsense (tried to the end of the schedule). A line each ten seconds; first and last third compared.
What is purged is purged when the daemon starts and once an hour.

    bench/endurance.py [MINUTES] [SHARE]
"""
import json
import os
import statistics
import subprocess
import sys
import threading
import time

from common import BUILD, LOAD_CORE, Daemon, ages, argument, free_port, header, pinned, row, wait_port

HEALTHY, ERRORS, NONSENSE = 100, 3, 1
CALIBRATION = 200000
STEP_S = 10


def drained(daemon, limit_s=120):
    end = time.monotonic() + limit_s
    while daemon.metrics()["postbackd_callbacks_pending"] > 0 and time.monotonic() < end:
        time.sleep(0.1)
    daemon.settle()


def maximum(daemon):
    began = time.monotonic()
    daemon.load(HEALTHY, CALIBRATION, batch=100, connections=4)
    drained(daemon)
    return CALIBRATION / (time.monotonic() - began)


class Loads:
    """Load for so many seconds, each share on its own; what was accepted."""

    def __init__(self, daemon, rate, seconds):
        shares = [(0.95, HEALTHY, 0, 50), (0.04, ERRORS, HEALTHY, 10), (0.01, NONSENSE, HEALTHY + ERRORS, 10)]
        self.accepted, self.refused = [0] * len(shares), 0
        self.threads = [threading.Thread(target=self.run, args=(daemon, i, seconds, rate * share[0], *share[1:]))
                        for i, share in enumerate(shares)]
        for t in self.threads:
            t.start()

    def run(self, daemon, i, seconds, rate, clients, first, batch):
        out = daemon.load(clients, int(rate * seconds), batch=batch, connections=2, rate=rate, first=first)
        self.accepted[i] = out["accepted"]
        self.refused += out["refused_batches"]

    def alive(self):
        return any(t.is_alive() for t in self.threads)


def disk_mib(daemon):
    return sum(f.stat().st_size for f in daemon.dir.rglob("*") if f.is_file()) / 2 ** 20


def watch(daemon, port, loads):
    steps = []
    while loads.alive():
        time.sleep(STEP_S)
        found, m = ages(port), daemon.metrics()
        steps.append(dict(p50=found["p50_us"], p99=found["p99_us"], count=found["count"], rss=daemon.rss_mib(),
                          filters=m['postbackd_memory_bytes{part="key_filters"}'] / 2 ** 20,
                          pending=m["postbackd_callbacks_pending"], disk=disk_mib(daemon),
                          wal=os.stat(daemon.dir / "postbackd.db-wal").st_size / 2 ** 20,
                          cpu=daemon.cpu_seconds()))
        print("  %4d s: %6.0f/s arrived, p50 %6.2f ms, p99 %7.2f ms, %4.0f MiB, %6d pending, WAL %4.0f MiB, disk %6.0f MiB"
              % (len(steps) * STEP_S, found["count"] / STEP_S, found["p50_us"] / 1e3, found["p99_us"] / 1e3,
                 steps[-1]["rss"], steps[-1]["pending"], steps[-1]["wal"], steps[-1]["disk"]), flush=True)
    return steps


def main():
    minutes = argument(1, 30.0)
    share = argument(2, 0.7)
    port = free_port()
    sink = subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "sink", port]))
    bad = subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "bad"]), stdout=subprocess.PIPE, text=True)
    ports = json.loads(bad.stdout.readline())
    daemon = Daemon(options=["--retry-schedule", "1s,2s,5s,10s"])
    try:
        wait_port(port)
        daemon.accounts(HEALTHY + ERRORS + NONSENSE, lambda i: "http://127.0.0.1:%d/app/%d" % (port, i) if i < HEALTHY
                        else "http://127.1.0.%d:%d/" % (i, ports["500" if i < HEALTHY + ERRORS else "garbage"]))
        most = maximum(daemon)
        ages(port)
        before = daemon.metrics()
        loads = Loads(daemon, most * share, minutes * 60)
        steps = watch(daemon, port, loads)
        drained(daemon)
        left, m = ages(port), daemon.metrics()
        gained = {k: m["postbackd_%s_total" % k] - before["postbackd_%s_total" % k]
                  for k in ("events_accepted", "callbacks_delivered", "callbacks_dead")}
        arrived = sum(s["count"] for s in steps) + left["count"]
        steps = steps[1:-1]  # the first warms up, the last is not whole
        third = max(1, len(steps) // 3)
        header()
        row("maximum of this run, events/s", "%.0f" % most, "then %.0f" % (most * share))
        for s in steps:
            s["without filters"] = s["rss"] - s["filters"]  # those of keys grow by 2 MiB with each million of events
        for name, unit in (("rss", "MiB"), ("without filters", "MiB"), ("p50", "us"), ("p99", "us")):
            early, late = [statistics.median(s[name] for s in part) for part in (steps[:third], steps[-third:])]
            row("%s, last third against first, %s" % (name, unit), "%.0f" % late, "%.0f" % early, late / early)
        row("accepted = delivered + dead", "%d = %d + %d" % tuple(gained.values()), "refused batches %d" % loads.refused)
        row("arrived at the healthy receivers", "%d" % arrived, "of %d" % loads.accepted[0], arrived / loads.accepted[0], "1")
        if sum(loads.accepted) != gained["events_accepted"] or gained["events_accepted"] != (
                gained["callbacks_delivered"] + gained["callbacks_dead"]) or arrived < loads.accepted[0]:
            sys.exit("something is lost")
    finally:
        daemon.close()
        for process in (sink, bad):
            process.terminate()
            process.wait()


main()

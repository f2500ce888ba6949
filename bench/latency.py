#!/usr/bin/env python3
"""Healthy latency: from the moment an event is sent to the moment its callback arrives.

RATE single events a second into the daemon, a sink of our own that reads the time of sending out
of the callback; beside it, in alternating pairs, what no way can beat: one bare durable commit
and one bare POST to the same sink, at the same rate.

    bench/latency.py [SECONDS per run] [RATE] [RUNS]
"""
import json
import statistics
import subprocess
import time

from common import (BUILD, DAEMON_CORE, LOAD_CORE, Daemon, ages, argument, free_port, header, pinned, row, spread,
                    wait_port)


def bare(daemon, port, rounds, rate):
    out = subprocess.run(pinned(DAEMON_CORE, [BUILD / "bench" / "bare", daemon.dir / "bare", port, rounds, rate]),
                         capture_output=True, text=True, check=True).stdout
    return json.loads(out)


def arrived(daemon, port, events, rate):
    ages(port)
    daemon.load(100, events, batch=1, connections=4, rate=rate)
    time.sleep(1)
    found = ages(port)
    if found["count"] != events:
        raise RuntimeError("%d of %d callbacks arrived within a second" % (found["count"], events))
    return found


def main():
    seconds = argument(1, 8)
    rate = argument(2, 1000)
    runs = argument(3, 5)
    port = free_port()
    sink = subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "sink", port]))
    daemon = Daemon()
    try:
        wait_port(port)
        daemon.accounts(100, lambda i: "http://127.0.0.1:%d/app/%d" % (port, i))
        idle = daemon.rss_mib()
        arrived(daemon, port, rate * 2, rate)  # connections, statements, segments
        ours, yard = [], []
        for _ in range(runs):
            yard.append(bare(daemon, port, seconds * rate, rate))
            ours.append(arrived(daemon, port, seconds * rate, rate))
        header()
        for name, goal in (("p50", ""), ("p99", "<= 4")):
            us = [o[name + "_us"] for o in ours]
            by = [y[name + "_us"] for y in yard]
            row("sent to arrived at %d/s, %s, us" % (rate, name), spread(us), "commit + POST " + spread(by),
                statistics.median(a / b for a, b in zip(us, by)), goal)
        row("sent to arrived, worst, us", spread([o["max_us"] for o in ours]))
        row("p99 of the bare parts, us", "commit " + spread([y["commit_p99_us"] for y in yard]),
            "POST " + spread([y["post_p99_us"] for y in yard]))
        row("memory, MiB", "idle %.0f, after %.0f" % (idle, daemon.rss_mib()))
    finally:
        daemon.close()
        sink.terminate()
        sink.wait()


main()

#!/usr/bin/env python3
"""Draining a backlog: callbacks that waited in the store, delivered and recorded, beside wrk.

100 apps are paused while EVENTS come in, all of it goes to SQLite, then the apps are enabled at
once: over plain HTTP and over TLS with keep-alive. A run counts from the first app enabled to the
last callback delivered and recorded in SQLite. The daemon has one core, the sink the other. wrk
posts bodies of the same size over the same scheme, in the same run.

    bench/drain.py [EVENTS per run] [RUNS]
"""
import statistics
import time

from common import Daemon, Sink, argument, header, parts, row, spread, wrk

APPS = 100
OK = 'postbackd_attempts_total{result="ok"}'


def enable(daemon, on):
    for i in range(APPS):
        daemon.request("PATCH", "/api/v1/apps/bench_a%d" % i, {"Enabled": on})


def drain(daemon, events):
    """Callbacks a second, and us of the daemon's CPU for each."""
    enable(daemon, False)
    daemon.load(APPS, events, batch=1000)
    daemon.settle()
    before, cpu, begin = daemon.metrics()[OK], daemon.cpu_seconds(), time.monotonic()
    enable(daemon, True)
    while daemon.metrics()[OK] < before + events:
        time.sleep(0.1)
    daemon.settle()
    return events / (time.monotonic() - begin), (daemon.cpu_seconds() - cpu) / events * 1e6


def measure(scheme, events, runs):
    sink = Sink()
    daemon = Daemon(options=["--ca-file", str(sink.ca)])
    try:
        port = sink.port if scheme == "http" else sink.tls_port
        daemon.accounts(APPS, lambda i: "%s://127.0.0.1:%d/app/%d" % (scheme, port, i))
        rates, ceilings, cpus = [], [], []
        for _ in range(runs):
            ceilings.append(wrk(port, scheme=scheme))
            rate, cpu = drain(daemon, events)
            rates.append(rate)
            cpus.append(cpu)
        row("backlog drained, %s, callbacks/s" % scheme, spread(rates), "wrk " + spread(ceilings),
            statistics.median(r / c for r, c in zip(rates, ceilings)), ">= 0.40")
        bare = parts(sink, scheme)
        row("  CPU of the daemon, us/callback", spread(cpus), "sender alone %.3g" % bare["sender, " + scheme],
            statistics.median(cpus) / bare["sender, " + scheme])
    finally:
        daemon.close()
        sink.close()


def main():
    events = argument(1, 300000)
    runs = argument(2, 3)
    header()
    for scheme in ("http", "https"):
        measure(scheme, events, runs)


main()

#!/usr/bin/env python3
"""One destination or 1,000: end to end with 1,000 apps, whose URLs all name one address, or an
address each. Two daemons on one core take turns; the goal is that 1,000 are not slower.

    bench/destinations.py [EVENTS per run] [PAIRS]
"""
import statistics
import time

from common import Daemon, Sink, argument, header, row, spread

APPS = 1000
OK = 'postbackd_attempts_total{result="ok"}'


def run(daemon, events):
    sent, begin = daemon.metrics()[OK], time.monotonic()
    daemon.load(APPS, events, batch=100, connections=4)
    while daemon.metrics()[OK] < sent + events:
        time.sleep(0.02)
    daemon.settle()
    return events / (time.monotonic() - begin)


def main():
    events = argument(1, 200000)
    pairs = argument(2, 5)
    sink, one, many = Sink(), Daemon(), Daemon()
    try:
        one.accounts(APPS, lambda i: "http://127.0.0.1:%d/app/%d" % (sink.port, i))
        many.accounts(APPS, lambda i: "http://127.0.%d.%d:%d/app/%d" % (i // 250, i % 250 + 1, sink.port, i))
        for daemon in (one, many):
            run(daemon, events // 4)
        ones, manys = [], []
        for _ in range(pairs):
            ones.append(run(one, events))
            manys.append(run(many, events))
        header()
        row("1,000 destinations, events/s", spread(manys), "one destination " + spread(ones),
            statistics.median(m / o for m, o in zip(manys, ones)), ">= 0.8")
    finally:
        for daemon in (one, many):
            daemon.close()
        sink.close()


main()

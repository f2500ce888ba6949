#!/usr/bin/env python3
"""What a report costs as the store grows: the same rows from a hundred times the events.

Two daemons, each with 50 clients of one account and events on each of the last 366 days (imported,
nothing is sent): one with SMALL events, one with LARGE. Each report over all of it is read in
turns from both; the events differ, the rows do not.

    bench/reports.py [LARGE] [SMALL] [ROUNDS]       bench/reports.py 500000 50000 for a short one
"""
import datetime
import json
import statistics
import time

from common import DAEMON_CORE, Daemon, argument, header, row, spread

CLIENTS, DAYS = 50, 366
REPORTS = ("earnings", "arpdau", "survey-attempts", "conversions", "active-panelist")


def filled(events):
    daemon = Daemon(DAEMON_CORE)
    daemon.accounts(CLIENTS, lambda i: "http://127.0.0.1:9/app/%d" % i, partners=1)
    daemon.idle = daemon.rss_mib()
    daemon.load(CLIENTS, events, batch=1000, query="?deliver=false", days=DAYS)
    daemon.settle()
    return daemon


def read(daemon, report, last):
    path = "/api/v1/reports/%s?partnerId=bench_p0&startDate=%s&endDate=%s" % (
        report, last - datetime.timedelta(days=DAYS - 1), last)
    begin = time.monotonic()
    data = daemon.request("GET", path)
    return (time.monotonic() - begin) * 1000, data


def main():
    large = argument(1, 5000000)
    small = argument(2, 50000)
    rounds = argument(3, 9)
    last = datetime.datetime.now(datetime.timezone.utc).date()
    daemons = []
    try:
        for events in (small, large):
            daemons.append(filled(events))
        header()
        for report in REPORTS:
            took, rows = [[], []], [0, 0]
            for _ in range(rounds):
                for i, daemon in enumerate(daemons):
                    ms, data = read(daemon, report, last)
                    took[i].append(ms)
                    rows[i] = len(json.loads(data)["Rows"])
            row("%s, %d rows, ms" % (report, rows[1]), "%d events: %s" % (large, spread(took[1])),
                "%d (%d rows): %s" % (small, rows[0], spread(took[0])),
                statistics.median(b / a for a, b in zip(*took)), "<= 2")
        row("memory, MiB", "idle %.0f, after %.0f" % (daemons[1].idle, daemons[1].rss_mib()),
            "idle %.0f, after %.0f" % (daemons[0].idle, daemons[0].rss_mib()))
    finally:
        for daemon in daemons:
            daemon.close()


main()

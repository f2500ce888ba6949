#!/usr/bin/env python3
"""What the callback log costs as the store grows: each search with SMALL and with LARGE callbacks
in the store, in turns, and how late callbacks are while people click.

    bench/log_search.py [LARGE] [SMALL] [ROUNDS] [DIR]    bench/log_search.py 1000000 for a short one

Both stores are filled directly (bench/fill.c): one account of 20 apps, every callback tried, 1 in
5,000 dead, 20 of a type that nothing else has, as old as can be; a hundred of each panelist, who
come more as a network grows, not more often. The searches that find little or
nothing are the hard ones: they cannot stop early. DIR: the larger store, used and kept, made when
it is not there. Latency is that of 300 single events a second to bench/sink, without and with four
people who click through all the searches, in alternating slices.
"""
import datetime
import statistics
import subprocess
import sys
import threading
import time

from common import (BUILD, DAEMON_CORE, LOAD_CORE, Daemon, Reader, ages, argument, free_port, header, pinned, row,
                    spread, wait_port)

APPS, RATE, SLICE_S, SLICES, PEOPLE, PAUSE_S = 20, 300, 10, 4, 4, 0.25


def filled(callbacks, sink_port, kept=None):
    daemon = Daemon(DAEMON_CORE, kept=kept)
    url = "http://127.0.0.1:%d/" % sink_port
    if daemon.is_new:
        daemon.accounts(APPS, lambda i: url, partners=1)
        daemon.stop()
        daemon.fill(callbacks, 0, APPS, "log-of-callbacks")
        daemon.start()
    else:
        for i in range(APPS):
            daemon.request("PATCH", "/api/v1/apps/bench_a%d" % i, dict.fromkeys(
                ("SuccessCallbackUrl", "FailureCallbackUrl", "OfferCallbackUrl"), url))
    return daemon


def moment(text, seconds):
    at = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) + datetime.timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (at.microsecond // 1000)


def searches(reader):
    """{what: query}, with ids and times that this store has."""
    oldest = reader.search("&rewardType=ad_hoc&limit=20")[1][-1]
    newest = reader.search("&limit=1")[1][0]
    begin, end = (datetime.datetime.fromisoformat(e["CreatedAt"].replace("Z", "+00:00")) for e in (oldest, newest))
    middle = (end - begin).total_seconds() / 2
    upto = "&to=" + moment(oldest["CreatedAt"], middle)
    some = reader.search(upto + "&limit=1")[1][0]
    between = "&from=%s&to=%s" % (moment(some["CreatedAt"], -0.2), moment(some["CreatedAt"], 0))
    panelist, app = "&panelistId=" + some["PanelistId"], "&appId=" + some["AppId"]
    rare, dead, click = "&rewardType=ad_hoc", "&state=dead", "&rewardType=offer_clicked"
    return {
        "first page": "", "RewardId": "&rewardId=" + some["RewardId"], "PanelistId": panelist,
        "type, common": click, "type, rare": rare, "type, none": "&rewardType=profiler_completed",
        "state delivered": "&state=delivered", "state dead": dead, "state skipped, none": "&state=skipped",
        "state pending, none": "&state=pending", "app": app, "time, 0.2 s": between, "time, the older half": upto,
        "type + state": click + dead, "type + state, none": rare + dead, "app + type, rare": app + rare,
        "app + state": app + dead, "app + type + state": app + click + dead, "time + type, rare": upto + rare,
        "time + state": upto + dead, "time + app + type + state": upto + app + click + dead,
        "PanelistId + type": panelist + click, "PanelistId + state": panelist + dead,
        "PanelistId + time + app": panelist + upto + app,
    }


def compare(daemons, counts, rounds):
    readers = [Reader(d) for d in daemons]
    asked = [searches(r) for r in readers]
    for what in asked[0]:
        took, found = [[], []], [0, 0]
        for _ in range(rounds):
            for i, reader in enumerate(readers):
                ms, items = reader.search(asked[i][what])
                took[i].append(ms)
                found[i] = len(items)
        row("%s, ms" % what, "%d, %d found: %s" % (counts[1], found[1], spread(took[1])),
            "%d, %d found: %s" % (counts[0], found[0], spread(took[0])),
            statistics.median(took[1]) / statistics.median(took[0]), "<= 2, 100 ms")


def click(daemon, queries, stop, took):
    reader, at = Reader(daemon), 0
    while not stop.is_set():
        took.append(reader.search(queries[at % len(queries)])[0])
        at += 1
        stop.wait(PAUSE_S)


def slice_of(daemon, port):
    ages(port)
    daemon.load(APPS, RATE * SLICE_S, batch=1, connections=4, rate=RATE)
    time.sleep(1)
    return ages(port)["p99_us"]


def clicked_slice(daemon, port, queries, took):
    stop = threading.Event()
    people = [threading.Thread(target=click, args=(daemon, queries[i:] + queries[:i], stop, took))
              for i in range(0, 4 * PEOPLE, 4)]
    for one in people:
        one.start()
    try:
        return slice_of(daemon, port)
    finally:
        stop.set()
        for one in people:
            one.join()


def main():
    large = argument(1, 10000000)
    small = argument(2, 100000)
    rounds = argument(3, 15)
    kept = sys.argv[4] if len(sys.argv) > 4 else None
    port, daemons = free_port(), []
    sink = subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "sink", port]))
    try:
        wait_port(port)
        daemons.append(filled(small, port))
        daemons.append(filled(large, port, kept))
        header()
        compare(daemons, (small, large), rounds)
        queries = list(searches(Reader(daemons[1])).values())
        slice_of(daemons[1], port)  # connections, statements
        alone, clicked, took = [], [], []
        for _ in range(SLICES):
            alone.append(slice_of(daemons[1], port))
            clicked.append(clicked_slice(daemons[1], port, queries, took))
        row("sent to arrived at %d/s, p99, us, %d people click" % (RATE, PEOPLE), spread(clicked),
            "nobody clicks: " + spread(alone), statistics.median(a / b for a, b in zip(clicked, alone)))
        row("their searches meanwhile, ms", spread(took))
    finally:
        for daemon in daemons:
            daemon.close()
        sink.terminate()
        sink.wait()


main()

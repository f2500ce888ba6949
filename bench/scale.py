#!/usr/bin/env python3
"""What the past costs: everything a partner or an operator does, with LARGE and with SMALL callbacks
in the store, in turns, one daemon for each.

    bench/scale.py [LARGE] [SMALL] [ROUNDS] [DIR]    bench/scale.py 2000000 100000 3 for a short one

Both stores are filled directly (bench/fill.c): one account of 50 apps with a client each, events of
the last 366 days, a hundred of each panelist, all final, with their bodies; those of the last 30 days
have their attempts, too. DIR: the larger store, used and kept, made when it is not there; without it,
BENCH_DIR says where both are made. A million callbacks take 16 s of CPU and 0.35 GB to fill: expect
an hour and 35 GB for 100 million.

Rates are of a whole run: taken in and durable (nothing to send), and sent to delivered and recorded.
A start is timed from exec to the first callback that arrives, after SIGKILL with the journal at its
bound. Memory is read when all that is done: the process's own, and with what it has mapped from
files, of which the system drops what it needs room for.
"""
import json
import random
import statistics
import subprocess
import sys
import time

from common import (BUILD, DAEMON_CORE, LOAD_CORE, Daemon, Reader, Sink, ages, argument, free_port, header,
                    memory_parts, pinned, row, spread, until_arrived, wait_port)

APPS, DAYS, KNOWN, RUN_EVENTS, RESTARTS = 50, 366, 200, 100000, 3
REPORTS = ("earnings", "arpdau", "survey-attempts", "conversions", "active-panelist")
DELIVERED = 'postbackd_attempts_total{result="ok"}'


def filled(callbacks, url, kept=None):
    daemon = Daemon(DAEMON_CORE, kept=kept)
    if daemon.is_new:
        daemon.accounts(APPS, lambda i: url, partners=1)
        daemon.stop()
        began = time.monotonic()
        daemon.fill(callbacks, 0, APPS, "log-of-callbacks", DAYS)
        row("filled with %d, s; GB" % callbacks, "%.0f; %.2f" % (time.monotonic() - began, folder_gb(daemon.dir)))
        daemon.start()
    else:
        send_to(daemon, url)
    return daemon


def folder_gb(folder):
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e9


def send_to(daemon, url):
    urls = dict.fromkeys(("SuccessCallbackUrl", "FailureCallbackUrl", "OfferCallbackUrl"), url)
    for i in range(APPS):
        daemon.request("PATCH", "/api/v1/apps/bench_a%d" % i, urls)


def some_callbacks(reader, callbacks):
    """Of all ages: those of a panelist come from the whole time."""
    found = []
    while len(found) < KNOWN:
        page = reader.search("&panelistId=panelist-%06d" % random.randrange(callbacks // 100))[1]
        found += random.sample(page, min(len(page), 1))
    return found


class Measured:
    """One daemon of the two, and what each thing took."""

    def __init__(self, daemon, callbacks):
        self.daemon, self.callbacks, self.reader = daemon, callbacks, Reader(daemon)
        self.figures = {}
        self.known = some_callbacks(self.reader, callbacks)

    def note(self, what, value):
        self.figures.setdefault(what, []).append(value)

    def take_in(self):
        began = time.monotonic()
        self.daemon.load(APPS, RUN_EVENTS, batch=256, query="?deliver=false")
        self.daemon.settle()
        self.note("taken in, events/s", RUN_EVENTS / (time.monotonic() - began))

    def send(self):
        before, cpu, began = self.daemon.metrics()[DELIVERED], self.daemon.cpu_seconds(), time.monotonic()
        self.daemon.load(APPS, RUN_EVENTS, batch=100)
        while self.daemon.metrics()[DELIVERED] < before + RUN_EVENTS:
            time.sleep(0.02)
        self.daemon.settle()
        self.note("end to end, events/s", RUN_EVENTS / (time.monotonic() - began))
        self.note("CPU of an event, us", (self.daemon.cpu_seconds() - cpu) / RUN_EVENTS * 1e6)

    def ask(self):
        """As one click behind the other."""
        one = random.choice(self.known)
        event = {"EventId": one["RewardId"], "Type": "survey_started", "ClientId": one["ClientId"],
                 "PanelistId": one["PanelistId"]}
        ms, data = self.reader.ask("POST", "/api/v1/events", json.dumps([event]))
        if json.loads(data)["Accepted"]:
            raise RuntimeError("taken twice: %s" % one["RewardId"])
        self.note("an EventId that is known, ms", ms)
        self.note("the log's first page, ms", self.reader.search("")[0])
        self.note("a RewardId, ms", self.reader.search("&rewardId=" + one["RewardId"])[0])
        self.note("a PanelistId, ms", self.reader.search("&panelistId=" + one["PanelistId"])[0])

    def report(self, name, days):
        self.note("report %s, ms" % name, self.reader.ask(
            "GET", "/api/v1/reports/%s?partnerId=bench_p0&startDate=%s&endDate=%s" % (name, *days))[0])

    def restart(self, port):
        """The sink at `port` tells when the first one comes."""
        self.daemon.stop()
        self.daemon.fill(0, 0, APPS, "log")
        ages(port)
        began = time.monotonic()
        self.daemon.start()
        until_arrived(port)
        self.note("kill -9 to the first delivery, s", time.monotonic() - began)
        while self.daemon.metrics()["postbackd_callbacks_pending"]:
            time.sleep(0.2)
        self.daemon.settle()


def days_of_reports():
    now = time.time()
    return [time.strftime("%Y-%m-%d", time.gmtime(now - 86400 * age)) for age in (DAYS - 1, 0)]


def until_idle(daemon):
    """Until its bundles are made: each step of one waits for a quiet moment, and some for events."""
    began = time.monotonic()
    for _ in range(20):
        daemon.load(APPS, 1000, batch=100, query="?deliver=false")
        daemon.settle()
        before = -1
        while daemon.cpu_seconds() - before > 0.05:
            before = daemon.cpu_seconds()
            time.sleep(1)
    row("idle after, s", "%.0f" % (time.monotonic() - began))


def measure(both, rounds, port):
    for one in both:
        until_idle(one.daemon)
    for one in both * 2:
        one.take_in()
        one.send()
        one.figures.clear()  # connections, statements, caches
    for _ in range(rounds):
        for step in (Measured.take_in, Measured.send):
            for one in both:
                step(one)
        for one in both:
            one.reader = Reader(one.daemon)  # an idle connection is closed meanwhile
        for _ in range(20):
            for one in both:
                one.ask()
        for name in REPORTS:
            for one in both:
                one.report(name, days_of_reports())
    for one in both:
        one.note("memory, MiB", one.daemon.rss_mib("RssAnon"))
        one.note("with mapped files, MiB", one.daemon.rss_mib())
        one.parts = memory_parts(one.daemon)
    for one in both:
        send_to(one.daemon, "http://127.0.0.1:%d/" % port)
    for _ in range(RESTARTS):
        for one in both:
            one.restart(port)


def print_figures(small, large):
    goals = {"taken": ">= 0.95", "end": ">= 0.95", "CPU": "", "kill": "<= 1.2, 1 s", "memory": "<= 1.3", "with": ""}
    for what, values in large.figures.items():
        row(what, "%d: %s" % (large.callbacks, spread(values)), "%d: %s" % (small.callbacks, spread(small.figures[what])),
            statistics.median(values) / statistics.median(small.figures[what]), goals.get(what.split(" ")[0].rstrip(","), "<= 1.5"))
    print("    memory: %s\n    beside: %s" % (large.parts, small.parts), flush=True)


def main():
    large = argument(1, 100000000)
    small = argument(2, 1000000)
    rounds = argument(3, 9)
    kept = sys.argv[4] if len(sys.argv) > 4 else None
    port, perfect, daemons = free_port(), Sink(), []
    sink = subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "sink", port]))
    try:
        wait_port(port)
        header()
        for callbacks, folder in ((small, None), (large, kept)):
            daemons.append(filled(callbacks, "http://127.0.0.1:%d/app" % perfect.port, folder))
        both = [Measured(daemon, callbacks) for daemon, callbacks in zip(daemons, (small, large))]
        measure(both, rounds, port)
        print_figures(*both)
    finally:
        for daemon in daemons:
            daemon.close()
        perfect.close()
        sink.terminate()
        sink.wait()


main()

#!/usr/bin/env python3
"""The most memory that intake takes, whatever the sizes of what comes in.

Four connections post as fast as they are answered, each next request the moment the last one was
taken (429 and 503: after a moment, again), while a local sink receives the callbacks. Each case has
a daemon of its own; printed is the most that was resident at any time (VmHWM), and of what it said
that it was made of when that was read a few times a second.

    bench/memory.py [EVENTS of the small cases] [CASE...]
"""
import http.client
import sys
import threading
import time

from common import KEY, Daemon, Sink, argument, header, memory_parts, row

GOAL_MIB = 192
APPS = 100
TEXT = '\\"' * 1024  # one byte each, two in a callback's body


def small(i, n):
    return '{"EventId":"s%d","Type":"survey_completed","ClientId":"bench_%d","PanelistId":"u%d","RevenueAmount":1}' % (
        n, i, n % 10000)


def largest(i, n):
    """Every text as long as it may be, each byte of it escaped."""
    return ('{"EventId":"%s%d","Type":"offer_completed","ClientId":"bench_%d","PanelistId":"%s","RevenueAmount":1,'
            '"OfferId":9007199254740991,"OfferTitle":"%s","OfferGoalId":"%s","SessionId":"%s"}') % (
        "L" * 110, n, i, '\\"' * 256, TEXT, TEXT, TEXT)


def reversal(i, n):
    """86 bytes that copy some 3 KB from their original, twice."""
    return '{"EventId":"R%d","Type":"offer_completion_reversed","ClientId":"bench_%d","OriginalRewardId":"%s%d"}' % (
        n, i, "L" * 110, n)


def post(connection, body):
    """Until it is taken; how often it was refused."""
    refused = 0
    while True:
        connection.request("POST", "/api/v1/events", body, {"X-Api-Key": KEY, "Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        if answer.status == 202:
            assert b'"Rejected":[]' in data, data[:500]
            return refused
        if answer.status not in (429, 503):
            raise RuntimeError("%d %s" % (answer.status, data[:300]))
        refused += 1
        time.sleep(0.05)


def flood(daemon, make, events, batch, connections=4):
    """events in all; returns seconds and refusals."""
    refused, begin = [0] * connections, time.monotonic()

    def run(k):
        c = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=120)
        for at in range(k * batch, events, connections * batch):
            items = [make(n % APPS, n) for n in range(at, min(at + batch, events))]
            refused[k] += post(c, "[" + ",".join(items) + "]")
        c.close()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(connections)]
    for t in threads:
        t.start()
    parts, most = "", 0
    while any(t.is_alive() for t in threads):
        mib = daemon.rss_mib()
        if mib > most:
            most, parts = mib, memory_parts(daemon)
        time.sleep(0.1)
    return time.monotonic() - begin, sum(refused), parts


def case(name, steps, options=()):
    """Steps of (make, events, batch, sink or none), one after the other on one daemon."""
    sink, daemon = Sink(), Daemon(options=options)
    try:
        with_sink = steps[0][3]
        daemon.accounts(APPS, lambda i: "http://127.0.0.1:%d/app/%d" % (sink.port if with_sink else 9, i))
        idle = daemon.rss_mib()
        for make, events, batch, _ in steps:
            seconds, refused, parts = flood(daemon, make, events, batch)
        row(name, "most %.0f MiB, idle %.0f, in %.1f s" % (daemon.rss_mib("VmHWM"), idle, seconds),
            "%d refusals" % refused, None, "<= %d" % GOAL_MIB)
        print("    at its most: " + parts, flush=True)
    finally:
        daemon.close()
        sink.close()


def main():
    events = argument(1, 400000)
    wanted = sys.argv[2:]
    large = events // 20
    cases = {
        "small": [(small, events, 2000, True)],
        "small_waiting": [(small, events, 2000, False)],
        "largest": [(largest, large, 900, True)],
        "largest_waiting": [(largest, large, 900, False)],
        "reversals": [(largest, large, 900, True), (reversal, large, 10000, True)],
    }
    header()
    for name, steps in cases.items():
        if not wanted or name in wanted:
            case(name, steps)


main()

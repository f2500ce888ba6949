#!/usr/bin/env python3
"""An outage: PARTNERS partners are down for a while under load, then back.

Two events a second to each of them and 200 a second to 20 healthy ones, all through. Looked at: the
healthy p99 (sent to arrived) before, during the outage and while the backlog drains; what each
returning receiver sees at once, beside a window that begins at 1 and grows by 1/n per answer; how far
from the order of sending callbacks come; that each comes once. The retry schedule is shortened, so
that the minutes stand for hours: every slot but the last ones passes during the outage.

    bench/outage.py [PARTNERS] [SECONDS before] [SECONDS down] [SECONDS after]
"""
import subprocess
import sys
import threading
import time

from common import BUILD, LOAD_CORE, Daemon, ages, free_port, header, pinned, row, wait_port

HEALTHY, RATE, PER_PARTNER = 20, 200, 2
DELAY_MS = 20
SCHEDULE = "500ms,3s,8s,15s,30s,60s,5m,30m"


def back(port):
    process = subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "returning", port, DELAY_MS]))
    wait_port(port)
    return process


def end(process):
    process.terminate()
    process.wait()


def phase(daemon, sink_port, seconds):
    ages(sink_port)
    daemon.load(HEALTHY, seconds * RATE, batch=1, connections=2, rate=RATE)
    time.sleep(0.3)
    return ages(sink_port)


def main():
    partners, before, down, after = ([int(a) for a in sys.argv[1:]] + [200, 20, 120, 40][len(sys.argv) - 1:])
    sink_port, port = free_port(), free_port()
    sink, receivers = subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "sink", sink_port])), back(port)
    daemon = Daemon(options=["--retry-schedule", SCHEDULE])
    try:
        wait_port(sink_port)
        daemon.accounts(HEALTHY + partners, lambda i: "http://127.0.0.1:%d/app/%d" % (sink_port, i) if i < HEALTHY
                        else "http://127.1.%d.%d:%d/app/%d" % ((i - HEALTHY) // 250, (i - HEALTHY) % 250 + 1, port, i))
        rate = partners * PER_PARTNER
        side = threading.Thread(target=daemon.load, args=(partners, rate * (before + 5 + down + after)), kwargs=dict(
            batch=10, connections=1, rate=rate, first=HEALTHY))
        side.start()
        phase(daemon, sink_port, 5)
        healthy = [phase(daemon, sink_port, before)]
        end(receivers)
        healthy.append(phase(daemon, sink_port, down))
        waited, memory, suspended = (daemon.metrics()["postbackd_callbacks_pending"], daemon.rss_mib(),
                                     daemon.metrics()["postbackd_lanes_suspended"])
        receivers, began = back(port), time.monotonic()
        healthy.append(phase(daemon, sink_port, after))
        side.join()
        drained = None
        while time.monotonic() - began < after + 300:
            m = daemon.metrics()
            if m["postbackd_callbacks_pending"] == 0:
                drained = time.monotonic() - began
                break
            time.sleep(0.5)
        seen = ages(port)
        accepted, delivered, dead = (m["postbackd_events_accepted_total"], m["postbackd_callbacks_delivered_total"],
                                     m["postbackd_callbacks_dead_total"])
        header()
        base = healthy[0]["p99_us"]
        for name, h in zip(("before", "during the outage", "while it drains"), healthy):
            row("healthy p99 %s, us" % name, "%d (p50 %d)" % (h["p99_us"], h["p50_us"]), "before: %d" % base,
                h["p99_us"] / base, "<= 1.2")
        row("waiting at the end of the outage", "%d, %d lanes suspended" % (waited, suspended), "%.0f MiB" % memory)
        row("all delivered after the return, s", "%s" % (drained and "%.0f" % drained))
        row("accepted, delivered, dead", "%d, %d, %d" % (accepted, delivered, dead), goal="all delivered")
        row("open at once at one receiver, at most", "%d" % seen["most"], goal="64, its MaxConcurrency")
        row("came beyond the window that it had earned", "%d of %d" % (seen["beyond"], seen["count"]), goal="0")
        row("places away from the order of sending", "p99 %d, at most %d" % (seen["displaced_p99"], seen["displaced_most"]))
    finally:
        daemon.close()
        end(receivers)
        end(sink)


main()

#!/usr/bin/env python3
"""What waits costs next to nothing: memory with WAITING callbacks on dead lanes, and how soon the
first delivery comes after kill -9 and a start on such a store.

    bench/waiting.py [WAITING] [LANES] [DIR]

The store is filled directly (bench/fill.c), all lanes but the last refuse connections. Memory is
looked at when the daemon has found the lanes dead, and again after half a minute of healthy traffic
with every kind of read, so that every cache has had its use. The restart is after a kill with the
journal at its bound: two memtables full and none of it in SQLite. DIR: a store to use and keep,
made when it is not there.
"""
import subprocess
import sys
import time

from common import (BUILD, LOAD_CORE, Daemon, ages, argument, free_port, header, memory_parts, pinned, read_everything,
                    row, spread, until_arrived, wait_port)

RESTARTS = 3


def restart(daemon, port, lanes):
    """How many events only the journal had, seconds from exec to the first delivery, and memory."""
    log = daemon.fill(0, 0, lanes + 1, "log")
    ages(port)
    began = time.monotonic()
    daemon.start()
    until_arrived(port)
    first = time.monotonic() - began
    while ages(port)["count"]:  # the rest of that lane's
        time.sleep(0.2)
    daemon.load(1, 1, batch=1, connections=1, first=lanes)
    until_arrived(port)
    most = daemon.rss_mib("VmHWM")
    time.sleep(15)
    after = daemon.rss_mib()
    daemon.process.kill()
    daemon.process.wait()
    return log, first, most, after


def main():
    waiting = argument(1, 1000000)
    lanes = argument(2, 100)
    kept = sys.argv[3] if len(sys.argv) > 3 else None
    port, dead = free_port(), free_port()
    sink = subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "sink", port]))
    daemon = Daemon(kept=kept)
    try:
        wait_port(port)
        if daemon.is_new:
            daemon.accounts(lanes + 1, lambda i: "http://127.0.0.1:%d/" % port if i == lanes
                            else "http://127.1.%d.%d:%d/" % (i // 250, i % 250 + 1, dead))
            time.sleep(2)
        else:
            url = "http://127.0.0.1:%d/" % port
            daemon.request("PATCH", "/api/v1/apps/bench_a%d" % lanes, dict.fromkeys(
                ("SuccessCallbackUrl", "FailureCallbackUrl", "OfferCallbackUrl"), url))
        idle, idle_parts = daemon.rss_mib(), memory_parts(daemon)
        daemon.stop()
        began = time.monotonic()
        if daemon.is_new:
            daemon.fill(waiting, 0, lanes)
        took = time.monotonic() - began
        daemon.start()
        time.sleep(20)
        found, found_parts = daemon.rss_mib(), memory_parts(daemon)
        daemon.load(1, 15000, batch=1, connections=2, rate=500, first=lanes)
        read_everything(daemon)
        warm, warm_parts = daemon.rss_mib(), memory_parts(daemon)
        waits = daemon.metrics()["postbackd_callbacks_pending"]
        daemon.stop()
        restarts = [restart(daemon, port, lanes) for _ in range(RESTARTS)]
        header()
        row("filled with %d in s" % waiting, "%.0f" % took)
        row("idle, MiB", "%.0f" % idle, idle_parts)
        row("%d waiting on %d dead lanes, MiB" % (waits, lanes), "%.0f" % found, found_parts,
            goal="160 with 1 million, 224 with 10")
        row("the same after 15,000 healthy ones and all reads", "%.0f" % warm, warm_parts)
        row("kill -9 with %d in the log: exec to first delivery, s" % restarts[0][0],
            spread([r[1] for r in restarts]), goal="<= 1, and 2 x that with 10 million")
        row("memory then, MiB, at most", spread([r[2] for r in restarts]))
        row("memory 15 s later, MiB", spread([r[3] for r in restarts]))
    finally:
        daemon.close()
        sink.terminate()
        sink.wait()


main()

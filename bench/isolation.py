#!/usr/bin/env python3
"""Isolation: does steady traffic to bad receivers make the healthy ones wait?

RATE healthy events a second, and 2 a second to each of BAD receivers that accept and never answer
(black holes), against the same rate to as many healthy ones. Alternating pairs on fresh daemons;
the ratio of the healthy p99 (sent to arrived) is what counts.

    bench/isolation.py [BAD] [SECONDS per run] [PAIRS] [RATE]
"""
import socket
import statistics
import subprocess
import sys
import threading
import time

from common import BUILD, LOAD_CORE, Daemon, ages, free_port, header, pinned, row, spread, wait_port

HEALTHY = 20
PER_BAD = 2


class BlackHoles:
    """Accepts on one port for every 127.0.x.y asked for, reads nothing, answers nothing."""

    def __init__(self):
        self.socket = socket.create_server(("0.0.0.0", 0), backlog=4096)
        self.port = self.socket.getsockname()[1]
        self.kept = []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                self.kept.append(self.socket.accept()[0])
            except OSError:
                return

    def url(self, i):
        return "http://127.1.%d.%d:%d/app/%d" % (i // 250, i % 250 + 1, self.port, i)

    def close(self):
        self.socket.close()
        for s in self.kept:
            s.close()


def measure(bad, bad_url, sink_port, seconds, rate):
    daemon = Daemon()
    try:
        daemon.accounts(HEALTHY + bad, lambda i: "http://127.0.0.1:%d/app/%d" % (sink_port, i) if i < HEALTHY
                        else bad_url(i))
        side = threading.Thread(target=daemon.load, args=(bad, int(bad * PER_BAD * (seconds + 4))), kwargs=dict(
            batch=10, connections=1, rate=bad * PER_BAD, first=HEALTHY))
        side.start()
        time.sleep(3)
        ages(sink_port)
        daemon.load(HEALTHY, seconds * rate, batch=1, connections=2, rate=rate)
        side.join()
        time.sleep(1)
        return ages(sink_port)
    finally:
        daemon.close()


def main():
    bad = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    rate = int(sys.argv[4]) if len(sys.argv) > 4 else 200
    ports = [free_port(), free_port()]
    sinks = [subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "sink", p])) for p in ports]
    holes = BlackHoles()
    try:
        for p in ports:
            wait_port(p)
        good, hurt = [], []
        for _ in range(pairs):
            good.append(measure(bad, lambda i: "http://127.0.0.1:%d/other/%d" % (ports[1], i), ports[0], seconds, rate))
            hurt.append(measure(bad, holes.url, ports[0], seconds, rate))
        header()
        for name in ("p50_us", "p99_us"):
            row("healthy %s with %d black holes" % (name, bad), spread([h[name] for h in hurt]),
                "as many healthy ones " + spread([g[name] for g in good]),
                statistics.median(h[name] / g[name] for h, g in zip(hurt, good)), "<= 1.2")
        row("healthy callbacks arrived", spread([h["count"] for h in hurt]), "of " + spread([g["count"] for g in good]))
    finally:
        holes.close()
        for sink in sinks:
            sink.terminate()
            sink.wait()


main()

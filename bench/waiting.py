#!/usr/bin/env python3
"""What waits costs next to nothing: memory with WAITING callbacks on dead lanes, and how soon the
first healthy delivery comes after kill -9 and a start on such a store.

    bench/waiting.py [WAITING] [LANES]
"""
import signal
import subprocess
import sys
import time

from common import BUILD, LOAD_CORE, Daemon, ages, free_port, header, pinned, row, wait_port


def main():
    waiting = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
    lanes = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    port, dead = free_port(), free_port()
    sink = subprocess.Popen(pinned(LOAD_CORE, [BUILD / "bench" / "sink", port]))
    daemon = Daemon()
    try:
        wait_port(port)
        daemon.accounts(lanes + 1, lambda i: "http://127.0.0.1:%d/" % port if i == lanes
                        else "http://127.1.%d.%d:%d/" % (i // 250, i % 250 + 1, dead))
        idle = daemon.rss_mib()
        daemon.load(lanes, waiting, batch=500, connections=2)
        daemon.settle()
        time.sleep(5)
        full = daemon.rss_mib()
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
        began = time.monotonic()
        daemon.start()
        ready = time.monotonic() - began
        ages(port)
        daemon.load(1, 1, batch=1, connections=1, first=lanes)
        while not ages(port)["count"]:
            time.sleep(0.002)
        first = time.monotonic() - began
        time.sleep(5)
        header()
        row("memory with %d waiting, MiB" % waiting, "%.0f" % full, "idle %.0f" % idle, goal="<= 160 for 1,000,000")
        row("memory after the restart, MiB", "%.0f" % daemon.rss_mib())
        row("start after kill -9: listening, s", "%.2f" % ready)
        row("start after kill -9: a new callback arrived, s", "%.2f" % first, goal="<= 1")
    finally:
        daemon.close()
        sink.terminate()
        sink.wait()


main()

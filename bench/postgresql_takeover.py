#!/usr/bin/env python3
"""How soon the other nodes deliver what a node had that was killed by SIGKILL, on PostgreSQL.

Three nodes, APPS apps over their shards. A node is killed, one event of each app is taken in at
another one right then, and the time ends when the last of their callbacks has arrived: that of the
slowest of the victim's shards. Then a new node comes and takes its share, and so on, KILLS times. Once with
nodes that see each other's processes, and once with victims in a PID namespace of their own, whose
end nobody sees: as on another machine, their lease must run out (needs root).

    bench/postgresql_takeover.py [KILLS of each kind] [APPS]
"""
import os
import statistics
import subprocess
import sys
import time

from common import BUILD, Daemon, ages, free_port, header, pinned, row, wait_port
from database import Nodes, OTHERS_CORE, Server

ELSEWHERE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


def report(daemon, apps):
    daemon.load(apps, 10 * apps, batch=10 * apps, connections=1, core=OTHERS_CORE)


def wait_arrived(port, count):
    arrived = 0
    while arrived < count:
        arrived += ages(port)["count"]
        time.sleep(0.005)


def takeover(nodes, port, apps, within):
    """Seconds from the kill to the last callback."""
    victim = Daemon(core=OTHERS_CORE, uri=nodes.uri, options=["--node-name", "victim"], within=within)
    try:
        nodes.all.append(victim)
        nodes.wait_even()
        report(nodes.all[0], apps)
        wait_arrived(port, 10 * apps)
        nodes.all.remove(victim)
        began = time.monotonic()
        victim.process.kill()
        victim.process.wait()
        report(nodes.all[0], apps)
        wait_arrived(port, 10 * apps)
        return time.monotonic() - began
    finally:
        victim.process.kill()
        victim.close()


def main():
    given = [int(word) for word in sys.argv[1:]]
    kills, apps = given + [20, 60][len(given):]
    port, server, nodes = free_port(), Server(), None
    sink = subprocess.Popen(pinned(OTHERS_CORE, [BUILD / "bench" / "sink", port]))
    try:
        wait_port(port)
        nodes = Nodes(server.database("run"), 2)
        nodes.all[0].accounts(apps, lambda i: "http://127.0.0.1:%d/app/%d" % (port, i))
        header()
        for where, within in (("on another machine", ELSEWHERE), ("on the same machine", ())):
            if within and os.getuid() != 0:
                row("a node killed %s" % where, "skipped: needs root")
                continue
            found = [takeover(nodes, port, apps, within) for _ in range(kills)]
            row("a node killed %s: until all its shards deliver, s" % where,
                "%.2f (worst of %d: %.2f)" % (statistics.median(found), kills, max(found)),
                "least %.2f" % min(found))
    finally:
        if nodes:
            nodes.close()
        server.close()
        sink.terminate()
        sink.wait()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What many clusters cost: one node, 1, 4 and 16 databases on one PostgreSQL server, accounts spread over
them. CPU of an event end to end, of node and server; and at rest: CPU of both, threads, memory, connections.

A run counts from the first event sent until every callback is delivered and recorded. Rounds alternate. The
server has one core, the node, load and sink share the other.

    bench/postgresql_clusters.py [EVENTS per run] [ROUNDS] [BATCH] [CLUSTERS,...]
"""
import statistics
import sys
import time
from pathlib import Path

from common import SENT, Daemon, Sink, argument, header, row, spread
from database import OTHERS_CORE, Server

APPS, CONNECTIONS, REST_S = 64, 24, 20


def at_rest(server, node):
    own, theirs, begin = node.cpu_seconds(), server.cpu_seconds(), time.monotonic()
    time.sleep(REST_S)
    seconds = time.monotonic() - begin
    return {"rest node": (node.cpu_seconds() - own) / seconds * 100,
            "rest server": (server.cpu_seconds() - theirs) / seconds * 100,
            "threads": len(list(Path("/proc/%d/task" % node.process.pid).iterdir())),
            "connections": len(server.children()), "memory": node.rss_mib()}


def measure(server, sink, clusters, events, batch):
    uris = [server.database("c%d" % i) for i in range(clusters)]
    node = Daemon(core=OTHERS_CORE, uri=uris[0], options=[word for uri in uris[1:] for word in ("--store-cluster", uri)])
    try:
        node.accounts(APPS, lambda i: "http://127.0.0.1:%d/app/%d" % (sink.port, i), partners=APPS)
        node.load(APPS, 3000, batch=batch, connections=CONNECTIONS, core=OTHERS_CORE)
        node.wait_delivered(3000)
        server.checkpoint()
        sent, own, theirs, wal, begin = (node.metrics()[SENT], node.cpu_seconds(), server.cpu_seconds(),
                                         server.wal_bytes(), time.monotonic())
        node.load(APPS, events, batch=batch, connections=CONNECTIONS, core=OTHERS_CORE)
        node.wait_delivered(sent + events)
        found = {"node": (node.cpu_seconds() - own) / events * 1e6,
                 "server": (server.cpu_seconds() - theirs) / events * 1e6,
                 "wal": (server.wal_bytes() - wal) / events, "rate": events / (time.monotonic() - begin)}
        return dict(found, **at_rest(server, node))
    finally:
        node.close()
        for uri in uris:
            server.drop(uri)


def main():
    events, rounds, batch = argument(1, 30000), argument(2, 3), argument(3, 250)
    counts = [int(word) for word in sys.argv[4].split(",")] if len(sys.argv) > 4 else [1, 4, 16]
    sink, server = Sink(), Server(max_connections="1000")
    try:
        found = {count: [] for count in counts}
        for _ in range(rounds):
            for count in counts:
                found[count].append(measure(server, sink, count, events, batch))
    finally:
        server.close()
        sink.close()
    header()
    for count in counts:
        def of(name):
            return [f[name] for f in found[count]]
        name = "%d cluster%s: " % (count, "s"[:count > 1])
        total = [f["node"] + f["server"] for f in found[count]]
        first = [f["node"] + f["server"] for f in found[counts[0]]]
        row(name + "CPU of both, us/event", spread(total), "one: " + spread(first),
            statistics.median(a / b for a, b in zip(total, first)))
        row(name + "CPU of the server, us/event; WAL, bytes", spread(of("server")), spread(of("wal")))
        row(name + "events/s", spread(of("rate")))
        row(name + "at rest, % of a core: node; server", spread(of("rest node")), spread(of("rest server")))
        row(name + "threads; connections; MiB", "%d; %d; %d" % tuple(max(of(n)) for n in ("threads", "connections", "memory")))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""CPU and WAL of an event end to end on PostgreSQL, of the nodes and of the server, with 1, 2 and 3 nodes.

100 URLs, random EventIds, as fast as they are taken, CONNECTIONS in all spread evenly over the
nodes: with three, two of three events come in where their callback is not delivered from. A run
counts from the first event sent until every callback is delivered and recorded. Rounds alternate,
each on a fresh copy of one database. The server has one core, nodes, load and sink share the other:
rates with more nodes than cores say nothing, so only CPU is compared.

    bench/postgresql_nodes.py [EVENTS per run] [ROUNDS] [BATCH]
"""
import statistics
import sys
import time

from common import SENT, Daemon, Sink, header, row, spread
from database import Nodes, OTHERS_CORE, Server

COUNTS = (1, 2, 3)
CONNECTIONS = 24


def prepare(server, sink):
    """A database with the accounts, to be copied."""
    uri = server.database("base")
    daemon = Daemon(core=OTHERS_CORE, uri=uri)
    daemon.accounts(100, lambda i: "http://127.0.0.1:%d/app/%d" % (sink.port, i))
    daemon.close()


def wait_delivered(nodes, count):
    while nodes.sum(SENT) < count or nodes.all[0].metrics()["postbackd_callbacks_pending"] > 0:
        time.sleep(0.05)


def measure(server, count, events, batch):
    """CPU of the nodes and of the server, us/event; events/s; the share of events handed over."""
    uri = server.database("run", "base")
    nodes = Nodes(uri, count)
    try:
        first = nodes.load(100, 3000, CONNECTIONS, batch=batch)  # partitions made, connections open
        wait_delivered(nodes, first)
        server.checkpoint()
        sent = nodes.sum(SENT)
        own, theirs, begin = nodes.cpu_seconds(), server.cpu_seconds(), time.monotonic()
        wal = server.wal_bytes()
        events = nodes.load(100, events, CONNECTIONS, batch=batch)
        wait_delivered(nodes, sent + events)
        seconds = time.monotonic() - begin
        return {"nodes": (nodes.cpu_seconds() - own) / events * 1e6,
                "server": (server.cpu_seconds() - theirs) / events * 1e6,
                "wal": (server.wal_bytes() - wal) / events, "rate": events / seconds, "twice": (nodes.sum(SENT) - sent) / events - 1}
    finally:
        nodes.close()
        server.drop(uri)


def main():
    given = [int(word) for word in sys.argv[1:]]
    events, rounds, batch = given + [60000, 5, 250][len(given):]
    sink, server = Sink(), Server()
    try:
        prepare(server, sink)
        found = {count: [] for count in COUNTS}
        for _ in range(rounds):
            for count in COUNTS:
                found[count].append(measure(server, count, events, batch))
    finally:
        server.close()
        sink.close()
    header()
    total = {count: [f["nodes"] + f["server"] for f in found[count]] for count in COUNTS}
    for count in COUNTS:
        name = "%d node%s: " % (count, "s"[:count > 1])
        row(name + "CPU of all, us/event", spread(total[count]), "one node " + spread(total[1]),
            statistics.median(a / b for a, b in zip(total[count], total[1])), "<= 1.25" if count == 3 else "")
        row(name + "CPU of the nodes, us/event", spread([f["nodes"] for f in found[count]]))
        row(name + "CPU of the server, us/event", spread([f["server"] for f in found[count]]))
        row(name + "WAL, bytes/event", spread([f["wal"] for f in found[count]]), "", None, "<= 2048" if count == 1 else "")
        row(name + "events/s, delivered twice", spread([f["rate"] for f in found[count]]),
            "%.4f of them" % max(f["twice"] for f in found[count]))


if __name__ == "__main__":
    main()

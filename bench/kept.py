#!/usr/bin/env python3
"""What a callback that is final takes for ever on disk, by table and index, on both stores.

EVENTS surveys and offers come in over HTTP and are delivered; then what is kept for ever is summed:
all tables and indexes but those that purging takes whole (bodies, attempts, sets of panelists of a
day, counts by quarter of an hour). On PostgreSQL it is summed twice: as the load and VACUUM have left
it, with what new events will use (pages of indexes that are half full, room of keys that are packed
since), and after VACUUM FULL without; each time behind the packing of keys. Printed beside the bytes
of the facts themselves: the four texts and four numbers of an event as they came, uncompressed.

    bench/kept.py [EVENTS] [sqlite] [postgresql]
"""
import re
import sqlite3
import sys
import time

from common import Daemon, Sink, header, row
from database import Server, sql

APPS = 100
GOALS = {"sqlite": 200, "postgresql": 300}
PURGED = re.compile(r"(bodies|attempts?|active|body|waiting)(_|$)|intraday|delivery_stats|sqlite_")
FILTER_BYTES = 512 / 480 * 24 / 8  # of a key once its segment is closed, which here is open (store/sqlite/filter.c)
FACTS = ("SELECT avg(length(event_id)+length(panelist_id)+coalesce(length(session_id),0)"
         "+coalesce(length(offer_title),0))+4*8 FROM event")


def delivered(daemon, events):
    sink = Sink()
    try:
        daemon.accounts(APPS, lambda i: "http://127.0.0.1:%d/app/%d" % (sink.port, i))
        daemon.load(APPS, events)
        while daemon.metrics()["postbackd_callbacks_pending"]:
            time.sleep(0.2)
        daemon.settle()
    finally:
        sink.close()


def sqlite(events):
    daemon = Daemon()
    try:
        delivered(daemon, events)
        daemon.stop()
        db = sqlite3.connect(daemon.dir / "postbackd.db")
        sizes = dict(db.execute("SELECT name,sum(pgsize) FROM dbstat GROUP BY name"))
        sizes["filter"] = events * FILTER_BYTES
        return {"": sizes}, db.execute(FACTS).fetchone()[0]
    finally:
        daemon.close()


def until_packed(uri):
    """The daemon packs keys of accounts that have enough new ones, every ten seconds."""
    left, before = int(sql(uri, "SELECT count(*) FROM event_key")), -1
    while left != before:
        time.sleep(25)
        left, before = int(sql(uri, "SELECT count(*) FROM event_key")), left
    print("    keys not packed: %d" % left, flush=True)


def postgresql(events):
    server, daemon = Server(), None
    try:
        uri = server.database("kept")
        daemon = Daemon(uri=uri)
        delivered(daemon, events)
        until_packed(uri)
        daemon.stop()
        found = {}
        for how in "VACUUM", "VACUUM FULL":
            sql(uri, how)
            lines = sql(uri, "SELECT c.relname||' '||pg_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n"
                             " ON n.oid=relnamespace WHERE nspname='public' AND relkind IN ('r','i')").split("\n")
            found[" after " + how] = {name: int(size) for name, size in (line.split() for line in lines)}
        return found, float(sql(uri, FACTS))
    finally:
        if daemon:
            daemon.close()
        server.close()


def main():
    events = int(next((word for word in sys.argv[1:] if word.isdigit()), 200000))
    stores = [word for word in sys.argv[1:] if word in GOALS] or list(GOALS)
    header()
    for store in stores:
        found, facts = {"sqlite": sqlite, "postgresql": postgresql}[store](events)
        for how, sizes in found.items():
            kept = {}
            for name, size in sizes.items():
                if not PURGED.match(name):
                    name = re.sub(r"_p?\d+", "", name)
                    kept[name] = kept.get(name, 0) + size / events
            total = sum(kept.values())
            row("%s, bytes a final callback%s" % (store, how), "%.0f" % total, "facts as text: %.0f" % facts,
                total / facts, "<= %d" % GOALS[store])
            print("    " + ", ".join("%s %.1f" % (name, size) for name, size in
                                     sorted(kept.items(), key=lambda item: -item[1]) if size >= 0.5), flush=True)


main()

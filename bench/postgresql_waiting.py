#!/usr/bin/env python3
"""What waits costs next to nothing, on PostgreSQL: memory of a node with WAITING callbacks on dead
lanes, and how soon the first delivery comes after kill -9 and a start on such a database.

    bench/postgresql_waiting.py [WAITING] [LANES] [RESTARTS]

The rows are written into the tables directly: an event of each lane is taken in, then copied. All
lanes but the last refuse connections. Memory is looked at when the daemon has found the lanes dead,
and again after half a minute of healthy traffic with every kind of read. Before each restart some
callbacks come to wait in the healthy lane; the time runs from exec to the first of them arriving.
"""
import subprocess
import sys
import time

from common import (BUILD, Daemon, ages, free_port, header, memory_parts, pinned, read_everything, row, spread,
                    until_arrived, wait_port)
from database import OTHERS_CORE, Server, sql

# Of a copied event: waits since it was accepted, has never been tried (its row presumes delivery).
FRESH = {"event_no": "no", "event_id": "md5(no::text||random())", "state": "-1", **dict.fromkeys(
    ("reason", "wait", "manual", "failed_attempts", "slot", "due_ms", "attempts", "counted", "resend_no", "resend_due_ms"), "NULL")}

FILL = """
BEGIN;
CREATE TEMP TABLE one ON COMMIT DROP AS SELECT DISTINCT ON(app_no) * FROM event WHERE %(which)s ORDER BY app_no,event_no;
CREATE TEMP TABLE copy ON COMMIT DROP AS SELECT one.*,b.body,
  a.last_event_no+row_number() OVER(PARTITION BY one.account_no ORDER BY g) AS no
  FROM one JOIN body b USING(account_no,event_no,period) JOIN account a ON a.account_no=one.account_no
  CROSS JOIN generate_series(1,%(each)d) g;
INSERT INTO event SELECT %(columns)s FROM copy;
INSERT INTO body SELECT account_no,period,no,body FROM copy;
INSERT INTO event_key SELECT account_no,gen_random_uuid(),no,no FROM copy;
INSERT INTO waiting SELECT account_no,app_no::bigint*5+lane,accepted_ms,no,period,accepted_ms,true,true FROM copy;
UPDATE account a SET last_event_no=m.no FROM (SELECT account_no,max(no) AS no FROM copy GROUP BY 1) m
  WHERE a.account_no=m.account_no;
UPDATE total t SET pending=pending+m.n FROM (SELECT account_no,count(*) AS n FROM copy GROUP BY 1) m
  WHERE t.account_no=m.account_no;
UPDATE book b SET count=count+%(each)d,reward_micros=b.reward_micros+one.reward_micros*%(each)d,
  revenue_micros=b.revenue_micros+one.revenue_micros*%(each)d FROM one WHERE b.account_no=one.account_no AND b.day=one.day
  AND b.app_no=one.app_no AND b.lane=one.lane AND b.is_test=one.is_test AND b.state IN(0,1);
UPDATE report r SET live_events=live_events+%(each)d,live_outcomes=live_outcomes+%(each)d,
  live_conversions_survey=live_conversions_survey+%(each)d,
  live_survey_micros=live_survey_micros+one.revenue_micros*%(each)d
  FROM one WHERE r.account_no=one.account_no AND r.day=one.day AND r.client_no=one.client_no;
COMMIT;
"""


def fill(uri, which, each):
    """Copies of one event of each app that meets the condition wait."""
    columns = sql(uri, "SELECT attname FROM pg_attribute WHERE attrelid='event'::regclass AND attnum>0 ORDER BY attnum").split()
    sql(uri, FILL % {"which": which, "each": each, "columns": ",".join(FRESH.get(c, c) for c in columns)})


def restart(daemon, port, healthy):
    """Seconds from exec to the first delivery, and memory at most and 15 s later."""
    daemon.process.kill()
    daemon.process.wait()
    fill(daemon.uri, "app_no=%d" % healthy, 100)
    ages(port)
    began = time.monotonic()
    daemon.start()
    until_arrived(port)
    first = time.monotonic() - began
    most = daemon.rss_mib("VmHWM")
    time.sleep(15)
    return first, most, daemon.rss_mib()


def prepare(daemon, port, lanes, each):
    """The last lane's app, when `each` wait in every lane but that."""
    dead = free_port()
    daemon.accounts(lanes + 1, lambda i: "http://127.0.0.1:%d/" % port if i == lanes
                    else "http://127.1.%d.%d:%d/" % (i // 250, i % 250 + 1, dead))
    for i in range(lanes + 1):
        daemon.load(1, 1, batch=1, connections=1, first=i, core=OTHERS_CORE)
    until_arrived(port)
    idle = daemon.rss_mib(), memory_parts(daemon)
    daemon.stop()
    healthy = int(sql(daemon.uri, "SELECT max(app_no) FROM app"))
    began = time.monotonic()
    fill(daemon.uri, "app_no<>%d" % healthy, each)
    sql(daemon.uri, "VACUUM ANALYZE")
    return healthy, idle, time.monotonic() - began


def main():
    given = [int(word) for word in sys.argv[1:]]
    waiting, lanes, restarts = given + [1000000, 100, 5][len(given):]
    port, server, daemon = free_port(), Server(), None
    sink = subprocess.Popen(pinned(OTHERS_CORE, [BUILD / "bench" / "sink", port]))
    try:
        wait_port(port)
        daemon = Daemon(core=OTHERS_CORE, uri=server.database("run"))
        healthy, idle, took = prepare(daemon, port, lanes, waiting // lanes)
        daemon.start()
        time.sleep(20)
        found, found_parts = daemon.rss_mib(), memory_parts(daemon)
        daemon.load(1, 15000, batch=1, connections=2, rate=500, first=lanes, core=OTHERS_CORE)
        read_everything(daemon)
        warm, warm_parts = daemon.rss_mib(), memory_parts(daemon)
        waits = daemon.metrics()["postbackd_callbacks_pending"]
        again = [restart(daemon, port, healthy) for _ in range(restarts)]
    finally:
        if daemon:
            daemon.close()
        server.close()
        sink.terminate()
        sink.wait()
    header()
    row("%d written into the tables, s" % waiting, "%.0f" % took)
    row("idle, MiB", "%.0f" % idle[0], idle[1])
    row("%d waiting on %d dead lanes, MiB" % (waits, lanes), "%.0f" % found, found_parts, goal="160 with 1 million")
    row("the same after 15,000 healthy ones and all reads", "%.0f" % warm, warm_parts)
    row("kill -9: exec to first delivery, s", spread([a[0] for a in again]), goal="<= 1")
    row("memory then, MiB, at most", spread([a[1] for a in again]))
    row("memory 15 s later, MiB", spread([a[2] for a in again]))


if __name__ == "__main__":
    main()

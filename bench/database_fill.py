"""Fills a PostgreSQL database with final callbacks of the last DAYS days, as a daemon would have left
them: their keys, bodies, attempts, books, reports and counters.

The rows are copies of one callback for each app, which a daemon has taken in and delivered before. Their
order is that of their acceptance, all accounts in turn."""
import threading
import time

from database import sql

DAYS, ATTEMPT_DAYS = 84, 28  # within the default retention of bodies and attempts
BYTES = 960  # of a callback, indexes included
PART = 100000  # callbacks in one transaction
DAY_MS = 86400000

# %(n)s: the number of the copy of all, from 0
COPIED = {
    "event_no": "%(n)s/%(accounts)d+1", "event_id": "%(id)s", "panelist_id": "'panelist-'||%(n)s/100",
    "session_id": "'session-'||%(id)s", "accepted_ms": "%(ms)s", "occurred_ms": "%(ms)s",
    "day": "(%(ms)s/86400000)::int", "period": "(%(ms)s/86400000/30)::int"}

PATTERN = """
CREATE SCHEMA bench;
CREATE TABLE bench.pattern AS SELECT e.*,b.body,row_number() OVER(ORDER BY e.app_no)-1 AS place
  FROM event e JOIN body b USING(account_no,event_no,period);
CREATE TABLE bench.attempt AS SELECT p.place,a.* FROM attempt a JOIN bench.pattern p USING(account_no,event_no);
CREATE TABLE bench.state AS SELECT DISTINCT state FROM book WHERE count>0;
CREATE TABLE bench.report AS SELECT * FROM report LIMIT 1;
TRUNCATE event,body,attempt,event_key,key_page,key_pack,account_period,book,report,delivery_stats,waiting,handover;
CREATE FUNCTION bench.make(parent text, number bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE name text := parent||'_'||number+100000;
BEGIN
  IF to_regclass(name) IS NULL THEN
    EXECUTE format('CREATE TABLE %%s (LIKE %%s INCLUDING ALL)', name, parent);
    EXECUTE format('ALTER TABLE %%s ATTACH PARTITION %%s FOR VALUES FROM (%%s) TO (%%s)',
                   parent, name, number, number+1);
  END IF;
END $$;
SELECT bench.make(t, n) FROM unnest(ARRAY['event','body']) t,
  generate_series(%(first)d/30, (%(first)d+%(days)d)/30) n;
SELECT bench.make('attempt', n) FROM generate_series(%(first)d/7, (%(first)d+%(days)d)/7) n;
"""

PART_OF_ROWS = """
SET synchronous_commit=off;
CREATE TEMP TABLE g ON COMMIT DROP AS SELECT n,n%%%(apps)d AS place,md5('c'||n) AS id,%(begin)d+n*%(span)d/%(count)d AS ms
  FROM generate_series(%(from)d::bigint,%(to)d-1) n;
INSERT INTO event SELECT %(columns)s FROM g JOIN bench.pattern e USING(place) ORDER BY g.n;
INSERT INTO body SELECT e.account_no,(g.ms/86400000/30)::int,g.n/%(accounts)d+1,e.body
  FROM g JOIN bench.pattern e USING(place) ORDER BY g.n;
INSERT INTO event_key SELECT e.account_no,g.id::uuid,g.n,g.n/%(accounts)d+1
  FROM g JOIN bench.pattern e USING(place) ORDER BY g.n;
INSERT INTO attempt SELECT %(attempt_columns)s FROM g JOIN bench.attempt a USING(place)
  WHERE g.ms>=%(attempts_from)d ORDER BY g.n;
"""

SUMS = """
INSERT INTO account_period SELECT account_no,min(event_no),period FROM event GROUP BY account_no,period;
UPDATE account a SET last_event_no=e.no,last_accepted_ms=e.ms,period=e.period FROM (SELECT account_no,max(event_no) AS no,
  max(accepted_ms) AS ms,max(period) AS period FROM event GROUP BY 1) e WHERE a.account_no=e.account_no;
UPDATE total t SET pending=0,delivered=e.n,dead=0 FROM (SELECT account_no,count(*) AS n FROM event GROUP BY 1) e
  WHERE t.account_no=e.account_no;
CREATE TABLE bench.day AS SELECT account_no,day,app_no,client_no,lane,is_test,count(*) AS n,
  sum(reward_micros) AS reward,sum(revenue_micros) AS revenue FROM event GROUP BY 1,2,3,4,5,6;
INSERT INTO book SELECT account_no,day,app_no,lane,is_test,state,sum(n),sum(reward),sum(revenue)
  FROM bench.day CROSS JOIN bench.state GROUP BY 1,2,3,4,5,6;
INSERT INTO report SELECT %(report_columns)s FROM (SELECT account_no,day,client_no,sum(n) AS n,sum(revenue) AS revenue
  FROM bench.day GROUP BY 1,2,3) d CROSS JOIN bench.report r;
DROP SCHEMA bench CASCADE;
"""

SUMMED = {"account_no": "d.account_no", "day": "d.day", "client_no": "d.client_no", "live_events": "d.n",
          "live_outcomes": "d.n", "live_conversions_survey": "d.n", "live_survey_micros": "d.revenue"}


def columns_of(uri, table):
    return sql(uri, "SELECT attname FROM pg_attribute WHERE attrelid='%s'::regclass AND attnum>0"
                    " ORDER BY attnum" % table).split()


def fill(uri, gb, apps, accounts):
    """How many callbacks; the daemons are down. Each app has one delivered callback, app i is one of
    account i % accounts."""
    now_ms = int(time.time() * 1000)
    first = now_ms // DAY_MS - DAYS
    words = {"first": first, "days": DAYS + 1, "apps": apps, "accounts": accounts, "begin": first * DAY_MS,
             "span": now_ms - first * DAY_MS - 60000, "count": int(gb * 1e9 / BYTES) // apps * apps,
             "attempts_from": now_ms - ATTEMPT_DAYS * DAY_MS}
    copied = {name: text % dict(words, n="g.n", id="g.id", ms="g.ms") for name, text in COPIED.items()}
    tried = dict(copied, week="(g.ms/86400000/7)::int", at_ms="g.ms")
    words["columns"] = ",".join(copied.get(c, "e." + c) for c in columns_of(uri, "event"))
    words["attempt_columns"] = ",".join(tried.get(c, "a." + c) for c in columns_of(uri, "attempt"))
    words["report_columns"] = ",".join(SUMMED.get(c, "r." + c) for c in columns_of(uri, "report"))
    sql(uri, PATTERN % words)
    starts = iter(range(0, words["count"], PART))

    def run():
        for start in starts:
            sql(uri, PART_OF_ROWS % {**words, "from": start, "to": min(start + PART, words["count"])})
    sides = [threading.Thread(target=run) for _ in range(2)]
    for side in sides:
        side.start()
    for side in sides:
        side.join()
    sql(uri, SUMS % words)
    sql(uri, "VACUUM ANALYZE")
    return words["count"]

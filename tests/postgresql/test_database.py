"""A store on PostgreSQL when something happens to the database, or to who writes to it."""
import concurrent.futures
import re
import signal
import subprocess
import time

from harness import PATIENCE, Account, eventually
from outbox import Operator, check_all
from postgresql import sql, tools


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(server, database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    pid = daemon.process.pid
    operator = Operator(daemon, account)
    operator.start()
    for _ in range(3):
        before = len(operator.acknowledged)
        eventually(lambda b=before: len(operator.acknowledged) > b + 100, 30)
        server.kill()
        eventually(lambda: daemon.api().get("/readyz", key=None).status == 503, 30)
        refused = daemon.api().post("/api/v1/events", account.event("refused"))
        assert refused.status == 503 and int(refused.headers["Retry-After"]) > 0, refused
        assert daemon.api().get("/healthz", key=None).status == 200
        server.start()
        eventually(lambda: daemon.api().get("/readyz", key=None).status == 200, 30)
    operator.end()
    assert daemon.process.poll() is None and daemon.process.pid == pid
    check_all(daemon, account, receiver, operator.acknowledged)
    daemon.restart()
    check_all(daemon, account, receiver, operator.acknowledged)


def test_a_daemon_is_stopped_while_the_server_is_away(server, database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    operator = Operator(daemon, account)
    operator.start()
    eventually(lambda: len(operator.acknowledged) > 100, 30)
    server.kill()
    daemon.process.terminate()
    daemon.process.wait(60)  # what runs may end, and then what waits is given up
    operator.ending.set()
    operator.join(90)
    server.start()
    daemon.start()
    wanted = set(operator.acknowledged)
    eventually(lambda: wanted <= set(receiver.ids()), 60, what="all callbacks arrive")


def test_a_stop_does_not_wait_for_a_server_that_hangs(server, database_daemon, receiver):
    """What was recorded before needs nothing of it: the status is 0."""
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("before")])
    daemon.api().wait_state("before", account.partner_id, "delivered")
    server.signal(signal.SIGSTOP)
    try:
        eventually(lambda: daemon.api().get("/readyz", key=None).status == 503, 60)
        daemon.process.terminate()
        assert daemon.process.wait(20 * PATIENCE) == 0
    finally:
        server.signal(signal.SIGCONT)


OTHERS = "SELECT %s FROM pg_stat_activity WHERE datname=current_database() AND pid<>pg_backend_pid()"


def test_every_connection_is_cut_again_and_again(database, database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    operator = Operator(daemon, account, size=5)
    operator.start()
    for _ in range(25):
        sql(database, OTHERS % "count(pg_terminate_backend(pid))")
        eventually(lambda: int(sql(database, OTHERS % "count(*)")) > 0, what="it has connected again")
    operator.end()
    assert operator.acknowledged
    check_all(daemon, account, receiver, operator.acknowledged)


def test_a_killed_daemon_is_followed_at_once(database, database_daemon, receiver):
    """And not after its lease: that does not end here."""
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("before")])
    daemon.kill()
    sql(database, "UPDATE node SET until=until+interval '1 hour'")
    daemon.start()
    daemon.api().events([account.event("after")])
    receiver.wait_for("before")
    receiver.wait_for("after")


def test_a_password_is_never_said(tmp_path, server, database_daemon):
    database_daemon.uri = server.uri("nowhere").replace("postgres@", "postgres:sesame@")
    database_daemon.spawn()
    assert database_daemon.process.wait(30) != 0
    said = database_daemon.log_text()
    assert "nowhere" in said and "sesame" not in said


def test_it_works_through_pgbouncer_in_transaction_mode(pooler, database_daemon, receiver):
    database_daemon.uri = pooler
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    ids = ["e-%d" % i for i in range(300)]
    for at in range(0, len(ids), 50):
        daemon.api().events([account.event(event_id) for event_id in ids[at:at + 50]])
    check_all(daemon, account, receiver, ids)
    found = daemon.api().get("/api/v1/callbacks", query={"partnerId": account.partner_id, "limit": 500})
    assert len(found.json["Items"]) == len(ids)
    daemon.restart()
    assert daemon.api().callback("e-0", account.partner_id)["State"] == "delivered"
    daemon.stop()
    # Whichever of its connections answers: none was given names.
    assert {sql(pooler, "SELECT count(*) FROM pg_prepared_statements") for _ in range(6)} == {"0"}


def test_a_pooler_whose_server_is_away_puts_no_commit_in_doubt(server, pooler, database_daemon, receiver):
    """Its connections are made, and then fail where they ask which store they have reached."""
    database_daemon.uri = pooler
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("before")])
    daemon.api().wait_state("before", account.partner_id, "delivered")
    server.kill()
    try:
        for n in range(3):
            refused = daemon.api().post("/api/v1/events", account.event("n%d" % n), timeout=60)
            assert refused.status == 503 and "nothing of this request was stored" in refused.text, refused
        daemon.process.terminate()
        assert daemon.process.wait(60) == 0
    finally:
        server.start()


def test_plans_are_kept_where_the_server_is_asked_directly(server, database, database_daemon, receiver):
    name = database.split("@/")[1].split("?")[0]
    sql(database, 'ALTER DATABASE "%s" SET log_min_duration_statement=0' % name)
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    ids = ["e-%d" % i for i in range(20)]
    for event_id in ids:  # plans are made anew in between
        daemon.api().events([account.event(event_id)])
    check_all(daemon, account, receiver, ids)
    log = (server.folder / "log").read_text(errors="replace")
    assert re.search(r"execute k[0-9a-f]{16}_[0-9]+: INSERT INTO event\(", log)
    assert "DEALLOCATE k" in log


def test_a_recovery_leaves_nothing_out_while_the_database_is_away(server, database_daemon, receiver):
    receiver.answer = lambda request: 404
    daemon = database_daemon
    daemon.schedule = "1s"
    daemon.start()
    account = Account(daemon, receiver.url)
    ids = ["r-%d" % i for i in range(60)]
    daemon.api().events([account.event(event_id) for event_id in ids])
    for event_id in ids:
        daemon.api().wait_state(event_id, account.partner_id, "dead", 60)
    receiver.answer = lambda request: 200
    asked = daemon.api().post("/api/v1/callbacks/recover", {
        "From": "2020-01-01T00:00:00Z", "To": "2100-01-01T00:00:00Z", "States": ["dead"], "RatePerSecond": 10},
        query={"partnerId": account.partner_id})
    assert asked.status == 202 and asked.json["Matched"] == len(ids)
    server.kill()
    time.sleep(5)  # longer than a resend waits for the database before it is told to come later
    server.start()
    path = "/api/v1/recoveries/" + asked.json["RecoveryId"]
    eventually(lambda: daemon.api().get(path).json["State"] == "done", 60, what="the recovery's end")
    assert daemon.api().get(path).json["Resent"] == len(ids)
    for event_id in ids:
        daemon.api().wait_state(event_id, account.partner_id, "delivered", 60)


def test_a_page_of_what_waits_reads_no_more_than_a_page(database, database_daemon):
    daemon = database_daemon.start()
    account = Account(daemon, "http://127.0.0.1:9/refuses")
    api = daemon.api(account.key("callbacks:read"))
    daemon.api().events([account.event("w-%d" % i) for i in range(4000)])

    def blocks_read():
        return int(sql(database, "SELECT idx_blks_hit+idx_blks_read FROM pg_statio_user_tables"
                                 " WHERE relname='waiting'"))
    before = blocks_read()
    for _ in range(30):
        page = api.get("/api/v1/callbacks?state=pending&limit=100")
        assert len(page.json["Items"]) == 100, page
    daemon.stop()  # what it read is counted by then
    assert blocks_read() - before < 50000  # some 25,000; 93,000 by a part of the key


def test_a_resend_that_waits_for_an_erasure_is_refused(database, database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events(account.event("erased"))
    daemon.api().wait_state("erased", account.partner_id, "delivered")
    erasure = subprocess.Popen([str(tools() / "psql"), "-XAtq", database], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    try:  # an erasure by another node whose commit is not there yet
        erasure.stdin.write("BEGIN; UPDATE event SET panelist_id='erased-1',erased=true; DELETE FROM body;"
                            " SELECT 'open';\n")
        erasure.stdin.flush()
        assert erasure.stdout.readline() == "open\n"
        with concurrent.futures.ThreadPoolExecutor() as pool:
            resent = pool.submit(daemon.api().post, "/api/v1/callbacks/erased/resend?partnerId=" + account.partner_id)
            eventually(lambda: sql(database, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type='Lock'"
                                             " AND datname=current_database()"), what="the resend waits")
            erasure.stdin.write("COMMIT;\n")
            erasure.stdin.close()
            answer = resent.result(30)
    finally:
        erasure.kill()
        erasure.wait()
        erasure.stdout.close()
    assert answer.status == 409 and "erased" in answer.text, answer
    assert daemon.api().callback("erased", account.partner_id)["State"] == "delivered"


def test_a_list_of_what_waits_where_much_waits(database_daemon):
    """The next events are looked at first, and then everything that waits: both give the same list."""
    daemon = database_daemon.start()
    account = Account(daemon, "https://nobody.example/cb")  # has no address
    waiting = ["w%d" % i for i in range(6000)]
    for first in range(0, 6000, 2000):
        daemon.api().events([event for i in range(first, first + 2000) for event in (
            account.event(waiting[i]), account.event("s%d" % i, "survey_started"))])

    def listed():
        found, after = [], None
        while True:
            page = daemon.api().get("/api/v1/callbacks", query={
                "partnerId": account.partner_id, "state": "pending", "limit": 500, **({"after": after} if after else {})})
            assert page.status == 200, page
            found += [item["RewardId"] for item in page.json["Items"]]
            after = page.json["Next"]
            if not after:
                return found
    account.patch(Enabled=False)  # so that none is being delivered meanwhile
    eventually(lambda: listed() == waiting[::-1], 60)
    for first in range(0, 24000, 6000):
        daemon.api().events([account.event("n%d" % i, "survey_started") for i in range(first, first + 6000)])
    assert listed() == waiting[::-1]

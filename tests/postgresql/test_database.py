"""A store on PostgreSQL when something happens to the database, or to who writes to it."""
import os
import subprocess
import threading
import time

import pytest
from harness import Account, eventually
from postgresql import sql


class Operator(threading.Thread):
    """Reports events, batch after batch, and repeats a batch until it has an answer that says that
    it was taken: as an operator's outbox does."""

    def __init__(self, daemon, account, size=20):
        super().__init__(daemon=True)
        self.target_daemon, self.account, self.size = daemon, account, size
        self.acknowledged, self.refused, self.failure = [], [], None
        self.ending = threading.Event()

    def run(self):
        number = 0
        try:
            while not self.ending.is_set():
                ids = ["e-%d-%d" % (number, i) for i in range(self.size)]
                if self.report(ids):
                    self.acknowledged += ids
                    number += 1
                else:
                    time.sleep(0.05)
        except Exception as problem:  # noqa: BLE001  (said by the test)
            self.failure = problem

    def report(self, ids):
        answer = self.target_daemon.api().post(
            "/api/v1/events", [self.account.event(event_id) for event_id in ids], timeout=90)
        if answer.status == 503:
            assert int(answer.headers["Retry-After"]) > 0
            self.refused.append(answer)
            return False
        assert answer.status == 202, answer
        found = answer.json
        assert found["Rejected"] == [], found
        assert found["Accepted"] + found["Duplicates"] == len(ids), found
        return True

    def end(self):
        self.ending.set()
        self.join(120)
        assert not self.is_alive()
        assert self.failure is None, repr(self.failure)


def check_all(daemon, account, receiver, ids):
    """Everything acknowledged is delivered, once in the books and the reports."""
    wanted = set(ids)
    eventually(lambda: wanted <= set(receiver.ids()), 60, what="all callbacks arrive")
    rows = daemon.api().get("/api/v1/reports/conversions", query={"partnerId": account.partner_id})
    assert sum(row["Conversions"] for row in rows.json["Rows"]) == len(wanted)

    def counted():  # the numbers are those of some moment of the last seconds
        n = daemon.metrics()
        return (n["postbackd_callbacks_pending"], n["postbackd_events_accepted_total"],
                n["postbackd_callbacks_delivered_total"]) == (0, len(wanted), len(wanted))

    eventually(counted, 30)


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
        eventually(lambda: daemon.api().get("/readyz", key=None).status == 503, 10)
        refused = daemon.api().post("/api/v1/events", account.event("refused"))
        assert refused.status == 503 and int(refused.headers["Retry-After"]) > 0, refused
        assert daemon.api().get("/healthz", key=None).status == 200
        server.start()
        eventually(lambda: daemon.api().get("/readyz", key=None).status == 200, 20)
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
    began = time.monotonic()
    daemon.process.terminate()
    daemon.process.wait(60)
    assert time.monotonic() - began < 25  # what runs may end, and then what waits is given up
    operator.ending.set()
    operator.join(90)
    server.start()
    daemon.start()
    wanted = set(operator.acknowledged)
    eventually(lambda: wanted <= set(receiver.ids()), 60, what="all callbacks arrive")


def test_every_connection_is_cut_again_and_again(database, database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    operator = Operator(daemon, account, size=5)
    operator.start()
    for _ in range(25):
        sql(database, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                      " WHERE datname=current_database() AND pid<>pg_backend_pid()")
        time.sleep(0.12)
    operator.end()
    assert operator.acknowledged
    check_all(daemon, account, receiver, operator.acknowledged)


def test_a_killed_daemon_is_followed_at_once(database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("before")])
    daemon.kill()
    began = time.monotonic()
    daemon.start()
    assert time.monotonic() - began < 8  # and not after the ten seconds of the lease
    daemon.api().events([account.event("after")])
    receiver.wait_for("before")
    receiver.wait_for("after")


def test_a_password_is_never_said(tmp_path, server, database_daemon):
    database_daemon.uri = server.uri("nowhere").replace("postgres@", "postgres:sesame@")
    database_daemon.spawn()
    assert database_daemon.process.wait(30) != 0
    said = database_daemon.log_text()
    assert "nowhere" in said and "sesame" not in said


@pytest.fixture
def pooler(server, database, tmp_path):
    """PgBouncer in transaction mode before the server; the URI of `database` through it."""
    folder = server.folder / "pooler"
    folder.mkdir()
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "ini").write_text("\n".join((
        "[databases]",
        "* = host=%s" % server.folder,
        "[pgbouncer]",
        "listen_addr =",
        "unix_socket_dir = %s" % folder,
        "auth_type = trust",
        "auth_file = %s/users" % folder,
        "pool_mode = transaction",
        "default_pool_size = 3",
        "ignore_startup_parameters = extra_float_digits",
        "logfile = %s/log" % folder,
        "")))
    if server.user:
        subprocess.run(["chown", "-R", server.user, str(folder)], check=True)
    with open(tmp_path / "pooler.log", "ab") as log:
        process = subprocess.Popen(["/usr/sbin/pgbouncer", str(folder / "ini")], stdout=log,
                                   stderr=log, user=server.user, group=server.user)
    eventually(lambda: os.path.exists(folder / ".s.PGSQL.6432"), 10)
    name = database.split("@/")[1].split("?")[0]
    yield "postgresql:///%s?host=%s&port=6432&user=%s" % (
        name, str(folder).replace("/", "%2F"), "postgres")
    process.terminate()
    process.wait(10)


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

"""PostgreSQL's disk is full, in whatever is being done: nothing acknowledged is lost, nobody ends,
who asks is told, and all goes on by itself once there is room."""
import contextlib
import threading
import time

import pytest
from harness import Account, eventually
from outbox import Operator, check_all
from postgresql import sql
from small_disk import SmallDiskServer
from test_cuts import CuttingProxy


@pytest.fixture(scope="module", params=["data", "log", "all"])
def server(request):
    s = SmallDiskServer(request.param).start()
    yield s
    s.remove()


def readyz(daemon):
    return daemon.api().get("/readyz", key=None)


def fill(server, daemon):
    def full():
        server.fill()
        return readyz(daemon).status == 503
    eventually(full, 60, what="the disk is full")


# Where the server has ended, it may not be known what became of a commit, or who asks.
REASONS = ("disk is full", "not known yet", "See /readyz")


def check_refused(answer):
    assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
    assert any(reason in answer.json["detail"] for reason in REASONS), answer


def make_room(server, daemon):
    server.make_room()
    eventually(lambda: readyz(daemon).status == 200, 60, what="ready again")


def accept_again(operator):
    before = len(operator.acknowledged)  # one commit may be in doubt first
    eventually(lambda: operator.failure or len(operator.acknowledged) > before + 200, 60)


def test_events_and_changes_are_refused_until_there_is_room(server, database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    operator = Operator(daemon, account, size=100)
    operator.start()
    eventually(lambda: len(operator.acknowledged) > 500, 60)
    for _ in range(2):
        fill(server, daemon)
        for _ in range(20):  # for longer than until a lease is renewed
            server.fill()
            assert readyz(daemon).status == 503 and "disk is full" in readyz(daemon).text
            assert daemon.api().get("/healthz", key=None).status == 200
            time.sleep(0.1)
        if server.on != "log":  # there it is behind a commit in doubt
            check_refused(daemon.api().post("/api/v1/events", account.event("none")))
        check_refused(daemon.api().patch("/api/v1/apps/" + account.app_id, {"Name": "Full"}))
        make_room(server, daemon)
        accept_again(operator)
    operator.end()
    for answer in operator.refused:
        check_refused(answer)
    assert account.patch(Name="Roomy")["Name"] == "Roomy"
    check_all(daemon, account, receiver, operator.acknowledged)
    said = daemon.log_text()
    assert said.count('"database_full"') <= 4  # once each time it becomes full, not with each try
    assert said.count('"database_away"') <= 40
    assert "statement_names_refused" not in said


@pytest.mark.parametrize("server", ["data"], indirect=True)
def test_deliveries_pause_and_memory_stays_bounded(server, database_daemon, receiver):
    database_daemon.schedule = None  # the usual one
    daemon = database_daemon.start()
    opened = threading.Event()

    def answer(request):
        opened.wait(60)
        return 200, {}, b"x" * 4096  # kept with the attempt
    receiver.answer = answer
    account = Account(daemon, receiver.url, MaxConcurrency=64, TimeoutSeconds=30)
    ids = ["e-%d" % i for i in range(4000)]
    for at in range(0, len(ids), 1000):
        daemon.api().events([account.event(event_id) for event_id in ids[at:at + 1000]])
    operator = Operator(daemon, account, size=10)
    operator.start()
    fill(server, daemon)
    before_kib = daemon.resident_kib()
    opened.set()
    found = []

    def paused():  # outcomes take as much memory as they may
        server.fill()
        found.append(len(receiver.requests))
        return len(found) > 10 and found[-1] == found[-10]
    eventually(paused, 60, 0.05, what="no attempt begins any more")
    assert found[-1] < len(ids)
    daemon.check_grown(before_kib, 48 << 10)
    assert readyz(daemon).status == 503
    make_room(server, daemon)
    accept_again(operator)
    operator.end()
    check_all(daemon, account, receiver, ids + operator.acknowledged)
    assert len(receiver.ids()) == len(set(receiver.ids()))  # none was forgotten and sent again


def test_a_node_killed_on_a_full_disk_starts_again(server, database_daemon, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    operator = Operator(daemon, account, size=100)
    operator.start()
    eventually(lambda: len(operator.acknowledged) > 500, 60)
    fill(server, daemon)
    operator.ending.set()
    daemon.kill()
    operator.join(60)
    answer = None
    with contextlib.suppress(AssertionError):  # where the server has ended, too, it cannot
        daemon.start(wait_ready=False)
        server.fill()
        answer = daemon.api().post("/api/v1/events", account.event("none"))
        check_refused(answer)
    server.make_room()
    if daemon.process.poll() is not None:
        assert daemon.process.returncode == 1
        daemon.start()
    eventually(lambda: readyz(daemon).status == 200, 60)
    assert daemon.api().events([account.event("after")])["Accepted"] == 1
    operator.repeat()
    taken = ["none"] if answer and answer.status == 202 else []
    check_all(daemon, account, receiver, operator.acknowledged + ["after", *taken])


@pytest.mark.parametrize("server", ["data", "log"], indirect=True)
def test_connections_are_cut_while_the_disk_is_full(server, database, database_daemon, receiver):
    proxy = CuttingProxy(database)
    try:
        database_daemon.uri = proxy.uri
        daemon = database_daemon.start()
        account = Account(daemon, receiver.url)
        operator = Operator(daemon, account, size=20)
        operator.start()
        eventually(lambda: len(operator.acknowledged) > 200, 60)
        for n, direction in enumerate(["asked", "answered"]):
            proxy.arm(direction, 7 + 10 * n, times=8)
            fill(server, daemon)
            proxy.arm(direction, 5 + 3 * n, times=8)  # and while it goes on
            make_room(server, daemon)
            accept_again(operator)
            proxy.disarm()
        operator.end()
        assert proxy.cuts >= 8
        check_all(daemon, account, receiver, operator.acknowledged)
    finally:
        proxy.close()


@pytest.mark.parametrize("server", ["data"], indirect=True)
def test_what_is_old_is_dropped_once_there_is_room(server, database, database_daemon, receiver):
    """A node that starts on a full disk, with something to purge."""
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("e")])
    daemon.api().wait_state("e", account.partner_id, "delivered")
    daemon.stop()
    week, newest = (int(n) for n in sql(database, "SELECT max(week),max(substr(relname,9)::int)"
                    " FROM attempt,pg_class WHERE relname ~ '^attempt_[0-9]+$'").split("|"))
    old = "attempt_%d" % (newest - 100)
    sql(database, "CREATE TABLE %s PARTITION OF attempt FOR VALUES FROM (%d) TO (%d)"
        % (old, week - 100, week - 99))

    def is_there():
        return sql(database, "SELECT count(*) FROM pg_class WHERE relname='%s'" % old) == "1"
    server.fill()
    with contextlib.suppress(AssertionError):
        daemon.start(wait_ready=False)
    server.make_room()
    if daemon.process.poll() is not None:
        daemon.start()
    eventually(lambda: not is_there(), 90, what="the old one is dropped")
    assert daemon.api().events([account.event("after")])["Accepted"] == 1
    check_all(daemon, account, receiver, ["e", "after"])

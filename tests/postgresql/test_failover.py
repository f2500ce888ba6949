"""A primary that dies and a synchronous replica that takes over: nothing acknowledged is lost, and
whoever asks meanwhile is told when to come again."""
import signal
import threading
from urllib.parse import quote

import pytest
from harness import Account, eventually
from nodes import DatabaseDaemon
from outbox import Operator, check_all
from people import person
from postgresql import Cluster, Replica, new_database, sql


class Pair:
    """A primary that commits only what its replica has, and a database on it."""

    def __init__(self):
        self.primary = Cluster(synchronous_standby_names="replica").start()
        self.replica = Replica(self.primary).start()
        self.database = new_database(self.primary.uri(), "postbackd")

    def uri(self):
        """Both hosts, whichever is the primary."""
        hosts = ",".join(quote(str(c.folder), safe="") for c in (self.primary, self.replica))
        return "postgresql:///postbackd?user=postgres&host=" + hosts

    def on_replica(self, text):
        return sql(self.replica.uri("postbackd"), text)

    def remove(self):
        self.replica.signal(signal.SIGCONT)
        self.replica.remove()
        self.primary.remove()


@pytest.fixture
def pair():
    p = Pair()
    yield p
    p.remove()


@pytest.fixture
def daemon(pair, tmp_path):
    d = DatabaseDaemon(tmp_path, pair.uri())
    yield d
    d.stop()


def started(daemon, receiver):
    """An account of a daemon that has been at work: what a first event makes is there."""
    account = Account(daemon.start(), receiver.url)
    daemon.api().events([account.event("first")])
    daemon.api().wait_state("first", account.partner_id, "delivered")
    return account


class Post(threading.Thread):
    """One request with events, under way; its answer."""

    def __init__(self, daemon, account, ids):
        super().__init__(daemon=True)
        self.daemon_api, self.events, self.answer = daemon.api(), [account.event(i) for i in ids], None
        self.start()

    def run(self):
        self.answer = self.daemon_api.post("/api/v1/events", self.events, timeout=120)

    def result(self):
        self.join(150)
        assert self.answer is not None
        return self.answer


def wait_for_a_commit_in_doubt(pair):
    """Of events: in the primary's log, sent to the replica, which does not answer."""
    query = ("SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING(pid), pg_stat_replication r"
             " WHERE a.wait_event='SyncRep' AND l.relation='event'::regclass"
             " AND r.sent_lsn>=pg_current_wal_flush_lsn()")
    eventually(lambda: int(sql(pair.database, query)) > 0, 30, what="a commit waits for the replica")


def ready(daemon):
    return daemon.api(None).get("/readyz")


def test_nothing_is_lost_when_a_replica_takes_over(pair, daemon, receiver):
    daemon.start()
    pid = daemon.process.pid
    account = Account(daemon, receiver.url)
    browser = person(daemon, "admin")
    key = account.key("reports:read", "callbacks:read")
    operator = Operator(daemon, account)
    operator.start()
    eventually(lambda: len(operator.acknowledged) > 200, 60)
    pair.primary.kill()
    eventually(lambda: ready(daemon).status == 503, 30)
    assert "database" in ready(daemon).json["detail"]
    refused = daemon.api().post("/api/v1/events", account.event("refused"))
    assert refused.status == 503 and int(refused.headers["Retry-After"]) > 0, refused
    for path in ("keys", "apps"):
        answer = daemon.api().post("/api/v1/partners/%s/%s" % (account.partner_id, path),
                                   {"Name": "none", "Scopes": ["reports:read"]} if path == "keys" else
                                   {"AppId": "none", "Name": "none", "CurrencyValue": "1"})
        assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
    answer = daemon.api(key).get("/api/v1/reports/earnings")
    assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
    assert daemon.api(None).get("/healthz").status == 200
    before = len(operator.acknowledged)
    pair.replica.promote()
    eventually(lambda: ready(daemon).status == 200, 30)
    eventually(lambda: len(operator.acknowledged) > before + 200, 60)
    operator.end()
    assert daemon.process.poll() is None and daemon.process.pid == pid
    for _ in range(2):  # as it is in the daemon's memory, and as it is in the database
        check_all(daemon, account, receiver, operator.acknowledged)
        assert daemon.api(key).get("/api/v1/reports/earnings").status == 200
        assert browser.session()["SignedIn"]
        daemon.restart()
    assert daemon.api(account.key("reports:read")).get("/api/v1/reports/earnings").status == 200


def test_a_commit_in_doubt_is_resolved_by_its_events_own_keys(pair, daemon, receiver):
    account = started(daemon, receiver)
    ids = ["doubt-%d" % i for i in range(30)]
    pair.replica.signal(signal.SIGSTOP)
    post = Post(daemon, account, ids)
    wait_for_a_commit_in_doubt(pair)
    pair.primary.kill()
    pair.replica.signal(signal.SIGCONT)
    # What was sent to it before is there, though nobody was told so.
    eventually(lambda: pair.on_replica("SELECT count(*) FROM event") == str(1 + len(ids)), 30)
    pair.replica.promote()
    answer = post.result()
    assert answer.status == 202, answer
    assert answer.json == {"Accepted": len(ids), "Duplicates": 0, "Rejected": []}
    check_all(daemon, account, receiver, ["first", *ids])
    assert daemon.api().events([account.event(i) for i in ids])["Duplicates"] == len(ids)


def test_what_the_replica_does_not_have_is_never_acknowledged(pair, daemon, receiver):
    """However long it is away: a commit that is cancelled while it waits would be the primary's alone."""
    account = started(daemon, receiver)
    pair.replica.signal(signal.SIGSTOP)
    post = Post(daemon, account, ["waits"])
    wait_for_a_commit_in_doubt(pair)
    answer = post.result()  # longer than a statement may take, and not for ever
    assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
    assert "Duplicates" in answer.json["detail"]
    assert sql(pair.database, "SELECT count(*) FROM event") == "1"
    pair.replica.signal(signal.SIGCONT)
    eventually(lambda: ready(daemon).status == 200, 60)
    answer = eventually(lambda: (lambda a: a if a.status == 202 else None)(
        daemon.api().post("/api/v1/events", [account.event("waits")], timeout=90)), 60)
    assert answer.json == {"Accepted": 0, "Duplicates": 1, "Rejected": []}
    check_all(daemon, account, receiver, ["first", "waits"])


def test_a_frozen_primary_is_not_waited_for_once_another_took_over(pair, daemon, receiver):
    """Its connections stay, as those to a machine that is gone do, and so does whoever waits on them."""
    account = started(daemon, receiver)
    pair.primary.signal(signal.SIGSTOP)
    try:
        post = Post(daemon, account, ["waits"])
        pair.replica.promote()
        post.result()  # taken, or refused if it took too long
        events = [account.event(i) for i in ("waits", "behind")]
        eventually(lambda: daemon.api().post("/api/v1/events", events, timeout=90).status == 202, 60)
        check_all(daemon, account, receiver, ["first", "waits", "behind"])
        assert '"event":"primary_moved"' in daemon.log_text()
    finally:
        pair.primary.signal(signal.SIGCONT)

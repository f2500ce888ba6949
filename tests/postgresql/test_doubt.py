"""Changes whose commit is in doubt: made, and the connection broke before anybody was told so. They
are found by what they have given themselves alone, and neither made twice nor called refused."""
import socket
import threading

import pytest
from harness import Account, Receiver, eventually
from names import NamesProxy, text_at
from nodes import Cluster, DatabaseDaemon
from postgresql import Session, sql

# As another node has changed a partner.
OTHER = ("SET LOCAL synchronous_commit=local;"
         "UPDATE revision SET revision=revision+1 WHERE name='object';"
         "INSERT INTO object_log(revision,number,kind,id,node) SELECT revision,0,1,"
         "(SELECT min(id) FROM object WHERE kind=1),1 FROM revision WHERE name='object'")


class Asking(threading.Thread):
    def __init__(self, ask):
        super().__init__(daemon=True)
        self.ask, self.answer = ask, None
        self.start()

    def run(self):
        self.answer = self.ask()

    def result(self):
        self.join(60)
        assert self.answer is not None
        return self.answer


class Doubt:
    """Commits wait for a replica that is not there. One of them is then cut off: it has happened."""

    def __init__(self, uri):
        self.uri = uri

    def say(self, *statements):
        for statement in statements:
            sql(self.uri, statement)

    def begin(self):
        self.say("ALTER SYSTEM SET synchronous_standby_names='nobody'", "SELECT pg_reload_conf()")
        eventually(self.do_wait, 30, what="commits wait")

    def do_wait(self):
        """One of the test's own does, and is cut off; or it has not."""
        own = "SELECT pg_logical_emit_message(true,'test','')"
        commit = Asking(lambda: self.try_commit(own))
        waits = eventually(lambda: not commit.is_alive() or sql(
            self.uri, "SELECT pid FROM pg_stat_activity WHERE wait_event='SyncRep' AND query='%s'"
            % own.replace("'", "''")), 30, what="it waits, or is done")
        if waits is not True:
            self.say("SELECT pg_terminate_backend(%s)" % waits.split()[0])
        commit.join(30)
        return waits is not True

    def try_commit(self, statement):
        try:
            return sql(self.uri, statement)
        except RuntimeError:
            return "cut off"

    def waiting(self, table):
        return sql(self.uri, "SELECT a.pid FROM pg_locks l JOIN pg_stat_activity a USING(pid)"
                   " WHERE a.wait_event='SyncRep' AND l.relation='%s'::regclass LIMIT 1" % table)

    def cut(self, table, meanwhile="SELECT 1"):
        pid = eventually(lambda: self.waiting(table), 30, what="a commit waits for the replica")
        self.say("SELECT pg_terminate_backend(%s);%s" % (pid, meanwhile))
        eventually(lambda: sql(self.uri, "SELECT 1 FROM pg_stat_activity WHERE pid=" + pid) == "", 30)

    def end(self):
        self.say("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")


@pytest.fixture
def doubt(database):
    d = Doubt(database)
    yield d
    d.end()


def noted(daemon):
    return len(daemon.api().get("/api/v1/audit", query={"limit": 500}).json["Items"])


def test_a_change_that_was_made_is_not_made_again_nor_called_stale(database_daemon, doubt, receiver):
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    path = "/api/v1/partners/%s/keys" % account.partner_id
    made = daemon.api().post(path, {"Name": "k", "Scopes": ["reports:read"]}).json
    before = noted(daemon)
    doubt.begin()
    asking = Asking(lambda: daemon.api().delete(path + "/" + made["KeyId"]))
    doubt.cut("object", OTHER)
    doubt.end()
    assert asking.result().status == 204
    assert noted(daemon) == before + 1
    assert daemon.api(made["Key"]).get("/api/v1/reports/earnings").status == 401
    # And one that was not made is.
    assert daemon.api().delete(path + "/" + made["KeyId"]).status == 404


@pytest.mark.parametrize("state", ["dead", "delivered"])
def test_a_resend_that_was_made_is_counted_once(tmp_path, doubt, state):
    daemon = DatabaseDaemon(tmp_path, doubt.uri, schedule="1s")
    answers = {"dead": [404, 404], "delivered": [200]}[state]
    sent = len(answers)
    receiver = Receiver(lambda request: answers.pop() if answers else 200)
    try:
        account = Account(daemon.start(), receiver.url)
        daemon.api().events([account.event("e")])
        daemon.api().wait_state("e", account.partner_id, state)
        doubt.begin()
        asking = Asking(lambda: daemon.api().post("/api/v1/callbacks/recover", {
            "From": "2020-01-01T00:00:00Z", "To": "2100-01-01T00:00:00Z", "States": [state],
            "RatePerSecond": 1}, query={"partnerId": account.partner_id}))
        doubt.cut("object")
        with Session(doubt.uri) as other:  # the resend waits until commits are held up again
            assert other.say("BEGIN; LOCK TABLE waiting IN EXCLUSIVE MODE; SELECT 'locked';") == "locked"
            doubt.end()
            asked = asking.result()
            assert asked.status == 202, asked
            doubt.begin()
            assert other.say("ROLLBACK; SELECT 'free';") == "free"
        doubt.cut("waiting")
        doubt.end()
        recovery = "/api/v1/recoveries/" + asked.json["RecoveryId"]
        eventually(lambda: daemon.api().get(recovery).json["State"] == "done", 30)
        assert daemon.api().get(recovery).json["Resent"] == 1
        eventually(lambda: len(receiver.of("e")) == sent + 1, 30, what="it is sent again")
        daemon.api().events([account.event("behind")])
        receiver.wait_for("behind")  # what was owed before it has been sent
        assert len(receiver.of("e")) == sent + 1
        assert sql(doubt.uri, "SELECT resend_no FROM event WHERE event_id='e'") == "1"
    finally:
        daemon.stop()
        receiver.close()


@pytest.mark.parametrize("how", ["pg_terminate_backend", "pg_cancel_backend"])
@pytest.mark.parametrize("what,table", [("event", "event"), ("change", "object"), ("entry", "object"),
                                        ("resend", "waiting"), ("erasure", "event")])
def test_nothing_is_acknowledged_that_a_standby_lacks(database_daemon, doubt, receiver, what, table, how):
    """However often its wait for the standby is ended: it has happened on this server then, and is
    found. Whoever finds it waits for the standby again, as it has locked and so written something."""
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    of = {"partnerId": account.partner_id}
    daemon.api().events([account.event("first")])
    daemon.api().wait_state("first", account.partner_id, "delivered")
    doubt.begin()
    api, path = daemon.api(), "/api/v1/apps/" + account.app_id
    asking = Asking({
        "event": lambda: api.post("/api/v1/events", account.event("e"), timeout=90),
        "change": lambda: api.patch(path, {"Name": "Other"}, timeout=90),
        "entry": lambda: api.get(path + "/secret", timeout=90),
        "resend": lambda: api.post("/api/v1/callbacks/first/resend", {}, query=of, timeout=90),
        "erasure": lambda: api.post("/api/v1/panelists/erase", {"PanelistId": "user-1"}, query=of, timeout=90),
    }[what])
    first = eventually(lambda: doubt.waiting(table), 30, what="its commit waits for the standby")
    doubt.say("SELECT %s(%s)" % (how, first))
    again = "SELECT pid FROM pg_stat_activity WHERE wait_event='SyncRep' AND pid<>%s AND pid IN" \
        " (SELECT pid FROM pg_locks WHERE relation IN('account'::regclass,'object'::regclass," \
        "'revision'::regclass,'event'::regclass))" % first
    second = eventually(lambda: sql(doubt.uri, again), 30, what="who finds it waits again").split()
    doubt.say(*("SELECT %s(%s)" % (how, pid) for pid in second))
    asking.join(1)
    assert asking.is_alive()
    doubt.end()
    assert asking.result().status in (200, 202), asking.answer


class Cutter(NamesProxy):
    """`cut()` ends all connections: a commit that the server has begun goes on."""

    def __init__(self, uri):
        self.ends = []
        super().__init__(uri)

    def relay(self, number, source, sink, change):
        self.ends.append(source)
        super().relay(number, source, sink, change)

    def cut(self):
        for end in self.ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def test_an_audit_entry_whose_commit_is_under_way_is_not_called_not_stored(database, tmp_path, receiver):
    """The database refuses to store it again, so the daemon only looks for it, once that commit has ended."""
    proxy, doubt = Cutter(database), Doubt(database)
    daemon = DatabaseDaemon(tmp_path, proxy.uri)
    try:
        account = Account(daemon.start(), receiver.url)
        doubt.say("CREATE TABLE refusing(why int)",
                  "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
                  " IF EXISTS(SELECT FROM refusing) THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END$$",
                  "CREATE TRIGGER refuse BEFORE INSERT ON object FOR EACH ROW EXECUTE FUNCTION refuse()")
        before = noted(daemon)
        doubt.begin()
        asking = Asking(lambda: daemon.api().get("/api/v1/apps/%s/secret" % account.app_id, timeout=90))
        eventually(lambda: doubt.waiting("object"), 30, what="its commit waits for the replica")
        doubt.say("SET LOCAL synchronous_commit=local;INSERT INTO refusing VALUES(1)")
        proxy.cut()
        asking.join(10)
        assert asking.is_alive(), asking.answer
        doubt.end()
        assert asking.result().status == 200, asking.answer
        assert noted(daemon) == before + 1
    finally:
        doubt.end()
        daemon.stop()
        proxy.close()


class CommitCutter(NamesProxy):
    """`arm()`: the next commit of events does not reach the server, its connection is cut, and nobody gets
    a new one until `let_in()`. The commit behind that is held until `let_go()`."""

    def __init__(self, uri):
        self.armed, self.holds, self.takes_in = False, False, set()
        self.cut, self.held, self.may_go = threading.Event(), threading.Event(), threading.Event()
        super().__init__(uri)
        self.there = self.target

    def arm(self):
        for event in (self.cut, self.held, self.may_go):
            event.clear()
        self.armed = True

    def let_in(self):
        self.holds, self.target = True, self.there

    def let_go(self):
        self.may_go.set()

    def asked(self, number, kind, whole):
        if kind == b"P":
            name, at = text_at(whole, 5)
            text, _ = text_at(whole, at)
            if "INSERT INTO account " in text:
                self.takes_in.add(number)
            if text == "COMMIT" and number in self.takes_in and self.armed:
                self.armed, self.target = False, "/nowhere"
                self.cut.set()
                raise OSError("cut")
            if text in ("COMMIT", "ROLLBACK") and number in self.takes_in and self.holds:
                self.holds = False
                self.held.set()
                self.may_go.wait(60)
        return super().asked(number, kind, whole)


def test_what_another_node_has_accepted_meanwhile_is_sent_once(database, tmp_path):
    """A commit that failed, and the same event under the same number from another node: the callback is
    on its way when the first node finds the event, and delivered when it would hand it out."""
    gate = threading.Event()
    receiver = Receiver(lambda request: 200 if gate.wait(60) else 503)
    proxy, cluster = CommitCutter(database), Cluster(tmp_path, database)
    try:
        a, b = cluster.start("a", uri=proxy.uri), cluster.start("b")
        cluster.wait_even("a", "b")
        accounts = cluster.accounts(6, receiver.url, b)  # the lanes of some are at the first node

        def all_delivered():
            return b.metrics()["postbackd_callbacks_pending"] == 0
        gate.set()
        for node in (a, b):  # all connections are there, and the lanes
            for number, account in enumerate(accounts):
                account.patch(TimeoutSeconds=30)
                first = "first-%d-%s" % (number, "ab"[node is b])
                node.api().events([account.event(first)])
                receiver.wait_for(first)
        eventually(all_delivered, 60)
        for number, account in enumerate(accounts):
            event = [account.event("e-%d" % number)]
            gate.clear()
            proxy.arm()
            asking = Asking(lambda: a.api().post("/api/v1/events", event))
            assert proxy.cut.wait(30)
            assert b.api().post("/api/v1/events", event).status == 202
            receiver.wait_for("e-%d" % number)
            proxy.let_in()
            assert proxy.held.wait(30)
            gate.set()
            eventually(all_delivered, 30)
            proxy.let_go()
            assert asking.result().status == 202
        for number, account in enumerate(accounts):  # behind what was handed out
            b.api().events([account.event("last-%d" % number)])
            receiver.wait_for("last-%d" % number)
        eventually(all_delivered, 60)
        ids = [one for one in receiver.ids() if one.startswith("e-")]
        assert sorted(ids) == sorted("e-%d" % i for i in range(len(accounts)))
    finally:
        gate.set()
        proxy.let_go()
        cluster.stop()
        proxy.close()
        receiver.close()

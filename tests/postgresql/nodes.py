"""Several daemons on one database, and what can be done to them."""
import http.client
import itertools
import socket
import threading
import time
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from harness import MASTER_KEY, Account, Daemon, eventually
from postgresql import sql

SHARDS = 256
LEASE_S = 6


class DatabaseDaemon(Daemon):
    """A daemon on a database of that server, whatever the other tests keep their events in."""

    def __init__(self, directory, uri, *options, **kw):
        super().__init__(directory, *options, **kw)
        self.env["POSTBACKD_MASTER_KEY"] = MASTER_KEY
        self.uri = uri

    def store(self):
        return self.uri


class Cluster:
    """Daemons that share a database; each says its name to the server with every connection."""

    def __init__(self, directory, uri):
        self.directory, self.uri, self.all = Path(directory), uri, {}

    def start(self, name, uri=None, **kw):
        uri = (uri or self.uri) + "&application_name=" + name
        node = DatabaseDaemon(self.directory / name, uri, "--node-name", name, **kw)
        self.all[name] = node
        return node.start()

    def stop(self):
        for node in self.all.values():
            node.stop()

    def wait_even(self, *names, timeout_s=40):
        """All shards are held, as many by each."""
        def even():
            numbers = [self.all[name].metrics() for name in names]
            held = [n["postbackd_shards_held"] for n in numbers]
            alive = {n["postbackd_nodes"] for n in numbers}
            return alive == {len(names)} and sum(held) == SHARDS and max(held) - min(held) <= 1
        eventually(even, timeout_s, what="the shards are even among " + " ".join(names))

    def sum(self, metric, *names):
        return sum(int(self.all[name].metrics()[metric]) for name in names)

    def accounts(self, count, url, node):
        """Made at one node; each of them is known at all soon after."""
        made = [Account(node, url, MaxConcurrency=8) for _ in range(count)]
        for other in self.all.values():
            eventually(lambda o=other: o.api().get("/api/v1/apps/" + made[-1].app_id).status == 200,
                       what="the other nodes know of it")
        return made


# Who writes an attempt's outcome, and who had the shard then: the hash is shard_of_app's.
WITNESS = """
CREATE TABLE witness(node text, owner text, shard int, ok bool);
CREATE FUNCTION shard_of(app_no bigint) RETURNS int LANGUAGE plpgsql AS $$
DECLARE h bigint := (app_no::numeric * 2654435761 % 4294967296)::bigint;
BEGIN
  h := h # (h >> 15);
  h := (h::numeric * 2246822519 % 4294967296)::bigint;
  h := h # (h >> 13);
  RETURN h % 256;
END $$;
CREATE FUNCTION witness() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  s int := (SELECT shard_of(app_no) FROM event WHERE account_no=NEW.account_no
            AND event_no=NEW.event_no);
  o bigint := (SELECT node FROM shard WHERE shard=s);
  name text := coalesce((SELECT n.name FROM node n WHERE n.node=o), 'nobody');
BEGIN
  INSERT INTO witness VALUES(current_setting('application_name'), name, s,
                             name IN (current_setting('application_name'), 'nobody'));
  RETURN NULL;
END $$;
CREATE TRIGGER witness AFTER INSERT ON attempt FOR EACH ROW EXECUTE FUNCTION witness();
"""


def check_witness(uri):
    """Every outcome was written by the node that had the shard when it was."""
    assert int(sql(uri, "SELECT count(*) FROM witness")) > 0
    assert sql(uri, "SELECT node,owner,shard FROM witness WHERE NOT ok LIMIT 5") == ""


class Outbox(threading.Thread):
    """Reports events of some accounts to whichever node takes them, as an operator's outbox behind
    a balancer does: until somebody has said that a batch was taken."""

    numbers = itertools.count()

    def __init__(self, cluster, accounts, size=10, pause_s=0.02):
        super().__init__(daemon=True)
        self.cluster, self.accounts, self.size, self.pause_s = cluster, accounts, size, pause_s
        self.acknowledged, self.failure = [], None
        self.ending = threading.Event()
        self.number = next(self.numbers)

    def run(self):
        turn = self.number
        try:
            for batch in itertools.count():
                if self.ending.is_set():
                    return
                account = self.accounts[batch % len(self.accounts)]
                ids = ["o%d-%d-%d" % (self.number, batch, i) for i in range(self.size)]
                events = [account.event(event_id, PanelistId="u-" + event_id) for event_id in ids]
                while not self.report(events, turn):
                    turn += 1
                    time.sleep(0.05)
                turn += 1
                self.acknowledged += ids
                time.sleep(self.pause_s)
        except Exception as problem:  # noqa: BLE001  (said by the test)
            self.failure = problem

    def report(self, events, turn):
        nodes = [n for n in list(self.cluster.all.values()) if n.port and n.process.poll() is None]
        try:
            answer = nodes[turn % len(nodes)].api().post("/api/v1/events", events, timeout=3)
        except (OSError, http.client.HTTPException):
            return False  # killed (perhaps in the middle of the answer), stopped, or cut off: nobody knows
        if answer.status in (429, 503):
            return False
        assert answer.status == 202, answer
        found = answer.json
        assert found["Rejected"] == [], found
        assert found["Accepted"] + found["Duplicates"] == len(events), found
        return True

    def wait_more(self, count=100):
        before = len(self.acknowledged)

        def more():
            assert self.failure is None, repr(self.failure)
            return len(self.acknowledged) >= before + count
        eventually(more, 60, what="events are taken")

    def end(self):
        self.ending.set()
        self.join(60)
        assert not self.is_alive()
        assert self.failure is None, repr(self.failure)


def check_all(node, accounts, receiver, ids):
    """Everything acknowledged is delivered and in the reports; how many callbacks came twice."""
    wanted = set(ids)
    eventually(lambda: wanted <= set(receiver.ids()), 90, what="all callbacks arrive")
    eventually(lambda: node.metrics()["postbackd_callbacks_pending"] == 0, 60)
    conversions = 0
    for account in accounts:
        rows = node.api().get("/api/v1/reports/conversions",
                              query={"partnerId": account.partner_id}).json["Rows"]
        conversions += sum(row["Conversions"] for row in rows)
    assert conversions == len(wanted)
    return len(receiver.ids()) - len(wanted)


class Proxy:
    """TCP before the server's socket. `frozen`: nothing passes, and nobody is told."""

    def __init__(self, uri):
        parts = urlsplit(uri)
        self.target = parse_qs(parts.query)["host"][0] + "/.s.PGSQL.5432"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.passes = threading.Event()
        self.passes.set()
        self.uri = "%s://%s%s?host=127.0.0.1&port=%d&sslmode=disable" % (
            parts.scheme, quote(parts.netloc, safe="@"), parts.path,
            self.listener.getsockname()[1])
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:  # it is down: whoever comes is told
                server.close()
                client.close()
                continue
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self.relay, args=pair, daemon=True).start()

    def relay(self, source, sink):
        try:
            while True:
                data = source.recv(65536)
                self.passes.wait()
                if not data:
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def freeze(self):
        self.passes.clear()

    def thaw(self):
        self.passes.set()

    def close(self):
        self.thaw()
        self.listener.close()

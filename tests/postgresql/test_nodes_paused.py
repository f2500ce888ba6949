"""A node is stopped at the worst moment, and another one changes what it is about to send."""
import signal
import threading
import time

import http2
import pytest
from harness import Account, Receiver, assert_signed, eventually
from postgresql import sql
from raw import Authority
from shim import shimmed
from test_carried import Pair

LOOK_LASTS_S = 1


def state_of(process):
    with open("/proc/%d/stat" % process.pid, encoding="ascii") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


class Stopped:
    """A node that is alone, and stops between two connections of one tick: it has begun to send what
    waited in an app. Another node has joined meanwhile."""

    def __init__(self, cluster, tmp_path, panelist):
        self.control = tmp_path / "stop"
        self.receiver = Receiver()
        self.b = self.enabling = None
        self.cluster, self.panelist = cluster, panelist

    def begin(self, server=None, **env):
        cluster, panelist = self.cluster, self.panelist
        self.b = cluster.start("b", env={**env, **shimmed(SHIM_STOP=self.control)})
        self.account = Account(self.b, server.url() if server else self.receiver.url, MaxConcurrency=8)
        self.patch({"Enabled": False})
        self.ids = ["e%d" % i for i in range(8)]
        assert self.b.api().events([self.account.event(i, PanelistId=panelist) for i in self.ids])["Accepted"] == 8
        self.control.write_text("%d 1" % server.port if server else "%d 3" % self.receiver.port)
        self.enabling = threading.Thread(target=self.patch, args=({"Enabled": True},))
        self.enabling.start()
        eventually(lambda: state_of(self.b.process) == "T", what="it is stopped")
        self.since = time.monotonic()
        self.a = cluster.start("a", env=env)
        assert self.receiver.requests == []

    def patch(self, change):
        assert self.b.api().patch("/api/v1/apps/" + self.account.app_id, change, timeout=60,
                                  query={"partnerId": self.account.partner_id}).status == 200

    def post(self, path, body):
        answer = self.a.api().post(path, body, query={"partnerId": self.account.partner_id})
        assert answer.status == 200, answer
        return answer.json

    def go_on(self):
        time.sleep(max(0, self.since + 1.5 * LOOK_LASTS_S - time.monotonic()))
        self.b.process.send_signal(signal.SIGCONT)
        self.enabling.join(60)

    def close(self):
        if self.b:
            self.b.process.send_signal(signal.SIGCONT)
        if self.enabling:
            self.enabling.join(60)
        self.receiver.close()


@pytest.fixture
def stopped(cluster, tmp_path, request):
    found = Stopped(cluster, tmp_path, request.param)
    try:
        found.begin()
        yield found
    finally:
        found.close()


@pytest.mark.parametrize("stopped", ["zebra"], indirect=True)
def test_what_was_erased_during_a_stop_is_not_sent(stopped):
    stopped.post("/api/v1/panelists/erase", {"PanelistId": "zebra"})
    stopped.go_on()
    for event_id in stopped.ids:
        stopped.a.api().wait_state(event_id, stopped.account.partner_id, "skipped")
    stopped.a.api().events([stopped.account.event("last", PanelistId="yak")])
    stopped.receiver.wait_for("last")
    assert [r.json["PanelistId"] for r in stopped.receiver.requests] == ["yak"]
    for event_id in stopped.ids:  # what was withheld is no attempt
        assert stopped.a.api().callback(event_id, stopped.account.partner_id)["AttemptCount"] == 0


@pytest.mark.parametrize("stopped", ["yak"], indirect=True)
def test_a_secret_that_ended_during_a_stop_signs_nothing(stopped):
    secret = stopped.post("/api/v1/apps/%s/secret/rotate" % stopped.account.app_id,
                          {"OverlapSeconds": 0})["CallbackSecret"]
    stopped.go_on()
    for event_id in stopped.ids:
        stopped.receiver.wait_for(event_id)
    for request in stopped.receiver.requests:
        assert_signed(request, secret)
    assert sorted(r.json["RewardId"] for r in stopped.receiver.requests) == stopped.ids


def answer_all(connection):
    while True:
        connection.send(http2.headers(connection.request(), 200))


def test_nor_is_it_sent_over_http2(cluster, tmp_path):
    """The requests wait for one connection, whose handshake the node was stopped before."""
    authority = Authority(tmp_path)
    found = Stopped(cluster, tmp_path, "zebra")
    server = http2.Http2Server(answer_all, http2.context(authority.sign("receiver")))
    try:
        found.begin(server, POSTBACKD_CA_FILE=str(authority.file))
        found.post("/api/v1/panelists/erase", {"PanelistId": "zebra"})
        found.go_on()
        for event_id in found.ids:
            found.a.api().wait_state(event_id, found.account.partner_id, "skipped")
        found.a.api().events([found.account.event("last", PanelistId="yak")])
        found.a.api().wait_state("last", found.account.partner_id, "delivered")
        assert server.requests == 1
    finally:
        found.close()
        server.close()


# The transaction that takes a resend off the rows of hand-overs has looked it up, and does not end
# while `gate` has a row.
GATE = """
CREATE TABLE gate();
CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WHILE EXISTS(SELECT FROM gate) LOOP PERFORM pg_sleep(0.02); END LOOP;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER gate AFTER DELETE ON handover DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (OLD.event_no>0) EXECUTE FUNCTION wait_at_gate();
INSERT INTO gate DEFAULT VALUES;
"""


def test_a_resend_that_was_looked_up_before_an_erasure_is_not_sent(cluster, database):
    gate = threading.Event()
    receiver = Receiver(lambda r: 200 if r.json["RewardId"] != "held" or gate.wait(60) else 503)
    pair = Pair(cluster, database, receiver)
    partner = {"partnerId": pair.account.partner_id}
    api = pair.a.api()

    def zebras():
        return [r.json["RewardId"] for r in receiver.requests if r.json["PanelistId"] == "zebra"]

    def in_memory():
        return pair.b.metrics()["postbackd_callbacks_in_memory"]

    assert api.patch("/api/v1/apps/" + pair.account.app_id, {"MaxConcurrency": 1},
                     query=partner).status == 200
    pair.accept("e-1", PanelistId="zebra")
    pair.delivered("e-1")
    pair.all_is_heard()
    eventually(lambda: in_memory() == 0)
    pair.accept("held")
    receiver.wait_for("held")
    for i in range(4):  # they leave b's memory as soon as b knows of the erasure
        pair.accept("z-%d" % i, PanelistId="zebra")
    eventually(lambda: in_memory() == 5)
    sql(database, GATE)
    assert api.post("/api/v1/callbacks/e-1/resend", query=partner).status == 202
    eventually(lambda: sql(database, "SELECT count(*) FROM pg_stat_activity WHERE application_name='b'"
                                     " AND wait_event='PgSleep'") == "1", what="b has looked it up")
    assert api.post("/api/v1/panelists/erase", {"PanelistId": "zebra"}, query=partner).status == 200
    eventually(lambda: in_memory() == 1, what="b knows of the erasure")
    before = len(zebras())
    sql(database, "DELETE FROM gate")
    gate.set()
    pair.all_is_heard()
    api.wait_state("e-1", pair.account.partner_id, "delivered")
    assert len(zebras()) == before
    receiver.close()

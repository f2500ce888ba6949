"""Several daemons on one database: they share the work, and whatever becomes of one of them nothing
acknowledged is lost and nothing is written by a node that has lost its lease."""
import http.client
import json
import signal
import threading
import time

import nodes
import pytest
from harness import OPERATOR_KEY, PATIENCE, Account, Receiver, eventually
from postgresql import Session, sql
from test_revocation import Held


@pytest.fixture
def slow():
    """Takes a moment: so there is always something under way."""
    def answer(_):
        time.sleep(0.1)
        return 200
    found = Receiver(answer)
    yield found
    found.close()


def timed(what, condition, limit_s=40):
    began = time.monotonic()
    eventually(condition, limit_s, what=what)
    print("%s: %.1f s" % (what, time.monotonic() - began))


def test_nodes_are_killed_stopped_and_continued_under_load(cluster, database, slow):
    a, b, c = (cluster.start(name) for name in "abc")
    sql(database, nodes.WITNESS)
    cluster.wait_even("a", "b", "c")
    accounts = cluster.accounts(8, slow.url, a)
    outboxes = [nodes.Outbox(cluster, accounts) for _ in range(2)]
    for outbox in outboxes:
        outbox.start()
    outboxes[0].wait_more()

    b.kill()
    timed("shards of a killed node are taken over",
          lambda: cluster.sum("postbackd_shards_held", "a", "c") == nodes.SHARDS)
    outboxes[0].wait_more()
    b.start()
    cluster.wait_even("a", "b", "c")
    outboxes[0].wait_more()

    c.process.send_signal(signal.SIGSTOP)
    try:
        timed("shards of a stopped node are taken over",
              lambda: cluster.sum("postbackd_shards_held", "a", "b") == nodes.SHARDS)
        outboxes[0].wait_more()
    finally:
        c.process.send_signal(signal.SIGCONT)
    cluster.wait_even("a", "b", "c")
    assert c.metrics()["postbackd_shards_lost_total"] > 0
    outboxes[0].wait_more()

    assert b.stop() == 0
    timed("shards of a node that ends are handed over",
          lambda: cluster.sum("postbackd_shards_held", "a", "c") == nodes.SHARDS)
    outboxes[0].wait_more()
    for outbox in outboxes:
        outbox.end()
    ids = [event_id for outbox in outboxes for event_id in outbox.acknowledged]
    twice = nodes.check_all(a, accounts, slow, ids)
    nodes.check_witness(database)
    print("%d events acknowledged, none lost; %d callbacks came twice; %d outcomes refused" %
          (len(ids), twice, cluster.sum("postbackd_outcomes_refused_total", "a", "c")))


def test_what_a_stopped_node_had_under_way_is_refused(cluster, database):
    go = threading.Event()

    def answer(_):
        go.wait(60)
        return 200

    receiver = Receiver(answer)
    a, b = cluster.start("a"), cluster.start("b")
    try:
        sql(database, nodes.WITNESS)
        cluster.wait_even("a", "b")
        accounts = cluster.accounts(8, receiver.url, a)
        ids = []
        for account in accounts:
            batch = ["%s-%d" % (account.app_id, n) for n in range(40)]
            a.api().events([account.event(i, PanelistId="u-" + i) for i in batch])
            ids += batch
        eventually(lambda: b.metrics()["postbackd_attempts_in_flight"] > 0, 30)
        b.process.send_signal(signal.SIGSTOP)
        try:
            go.set()
            eventually(lambda: a.metrics()["postbackd_shards_held"] == nodes.SHARDS, 40)
        finally:
            b.process.send_signal(signal.SIGCONT)
        cluster.wait_even("a", "b")
        twice = nodes.check_all(b, accounts, receiver, ids)
        nodes.check_witness(database)
        refused = b.metrics()["postbackd_outcomes_refused_total"]
        print("%d outcomes refused, %d callbacks came twice" % (refused, twice))
        assert refused > 0
    finally:
        go.set()
        receiver.close()


def test_a_node_is_cut_off_from_the_database(cluster, database, slow):
    proxy = nodes.Proxy(database)
    try:
        a, b = cluster.start("a"), cluster.start("b", proxy.uri)
        sql(database, nodes.WITNESS)
        cluster.wait_even("a", "b")
        accounts = cluster.accounts(4, slow.url, b)
        outbox = nodes.Outbox(cluster, accounts)
        outbox.start()
        outbox.wait_more()
        proxy.freeze()
        timed("shards of a node that is cut off are taken over",
              lambda: a.metrics()["postbackd_shards_held"] == nodes.SHARDS)
        eventually(lambda: b.api().get("/readyz", key=None).status == 503, 30)
        outbox.wait_more()
        proxy.thaw()
        cluster.wait_even("a", "b")
        outbox.wait_more()
        outbox.end()
        twice = nodes.check_all(b, accounts, slow, outbox.acknowledged)
        nodes.check_witness(database)
        print("%d events acknowledged, none lost; %d callbacks came twice" %
              (len(outbox.acknowledged), twice))
    finally:
        proxy.close()


def test_what_comes_in_behind_the_end_of_a_lease_is_handed_on_at_once(cluster, database, receiver):
    """Events whose commit was held up for longer than the lease: the shards are another node's by
    then, which looked through what waits before. It looks for what is late after 15 s at the
    earliest."""
    proxy = nodes.Proxy(database)
    try:
        a, b = cluster.start("a"), cluster.start("b", proxy.uri)
        cluster.wait_even("a", "b")
        accounts = cluster.accounts(6, receiver.url, b)
        for account in accounts:
            b.api().events([account.event("first-" + account.app_id)])
            receiver.wait_for("first-" + account.app_id)
        events = [account.event("held-" + account.app_id) for account in accounts]
        answers = []
        post = threading.Thread(
            target=lambda: answers.append(b.api().post("/api/v1/events", events, timeout=90)))
        proxy.freeze()
        post.start()
        eventually(lambda: b.metrics()["postbackd_store_events_queued"] > 0, 30)
        eventually(lambda: a.metrics()["postbackd_shards_held"] == nodes.SHARDS, 40)
        # It does not learn that before the events are in: its row is held.
        with Session(database) as session:
            session.say("BEGIN; SELECT count(*) FROM (SELECT FROM node WHERE name='b' FOR UPDATE) x;")
            proxy.thaw()
            post.join(90)
            assert answers[0].status == 202 and answers[0].json["Accepted"] == len(events), answers
            for event in events:
                receiver.wait_for(event["EventId"], timeout_s=12)
    finally:
        proxy.close()


def test_any_node_takes_any_request(cluster, receiver):
    a, b, c = everyone = [cluster.start(name) for name in "abc"]
    cluster.wait_even("a", "b", "c")
    accounts = cluster.accounts(6, receiver.url, b)
    first = accounts[0]

    # A key of one node is everybody's, and so is its end.
    made = b.api().post("/api/v1/partners/%s/keys" % first.partner_id,
                        {"Name": "k", "Scopes": ["reports:read", "callbacks:read"]}).json
    path = "/api/v1/callbacks"
    for node in everyone:
        eventually(lambda n=node: n.api(made["Key"]).get(path).status == 200, 30)
    assert a.api().delete("/api/v1/partners/%s/keys/%s" %
                          (first.partner_id, made["KeyId"])).status == 204
    for node in everyone:
        eventually(lambda n=node: n.api(made["Key"]).get(path).status == 401, 30)

    # Events of each at each, and what is asked for again.
    for i, account in enumerate(accounts):
        for j, node in enumerate(everyone):
            node.api().events([account.event("e-%d-%d" % (i, j))])
            assert everyone[j - 1].api().events([account.event("e-%d-%d" % (i, j))])["Duplicates"] == 1
    for i, account in enumerate(accounts):
        for j, node in enumerate(everyone):
            receiver.wait_for("e-%d-%d" % (i, j))
            node.api().wait_state("e-%d-%d" % (i, j), account.partner_id, "delivered")
            again = everyone[j - 2].api().post("/api/v1/callbacks/e-%d-%d/resend" % (i, j),
                                               query={"partnerId": account.partner_id})
            assert again.status == 202, again
            receiver.wait_for("e-%d-%d" % (i, j), 2)

    # Two changes of one thing at two nodes: one after the other, nothing is overwritten.
    assert a.api().patch("/api/v1/apps/" + first.app_id, {"MaxConcurrency": 3}).status == 200
    assert c.api().patch("/api/v1/apps/" + first.app_id, {"TimeoutSeconds": 7}).status == 200
    found = b.api().patch("/api/v1/apps/" + first.app_id, {"Name": "Other"}).json
    assert (found["MaxConcurrency"], found["TimeoutSeconds"], found["Name"]) == (3, 7, "Other")
    eventually(lambda: b.api().get("/api/v1/system").json["Nodes"]["Alive"] == 3)

    # How an endpoint does is known to the node that delivers to it: whoever is asked asks that one.
    def succeeded(node, account):
        answer = node.api().get("/api/v1/apps/%s/endpoints" % account.app_id)
        assert answer.status in (200, 503), answer  # 503: the other node did not answer in time
        return sum(endpoint["Succeeded1h"] for endpoint in answer.json["Endpoints"]) if answer.status == 200 else -1

    def told_alike(account):
        return len({succeeded(node, account) for node in everyone}) == 1 and succeeded(a, account) >= 0

    for account in accounts:
        eventually(lambda w=account: told_alike(w))

    # A URL that is changed at one node is what the owner sends to.
    with_new = accounts[1]
    other = Receiver()
    try:
        answer = c.api().patch("/api/v1/apps/" + with_new.app_id,
                               {"SuccessCallbackUrl": other.url})
        assert answer.status == 200, answer
        n = 0

        def arrives():
            nonlocal n
            n += 1
            a.api().events([with_new.event("new-%d" % n)])
            return other.ids()
        eventually(arrives, 30)
    finally:
        other.close()


def test_what_was_revoked_at_one_node_changes_nothing_at_another(cluster):
    """At once: a change is judged by what the database says then, not by what its node has heard of."""
    a, b = cluster.start("a"), cluster.start("b")
    partner_id = a.api().post("/api/v1/partners", {"Name": "P"}).json["PartnerId"]
    keys = "/api/v1/partners/%s/keys" % partner_id
    for _ in range(5):
        made = a.api().post(keys, {"Scopes": ["keys:write"]}).json
        eventually(lambda m=made: b.api(m["Key"]).get(keys).status == 200, 30)
        held = [Held(b.port, "POST", keys, {"X-Api-Key": made["Key"]}, b'{"Scopes":["keys:write"]}') for _ in range(3)]
        assert [h.wait() for h in held] == [100] * 3
        assert a.api().delete(keys + "/" + made["KeyId"]).status == 204
        assert [h.release() for h in held] == [401] * 3
    assert a.api().get(keys).json["Items"] == []


def test_what_could_not_be_read_of_others_is_read_later(cluster, database):
    a = cluster.start("a")
    sql(database, "CREATE ROLE other LOGIN; GRANT CREATE ON SCHEMA public TO other;"
                  "GRANT ALL ON ALL TABLES IN SCHEMA public TO other")
    b = cluster.start("b", database.replace("//postgres@", "//other@"))
    cluster.wait_even("a", "b")
    keys = "/api/v1/partners/%s/keys" % cluster.accounts(1, None, a)[0].partner_id
    made = a.api().post(keys, {"Name": "k", "Scopes": ["callbacks:read"]}).json
    eventually(lambda: b.api(made["Key"]).get("/api/v1/callbacks").status == 200, 30)
    sql(database, "REVOKE SELECT ON object_log FROM other")
    assert a.api().delete(keys + "/" + made["KeyId"]).status == 204
    eventually(lambda: "read_failed" in b.log_text(), 30)
    sql(database, "GRANT SELECT ON object_log TO other")
    eventually(lambda: b.api(made["Key"]).get("/api/v1/callbacks").status == 401, 30)


def test_a_node_that_was_away_for_days_learns_what_has_changed(cluster, database):
    """Objects that others have made, changed often and removed; it goes on with all that."""
    a, b = cluster.start("a"), cluster.start("b")
    known, = cluster.accounts(1, None, a)
    keys = "/api/v1/partners/%s/keys" % known.partner_id
    made = a.api().post(keys, {"Name": "k", "Scopes": ["callbacks:read"]}).json
    eventually(lambda: b.api(made["Key"]).get("/api/v1/callbacks").status == 200, 30)
    b.process.send_signal(signal.SIGSTOP)
    try:
        assert a.api().delete(keys + "/" + made["KeyId"]).status == 204
        for i in range(5):
            known.patch(Name="name %d" % i)
        new = Account(a, None)
        key = new.key("callbacks:read")
        new.patch(Name="new")
        eventually(lambda: a.metrics()["postbackd_nodes"] == 1, 60)
        sql(database, "UPDATE object_log SET at=at-interval '3 days'")
        a.restart()  # which keeps house
        of_app = "SELECT count(*) FROM object_log WHERE kind=2 AND id='%s'" % known.app_id
        eventually(lambda: int(sql(database, of_app)) <= 2, 60, what="the log is shortened")
    finally:
        b.process.send_signal(signal.SIGCONT)
    eventually(lambda: b.api(made["Key"]).get("/api/v1/callbacks").status == 401, 30)
    eventually(lambda: b.api(key).get("/api/v1/callbacks").status == 200, 30)
    for account, name in ((known, "name 4"), (new, "new")):
        assert b.api().get("/api/v1/apps/" + account.app_id).json["Name"] == name
    assert b.api().events([new.event("at-b")])["Accepted"] == 1
    assert "object_not_read" not in b.log_text()


def test_what_one_node_erases_leaves_the_memory_of_all(cluster):
    hold = threading.Event()

    def answer(_):
        hold.wait(60)
        return 200

    receiver = Receiver(answer)
    a, b = cluster.start("a"), cluster.start("b")
    try:
        cluster.wait_even("a", "b")
        accounts = cluster.accounts(2, receiver.url, a)
        for account, node in zip(accounts, (a, b)):
            account.patch(MaxConcurrency=4, TimeoutSeconds=30)
        cluster.accounts(1, None, a)  # known at each node: so the limits are, too
        for account, node in zip(accounts, (a, b)):
            node.api().events([account.event("%s-%d" % (account.app_id, i), PanelistId="gone")
                               for i in range(30)])
        eventually(lambda: len(receiver.requests) == 8, 30, what="the first ones are being tried")
        for account in accounts:  # one of the two nodes at least asks for another one's lane
            for node in (a, b):
                assert node.api().post("/api/v1/panelists/erase", {"PanelistId": "gone"},
                                       query={"partnerId": account.partner_id}).status == 200
        eventually(lambda: cluster.sum("postbackd_callbacks_in_memory", "a", "b") == 8, 30)
        hold.set()
        for account in accounts:
            a.api().events([account.event(account.app_id + "-last")])
            receiver.wait_for(account.app_id + "-last")
        assert len(receiver.requests) == 10
    finally:
        hold.set()
        receiver.close()


def test_the_cap_holds_over_nodes_whose_clocks_differ(cluster, receiver):
    """Without a Timestamp each node dates by its own clock, whoever commits first."""
    a, b = cluster.start("a"), cluster.start("b")
    cluster.wait_even("a", "b")
    account = cluster.accounts(1, receiver.url, a)[0]
    account.patch(DisqualificationReward=0.5, DisqualificationCap=6)
    eventually(lambda: b.api().get("/api/v1/apps/" + account.app_id)
               .json.get("DisqualificationReward") == 0.5)

    def report(node, name):
        for i in range(20):
            assert node.api().events([account.event("%s-%d" % (name, i), "survey_disqualified",
                                                    PanelistId="p")])["Accepted"] == 1

    threads = [threading.Thread(target=report, args=pair) for pair in ((a, "a"), (b, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60 * PATIENCE)
        assert not thread.is_alive()
    rewards = [row["Reward"] for row in a.api().get("/api/v1/callbacks", query={
        "partnerId": account.partner_id, "limit": 500}).json["Items"]]
    assert len(rewards) == 40
    assert sum(reward == 0.5 for reward in rewards) == 6, rewards


def test_a_recovery_is_run_by_one_and_seen_by_all(cluster):
    good = []
    receiver = Receiver(lambda r: 200 if good else 404)
    a, b = cluster.start("a", schedule="1s"), cluster.start("b", schedule="1s")
    try:
        cluster.wait_even("a", "b")
        account = cluster.accounts(1, receiver.url, a)[0]
        ids = ["e-%d" % i for i in range(30)]
        a.api().events([account.event(event_id) for event_id in ids])
        for event_id in ids:
            a.api().wait_state(event_id, account.partner_id, "dead", 30)
        good.append(True)
        for node in (a, b):
            answer = node.api().post("/api/v1/callbacks/recover", {
                "From": "2020-01-01T00:00:00Z", "To": "2099-01-01T00:00:00Z", "States": ["dead"],
                "RatePerSecond": 1000}, query={"partnerId": account.partner_id})
            assert answer.status == 202, answer
            path = "/api/v1/recoveries/" + answer.json["RecoveryId"]
            for other in (a, b):
                eventually(lambda o=other, p=path: o.api().get(p).json.get("State") == "done", 30)
        for event_id in ids:
            b.api().wait_state(event_id, account.partner_id, "delivered", 30)
        last = b if node is a else a
        assert last.api().delete(path).status == 204
        eventually(lambda: node.api().get(path).status == 404, 30)
    finally:
        receiver.close()


def ask(node, path, body=None):
    """A request that is on its way; its answer is read later."""
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60 * PATIENCE)
    connection.request("POST" if body else "GET", path, body=body and json.dumps(body),
                       headers={"Authorization": "Bearer " + OPERATOR_KEY,
                                "Content-Type": "application/json"})
    return connection


def endpoints(cluster, receiver):
    """Of six apps: whichever node is asked, it has to ask the other one for some."""
    node = cluster.all["a"]
    return ["/api/v1/apps/%s/endpoints" % account.app_id
            for account in cluster.accounts(6, receiver.url, node)]


def let_go(connection):
    """The daemon has closed it without an answer; or what it waited for was given up before, where
    the test's machine is slow."""
    try:
        answer = connection.getresponse()
    except (http.client.HTTPException, OSError):
        return
    assert answer.status in (429, 503), answer.status


def test_what_is_asked_of_another_node_is_answered_while_the_database_is_away(
        cluster, server, receiver):
    a, b = cluster.start("a"), cluster.start("b")
    cluster.wait_even("a", "b")
    paths = endpoints(cluster, receiver)
    server.stop()
    try:
        for node in (a, b):
            asked = [ask(node, path) for path in paths]
            assert [one.getresponse().status for one in asked] == [503] * len(paths)
    finally:
        server.start()
    for node in (a, b):
        eventually(lambda n=node: n.api().get(paths[0]).status == 200, 30)


def test_a_node_ends_that_waits_for_another_ones_answer(cluster, database, receiver):
    proxy = nodes.Proxy(database)
    try:
        a = cluster.start("a")
        b = cluster.start("b", proxy.uri, env={"POSTBACKD_LOOPS": "1"})
        cluster.wait_even("a", "b")
        paths = endpoints(cluster, receiver)
        proxy.freeze()
        asked = [ask(b, path) for path in paths]
        for _ in range(2):  # its one loop has taken what came before
            assert b.api().get("/healthz", key=None).status == 200
        b.process.send_signal(signal.SIGTERM)
        for one in asked:
            let_go(one)
        proxy.thaw()
        assert b.process.wait(60 * PATIENCE) == 0, b.log_text()[-2000:]
        eventually(lambda: a.metrics()["postbackd_shards_held"] == nodes.SHARDS, 40)
    finally:
        proxy.close()


def test_a_node_ends_while_a_recovery_is_counted(cluster, database, receiver):
    """What comes of the count comes when nobody is there any more to be told."""
    a = cluster.start("a")
    account = cluster.accounts(1, receiver.url, a)[0]
    a.api().events([account.event("e")])
    a.api().wait_state("e", account.partner_id, "delivered")
    lock = "BEGIN; LOCK TABLE event; SELECT 'locked';"

    def wait_for_waiting(query):
        eventually(lambda: sql(database, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE"
                                         " '%s' AND wait_event_type='Lock'" % query) == "1", what=query + " waits")

    with Session(database) as before, Session(database) as counting:
        assert before.say(lock) == "locked"
        asked = ask(a, "/api/v1/callbacks/recover?partnerId=" + account.partner_id, {
            "From": "2020-01-01T00:00:00Z", "To": "2099-01-01T00:00:00Z", "States": ["dead"]})
        wait_for_waiting("%ORDER BY%DESC%")  # for the newest event
        counting.begin_to_say(lock)
        wait_for_waiting("%LOCK TABLE event%")
        assert before.say("COMMIT; SELECT 'let go';") == "let go"
        assert counting.hear() == "locked"
        wait_for_waiting("%GROUP BY app_no%")
        a.process.send_signal(signal.SIGTERM)
        let_go(asked)
    assert a.process.wait(60 * PATIENCE) == 0, a.log_text()[-2000:]


def test_events_of_a_client_made_at_another_node(cluster):
    """The sender is told at one node that the client is there, or enabled, and sends to another."""
    a, b = (cluster.start(name) for name in "ab")
    for i in range(5):
        account = Account(a)
        event = {"EventId": "e%d" % i, "Type": "survey_completed", "ClientId": account.client,
                 "PanelistId": "u", "RevenueAmount": 1}
        assert b.api().events(event)["Accepted"] == 1
        lines = "\n".join(json.dumps(dict(event, EventId="n%d-%d" % (i, j))) for j in range(3))
        a.api().patch("/api/v1/clients/" + account.client, {"Enabled": False})
        assert a.api().patch("/api/v1/clients/" + account.client, {"Enabled": True}).status == 200
        found = b.api().events(lines, headers={"Content-Type": "application/x-ndjson"})
        assert found["Accepted"] == 3
        assert a.api().patch("/api/v1/apps/" + account.app_id, {"NegativeAdHoc": True}).status == 200
        back = {"EventId": "back%d" % i, "Type": "ad_hoc", "ClientId": account.client, "PanelistId": "u",
                "RevenueAmount": 0, "Reward": -1, "Reason": "a test"}
        assert b.api().events(back)["Accepted"] == 1
    strange = b.api().post("/api/v1/events", dict(event, EventId="x", ClientId="nobodys"))
    assert strange.json["Rejected"][0]["Errors"][0]["Code"] == "unknown_client"

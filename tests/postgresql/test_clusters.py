"""Accounts split over two clusters, each a PostgreSQL of its own: any node takes any request, and
what becomes of one cluster is no matter to the accounts of the other."""
import json
import os
import subprocess
import threading
import time
from datetime import datetime, timedelta, timezone

import nodes
import pytest
from harness import BINARY, OPERATOR_KEY, Account, Receiver, eventually
from people import person
from postgresql import Cluster, new_database, sql


class Split:
    """Two servers, a database on each, and daemons over both."""

    def __init__(self, directory):
        self.directory = directory
        self.servers = [Cluster().start() for _ in range(2)]
        self.databases = [new_database(s.uri(), "postbackd") for s in self.servers]
        self.all = {}

    def start(self, name, home=None, wait_ready=True, **kw):
        node = nodes.DatabaseDaemon(self.directory / name, home or self.databases[0],
                                    "--store-cluster", self.databases[1], "--node-name", name, **kw)
        self.all[name] = node
        return node.start(wait_ready)

    def wait_even(self, *names):
        def even():
            held = [self.all[name].metrics()["postbackd_shards_held"] for name in names]
            return sum(held) == 2 * nodes.SHARDS and max(held) - min(held) <= 2
        eventually(even, 40, what="the shards of both are even")

    def accounts(self, daemon, url, count=2):
        """So many in each cluster, by cluster."""
        made = [Account(daemon, url) for _ in range(2 * count)]
        found = [[], []]
        for account in made:
            partner = daemon.api().get("/api/v1/partners/" + account.partner_id).json
            found[partner.get("Cluster", 0)].append(account)
        assert [len(of) for of in found] == [count, count]
        for node in self.all.values():
            eventually(lambda n=node: n.api().get("/api/v1/apps/" + made[-1].app_id).status == 200, 30)
        return found

    def remove(self):
        for node in self.all.values():
            node.stop()
        for server in self.servers:
            server.remove()


@pytest.fixture
def split(tmp_path):
    found = Split(tmp_path)
    yield found
    found.remove()


def conversions(daemon, account, key=None):
    api = daemon.api(key) if key else daemon.api()
    answer = api.get("/api/v1/reports/conversions",
                     query={} if key else {"partnerId": account.partner_id})
    assert answer.status == 200, answer
    return sum(row["Conversions"] for row in answer.json["Rows"])


def events_in(database):
    return int(sql(database, "SELECT count(*) FROM event"))


def post(daemon, *events, timeout=60):
    return daemon.api().post("/api/v1/events", list(events), timeout=timeout)


def stored(answer):
    return answer.status == 202 and answer.json["Rejected"] == []


def wait_away(daemon, count):
    eventually(lambda: daemon.metrics()["postbackd_clusters_away"] == count, 40,
               what="%d clusters are away" % count)


def test_an_export_has_the_events_of_all_clusters(split, receiver):
    a = split.start("a")
    accounts = [account for of in split.accounts(a, receiver.url) for account in of]
    today = datetime.now(timezone.utc)
    posted = [(account, account.event("%s-%d" % (account.app_id, n), "survey_started" if n % 2 else "survey_completed"))
              for n in range(6) for account in accounts]
    assert post(a, *[event for _, event in posted]).json["Accepted"] == len(posted)
    run = subprocess.run(
        [BINARY, "export", "events", "--url", "http://127.0.0.1:%d" % a.port,
         "--start-date", (today - timedelta(days=150)).strftime("%Y-%m-%d"),
         "--end-date", (today + timedelta(days=1)).strftime("%Y-%m-%d")],
        env=dict(os.environ, POSTBACKD_OPERATOR_KEY=OPERATOR_KEY), text=True, capture_output=True, timeout=120)
    assert run.returncode == 0, run
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert sorted((row["PartnerId"], row["EventId"]) for row in rows) == \
        sorted((account.partner_id, event["EventId"]) for account, event in posted)


def test_two_clusters_are_one_installation(split, receiver):
    a, b = split.start("a"), split.start("b")
    split.wait_even("a", "b")
    by_cluster = split.accounts(a, receiver.url)
    accounts = [account for of in by_cluster for account in of]

    # One request with events of all, at each node; each is delivered, wherever its lane is.
    for node in (a, b):
        events = [account.event("%s-%d-%d" % (account.app_id, node.port, n), PanelistId="u%d" % n)
                  for n in range(10) for account in accounts]
        assert post(node, *events).json == {"Accepted": len(events), "Duplicates": 0, "Rejected": []}
        again = post(a if node is b else b, *events, dict(events[0], RevenueAmount="2.00"),
                     dict(events[1], ClientId="nobody")).json
        assert again["Duplicates"] == len(events)
        assert [(r["Index"], r["Errors"][0]["Code"]) for r in again["Rejected"]] == \
            [(len(events), "conflict"), (len(events) + 1, "unknown_client")]
        for event in events:
            receiver.wait_for(event["EventId"])
    assert len(receiver.ids()) == len(set(receiver.ids())) == 80
    assert [events_in(database) for database in split.databases] == [40, 40]
    # One cluster has an account whole, and nobody else's.
    for cluster, of in enumerate(by_cluster):
        assert int(sql(split.databases[cluster], "SELECT count(*) FROM account")) == len(of)

    for node in (a, b):
        for account in accounts:
            key = account.key("reports:read", "callbacks:read", "callbacks:write")
            eventually(lambda n=node, k=key: n.api(k).get("/api/v1/callbacks").status == 200, 30)
            assert conversions(node, account, key) == conversions(node, account) == 20
            rewards = node.api(key).get("/api/v1/rewards", query={"limit": 500}).json["Items"]
            assert len(rewards) == 20
            first = rewards[0]["RewardId"]
            assert node.api(key).post("/api/v1/callbacks/%s/resend" % first).status == 202
            other = accounts[accounts.index(account) - 1]
            assert node.api(key).get("/api/v1/reports/earnings",
                                     query={"clientIds": other.client}).status == 404
            assert node.api().get("/api/v1/apps/%s/endpoints" % account.app_id).status == 200
    eventually(lambda: len(receiver.ids()) == 80 + 8, 30, what="the resends arrive")

    # The operator's pages are of both.
    for node in (a, b):
        def summed(n=node):
            metrics = n.metrics()
            return (metrics["postbackd_events_accepted_total"], metrics["postbackd_callbacks_pending"],
                    metrics["postbackd_callbacks_delivered_total"]) == (80, 0, 80)
        eventually(summed, 30, what="the metrics are of both clusters")
        metrics = node.metrics()
        assert (metrics["postbackd_clusters"], metrics["postbackd_clusters_away"]) == (2, 0)
        assert metrics["postbackd_shards"] == 2 * nodes.SHARDS
        system = node.api().get("/api/v1/system").json
        assert system["Clusters"] == {"Total": 2, "Away": 0} and system["Events"]["Accepted"] == 80
        listed = node.api().get("/api/v1/partners").json["Items"]
        assert {p["PartnerId"] for p in listed} == {account.partner_id for account in accounts}
        # Resends are in the audit log of the account's cluster, what is done to accounts in the
        # first's; pages of any size have all of it, in one order.
        whole = node.api().get("/api/v1/audit", query={"limit": 500}).json["Items"]
        resent = [e for e in whole if e["Action"] == "callback.resent"]
        assert len(resent) == 8 and len(whole) > 20
        paged, after = [], None
        while True:
            query = {"limit": 7, "after": after} if after else {"limit": 7}
            page = node.api().get("/api/v1/audit", query=query).json
            paged += page["Items"]
            after = page["Next"]
            if not after:
                break
        assert paged == whole
        for account in accounts:
            own = node.api().get("/api/v1/audit", query={"partnerId": account.partner_id}).json["Items"]
            assert sum(e["Action"] == "callback.resent" for e in own) == 2
    eventually(lambda: max(n.metrics()["postbackd_books_round_age_seconds"] for n in (a, b)) >= 0, 60,
               what="the books of both were checked")
    assert all(n.metrics()["postbackd_books_wrong"] == 0 for n in (a, b))

    # Erasing, in either.
    for account in accounts:
        assert b.api().post("/api/v1/panelists/erase", {"PanelistId": "u1"},
                            query={"partnerId": account.partner_id}).status == 200
        found = a.api().get("/api/v1/callbacks", query={"partnerId": account.partner_id,
                                                        "panelistId": "u1"}).json["Items"]
        assert found == []


def test_one_cluster_is_down_and_the_accounts_of_the_other_are_not(split, receiver):
    a, b = split.start("a"), split.start("b")
    split.wait_even("a", "b")
    (first,), (second,) = split.accounts(a, receiver.url, 1)
    keys = {w: w.key("reports:read", "callbacks:read", "callbacks:write") for w in (first, second)}
    for node in (a, b):
        for account, key in keys.items():
            eventually(lambda n=node, k=key: n.api(k).get("/api/v1/callbacks").status == 200, 30)
            assert stored(post(node, account.event("%s-%d" % (account.app_id, node.port))))
    browser = person(a, "admin")
    # What was changed last is known to both: who knows of a change that it has not read stops.
    first.patch(Name="Known")
    eventually(lambda: b.api().get("/api/v1/apps/" + first.app_id).json["Name"] == "Known", 30)

    for cluster, (down, up) in enumerate(((first, second), (second, first))):
        split.servers[cluster].kill()
        for node in (a, b):
            wait_away(node, 1)
        # Without the first, for longer than a node with one cluster answers for keys and sessions.
        ids, until = [], time.monotonic() + (3 if cluster else 20)
        while time.monotonic() < until:
            for node in (a, b):
                ids.append("%d-up-%d" % (cluster, len(ids)))
                answer = post(node, up.event(ids[-1]))
                assert stored(answer), answer
                assert conversions(node, up, keys[up]) > 0
                receiver.wait_for(ids[-1])
            time.sleep(0.2)
        assert browser.session()["SignedIn"]
        for node in (a, b):
            assert node.api().callback(ids[0], up.partner_id)["State"] == "delivered"
            assert node.api(keys[up]).post("/api/v1/callbacks/%s/resend" % ids[0]).status == 202
            # Those of the one that is down are told to come again, and nothing of it is stored:
            # not of a request with events of both either.
            for refused in ((down.event("late"),), (up.event("mixed"), down.event("mixed"))):
                answer = post(node, *refused)
                assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0, answer
            answer = node.api(keys[down]).get("/api/v1/reports/earnings")
            assert answer.status == 503, answer
            assert node.api().get("/api/v1/callbacks/mixed",
                                  query={"partnerId": up.partner_id}).status == 404
            assert node.api(None).get("/readyz").status == 200
            health = node.api(None).get("/healthz").json
            assert [w["Check"] for w in health["Warnings"]] == ["clusters"]
        before = conversions(b, up, keys[up])
        split.servers[cluster].start()
        for node in (a, b):
            wait_away(node, 0)
        for n, node in enumerate((a, b)):
            both = [up.event("both-%d-%d-u" % (cluster, n)), down.event("both-%d-%d-d" % (cluster, n))]
            eventually(lambda e=both, m=node: stored(post(m, *e)), 30)
            for event in both:
                receiver.wait_for(event["EventId"], timeout_s=40)
        assert conversions(a, up, keys[up]) == before + 2
        eventually(lambda: a.metrics()["postbackd_callbacks_pending"] == 0, 40)
    # Accounts and people are changed again, too.
    assert a.api().patch("/api/v1/apps/" + first.app_id, {"Name": "Again"}).status == 200
    eventually(lambda: b.api().get("/api/v1/apps/" + first.app_id).json["Name"] == "Again", 30)


def log_of_all(node):
    """How many partners were read, how many were not, and whose callbacks are there."""
    answer = node.api().get("/api/v1/callbacks", query={"limit": 500})
    assert answer.status == 200, answer
    return (answer.json["PartnersRead"], answer.json["PartnersAway"],
            {row["PartnerId"] for row in answer.json["Items"]})


def test_endpoints_of_a_cluster_that_is_down_are_not_told_and_the_others_are(split):
    a, b = split.start("a"), split.start("b")
    split.wait_even("a", "b")
    failing = Receiver(answer=lambda r: 503)
    try:
        up, down = split.accounts(a, failing.url, 4)  # so many are not one node's alone
        for account in up + down:
            assert stored(post(a, *[account.event("%s-%d" % (account.app_id, n)) for n in range(12)]))

        def health(node):
            answer = node.api().get("/api/v1/endpoints")
            assert answer.status == 200, answer
            assert sum(answer.json["States"].values()) == 3 * 8
            return answer.json

        def listed(found):
            return {one["AppId"] for one in found["NotHealthy"]}

        everybody = {account.app_id for account in up + down}
        for node in (a, b):
            eventually(lambda n=node: listed(health(n)) == everybody, 30)
            assert log_of_all(node) == (8, 0, {account.partner_id for account in up + down})
        split.servers[1].kill()
        for node in (a, b):
            wait_away(node, 1)
        for node in (a, b) * 3:  # one that is slow to tell the other one leaves out some that are up, too
            found = eventually(lambda n=node: (h := health(n)) and listed(h) >= {account.app_id for account in up} and h)
            assert listed(found) == {account.app_id for account in up}, found
            # Whatever is not told in full is named, and nothing of it is called healthy.
            assert {one["PartnerId"]: one["NotHealthy"] > 0 for one in found["Partners"]} == {
                account.partner_id: True for account in up + down}
            assert found["More"]
            assert log_of_all(node) == (4, 4, {account.partner_id for account in up})
    finally:
        failing.close()


def test_a_node_starts_while_a_cluster_is_down(split, receiver):
    a = split.start("a")
    (first,), (second,) = split.accounts(a, receiver.url, 1)
    assert stored(post(a, first.event("f1"), second.event("s1")))
    receiver.wait_for("s1")
    second.patch(Enabled=False)  # its callbacks wait
    assert stored(post(a, second.event("s2")))
    split.servers[1].kill()
    wait_away(a, 1)
    a.kill()
    a.start()
    wait_away(a, 1)
    second.patch(Enabled=True)
    assert stored(post(a, first.event("f2")))
    receiver.wait_for("f2")
    assert post(a, second.event("s3")).status == 503
    assert a.api().get("/api/v1/audit").status == 503  # of all accounts
    assert a.api().get("/api/v1/audit", query={"partnerId": first.partner_id}).status == 200
    split.servers[1].start()
    wait_away(a, 0)
    eventually(lambda: stored(post(a, second.event("s3"))), 30)
    receiver.wait_for("s2", timeout_s=40)
    receiver.wait_for("s3", timeout_s=40)
    assert conversions(a, second) == 3 and conversions(a, first) == 2


def test_a_cluster_that_cannot_be_read_when_it_is_opened_ends_nobody(split, receiver):
    """It answers, and is gone before what it has is read: a table that is away lasts longer."""
    a = split.start("a")
    (first,), (second,) = split.accounts(a, receiver.url, 1)
    assert a.stop() == 0
    sql(split.databases[1], "ALTER TABLE object RENAME TO away")
    a.start()
    wait_away(a, 1)
    assert stored(post(a, first.event("f1")))
    assert post(a, second.event("s1")).status == 503
    tries = a.log_text().count("store_failed")
    eventually(lambda: a.log_text().count("store_failed") > tries, 30)  # opened late it is the same
    assert stored(post(a, first.event("f2")))
    sql(split.databases[1], "ALTER TABLE away RENAME TO object")
    wait_away(a, 0)
    eventually(lambda: stored(post(a, second.event("s1"))), 30)
    for event in "f1", "f2", "s1":
        receiver.wait_for(event, timeout_s=40)


def test_a_request_of_two_clusters_is_taken_whole(split, receiver):
    """One of them goes away while it is being taken."""
    proxy = nodes.Proxy(split.databases[1])
    whole, split.databases[1] = split.databases[1], proxy.uri
    try:
        a = split.start("a")
        (first,), (second,) = split.accounts(a, receiver.url, 1)
        assert stored(post(a, first.event("f"), second.event("s")))
        proxy.freeze()
        answers = []
        both = [first.event("f2"), second.event("s2")]
        asking = threading.Thread(target=lambda: answers.append(post(a, *both, timeout=120)))
        asking.start()
        eventually(lambda: events_in(split.databases[0]) == 2, 30)
        assert answers == []
        split.servers[1].kill()
        split.servers[1].start()
        proxy.thaw()
        asking.join(120)
        assert answers[0].status in (202, 503), answers
        if answers[0].status == 503:
            assert "Duplicates" in answers[0].json["detail"]
        eventually(lambda: events_in(whole) == 2, 60, what="the rest of it is stored, too")
        assert eventually(lambda: stored(post(a, *both)) and post(a, *both), 30).json["Duplicates"] == 2
        receiver.wait_for("s2", timeout_s=40)
    finally:
        proxy.close()


def test_who_asked_is_not_told_that_nothing_is_stored_when_a_part_is(split, receiver):
    """The daemon is stopped while one cluster has its part and the other cannot be reached."""
    proxy = nodes.Proxy(split.databases[1])
    split.databases[1] = proxy.uri
    try:
        a = split.start("a")
        (first,), (second,) = split.accounts(a, receiver.url, 1)
        proxy.freeze()
        answers = []
        both = [first.event("f"), second.event("s")]
        asking = threading.Thread(target=lambda: answers.append(post(a, *both, timeout=120)))
        asking.start()
        eventually(lambda: events_in(split.databases[0]) == 1, 30)
        split.servers[1].kill()
        proxy.thaw()
        wait_away(a, 1)
        refused = 'postbackd_requests_refused_total{bound="database"}'  # then the part is submitted again
        eventually(lambda: a.metrics()[refused] == 1, 40)
        assert answers == []
        a.stop()
        asking.join(60)
        assert answers[0].status == 503
        assert "Duplicates" in answers[0].json["detail"], answers[0]
        assert answers[0].json["detail"].startswith("A cluster that has accounts of this request"), answers[0]
    finally:
        proxy.close()


def mark_in(database):
    return sql(database, "SELECT document FROM object WHERE kind=12")


def test_parts_that_are_refused_for_ever_are_given_up_and_bounded(split, receiver):
    """The other parts are stored, so nobody is told that nothing is; and others are not held up for long."""
    node = split.start("a")
    (first,), (second,) = split.accounts(node, receiver.url, count=1)
    sql(split.databases[1], """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.panelist_id='poison' THEN RAISE EXCEPTION 'not this one' USING ERRCODE='XX000'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER refuse BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION refuse();""")

    def mixed(n):
        events = [first.event("%d-%d" % (n, i)) for i in range(9000)]  # in memory more than as text
        return events + [second.event("p-%d" % n, PanelistId="poison")]
    outbox, answers = [], []

    def ask(n):
        answers.append(post(node, *mixed(n)))

    def full():
        if not any(a.status == 429 for a in answers):
            outbox.append(threading.Thread(target=ask, args=(len(outbox),), daemon=True))
            outbox[-1].start()
        return any(a.status == 429 for a in answers)
    eventually(full, 30, 0.5, what="no more of them are held")
    assert 1 < len(outbox) < 20
    before = node.resident_kib()
    for n in range(100, 110):
        answer = post(node, *mixed(n))
        assert answer.status == 429 and int(answer.headers["Retry-After"]) > 0, (n, answer)
    node.check_grown(before, 16 << 10)
    assert stored(post(node, second.event("alone")))  # of one cluster
    eventually(lambda: stored(post(node, first.event("x"), second.event("y"))), 60, 1, what="they are given up")
    for thread in outbox:
        thread.join(60)
    sql(split.databases[1], "DROP FUNCTION refuse CASCADE")
    eventually(lambda: stored(post(node, *mixed(0))), 60, 1)
    found = post(node, *mixed(0)).json
    assert (found["Accepted"], found["Duplicates"]) == (0, 9001), found


def leave_mark(database, text):
    """As another node does, which this one has not read yet."""
    sql(database, "WITH r AS (UPDATE revision SET revision=revision+1 WHERE name='object' RETURNING revision),"
        "o AS (UPDATE object SET document='%s' WHERE kind=12)"
        "INSERT INTO object_log(revision,number,kind,id,node) SELECT revision,0,12,'home',1 FROM r" % text)


def test_a_mark_never_goes_back(split, receiver):
    a = split.start("a")
    (first,), _ = split.accounts(a, receiver.url, 1)
    eventually(lambda: mark_in(split.databases[1]) != "", 30)
    leave_mark(split.databases[1], "xxx")  # no number, so it is passed over
    first.patch(Name="Changed")
    eventually(lambda: mark_in(split.databases[1]).isdigit(), 30)
    for step in range(3):
        leave_mark(split.databases[1], 1000000 + step)
        first.patch(Name="Changed %d" % step)
        time.sleep(1.5)  # nothing tells that the node has tried
        assert mark_in(split.databases[1]) == str(1000000 + step)


def test_a_cluster_that_hangs_holds_up_no_word_to_others(split, tmp_path, receiver):
    third = new_database(split.servers[1].uri(), "third")
    proxy = nodes.Proxy(split.databases[1])
    a = nodes.DatabaseDaemon(tmp_path / "a", split.databases[0], "--store-cluster", proxy.uri,
                             "--store-cluster", third)
    try:
        a.start()
        account = Account(a, receiver.url)
        eventually(lambda: mark_in(third) != "", 30)
        proxy.freeze()
        for step in range(3):  # whatever is asked of the one that hangs is on its way
            before = mark_in(third)
            account.patch(Name="Changed %d" % step)
            eventually(lambda b=before: mark_in(third) != b, 20, what="the mark is left")
    finally:
        proxy.thaw()
        a.stop()
        proxy.close()


def test_an_app_that_is_not_known_yet_is_delivered_soon_after_it_is(split, receiver):
    """One node has its shard, but has not heard of it: events of it came in at another one."""
    home, other = nodes.Proxy(split.databases[0]), nodes.Proxy(split.databases[1])
    whole, split.databases[1] = split.databases[1], other.uri
    try:
        # Who comes first keeps the same half: so one has it in the first cluster, the other one in
        # the second.
        a = split.start("a")
        assert a.stop() == 0
        there, other.target = other.target, "/nowhere"
        b = split.start("b", home=home.uri)
        split.databases[1] = whole
        a = split.start("a")
        other.target = there
        for database in (split.databases[0], whole):
            eventually(lambda d=database: sql(d, "SELECT count(*) FROM shard GROUP BY node") ==
                       "128\n128", 40, what="the shards of each are even")
        _, known = split.accounts(a, receiver.url, 4)
        home.freeze()
        made = [Account(a, receiver.url) for _ in range(8)]
        assert stored(post(a, *(account.event(account.app_id) for account in made + known)))
        eventually(lambda: sql(whole, "SELECT count(*) FROM handover") == "0")
        eventually(lambda: {account.app_id for account in known} <= set(receiver.ids()))
        assert not {account.app_id for account in made} <= set(receiver.ids())
        home.thaw()
        for account in made:
            receiver.wait_for(account.app_id, timeout_s=12)
        eventually(lambda: b.metrics()["postbackd_callbacks_pending"] == 0, 30)
    finally:
        home.close()
        other.close()


def test_what_was_left_in_a_cluster_before_it_was_opened_is_heard(split, receiver):
    """A key is revoked while a node has neither cluster; then it has the second one."""
    home, other = nodes.Proxy(split.databases[0]), nodes.Proxy(split.databases[1])
    try:
        a = split.start("a")
        (_,), (second,) = split.accounts(a, receiver.url, 1)
        made = a.api().post("/api/v1/partners/%s/keys" % second.partner_id,
                            {"Name": "k", "Scopes": ["reports:read"]}).json
        whole, split.databases[1] = split.databases[1], other.uri
        there, other.target = other.target, "/nowhere"
        b = split.start("b", home=home.uri)
        wait_away(b, 1)
        home.freeze()
        before = int(mark_in(whole))
        assert a.api().delete("/api/v1/partners/%s/keys/%s" %
                              (second.partner_id, made["KeyId"])).status == 204
        eventually(lambda: int(mark_in(whole)) > before, 30)
        other.target = there
        eventually(lambda: "cluster_back" in b.log_text(), 30)
        eventually(lambda: "who may still" in b.api(made["Key"]).get("/api/v1/reports/earnings").text, 40)  # of a 503
        home.thaw()
        eventually(lambda: b.api(made["Key"]).get("/api/v1/reports/earnings").status == 401, 40)
    finally:
        home.close()
        other.close()


def test_a_node_that_hears_of_changes_it_cannot_read_answers_for_nobody(split, receiver):
    """A key is revoked while one node is cut off from the first cluster, but not from the second."""
    proxy = nodes.Proxy(split.databases[0])
    try:
        a, b = split.start("a"), split.start("b", home=proxy.uri)
        (_,), (second,) = split.accounts(a, receiver.url, 1)
        made = a.api().post("/api/v1/partners/%s/keys" % second.partner_id,
                            {"Name": "k", "Scopes": ["reports:read"]}).json
        eventually(lambda: b.api(made["Key"]).get("/api/v1/reports/earnings").status == 200, 30)
        proxy.freeze()
        wait_away(b, 1)
        assert a.api().delete("/api/v1/partners/%s/keys/%s" %
                              (second.partner_id, made["KeyId"])).status == 204
        eventually(lambda: b.api(made["Key"]).get("/api/v1/reports/earnings").status == 503, 60)
        proxy.thaw()
        eventually(lambda: b.api(made["Key"]).get("/api/v1/reports/earnings").status == 401, 40)
        eventually(lambda: b.api().get("/api/v1/partners/" + second.partner_id).status == 200, 40)
    finally:
        proxy.close()

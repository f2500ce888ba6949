"""Another database in a cluster's place: an empty one, one that was made anew, one that a typing error names.
None of them may be used: events that are known would be taken in again."""
from concurrent.futures import ThreadPoolExecutor

import nodes
from harness import Account, eventually
from postgresql import drop_database, new_database, sql
from small_disk import SmallDiskServer
from test_clusters import events_in, post, split, wait_away  # noqa: F401  (split is a fixture)
from test_clusters_shown import shown


def account_of(cluster, daemon, receiver):
    """New partners take turns."""
    for _ in range(9):
        account = Account(daemon, receiver.url)
        if daemon.api().get("/api/v1/partners/" + account.partner_id).json.get("Cluster", 0) == cluster:
            return account
    raise AssertionError("no new partner goes to cluster %d" % cluster)


def has_store(uri):
    return sql(uri, "SELECT to_regclass('meta') IS NOT NULL") == "t"


def sessions(server):
    """How many there ever were in the cluster's database."""
    return int(sql(server.uri(), "SELECT sessions FROM pg_stat_database WHERE datname='postbackd'"))


def away_for(node, why):
    wait_away(node, 1)
    eventually(lambda: why in node.log_text(), 30, what=why)


def test_an_empty_database_is_never_made_a_cluster_that_has_one(split, tmp_path, receiver):  # noqa: F811
    a = split.start("a")
    account = account_of(1, a, receiver)
    assert post(a, account.event("known")).json["Accepted"] == 1
    receiver.wait_for("known")
    empty = new_database(split.servers[0].uri(), "empty")
    b = nodes.DatabaseDaemon(tmp_path / "b", split.databases[0], "--store-cluster", empty)
    try:
        b.start()
        away_for(b, "this database is empty, but cluster 1 has one with events")
        assert post(b, account.event("known")).status == 503
        assert not has_store(empty)
    finally:
        b.stop()
    rows, _ = shown(split.databases[0], empty, status=1)
    assert rows[1][-1].startswith("away: its database is empty, but the cluster has one with events")
    assert post(a, account.event("known")).json == {"Accepted": 0, "Duplicates": 1, "Rejected": []}
    assert len(receiver.of("known")) == 1


def test_a_database_that_was_made_anew_is_left_alone_until_its_record_is_deleted(split, tmp_path, receiver):  # noqa: F811
    a = split.start("a")
    account = account_of(1, a, receiver)
    assert post(a, account.event("old")).json["Accepted"] == 1
    receiver.wait_for("old")
    drop_database(split.databases[1])
    made = new_database(split.servers[1].uri(), "postbackd")
    assert made == split.databases[1]
    wait_away(a, 1)
    # A store that somebody else has made there, of the same installation and number.
    other = new_database(split.servers[0].uri(), "other")
    record = sql(split.databases[0], "SELECT value FROM meta WHERE name='cluster_1'")
    sql(split.databases[0], "DELETE FROM meta WHERE name='cluster_1'")
    c = nodes.DatabaseDaemon(tmp_path / "c", split.databases[0], "--store-cluster", other)
    try:
        c.start()
        eventually(lambda: has_store(other), 30)
        assert c.metrics()["postbackd_clusters_away"] == 0
    finally:
        c.stop()
    assert sql(split.databases[0], "SELECT value FROM meta WHERE name='cluster_1'") not in ("", record)
    sql(split.databases[0], "UPDATE meta SET value='%s' WHERE name='cluster_1'" % record)
    rows, _ = shown(split.databases[0], other, status=1)
    assert rows[1][-1].startswith("away: its database is not the one that the cluster has")
    d = nodes.DatabaseDaemon(tmp_path / "d", split.databases[0], "--store-cluster", other)
    try:
        d.start()
        away_for(d, "this is not the database that cluster 1 has")
    finally:
        d.stop()
    b = split.start("b")  # one that starts makes no tables there either
    away_for(b, "this database is empty, but cluster 1 has one with events")
    assert not has_store(made)
    # As the message says: the cluster begins anew, at nodes that run after their next start.
    sql(split.databases[0], "DELETE FROM meta WHERE name='cluster_1'")
    eventually(lambda: b.metrics()["postbackd_clusters_away"] == 0, 30, what="the cluster begins anew")
    assert events_in(made) == 0 and post(b, account.event("new")).json["Accepted"] == 1
    before = sessions(split.servers[1])
    eventually(lambda: sessions(split.servers[1]) > before + 12, 60, what="a tries again and again; b has 9 at most")
    assert a.metrics()["postbackd_clusters_away"] == 1
    a.restart()
    eventually(lambda: a.metrics()["postbackd_clusters_away"] == 0, 30)
    assert post(a, account.event("new")).json["Duplicates"] == 1


def test_a_cluster_is_added_by_one_name_only(split, tmp_path, receiver):  # noqa: F811
    """Two nodes add a cluster, and one names it wrongly: the first wins."""
    two, tow = (new_database(split.servers[0].uri(), name) for name in ("two", "tow"))
    a = split.start("a")
    assert a.stop() == 0
    found = [nodes.DatabaseDaemon(tmp_path / name, split.databases[0], "--store-cluster", split.databases[1],
                                  "--store-cluster", uri) for name, uri in (("right", two), ("wrong", tow))]
    try:
        for node in found:
            node.start()
        away_for(found[1], "this database is empty, but cluster 2 has one with events")
        assert found[0].metrics()["postbackd_clusters_away"] == 0 and not has_store(tow)
        account = account_of(2, found[0], receiver)
        assert post(found[0], account.event("third")).json["Accepted"] == 1
        eventually(lambda: found[1].api().get("/api/v1/apps/" + account.app_id).status == 200, 30)
        assert post(found[1], account.event("third")).status == 503
    finally:
        for node in found:
            node.stop()


def test_of_two_nodes_that_add_a_cluster_at_once_one_wins(split, tmp_path):  # noqa: F811
    """Both find no record, and each makes a store: the record is made once."""
    assert split.start("a").stop() == 0
    for n in range(3):
        sql(split.databases[0], "DELETE FROM meta WHERE name='cluster_2'")
        uris = [new_database(split.servers[0].uri(), "%s_%d" % (name, n)) for name in ("two", "tow")]
        found = [nodes.DatabaseDaemon(tmp_path / ("%d-%d" % (n, i)), split.databases[0], "--store-cluster",
                                      split.databases[1], "--store-cluster", uri) for i, uri in enumerate(uris)]
        try:
            with ThreadPoolExecutor(2) as both:
                list(both.map(lambda node: node.start(), found))
            eventually(lambda: sorted(node.metrics()["postbackd_clusters_away"] for node in found) == [0, 1], 30)
        finally:
            for node in found:
                node.stop()


def test_a_first_start_beside_a_cluster_with_a_store_is_refused(split, tmp_path):  # noqa: F811
    assert split.start("a").stop() == 0
    empty = new_database(split.servers[0].uri(), "empty")
    node = nodes.DatabaseDaemon(tmp_path / "wrong", empty, "--store-cluster", split.databases[1])
    begin = node.spawn()
    assert node.process.wait(60) != 0
    assert "has no store, but that of cluster 1 has one" in node.log_text(begin)
    assert not has_store(empty)


def test_a_cluster_whose_disk_is_full_is_shown_as_away(tmp_path):
    server = SmallDiskServer("all").start()
    node = None
    try:
        one, two = (new_database(server.uri(), name) for name in ("one", "two"))
        node = nodes.DatabaseDaemon(tmp_path / "a", one, "--store-cluster", two)
        node.start()
        assert [row[-1] for row in shown(one, two)[0]] == ["in use"] * 2
        server.fill()
        assert [row[-1] for row in shown(one, two, status=1)[0]] == ["away: its disk is full"] * 2
        server.make_room()
        assert [row[-1] for row in shown(one, two)[0]] == ["in use"] * 2
    finally:
        if node:
            node.stop()
        server.remove()

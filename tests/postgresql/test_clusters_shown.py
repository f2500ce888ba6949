"""postbackd clusters and the system page: where each cluster is, how full it is, and what is away. And the
options that name them."""
import re
import os
import subprocess

import nodes
from harness import BINARY, OPERATOR_KEY, Account, eventually
from postgresql import new_database, sql
from test_clusters import events_in, post, split, wait_away  # noqa: F401  (split is a fixture)


def shown(*uris, status=0):
    """The cells of each cluster that `postbackd clusters` shows, and the lines below them."""
    words = ["--store", uris[0]] + [word for uri in uris[1:] for word in ("--store-cluster", uri)]
    done = subprocess.run([BINARY, "clusters", *words], text=True, capture_output=True, timeout=60,
                          env={"PATH": os.environ["PATH"]})
    assert (done.returncode, done.stderr) == (status, ""), done
    assert "secret" not in done.stdout, done.stdout
    lines = [re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines()]
    assert lines[0] == ["cluster", "server", "database", "partners", "events", "waiting", "size", "recent", "state"]
    return lines[1:1 + len(uris)], [" ".join(line) for line in lines[1 + len(uris):]]


def test_clusters_are_shown(split, receiver):  # noqa: F811
    """Three clusters on two servers: what each has, what would even them out, and what is away."""
    split.databases.insert(1, new_database(split.servers[0].uri(), "zwei 😀 x"))
    a = nodes.DatabaseDaemon(split.directory / "a", split.databases[0], "--store-cluster", split.databases[1],
                             "--store-cluster", split.databases[2])
    split.all["a"] = a
    rows, below = shown(*split.databases, status=1)
    assert {row[-1] for row in rows} == {"away: there is no store in this database yet: a server makes it when it starts"}
    a.start()
    accounts = [Account(a, receiver.url) for _ in range(3)]
    assert post(a, *[account.event("%d-%d" % (k, n)) for k, account in enumerate(accounts[:2])
                     for n in range(4 + 4 * k)]).json["Accepted"] == 12
    for k in range(2):
        receiver.wait_for("%d-3" % k)
    one, other = ["%s:5432" % server.folder for server in split.servers]
    eventually(lambda: [row[5] for row in shown(*split.databases)[0]] == ["0"] * 3, 30, what="all are delivered")
    rows, below = shown(*split.databases)
    assert [row[:6] + row[7:] for row in rows] == [["0", one, "postbackd", "1", "4", "0", "4", "in use"],
                                                   ["1", one, "zwei 😀 x", "1", "8", "0", "8", "in use"],
                                                   ["2", other, "postbackd", "1", "0", "0", "0", "in use"]]
    assert below[0] == "on one server: clusters 0 and 1, on " + one
    hint = re.fullmatch(r"to even out: move cluster (0 \(0\.0\d GB, 33|1 \(0\.0\d GB, 67) % of the events\) from (\S+) to a server of its own",
                        below[1])
    assert hint and hint.group(2) == one and len(below) == 2, below

    def page():
        return a.api().get("/api/v1/system").json["ClusterList"]
    names = ("Number", "Server", "Database", "Partners", "Events", "Pending", "RecentEvents")

    def same():  # as the node saw it within the last seconds
        found = page()
        sizes = [a.metrics().get('postbackd_cluster_bytes{cluster="%d"}' % c["Number"]) for c in found]
        return ([[str(c[name]) for name in names] for c in found] == [row[:6] + [row[7]] for row in rows]
                and [c["Bytes"] for c in found] == sizes)
    eventually(same, 30, what="the system page and the metrics say the same")
    for c in page():
        assert (c["State"], c["Move"]) == ("in_use", None) and 5e6 < c["Bytes"] < 1e8
    assert [str(c["Number"]) for c in page() if c["ShouldMove"]] == [hint.group(1)[0]]

    # A role that may only connect sees what everybody sees.
    sql(split.databases[0], "CREATE ROLE plain LOGIN")
    rows, below = shown(split.databases[0] + "&user=plain", split.databases[1] + "&user=plain")
    assert [row[3:6] + row[7:] for row in rows] == [["?", "?", "?", "?", "in use"]] * 2 and rows[0][6].endswith(" GB")
    assert len(below) == 1

    # Away, and not named in its place; a password is never printed.
    split.servers[1].stop()
    rows, below = shown(*split.databases, status=1)
    assert rows[2][:4] == ["2", "-", "-", "1"] and rows[2][8].startswith("away: connection to server")
    assert [row[-1] for row in rows[:2]] == ["in use"] * 2 and len(below) == 1
    wait_away(a, 1)
    assert [(c["State"], c["Server"], c["Partners"]) for c in page()] == \
        [("in_use", one, 1), ("in_use", one, 1), ("away", None, 1)]
    assert not any(c["ShouldMove"] for c in page())
    rows, _ = shown(split.databases[0], "postgresql://u:secret@127.0.0.1:1/x", "postgresql://u:secret@[::1/x",
                    split.databases[1], status=1)
    assert [row[-1] for row in rows] == ["in use", rows[1][-1], "away: its URI cannot be read",
                                         "away: its database is cluster 1 of an installation: name the clusters in "
                                         "their order"]
    split.servers[1].start()
    wait_away(a, 0)
    assert [row[-1] for row in shown(*split.databases)[0]] == ["in use"] * 3
    eventually(lambda: page()[2]["Server"] == other, 30, what="the system page shows it again")


def test_clusters_are_those_of_a_config_file(split):  # noqa: F811
    a = split.start("a")
    file = split.directory / "serve.conf"
    file.write_text("store = %s\nstore-cluster = %s\nlog-level = debug\noperator-key = %s\n" %
                    (*split.databases, OPERATOR_KEY), encoding="utf-8")
    file.chmod(0o600)
    done = subprocess.run([BINARY, "clusters", "--config", str(file)], text=True, capture_output=True, timeout=60,
                          env={"PATH": os.environ["PATH"]})
    assert (done.returncode, done.stderr) == (0, "") and len(done.stdout.splitlines()) == 3
    assert a.stop() == 0


def test_clusters_are_named_as_they_are(split, tmp_path, receiver):  # noqa: F811
    a = split.start("a")
    old = nodes.DatabaseDaemon(tmp_path / "old", split.databases[0])
    try:
        old.start()
        (first,), (second,) = split.accounts(a, receiver.url, 1)
        eventually(lambda: post(old, first.event("one")).json.get("Accepted") == 1, 30)
        eventually(lambda: "object_not_read" in old.log_text(), 30)
        refused = post(old, second.event("two")).json["Rejected"]
        assert refused[0]["Errors"][0]["Code"] == "unknown_client"
        assert events_in(split.databases[0]) == 1
    finally:
        old.stop()
    assert a.api().post("/api/v1/partners", {"Name": "Third", "Cluster": 2}).status == 400
    third = a.api().post("/api/v1/partners", {"Name": "Third", "Cluster": 1})
    assert third.status == 201 and third.json["Cluster"] == 1
    assert a.api().patch("/api/v1/partners/" + third.json["PartnerId"], {"Cluster": 0}).status == 400
    assert a.stop() == 0

    def refused(store, *clusters):
        options = [word for uri in clusters for word in ("--store-cluster", uri)]
        node = nodes.DatabaseDaemon(tmp_path / "wrong", store, *options)
        begin = node.spawn()
        assert node.process.wait(60) != 0
        return node.log_text(begin)

    one, two = split.databases
    assert "--store-cluster" in refused(one)
    assert "was named as 0" in refused(two, one)
    assert "was named as 0" in refused(two)
    # What is no part of it is never written to: it stays away.
    foreign = nodes.DatabaseDaemon(tmp_path / "foreign", one, "--store-cluster", one)
    try:
        foreign.start()
        wait_away(foreign, 1)
        eventually(lambda: "was named as 1" in foreign.log_text(), 30)
    finally:
        foreign.stop()

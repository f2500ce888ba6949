"""Idempotency-Key where several daemons share a database: one request, repeated at whichever node."""
import threading

from checks import DEAD_URL

ROUNDS = 12


def make(node, path, body, key, partner_id):
    return node.api().post(path, body, headers={"Idempotency-Key": key}, query={"partnerId": partner_id})


def test_the_same_key_at_two_nodes_makes_one_thing(cluster):
    a, b = cluster.start("a"), cluster.start("b")
    account = cluster.accounts(1, DEAD_URL, a)[0]
    clients = "/api/v1/apps/%s/clients" % account.app_id
    asked = [(clients, {"Name": "C", "Integration": "sdk"}, 201),
             ("/api/v1/callbacks/recover", {"From": "2026-01-01T00:00:00Z", "To": "2026-01-02T00:00:00Z",
                                            "States": ["dead"]}, 202),
             ("/api/v1/users", {"Role": "analyst"}, 201)]
    for number in range(ROUNDS):
        path, body, status = asked[number % 3]
        if "Role" in body:
            body["Email"] = "idem-%d@nodes.example" % number
        answers = []
        threads = [threading.Thread(target=lambda n=node: answers.append(
            make(n, path, body, "k-%d" % number, account.partner_id))) for node in (a, b)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert [answer.status for answer in answers] == [status] * 2, answers
        assert answers[0].headers["Location"] == answers[1].headers["Location"], answers
        assert sorted(answer.headers["Idempotency-Replayed"] or "" for answer in answers) == ["", "true"]
        assert [("Link" in answer.json) for answer in answers].count(True) == ("Role" in body), answers
    assert len(a.api().get(clients).json["Items"]) == 1 + ROUNDS // 3


def test_a_key_outlives_the_node_that_answered(cluster):
    a, b = cluster.start("a"), cluster.start("b")
    account = cluster.accounts(1, DEAD_URL, a)[0]
    path, body = "/api/v1/partners/%s/keys" % account.partner_id, {"Scopes": ["apps:read"]}
    first = make(a, path, body, "k", account.partner_id)
    assert first.status == 201 and "Key" in first.json
    a.kill()
    for node in (b, cluster.all["a"].start()):
        again = make(node, path, body, "k", account.partner_id)
        assert again.headers["Location"] == first.headers["Location"] and "Key" not in again.json
        assert make(node, path, {**body, "Name": "x"}, "k", account.partner_id).status == 409


def test_what_was_removed_at_one_node_is_gone_at_the_other(cluster):
    a, b = cluster.start("a"), cluster.start("b")
    account = cluster.accounts(1, DEAD_URL, a)[0]
    asked = [("/api/v1/callbacks/recover", {"From": "2026-01-01T00:00:00Z", "To": "2026-01-02T00:00:00Z",
                                            "States": ["dead"]}),
             ("/api/v1/partners/%s/keys" % account.partner_id, {"Scopes": ["apps:read"]})]
    for number in range(ROUNDS):
        path, body = asked[number % 2]
        made = make(a, path, body, "k-%d" % number, account.partner_id)
        assert make(b, path, body, "k-%d" % number, account.partner_id).headers["Idempotency-Replayed"] == "true"
        assert a.api().delete(made.headers["Location"], query={"partnerId": account.partner_id}).status == 204
        again = make(b, path, body, "k-%d" % number, account.partner_id)
        assert again.status == 409 and "removed" in again.json["detail"], again

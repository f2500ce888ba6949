"""Idempotency-Key: a request that is repeated makes nothing twice, whatever happened in between. When a
key is over, and how many are kept: tests/unit/test_idempotency_records.c."""
import threading

import pytest

from checks import DEAD_URL, assert_problem
from harness import Account, Daemon, eventually
from people import person

NAMES = iter("idem-%d" % n for n in range(1, 10_000))


def make(api, path, body, key, **more):
    return api.post(path, body, headers={"Idempotency-Key": key}, **more)


def is_replayed(answer):
    return answer.headers["Idempotency-Replayed"] == "true"


@pytest.fixture(scope="module")
def account(daemon):
    return Account(daemon, DEAD_URL)


def created(api, partner_id):
    """How often the audit log says that something was made."""
    entries = api.get("/api/v1/audit", query={"partnerId": partner_id, "limit": 500}).json["Items"]
    return sum(e["Action"].endswith(".created") for e in entries)


def requests_of(account):
    """Each request that makes something, and what its first answer alone has."""
    apps = "/api/v1/partners/%s" % account.partner_id
    span = {"From": "2026-01-01T00:00:00Z", "To": "2026-01-02T00:00:00Z", "States": ["dead"]}
    return [("/api/v1/partners", {"Name": "Another"}, None, []),
            (apps + "/apps", {"CurrencyValue": 100, "Name": "New"}, None, ["CallbackSecret"]),
            (apps + "/keys", {"Name": "New", "Scopes": ["apps:read"]}, None, ["Key"]),
            ("/api/v1/apps/%s/clients" % account.app_id, {"Name": "C", "Integration": "sdk"}, None, []),
            ("/api/v1/users", {"Email": "a%s@idem.example" % account.partner_id, "Role": "analyst"},
             {"partnerId": account.partner_id}, ["Link", "LinkExpiresAt"]),
            ("/api/v1/callbacks/recover", span, {"partnerId": account.partner_id}, [])]


def test_a_repetition_answers_the_same_object_without_its_secrets(daemon, account):
    api = daemon.api()
    for path, body, query, once in requests_of(account):
        first = make(api, path, body, "k-1", query=query)
        again = make(api, path, body, "k-1", query=query)
        assert first.status == again.status and first.status in (201, 202), (first, again)
        assert first.headers["Location"] == again.headers["Location"]
        assert first.headers["ETag"] == again.headers["ETag"]
        assert first.headers["Idempotency-Replayed"] is None and is_replayed(again), path
        assert {k: v for k, v in first.json.items() if k not in once} == again.json, path
        assert set(once) == set(first.json) - set(again.json)


def test_a_repetition_makes_nothing_and_is_in_no_log(daemon, account):
    api, before = daemon.api(), created(daemon.api(), account.partner_id)
    for path, body, query, _ in requests_of(account)[1:4]:
        key = next(NAMES)
        assert len({make(api, path, body, key, query=query).headers["Location"] for _ in range(4)}) == 1
    assert created(api, account.partner_id) == before + 3


def test_another_request_under_the_same_key_is_refused(daemon, account):
    api, key = daemon.api(), next(NAMES)
    path, body, _, _ = requests_of(account)[3]
    other = Account(daemon, DEAD_URL)
    assert make(api, path, body, key).status == 201
    for path2, body2, query in [(path, {**body, "Name": "D"}, None), (path, body, {"partnerId": account.partner_id}),
                                ("/api/v1/apps/%s/clients" % other.app_id, body, None)]:
        answer = make(api, path2, body2, key, query=query)
        assert_problem(answer, 409)
        assert "Idempotency-Key" in answer.json["detail"]


def test_a_key_is_of_who_asks_and_of_one_operation(daemon, account):
    key = next(NAMES)
    path, body, _, _ = requests_of(account)[3]
    apis = [daemon.api(), daemon.api(account.key("apps:write")), daemon.api(account.key("apps:write"))]
    apis.append(person(daemon, "admin"))
    made = [make(api, path, body, key) for api in apis]
    made.append(make(daemon.api(), "/api/v1/partners", {"Name": "X"}, key))
    assert [a.status for a in made] == [201] * 5, made
    assert len({a.headers["Location"] for a in made}) == 5
    again = [make(api, path, body, key) for api in apis]
    assert [a.headers["Location"] for a in again] == [a.headers["Location"] for a in made[:4]]


def test_what_made_nothing_can_be_mended_and_sent_again(daemon, account):
    api, key = daemon.api(), next(NAMES)
    path, body, _, _ = requests_of(account)[3]
    assert_problem(make(api, path, {**body, "Integration": "none"}, key), 400)
    assert_problem(make(api, path, {**body, "ClientId": account.client}, key), 409)
    answer = make(api, path, body, key)
    assert answer.status == 201 and not is_replayed(answer)
    query = {"partnerId": account.partner_id}
    path, body, _, _ = requests_of(account)[5]
    assert make(api, path, {**body, "DryRun": True}, key, query=query).status == 200
    assert make(api, path, body, key, query=query).status == 202


@pytest.mark.parametrize("key, status", [("", 400), ("a b", 400), ("\xc3\xa4", 400), ("\xe4", 400), ("k" * 256, 400),
                                         ("k" * 255, 201), ('"8e03978e-40d5-43dd-bc93-6894a57f9324"', 201)])
def test_the_form_of_a_key(daemon, account, key, status):
    path, body, _, _ = requests_of(account)[3]
    answer = make(daemon.api(), path, body, key)
    assert answer.status == status, answer
    if status == 400:
        assert_problem(answer, 400)
        assert "Idempotency-Key" in answer.json["detail"]


def test_elsewhere_it_is_passed_over(daemon, account):
    headers = {"Idempotency-Key": "a b"}
    api = daemon.api()
    assert api.post("/api/v1/events", account.event("idem-1"), headers=headers).status == 202
    assert api.patch("/api/v1/apps/" + account.app_id, {"Name": "B"}, headers=headers).status == 200


def test_what_was_made_and_is_gone_is_not_made_again(daemon):
    api, key, removed = daemon.api(), next(NAMES), 0
    for path, body, query, _ in requests_of(Account(daemon, DEAD_URL)):
        first = make(api, path, body, key, query=query)
        if api.delete(first.headers["Location"], query=query or {}).status == 204:
            removed += 1
            assert_problem(make(api, path, body, key, query=query), 409)
    assert removed == 3  # a key, a user and a recovery; the others are never removed


def test_what_has_the_same_id_later_is_not_shown(daemon, account):
    """Ids of users and keys are free again when they are gone, for other partners too."""
    api, other = daemon.api(), Account(daemon, DEAD_URL)
    keys = "/api/v1/partners/%s/keys"
    for path, body, theirs in [
            ("/api/v1/users", {"UserId": "idem-again", "Email": "ours@idem.example", "Role": "analyst"},
             {"UserId": "idem-again", "Email": "theirs@idem.example", "Role": "owner"}),
            (keys, {"KeyId": "idem-key", "Name": "Ours", "Scopes": ["apps:read"]},
             {"KeyId": "idem-key", "Name": "Theirs", "Scopes": ["apps:read"]})]:
        key = next(NAMES)
        ours, query = path.replace("%s", account.partner_id), {"partnerId": account.partner_id}
        first = make(api, ours, body, key, query=query)
        assert first.status == 201, first
        assert api.delete(first.headers["Location"], query=query).status == 204
        assert api.post(path.replace("%s", other.partner_id), theirs, query={"partnerId": other.partner_id}).status == 201
        assert_problem(make(api, ours, body, key, query=query), 409)


def test_who_may_no_more_is_not_answered(daemon, account):
    api, key = daemon.api(), next(NAMES)
    maker = api.post("/api/v1/partners/%s/keys" % account.partner_id, {"Name": "M", "Scopes": ["apps:write"]}).json
    path, body, _, _ = requests_of(account)[3]
    assert make(daemon.api(maker["Key"]), path, body, key).status == 201
    assert api.delete("/api/v1/partners/%s/keys/%s" % (account.partner_id, maker["KeyId"])).status == 204
    assert_problem(make(daemon.api(maker["Key"]), path, body, key), 401)


def test_many_at_once_make_one_thing(daemon, account):
    for path, body, query, _ in requests_of(account)[3:5]:
        key, answers = next(NAMES), []
        if "Email" in body:
            body["Email"] = "at-once@idem.example"
        threads = [threading.Thread(target=lambda: answers.append(make(daemon.api(), path, body, key, query=query)))
                   for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len({a.headers["Location"] for a in answers}) == 1 and len({a.status for a in answers}) == 1, answers
        assert sum(is_replayed(a) for a in answers) == 7


def test_it_outlives_a_kill(tmp_path):
    d = Daemon(tmp_path).start()
    account = Account(d, DEAD_URL)
    asked = [(path, body, query, make(d.api(), path, body, "k", query=query))
             for path, body, query, _ in requests_of(account)]
    d.kill()
    d.start()
    for path, body, query, first in asked:
        again = make(d.api(), path, body, "k", query=query)
        assert is_replayed(again) and again.headers["Location"] == first.headers["Location"], path
    d.stop()


def test_a_kill_in_the_middle_makes_it_once(tmp_path):
    """Requests are under way when the process is killed; each is repeated until it is answered."""
    d = Daemon(tmp_path).start()
    account = Account(d, DEAD_URL)
    path, body, _, _ = requests_of(account)[3]

    def ask(n):
        try:
            make(d.api(), path, body, "k-%d" % n)
        except OSError:
            pass

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(40)]
    for t in threads:
        t.start()
    listing = "/api/v1/apps/%s/clients" % account.app_id
    eventually(lambda: len(d.api().get(listing).json["Items"]) > 3, what="some are made")
    d.kill()
    for t in threads:
        t.join()
    d.start()
    places = [make(d.api(), path, body, "k-%d" % n).headers["Location"] for n in range(40)]
    items = d.api().get(listing, query={"limit": 500}).json["Items"]
    assert len(set(places)) == 40 and len(items) == 41
    d.stop()

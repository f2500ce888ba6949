"""Every route times every caller: who gets in, what of others they reach, and from where.

The routes and the scope that each needs come from /openapi.json, so that a new one is tried too. What is
expected of each is docs/rights.md, which people read and review: it says what the daemon says, or this fails.
POSTBACKD_WRITE_RIGHTS=1 writes it anew."""
import http.client
import os
import re

import pytest

from harness import LIVE, OPERATOR_KEY, ROOT, Account
from people import person

PUBLIC, PERSON, OPERATOR = "public", "person", "operator: "  # operator: nobody of a partner's
PAGE = ROOT / "docs" / "rights.md"
READS = {"reports:read", "callbacks:read", "apps:read"}
DEVELOPER = READS | {"callbacks:write", "panelists:erase", "apps:write", "keys:write", "audit:read"}
SUPPORT = READS | {"callbacks:write", "audit:read"}  # helps partners: sends again, changes no setting
OWNER = DEVELOPER | {"people:write"}
ROLES = {"nobody": set(), "owner": OWNER, "developer": DEVELOPER, "analyst": READS, "support": SUPPORT,
         "admin": OWNER | {"events:write", "admin"}, "acting": READS}
OPERATORS = ("admin", "support")
OWN = ("act-as", "DELETE /api/v1/session")  # what ends what the walk walks with: tried apart


def admits(line, role):
    if line == PUBLIC or role == "nobody":
        return line == PUBLIC
    if line == PERSON:
        return True
    if line.startswith(OPERATOR):
        return role in OPERATORS and line[len(OPERATOR):] in ROLES[role]
    return line in ROLES[role]


def needs(operation):
    """What the description says that a caller must have."""
    ways = {name: scopes for way in operation["security"] for name, scopes in way.items()}
    if not ways:
        return PUBLIC
    if set(ways) == {"session"}:
        return PERSON
    assert set(ways) == {"bearer", "apiKey", "session"} and len({tuple(s) for s in ways.values()}) == 1, operation
    (scope,) = ways["bearer"]
    return (OPERATOR if operation.get("x-operators-only") else "") + scope


@pytest.fixture(scope="module")
def lines(daemon):
    """{"GET /path": what it needs}"""
    document = daemon.api().get("/openapi.json", key=None).json
    return {"%s %s" % (method.upper(), path): needs(operation)
            for path, item in document["paths"].items() for method, operation in item.items()}


@pytest.fixture(scope="module")
def routes(lines):
    return list(lines)


def page(lines):
    """docs/rights.md as it should be."""
    text = PAGE.read_text()
    head, _, _ = text.partition("| route |")
    rows = ["| route | needs | " + " | ".join(ROLES) + " |", "|---" * (len(ROLES) + 2) + "|"]
    for route, line in sorted(lines.items(), key=lambda r: (r[0].split(" ")[1], r[0])):
        marks = ["yes" if admits(line, role) else "" for role in ROLES]
        rows.append("| `%s` | %s | %s |" % (route, line if line in (PUBLIC, PERSON) else "`%s`" % line, " | ".join(marks)))
    return head + "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def world(daemon):
    mine, theirs = Account(daemon), Account(daemon)
    ids = []
    for account in (mine, theirs):
        key = daemon.api().post("/api/v1/partners/%s/keys" % account.partner_id, {"Scopes": ["reports:read"]}).json
        event_id = "right-" + account.app_id
        daemon.api().events(account.event(event_id))
        recovery = daemon.api().request(
            "POST", "/api/v1/callbacks/recover", query={"partnerId": account.partner_id},
            body={"From": "2026-01-01T00:00:00Z", "To": "2026-01-02T00:00:00Z", "States": ["dead"]}).json
        somebody = person(daemon, "analyst", account.partner_id)
        ids.append({"PartnerId": account.partner_id, "AppId": account.app_id, "ClientId": account.client,
                    "KeyId": key["KeyId"], "RewardId": event_id, "RecoveryId": recovery["RecoveryId"],
                    "UserId": somebody.user_id, "SessionId": somebody.session()["SessionId"]})
    return ids


class Nobody:
    def __init__(self, daemon):
        self.daemon = daemon

    def request(self, method, path, body=None, query=None, **more):
        return self.daemon.api(None).request(method, path, body, query=query, key=None)


def somebody(daemon, role, partner_id):
    if role == "nobody":
        return Nobody(daemon)
    if role != "acting":
        return person(daemon, role, None if role in OPERATORS else partner_id)
    b = person(daemon, "support")
    assert b.post("/api/v1/session/act-as", {"PartnerId": partner_id}).status == 200
    return b


def fill(path, ids):
    """What a new route names, and nothing here has, is there in no account."""
    choices = {"Endpoint": "success"}  # no ids
    return re.sub(r"\{(\w+)\}", lambda m: ids.get(m.group(1), choices.get(m.group(1), "nothing")), path)


def ask(who, route, ids, query=None, **more):
    """Its status. Nothing comes of it: bodies are empty, and what is removed is not there."""
    method, path = route.split(" ")
    path = fill(path, ids)
    if path == LIVE:  # never ends
        headers = dict({"Cookie": who.cookie} if getattr(who, "cookie", None) else {}, **more.get("headers", {}))
        connection = http.client.HTTPConnection("127.0.0.1", who.daemon.port, timeout=20)
        connection.request("GET", path + ("?partnerId=" + query["partnerId"] if query else ""), headers=headers)
        status = connection.getresponse().status
        connection.close()
        return status
    return who.request(method, path, None if method in ("GET", "DELETE") else {}, query=query, **more).status


def test_the_page_says_what_the_daemon_says(lines):
    if os.environ.get("POSTBACKD_WRITE_RIGHTS"):
        PAGE.write_text(page(lines))
    assert PAGE.read_text().splitlines() == page(lines).splitlines()


@pytest.mark.parametrize("role", ROLES)
def test_who_gets_in(daemon, lines, routes, world, role):
    nothing = {name: "nothing" for name in world[0]}
    b = somebody(daemon, role, world[0]["PartnerId"])
    for route in routes:
        if any(word in route for word in OWN):
            continue
        status = ask(b, route, nothing)
        if admits(lines[route], role):
            assert status not in (401, 403, 405, 500), (role, route, status)
        else:
            assert status == (401 if role == "nobody" else 403), (role, route, status)
    # and last what would have ended the walk
    for route in [r for r in routes if any(word in r for word in OWN)]:
        if role == "nobody" or route.startswith("DELETE /api/v1/sessions/"):
            assert ask(b, route, nothing) == (401 if role == "nobody" else 404), route
    if role != "nobody":
        partners_own = role in ("owner", "developer", "analyst")
        assert ask(b, "POST /api/v1/session/act-as", nothing) == (403 if partners_own or role == "acting" else 400)
        assert ask(b, "DELETE /api/v1/session/act-as", nothing) == (200 if role == "acting" else 409)
        assert ask(b, "DELETE /api/v1/session", nothing) == 204
        assert ask(b, "GET /api/v1/sessions", nothing) == 401


@pytest.mark.parametrize("role", ["owner", "developer", "analyst", "acting"])
def test_what_is_anothers_is_as_if_it_were_not(daemon, lines, routes, world, role):
    mine, theirs = world
    b = somebody(daemon, role, mine["PartnerId"])
    nothing = {name: "nothing" for name in mine}
    tried = 0
    for route in routes:
        method, path = route.split(" ")
        body = None if method in ("GET", "DELETE") else {}
        if "{" in path and lines[route] != PUBLIC:
            answer = b.request(method, fill(path, theirs), body)
            absent = b.request(method, fill(path, nothing), body)
            assert answer.status == (404 if admits(lines[route], role) else 403), (role, route, answer)
            assert (answer.status, answer.body) == (absent.status, absent.body), (role, route)
        elif lines[route] in ROLES[role]:
            assert ask(b, route, nothing, {"partnerId": theirs["PartnerId"]}) == 404, (role, route)
        else:
            continue
        tried += 1
    assert tried > 40


def test_from_other_pages_nothing_gets_in(daemon, lines, routes, world):
    ids = {name: "nothing" for name in world[0]}
    owner, other = person(daemon, "admin"), person(daemon, "admin")
    for route in routes:
        if lines[route] == PUBLIC:
            continue
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}):
            assert ask(owner, route, ids, headers=headers) == 403, (route, headers)
        if not route.startswith("GET"):
            for headers in ({}, {"X-Csrf-Token": other.csrf}, {"X-Csrf-Token": ""}):
                assert ask(owner, route, ids, headers=headers, csrf=False) == 403, (route, headers)
    assert owner.session()["SignedIn"]


def test_support_sends_again_and_changes_no_setting(daemon, receiver):
    account = Account(daemon, receiver.url)
    of = {"partnerId": account.partner_id}
    daemon.api().events(account.event("for-support"))
    daemon.api().wait_state("for-support", account.partner_id, "delivered")
    b = person(daemon, "support")
    assert b.post("/api/v1/callbacks/for-support/resend", query=of).status == 202
    receiver.wait_for("for-support", 2)
    assert b.patch("/api/v1/apps/" + account.app_id, {"Name": "x"}).status == 403
    assert b.get("/api/v1/apps/%s/secret" % account.app_id).status == 403
    assert b.post("/api/v1/session/act-as", {"PartnerId": account.partner_id}).status == 200
    assert b.post("/api/v1/callbacks/for-support/resend").status == 403  # as the partner he looks only


# --- keys ----------------------------------------------------------------------------------------

def every_scope(lines):
    return sorted({line[len(OPERATOR):] if line.startswith(OPERATOR) else line for line in lines.values()} - {PUBLIC, PERSON, "admin"})


class Key:
    """Asks with a key, or with whatever the headers say."""

    def __init__(self, daemon, headers):
        self.daemon, self.headers = daemon, headers

    def request(self, method, path, body=None, query=None, headers=None, **more):
        return self.daemon.api(None).request(method, path, body, query=query, key=None, headers=dict(self.headers, **headers or {}))


def ask_key(daemon, headers, route, ids, query=None):
    return ask(Key(daemon, headers), route, ids, query, headers=headers)


def test_a_key_with_one_scope_gets_in_where_it_is_needed(daemon, lines, world):
    nothing = {name: "nothing" for name in world[0]}
    scopes = every_scope(lines)
    assert len(scopes) >= 10
    for scope in scopes:
        made = daemon.api().post("/api/v1/partners/%s/keys" % world[0]["PartnerId"], {"Scopes": [scope]})
        assert made.status == 201, made
        for route, line in lines.items():
            status = ask_key(daemon, {"X-Api-Key": made.json["Key"]}, route, nothing)
            if line in (PUBLIC, scope):
                assert status not in (403, 405, 500) and (status != 401 or line == PUBLIC), (scope, route, status)
            else:
                assert status == 403, (scope, route, status)


def test_a_key_reaches_nothing_of_another_account(daemon, lines, world):
    mine, theirs = world
    nothing = {name: "nothing" for name in mine}
    key = daemon.api().post("/api/v1/partners/%s/keys" % mine["PartnerId"], {"Scopes": every_scope(lines)}).json["Key"]
    tried = 0
    for route, line in lines.items():
        if line in (PUBLIC, PERSON) or line.startswith(OPERATOR) or line == "events:write":
            continue
        if "{" in route:
            found = [Key(daemon, {"X-Api-Key": key}).request(route.split(" ")[0], fill(route.split(" ")[1], ids),
                                                             None if route.startswith(("GET", "DELETE")) else {}) for ids in (theirs, nothing)]
            assert found[0].status == 404 and found[0].body == found[1].body, (route, found)
        else:
            assert ask_key(daemon, {"X-Api-Key": key}, route, nothing, {"partnerId": theirs["PartnerId"]}) == 404, route
        tried += 1
    assert tried > 30


def test_what_is_no_credential(daemon, lines, world):
    """Wrong, revoked, doubled and misplaced keys, and sessions that have ended: 401 everywhere, whatever they ask for."""
    keys = "/api/v1/partners/%s/keys" % world[0]["PartnerId"]
    revoked, good = (daemon.api().post(keys, {"Scopes": every_scope(lines)}).json for _ in range(2))
    assert daemon.api().delete(keys + "/" + revoked["KeyId"]).status == 204
    gone = person(daemon, "owner", world[0]["PartnerId"])
    ended = gone.cookie
    assert gone.delete("/api/v1/session").status == 204
    wrong = [{"X-Api-Key": revoked["Key"]}, {"Authorization": "Bearer " + revoked["Key"]}, {"Cookie": ended},
             {"X-Api-Key": good["Key"] + "x"}, {"X-Api-Key": good["Key"][:-1]}, {"X-Api-Key": good["KeyId"]}, {"X-Api-Key": ""},
             {"Authorization": "Basic " + good["Key"]}, {"Authorization": good["Key"]}, {"Cookie": "postbackd_session=" + "A" * 43},
             {"X-Api-Key": good["Key"], "Authorization": "Bearer " + OPERATOR_KEY}]
    for route, line in lines.items():
        for headers in wrong if line != PUBLIC else ():
            assert ask_key(daemon, headers, route, world[0]) == 401, (route, headers)
        if line != PUBLIC:
            for name in ("key", "apiKey", "access_token", "X-Api-Key"):
                assert ask_key(daemon, {}, route, world[0], {name: OPERATOR_KEY, "partnerId": world[0]["PartnerId"]}) == 401, route


def test_the_401_says_what_is_wrong_with_the_credentials(daemon, world):
    good = daemon.api().post("/api/v1/partners/%s/keys" % world[0]["PartnerId"], {"Scopes": ["apps:read"]}).json["Key"]
    owner = person(daemon, "owner", world[0]["PartnerId"])
    other = person(daemon, "owner", world[0]["PartnerId"])
    for headers, said in (({}, "This needs a key"),
                          ({"Cookie": owner.cookie + "; " + other.cookie}, "two different ones"),
                          ({"X-Api-Key": ""}, "empty"),
                          ({"X-Api-Key": "wrong", "Cookie": owner.cookie}, "With a key, a session does not count"),
                          ({"X-Api-Key": good, "Authorization": "Basic YTpi"}, "Authorization is there and is not Bearer"),
                          ({"X-Api-Key": good, "Authorization": "Bearer " + OPERATOR_KEY}, "two different keys")):
        answer = Key(daemon, headers).request("GET", "/api/v1/apps/nothing", headers=headers)
        assert answer.status == 401 and said in answer.json["detail"], (headers, answer)


def test_of_a_disabled_partner_nobody_gets_in(daemon, lines):
    account = Account(daemon)
    key = account.key(*every_scope(lines))
    owner = person(daemon, "owner", account.partner_id)
    ids = {"PartnerId": account.partner_id, "AppId": account.app_id, "ClientId": account.client, "UserId": owner.user_id,
           "KeyId": "nothing", "RewardId": "nothing", "RecoveryId": "nothing", "SessionId": "nothing"}
    assert daemon.api().patch("/api/v1/partners/" + account.partner_id, {"Enabled": False}).status == 200
    for route, line in lines.items():
        if line != PUBLIC:
            assert ask_key(daemon, {"X-Api-Key": key}, route, ids) == 403, route
            assert ask(owner, route, ids) == 403, route
    assert daemon.api().patch("/api/v1/partners/" + account.partner_id, {"Enabled": True}).status == 200
    assert owner.get("/api/v1/sessions").status == 200

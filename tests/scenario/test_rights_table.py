"""Every route times every role: who gets in, what of others he reaches, and from where.

The table below says what each route takes. The tests walk /openapi.json, so that a route without a
line fails, and so does a line without a route."""
import http.client
import re

import pytest

from harness import LIVE, Account
from people import person

PUBLIC, PERSON, OPERATOR = "public", "person", "operator: "  # operator: nobody of a partner's
ROUTES = {
    "POST /api/v1/events": "events:write",
    "GET /api/v1/reports/earnings": "reports:read",
    "GET /api/v1/reports/arpdau": "reports:read",
    "GET /api/v1/reports/survey-attempts": "reports:read",
    "GET /api/v1/reports/conversions": "reports:read",
    "GET /api/v1/reports/active-panelist": "reports:read",
    "GET /api/v1/intraday": "reports:read",
    "GET /api/v1/statements": "reports:read",
    "POST /api/v1/partners": OPERATOR + "admin",
    "GET /api/v1/partners": OPERATOR + "apps:read",
    "GET /api/v1/partners/{PartnerId}": "apps:read",
    "PATCH /api/v1/partners/{PartnerId}": "apps:write",
    "GET /api/v1/operations-secret": OPERATOR + "admin",
    "GET /api/v1/partners/{PartnerId}/operations-secret": "apps:write",
    "POST /api/v1/partners/{PartnerId}/operations-secret/rotate": "apps:write",
    "POST /api/v1/partners/{PartnerId}/apps": "apps:write",
    "GET /api/v1/partners/{PartnerId}/apps": "apps:read",
    "POST /api/v1/partners/{PartnerId}/keys": "keys:write",
    "GET /api/v1/partners/{PartnerId}/keys": "keys:write",
    "DELETE /api/v1/partners/{PartnerId}/keys/{KeyId}": "keys:write",
    "GET /api/v1/apps/{AppId}": "apps:read",
    "PATCH /api/v1/apps/{AppId}": "apps:write",
    "POST /api/v1/apps/{AppId}/clients": "apps:write",
    "GET /api/v1/apps/{AppId}/clients": "apps:read",
    "GET /api/v1/apps/{AppId}/secret": "apps:write",
    "POST /api/v1/apps/{AppId}/secret/rotate": "apps:write",
    "POST /api/v1/apps/{AppId}/test-callback": "callbacks:write",
    "POST /api/v1/apps/{AppId}/verify-callback": "callbacks:read",
    "GET /api/v1/apps/{AppId}/endpoints": "callbacks:read",
    "GET /api/v1/clients/{ClientId}": "apps:read",
    "PATCH /api/v1/clients/{ClientId}": "apps:write",
    "GET /api/v1/callbacks": "callbacks:read",
    "GET /api/v1/callbacks/{RewardId}": "callbacks:read",
    "POST /api/v1/callbacks/{RewardId}/resend": "callbacks:write",
    "POST /api/v1/callbacks/recover": "callbacks:write",
    "GET /api/v1/recoveries/{RecoveryId}": "callbacks:read",
    "DELETE /api/v1/recoveries/{RecoveryId}": "callbacks:write",
    "GET /api/v1/rewards": "callbacks:read",
    "POST /api/v1/panelists/erase": "panelists:erase",
    "GET /api/v1/session": PUBLIC,
    "POST /api/v1/session": PUBLIC,
    "DELETE /api/v1/session": PERSON,
    "POST /api/v1/session/password": PERSON,
    "POST /api/v1/session/second-factor": PERSON,
    "POST /api/v1/session/second-factor/confirm": PERSON,
    "POST /api/v1/session/second-factor/remove": PERSON,
    "POST /api/v1/session/second-factor/recovery-codes": PERSON,
    "POST /api/v1/session/act-as": PERSON,
    "DELETE /api/v1/session/act-as": PERSON,
    "GET /api/v1/sessions": PERSON,
    "DELETE /api/v1/sessions/{SessionId}": PERSON,
    "POST /api/v1/links/check": PUBLIC,
    "POST /api/v1/links/use": PUBLIC,
    "POST /api/v1/users": "people:write",
    "GET /api/v1/users": "people:write",
    "GET /api/v1/users/{UserId}": "people:write",
    "PATCH /api/v1/users/{UserId}": "people:write",
    "DELETE /api/v1/users/{UserId}": "people:write",
    "POST /api/v1/users/{UserId}/link": "people:write",
    "DELETE /api/v1/users/{UserId}/second-factor": "people:write",
    "GET /api/v1/users/{UserId}/sessions": "people:write",
    "DELETE /api/v1/users/{UserId}/sessions": "people:write",
    "GET /api/v1/audit": "audit:read",
    "GET /api/v1/system": OPERATOR + "admin",
    "GET /api/v1/live": "callbacks:read",
    "GET /healthz": PUBLIC,
    "GET /readyz": PUBLIC,
    "GET /metrics": PUBLIC,
    "GET /openapi.json": PUBLIC,
}

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


@pytest.fixture(scope="module")
def routes(daemon):
    document = daemon.api().get("/openapi.json", key=None).json
    return ["%s %s" % (method.upper(), path) for path, item in document["paths"].items() for method in item]


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
    return re.sub(r"\{(\w+)\}", lambda m: ids[m.group(1)], path)


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


def test_every_route_has_its_line(routes):
    assert sorted(routes) == sorted(ROUTES)


@pytest.mark.parametrize("role", ROLES)
def test_who_gets_in(daemon, routes, world, role):
    nothing = {name: "nothing" for name in world[0]}
    b = somebody(daemon, role, world[0]["PartnerId"])
    for route in routes:
        if any(word in route for word in OWN):
            continue
        status = ask(b, route, nothing)
        if admits(ROUTES[route], role):
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
def test_what_is_anothers_is_as_if_it_were_not(daemon, routes, world, role):
    mine, theirs = world
    b = somebody(daemon, role, mine["PartnerId"])
    nothing = {name: "nothing" for name in mine}
    tried = 0
    for route in routes:
        method, path = route.split(" ")
        body = None if method in ("GET", "DELETE") else {}
        if "{" in path:
            answer = b.request(method, fill(path, theirs), body)
            absent = b.request(method, fill(path, nothing), body)
            assert answer.status == (404 if admits(ROUTES[route], role) else 403), (role, route, answer)
            assert (answer.status, answer.body) == (absent.status, absent.body), (role, route)
        elif ROUTES[route] in ROLES[role]:
            assert ask(b, route, nothing, {"partnerId": theirs["PartnerId"]}) == 404, (role, route)
        else:
            continue
        tried += 1
    assert tried > 40


def test_from_other_pages_nothing_gets_in(daemon, routes, world):
    ids = {name: "nothing" for name in world[0]}
    owner, other = person(daemon, "admin"), person(daemon, "admin")
    for route in routes:
        if ROUTES[route] == PUBLIC:
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

"""What is revoked is revoked at once: for requests whose head came before it, and for changes that wait.

The routes come from /openapi.json, so that a new one is tried too. A request is held after its head:
it asks for 100 Continue, which the daemon sends when it has judged the head and not yet the body."""
import json
import re
import socket
import threading

import pytest

from checks import all_pages
from harness import Account
from people import PASSWORD, invite, person
from test_people_rights import Stream

SCOPES = ["reports:read", "callbacks:read", "callbacks:write", "panelists:erase", "apps:read", "apps:write", "keys:write", "people:write",
          "audit:read", "events:write"]


class Held:
    """A request of which everything is sent but the body."""

    def __init__(self, port, method, path, headers, body=b"{}"):
        self.name, self.body = "%s %s" % (method, path), body
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        head = dict(headers, Host="127.0.0.1", Expect="100-continue", Connection="close")
        head.update({"Content-Type": "application/json", "Content-Length": str(len(body))})
        lines = ["%s %s HTTP/1.1" % (method, path)] + ["%s: %s" % h for h in head.items()]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.read = self.socket.makefile("rb")

    def wait(self):
        """Until its head has been judged; the status if that is refused."""
        status = int(self.read.readline().split()[1])
        if status == 100:
            assert self.read.readline() == b"\r\n"
        return status

    def release(self):
        self.socket.sendall(self.body)
        status = int(self.read.readline().split()[1])
        self.text = self.read.read()
        self.read.close()
        self.socket.close()
        return status


class World:
    """A partner with one of everything that a path can name."""

    def __init__(self, daemon):
        self.daemon, self.account = daemon, Account(daemon)
        a, api = self.account, daemon.api()
        key = api.post("/api/v1/partners/%s/keys" % a.partner_id, {"Scopes": ["reports:read"]}).json
        other = person(daemon, "analyst", a.partner_id)
        for role, of in (("owner", a.partner_id), ("admin", None)):  # so that nobody is the last one
            invite(daemon, role, of)
        api.events(a.event("held-" + a.app_id))
        recovery = api.request("POST", "/api/v1/callbacks/recover", query={"partnerId": a.partner_id}, body={
            "From": "2026-01-01T00:00:00Z", "To": "2026-01-02T00:00:00Z", "States": ["dead"]})
        self.ids = {"PartnerId": a.partner_id, "AppId": a.app_id, "ClientId": a.client, "KeyId": key["KeyId"],
                    "RewardId": "held-" + a.app_id, "RecoveryId": recovery.json["RecoveryId"], "UserId": other.user_id,
                    "SessionId": other.session()["SessionId"], "Endpoint": "success"}

    def fill(self, path):
        return re.sub(r"\{(\w+)\}", lambda m: self.ids.get(m.group(1), "nothing"), path)

    def user_path(self, who):
        return "/api/v1/users/" + who.user_id


def routes(daemon, people):
    """(method, path) of every route that keys, or people, may ask for: one that only reads may show a secret."""
    document = daemon.api().get("/openapi.json", key=None).json
    found = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            ways = [name for way in operation["security"] for name in way]
            if ("session" if people else "apiKey") in ways:
                found.append((method.upper(), path))
    assert len(found) > (50 if people else 35)
    return found


def credentials(who):
    if isinstance(who, str):
        return {"X-Api-Key": who}
    return {"Cookie": who.cookie, "X-Csrf-Token": who.csrf}


def revoke_key(daemon, world, key_id):
    assert daemon.api().delete("/api/v1/partners/%s/keys/%s" % (world.account.partner_id, key_id)).status == 204


REVOCATIONS = {
    "sessions ended": lambda api, w, who: api.delete(w.user_path(who) + "/sessions"),
    "removed": lambda api, w, who: api.delete(w.user_path(who)),
    "disabled": lambda api, w, who: api.patch(w.user_path(who), {"Enabled": False}),
    "another role": lambda api, w, who: api.patch(w.user_path(who), {"Role": "support" if who.operator else "analyst"}),
    "partner disabled": lambda api, w, who: api.patch("/api/v1/partners/" + w.account.partner_id, {"Enabled": False}),
}


def hold_all(daemon, world, who, people):
    """Every route that lets who's head in."""
    of = "?partnerId=" + world.account.partner_id
    held = [Held(daemon.port, method, world.fill(path) + (of if "/session" not in path else ""), credentials(who))
            for method, path in routes(daemon, people)]
    waiting = [h for h in held if h.wait() == 100]
    assert len(waiting) > 35, [h.name for h in held if h not in waiting]
    return waiting


def audit_ids(daemon):
    return {e["AuditId"] for e in all_pages(daemon.api(), "/api/v1/audit", 500)[0]}


@pytest.mark.parametrize("role", ["owner", "admin"])
@pytest.mark.parametrize("revocation", REVOCATIONS)
def test_a_body_that_comes_after_the_revocation(daemon, role, revocation):
    if (role, revocation) == ("admin", "partner disabled"):
        return
    world = World(daemon)
    who = person(daemon, role, None if role == "admin" else world.account.partner_id)
    who.operator = role == "admin"
    held = hold_all(daemon, world, who, people=True)
    assert REVOCATIONS[revocation](daemon.api(), world, who).status in (200, 204)
    before = audit_ids(daemon)
    for h in held:
        assert h.release() == (403 if revocation == "partner disabled" else 401), (h.name, h.text)
    assert audit_ids(daemon) == before


def test_a_key_that_is_revoked_before_the_body_comes(daemon):
    world = World(daemon)
    made = daemon.api().post("/api/v1/partners/%s/keys" % world.account.partner_id, {"Scopes": SCOPES}).json
    held = hold_all(daemon, world, made["Key"], people=False)
    revoke_key(daemon, world, made["KeyId"])
    before = audit_ids(daemon)
    for h in held:
        assert h.release() == 401, (h.name, h.text)
    assert audit_ids(daemon) == before


def changes(world, n):
    """Changes that would be made, each with its body."""
    p, app = "/api/v1/partners/" + world.account.partner_id, "/api/v1/apps/" + world.account.app_id
    return [("POST", p + "/keys", {"Scopes": ["reports:read"]}), ("PATCH", p, {"Name": "N%d" % n}),
            ("PATCH", app, {"Name": "A%d" % n}), ("POST", app + "/secret/rotate", {}),
            ("POST", "/api/v1/users", {"Email": "burst-%s-%d@b.example" % (world.account.app_id, n), "Role": "owner"}),
            ("POST", "/api/v1/panelists/erase", {"PanelistId": "nobody-%d" % n}),
            ("POST", "/api/v1/callbacks/%s/resend" % world.ids["RewardId"], {}),
            ("POST", p + "/apps", {"CurrencyValue": 1})]


@pytest.mark.parametrize("kind", ["key", "person", "partner"])
def test_changes_that_wait_behind_the_revocation(daemon, kind):
    """Many changes are asked for at once and the revocation in their midst: in the order in which they were
    made, which is the audit log's, nothing comes behind the revocation."""
    world = World(daemon)
    made = daemon.api().post("/api/v1/partners/%s/keys" % world.account.partner_id, {"Scopes": SCOPES}).json
    owner = person(daemon, "owner", world.account.partner_id)
    who, actor = (owner, owner.user_id) if kind == "person" else (made["Key"], made["KeyId"])
    bodies = [(m, p, json.dumps(b).encode()) for n in range(6) for m, p, b in changes(world, n)]
    held = [Held(daemon.port, m, p, credentials(who), b) for m, p, b in bodies]
    assert [h.wait() for h in held] == [100] * len(held)
    revocations = {"key": lambda: revoke_key(daemon, world, made["KeyId"]),
                   "person": lambda: daemon.api().delete(world.user_path(owner)),
                   "partner": lambda: daemon.api().patch("/api/v1/partners/" + world.account.partner_id, {"Enabled": False})}
    revoking = threading.Thread(target=revocations[kind])
    for i, h in enumerate(held):
        if i == len(held) // 3:
            revoking.start()
        h.socket.sendall(h.body)
    revoking.join()
    refused = 403 if kind == "partner" else 401
    for h in held:
        h.body = b""
        assert h.release() in (200, 201, 202, refused, 429), (h.name, h.text)
    entries = sorted(all_pages(daemon.api(), "/api/v1/audit", 500, partnerId=world.account.partner_id)[0],
                     key=lambda e: e["AuditId"])
    ends = {"key": ("key.removed", made["KeyId"]), "person": ("user.removed", owner.user_id),
            "partner": ("partner.changed", world.account.partner_id)}[kind]
    at = max(i for i, e in enumerate(entries) if (e["Action"], e["Object"]["Id"]) == ends and e["Actor"]["Kind"] == "key"
             and e["Actor"]["Id"] != actor)
    assert [e["Action"] for e in entries[at + 1:] if e["Actor"]["Id"] == actor] == []


@pytest.mark.parametrize("revocation", ["removed", "disabled"])
def test_what_somebody_made_is_flagged_when_they_are_gone(daemon, revocation):
    """Their keys, and the keys that those made, go on and are named to the owner and to the operator."""
    world = World(daemon)
    keys = "/api/v1/partners/%s/keys" % world.account.partner_id
    developer, owner = (person(daemon, role, world.account.partner_id) for role in ("developer", "owner"))
    developer.operator = False
    first = developer.post(keys, {"Scopes": ["keys:write", "reports:read"]}).json
    second = daemon.api(first["Key"]).post(keys, {"Scopes": ["reports:read"]}).json
    third = owner.post(keys, {"Scopes": ["reports:read"]}).json
    assert (first["CreatedBy"], second["CreatedBy"], third["CreatedBy"]) == (developer.user_id, developer.user_id, owner.user_id)

    def flags(who):
        return {k["KeyId"]: (k.get("CreatedBy"), k.get("CreatorGone", False)) for k in who.get(keys).json["Items"]}

    made = {first["KeyId"]: developer.user_id, second["KeyId"]: developer.user_id, third["KeyId"]: owner.user_id,
            world.ids["KeyId"]: None}
    assert flags(owner) == {k: (person_id, False) for k, person_id in made.items()}
    assert REVOCATIONS[revocation](daemon.api(), world, developer).status in (200, 204)
    wanted = {k: (person_id, person_id == developer.user_id) for k, person_id in made.items()}
    assert flags(owner) == flags(daemon.api()) == wanted
    warned = [json.loads(line) for line in daemon.log_text().splitlines() if '"keys_of_person_remain"' in line]
    assert [(line["user"], line["keys"]) for line in warned if line["user"] == developer.user_id] == [(developer.user_id, 2)]


def test_a_partner_is_not_told_which_operator_made_a_key(own_daemon):
    """Nor where a key made it that an operator had made, nor by the audit log, nor behind a restart."""
    daemon = own_daemon.start()
    world = World(daemon)
    keys = "/api/v1/partners/%s/keys" % world.account.partner_id
    admin, owner = person(daemon, "admin"), person(daemon, "owner", world.account.partner_id)
    first = admin.post(keys, {"Scopes": ["keys:write", "reports:read"]}).json
    second = daemon.api(first["Key"]).post(keys, {"Scopes": ["reports:read"]}).json
    assert first["CreatedBy"] == admin.user_id and "CreatedBy" not in second
    assert daemon.api().delete(world.user_path(admin)).status == 204
    for _ in range(2):
        for who, named in ((owner, None), (daemon.api(), admin.user_id)):
            found = {k["KeyId"]: k for k in who.get(keys).json["Items"]}
            made = [found[k["KeyId"]] for k in (first, second)]
            assert [(k.get("CreatedBy"), k["CreatorGone"]) for k in made] == [(named, True)] * 2
        assert admin.user_id not in owner.get("/api/v1/audit", query={"limit": 500}).text
        daemon.restart()


@pytest.mark.parametrize("revocation", ["removed", "disabled", "another role"])
@pytest.mark.parametrize("role", ["owner", "admin"])
def test_links_end_with_who_made_them(daemon, role, revocation):
    """Invitations, and links by which somebody sets a new password."""
    world = World(daemon)
    person(daemon, "admin"), person(daemon, "owner", world.account.partner_id)  # no one is the last
    partner_id = None if role == "admin" else world.account.partner_id
    leaver, other = person(daemon, role, partner_id), person(daemon, role, partner_id)
    leaver.operator = role == "admin"
    tokens = {}
    for n, maker in enumerate((leaver, other)):
        made = [maker.post("/api/v1/users", {"Email": "by-%d@%s.example" % (n, maker.user_id[2:].lower()), "Role": role})]
        made.append(maker.post("/api/v1/users/%s/link" % other.user_id) if maker is leaver else
                    maker.post("/api/v1/users/%s/link" % made[0].json["User"]["UserId"]))
        tokens[maker] = [m.json["Link"].split("#")[1] for m in made]

    def statuses(route, maker, **body):
        return [daemon.api().post("/api/v1/links/" + route, dict(body, Token=t), key=None).status for t in tokens[maker]]

    assert (statuses("check", leaver), statuses("check", other)) == ([200, 200], [404, 200])
    assert REVOCATIONS[revocation](daemon.api(), world, leaver).status in (200, 204)
    assert statuses("check", leaver) == statuses("use", leaver, Password=PASSWORD) == [404, 404]
    assert statuses("check", other) == [404, 200]
    assert statuses("use", other, Password=PASSWORD) == [404, 200]


@pytest.mark.parametrize("revocation, back", [("disabled", {"Enabled": True}), ("another role", {"Role": "owner"})])
def test_links_stay_ended_when_who_made_them_is_back(own_daemon, revocation, back):
    daemon = own_daemon.start()
    world = World(daemon)
    person(daemon, "owner", world.account.partner_id)  # no one is the last
    maker = person(daemon, "owner", world.account.partner_id)
    maker.operator = False

    def link(email):
        return maker.post("/api/v1/users", {"Email": email, "Role": "owner"}).json["Link"].split("#")[1]

    def use(token):
        return daemon.api().post("/api/v1/links/use", {"Token": token, "Password": PASSWORD}, key=None).status

    before = link("before@example.org")
    assert REVOCATIONS[revocation](daemon.api(), world, maker).status == 200
    assert daemon.api().patch(world.user_path(maker), back).status == 200
    assert use(before) == 404
    assert maker.sign_in(maker.email).status == 200
    assert use(link("after@example.org")) == 200


@pytest.mark.parametrize("revocation", ["key", "partner disabled", "removed"])
def test_live_streams_end(daemon, revocation):
    world = World(daemon)
    made = daemon.api().post("/api/v1/partners/%s/keys" % world.account.partner_id, {"Scopes": SCOPES}).json
    owner = person(daemon, "owner", world.account.partner_id)
    owner.operator = False
    streams = [Stream(made["Key"], daemon), Stream(owner, daemon)]
    assert [s.event()[0] for s in streams] == ["hello", "hello"]
    if revocation == "key":
        revoke_key(daemon, world, made["KeyId"])
    else:
        assert REVOCATIONS[revocation](daemon.api(), world, owner).status in (200, 204)
    ending = {"key": streams[:1], "partner disabled": streams, "removed": streams[1:]}[revocation]
    for s in ending:
        while s.event():
            pass
    for s in streams:
        s.close()

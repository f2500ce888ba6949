"""What people may: role by role, acting as a partner, the audit log, and live updates that end in time."""
import http.client
import json

import pytest

from harness import OPERATOR_KEY, Account
from people import PASSWORD, Browser, codes, invite, partner, person


# --- roles -------------------------------------------------------------------------------------

def expectations(account, key_id):
    """(method, path, body, scope) of what each scope opens, on the account's own objects."""
    p, app = "/api/v1/partners/" + account.partner_id, "/api/v1/apps/" + account.app_id
    return [
        ("GET", "/api/v1/reports/earnings", None, "reports:read"),
        ("GET", "/api/v1/callbacks", None, "callbacks:read"),
        ("POST", app + "/test-callback", {"RewardType": "survey_completed", "PanelistId": "u"}, "callbacks:write"),
        ("GET", app, None, "apps:read"),
        ("GET", p, None, "apps:read"),
        ("PATCH", app, {"Name": "Renamed"}, "apps:write"),
        ("GET", app + "/secret", None, "apps:write"),
        ("GET", p + "/keys", None, "keys:write"),
        ("POST", p + "/keys", {"Scopes": ["reports:read"]}, "keys:write"),
        ("GET", "/api/v1/users", None, "people:write"),
        ("POST", "/api/v1/users", {"Role": "analyst"}, "people:write"),
        ("GET", "/api/v1/audit", None, "audit:read"),
        ("POST", "/api/v1/events", [], "events:write"),
        ("POST", "/api/v1/partners", {"Name": "New"}, "admin"),
    ]


PARTNER_SCOPES = {"reports:read", "callbacks:read", "callbacks:write", "panelists:erase", "apps:read", "apps:write", "keys:write",
                  "people:write", "audit:read"}
READS = {"reports:read", "callbacks:read", "apps:read"}
ROLES = {"owner": PARTNER_SCOPES, "developer": PARTNER_SCOPES - {"people:write"}, "analyst": READS,
         "admin": PARTNER_SCOPES | {"events:write", "admin"}, "support": READS | {"callbacks:write", "audit:read"}}


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_what_its_scopes_say(daemon, receiver, role):
    account, other = Account(daemon, receiver.url), Account(daemon, receiver.url)
    operator = role in ("admin", "support")
    b = person(daemon, role, None if operator else account.partner_id)
    assert set(b.session()["Scopes"]) == ROLES[role]
    for method, path, body, scope in expectations(account, None):
        if path == "/api/v1/users" and body:
            body = dict(body, Email="new-%s@example.test" % role)
        query = {"partnerId": account.partner_id} if operator and path not in ("/api/v1/partners", "/api/v1/events") else None
        answer = b.request(method, path, body, query=query)
        good = scope in ROLES[role]
        assert (answer.status in (200, 201, 202)) == good, (role, method, path, answer)
        assert good or answer.status == 403
    if not operator:  # the other account's things are not there
        for method, path, body, scope in expectations(other, None):
            if other.partner_id in path or other.app_id in path:
                answer = b.request(method, path, body)
                assert answer.status == (404 if scope in ROLES[role] else 403), (role, method, path)
        assert b.get("/api/v1/callbacks", query={"partnerId": other.partner_id}).status == 404


def test_people_of_others_are_not_there(daemon):
    mine, theirs = partner(daemon), partner(daemon)
    owner, stranger, admin = person(daemon, "owner", mine), person(daemon, "owner", theirs), person(daemon, "admin")
    for about in (stranger, admin):
        path = "/api/v1/users/" + about.user_id
        for method, rest, body in (("GET", "", None), ("PATCH", "", {"Enabled": False}), ("DELETE", "", None),
                                   ("POST", "/link", None), ("DELETE", "/second-factor", None),
                                   ("GET", "/sessions", None), ("DELETE", "/sessions", None)):
            assert owner.request(method, path + rest, body).status == 404, (method, rest)
        assert about.session()["SignedIn"]
    assert owner.get("/api/v1/users", query={"partnerId": theirs}).status == 404
    assert [u["UserId"] for u in owner.get("/api/v1/users").json["Items"]] == [owner.user_id]
    assert owner.get("/api/v1/users", query={"email": stranger.email}).json["Items"] == []


def test_nobody_rises_above_himself(daemon):
    p = partner(daemon)
    owner, developer = person(daemon, "owner", p), person(daemon, "developer", p)
    for role in ("admin", "support", "god"):
        answer = owner.post("/api/v1/users", {"Email": "up@example.test", "Role": role})
        assert answer.status == 400 and codes(answer) == {("Role", "invalid")}
    path = "/api/v1/partners/%s/keys" % p
    assert developer.post(path, {"Scopes": ["people:write"]}).status == 403
    assert developer.post(path, {"Scopes": ["events:write"]}).status == 403
    assert developer.patch("/api/v1/users/" + developer.user_id, {"Role": "owner"}).status == 403
    for change in ({"Role": "analyst"}, {"Enabled": False}):
        assert owner.patch("/api/v1/users/" + owner.user_id, change).status == 409
    assert owner.delete("/api/v1/users/" + owner.user_id).status == 409
    assert owner.patch("/api/v1/users/" + owner.user_id, {"Name": "Still me"}).status == 200
    second = person(daemon, "owner", p)
    assert second.patch("/api/v1/users/" + owner.user_id, {"Role": "analyst"}).status == 200
    assert not owner.session()["SignedIn"]  # with the role go its sessions
    assert daemon.api().patch("/api/v1/users/" + second.user_id, {"Enabled": False}).status == 409  # the last one
    assert second.delete("/api/v1/users/" + developer.user_id).status == 204
    assert developer.get("/api/v1/partners/" + p).status == 401
    assert Browser(daemon).sign_in(developer.email).status == 401


def test_a_key_manages_only_whom_it_could_make(daemon, receiver):
    """A key with people:write does not make itself an owner: neither a new one, nor one that is there."""
    account = Account(daemon, receiver.url)
    owner, developer = person(daemon, "owner", account.partner_id), person(daemon, "developer", account.partner_id)
    users = "/api/v1/users"
    weak = daemon.api(account.key("people:write"))
    for role in ("owner", "developer", "analyst"):
        answer = weak.post(users, {"Email": "new-%s@example.test" % role, "Role": role})
        assert answer.status == 403 and "scope of the role " + role in answer.json["detail"], answer
        assert weak.post(users, {"Email": "bad", "Name": "", "Role": role}).status == 403
    for role in ({}, {"Role": None}, {"Role": "god"}):
        assert weak.post(users, dict(role, Email="new-none@example.test")).status == 400, role
    some = daemon.api(account.key("people:write", *READS))
    made = some.post(users, {"Email": "by-key-%s@example.test" % account.app_id, "Role": "analyst"})
    assert made.status == 201
    analyst = users + "/" + made.json["User"]["UserId"]
    assert some.patch(analyst, {"Role": "owner", "Name": ""}).status == 403
    for about in (owner, developer):
        for method, rest, body in (("PATCH", "", {"Name": "x"}), ("PATCH", "", {"Enabled": False}),
                                   ("PATCH", "", {"Role": "analyst"}), ("POST", "/link", None), ("DELETE", "", None),
                                   ("DELETE", "/second-factor", None), ("DELETE", "/identity", None),
                                   ("DELETE", "/sessions", None)):
            answer = some.request(method, "%s/%s%s" % (users, about.user_id, rest), body)
            assert answer.status == 403 and "lacks" in answer.json["detail"], (method, rest, answer)
        assert about.session()["SignedIn"]
        assert some.get("%s/%s" % (users, about.user_id)).status == 200
    raised = some.patch(analyst, {"Role": "developer"})
    assert raised.status == 403 and raised.json["detail"] == (
        "This needs every scope of the role developer; the key or role lacks callbacks:write, panelists:erase, "
        "apps:write, keys:write, audit:read.")
    assert some.get(analyst).json["Role"] == "analyst"
    assert some.patch(analyst, {"Name": "Ada"}).status == some.post(analyst + "/link").status == 200
    assert some.delete(analyst + "/sessions").status == some.delete(analyst).status == 204
    full = daemon.api(account.key(*PARTNER_SCOPES))
    assert full.post("%s/%s/link" % (users, owner.user_id)).status == 200
    assert full.post(users, {"Email": "full-%s@example.test" % account.app_id, "Role": "owner"}).status == 201


def test_a_link_is_for_the_role_that_its_user_had(daemon):
    """Even if a key has made it: else whoever was handed a link of an analyst becomes an owner by it."""
    p = partner(daemon)
    user_id, _, token = invite(daemon, "analyst", p)
    person(daemon, "owner", p)
    user, b = "/api/v1/users/" + user_id, Browser(daemon)
    for body, status in (({"Name": "Ada"}, 200), ({"Role": "owner"}, 404), ({"Enabled": False}, 404)):
        assert b.post("/api/v1/links/check", {"Token": token}).status == 200
        assert daemon.api().patch(user, body).status == 200
        if body == {"Enabled": False}:
            assert daemon.api().patch(user, {"Enabled": True}).status == 200
        assert b.post("/api/v1/links/check", {"Token": token}).status == status, body
        token = daemon.api().post(user + "/link").json["Link"].split("#")[1]


def test_changing_people_follows_the_rules_of_the_interface(daemon):
    p = partner(daemon)
    owner = person(daemon, "owner", p)
    user_id, email, _ = invite(daemon, "analyst", p)
    path = "/api/v1/users/" + user_id
    read = owner.get(path)
    assert read.json["Invited"] is True and read.json["LastSignInAt"] is None
    tag = read.headers["ETag"]
    changed = owner.patch(path, {"Role": "developer"}, headers={"If-Match": tag})
    assert changed.status == 200 and changed.json["Role"] == "developer" and changed.headers["ETag"] != tag
    assert owner.patch(path, {"Name": "x"}, headers={"If-Match": tag}).status == 412
    for bad in ({"Email": "other@example.test"}, {"UserId": "u"}, {"Enabled": 1}, {"Name": ""}, {"Nope": 1}):
        assert owner.patch(path, bad).status == 400, bad
    assert owner.post("/api/v1/users", {"Email": email.upper(), "Role": "owner"}).status == 409
    for i in range(5):
        assert owner.post("/api/v1/users", {"Email": "l%d-%s@example.test" % (i, p), "Role": "analyst"}).status == 201
    seen, after = [], None
    while True:
        page = owner.get("/api/v1/users", query=dict({"limit": 3}, **({"after": after} if after else {}))).json
        seen += [u["Email"] for u in page["Items"]]
        after = page["Next"]
        if not after:
            break
    assert len(seen) == len(set(seen)) == 7 and seen[-1] == owner.email
    assert owner.delete(path, headers={"If-Match": tag}).status == 412
    assert owner.delete(path, headers={"If-Match": owner.get(path).headers["ETag"]}).status == 204


# --- acting as a partner -------------------------------------------------------------------------

def test_an_operator_looks_as_a_partner(daemon, receiver):
    account = Account(daemon, receiver.url)
    b = person(daemon, "support")
    assert b.post("/api/v1/session/act-as", {"PartnerId": "nobody"}).status == 400
    acting = b.post("/api/v1/session/act-as", {"PartnerId": account.partner_id})
    assert acting.status == 200
    assert acting.json["ActingAs"] is True and acting.json["Side"] == "partner"
    assert set(acting.json["Scopes"]) == READS
    assert b.get("/api/v1/callbacks").status == 200
    for method, path, body, scope in expectations(account, None):
        assert (b.request(method, path, body).status < 300) == (scope in READS), path
    assert b.get("/api/v1/partners").status == 403
    assert b.post("/api/v1/session/act-as", {"PartnerId": account.partner_id}).status == 403
    back = b.delete("/api/v1/session/act-as")
    assert back.status == 200 and back.json["Side"] == "operator" and back.json["Partner"] is None
    assert b.delete("/api/v1/session/act-as").status == 409
    noted = daemon.api().get("/api/v1/audit", query={"partnerId": account.partner_id, "actor": b.user_id}).json["Items"]
    assert [e["Action"] for e in noted] == ["session.act_as_ended", "session.act_as_begun"]
    by_address = daemon.api().get("/api/v1/audit", query={"partnerId": account.partner_id, "actor": b.email.upper()})
    assert by_address.json["Items"] == noted
    partners_own = person(daemon, "owner", account.partner_id)
    assert partners_own.post("/api/v1/session/act-as", {"PartnerId": account.partner_id}).status == 403


# --- the audit log -------------------------------------------------------------------------------

def test_every_change_is_written_down(daemon, receiver):
    account = Account(daemon, receiver.url)
    owner = person(daemon, "owner", account.partner_id)
    app = "/api/v1/apps/" + account.app_id
    assert owner.patch(app, {"Name": "Renamed", "SuccessCallbackUrl": "https://user:geheim@example.com/cb"}).status == 200
    secret = owner.get(app + "/secret").json["CallbackSecret"]
    rotated = owner.post(app + "/secret/rotate", {}).json["CallbackSecret"]
    key = owner.post("/api/v1/partners/%s/keys" % account.partner_id, {"Scopes": ["audit:read"]}).json
    assert owner.delete("/api/v1/partners/%s/keys/%s" % (account.partner_id, key["KeyId"])).status == 204
    Browser(daemon).sign_in(owner.email, "a wrong password")
    items = owner.get("/api/v1/audit").json["Items"]
    assert [e["Action"] for e in items][:7] == [
        "session.refused", "key.removed", "key.created", "app.secret_rotated", "app.secret_shown", "app.changed",
        "session.begun"]
    changed = items[5]
    assert changed["Actor"] == {"Kind": "user", "Id": owner.user_id, "Name": owner.email, "ActingAs": False}
    assert changed["Address"] == "127.0.0.1" and changed["PartnerId"] == account.partner_id
    assert changed["Object"] == {"Kind": "app", "Id": account.app_id}
    assert changed["Before"]["Name"] != "Renamed" and changed["After"]["Name"] == "Renamed"
    assert changed["After"]["SuccessCallbackUrl"].startswith("https://***")
    assert items[2]["Before"] is None and items[2]["After"]["KeyId"] == key["KeyId"] and "Key" not in items[2]["After"]
    assert items[1]["After"] is None
    text = owner.get("/api/v1/audit", query={"limit": 500}).text
    for hidden in ("geheim", secret, rotated, key["Key"], PASSWORD, owner.csrf, owner.cookie.split("=")[1]):
        assert hidden not in text
        assert hidden not in daemon.log_text()
    made = next(e for e in items if e["Action"] == "user.created")
    assert made["Actor"] == {"Kind": "operator", "Id": None, "Name": None, "ActingAs": False} and not made["Address"]
    told = daemon.api().get("/api/v1/audit", query={"partnerId": account.partner_id, "action": "user.created"}).json
    assert told["Items"][0]["AuditId"] == made["AuditId"]
    assert told["Items"][0]["Actor"]["Kind"] == "key" and told["Items"][0]["Actor"]["Id"] == "operator"


def test_what_is_sent_and_erased_is_written_down(daemon, receiver):
    account = Account(daemon, receiver.url)
    owner, support = person(daemon, "owner", account.partner_id), person(daemon, "support")
    of = {"partnerId": account.partner_id}
    daemon.api().events(account.event("noted-1", PanelistId="secret-panelist"))
    daemon.api().wait_state("noted-1", account.partner_id, "delivered")
    assert owner.post("/api/v1/callbacks/noted-1/resend").status == 202
    assert support.post("/api/v1/callbacks/noted-1/resend", query=of).status == 202
    range_ = {"From": "2026-01-01T00:00:00Z", "To": "2026-01-02T00:00:00Z", "States": ["dead"], "AppId": account.app_id}
    made = owner.post("/api/v1/callbacks/recover", range_).json["RecoveryId"]
    assert owner.delete("/api/v1/recoveries/" + made).status == 204
    test = {"RewardType": "survey_completed", "PanelistId": "u", "Url": receiver.url.replace("//", "//me:geheim@")}
    tested = owner.post("/api/v1/apps/%s/test-callback" % account.app_id, test).json
    assert owner.post("/api/v1/panelists/erase", {"PanelistId": "secret-panelist"}).json == {"Erased": 1}
    # what was refused is not there
    assert owner.post("/api/v1/callbacks/nothing/resend").status == 404
    assert owner.delete("/api/v1/recoveries/" + made).status == 404
    assert owner.post("/api/v1/callbacks/recover", {}).status == 400
    assert owner.post("/api/v1/apps/%s/test-callback" % account.app_id, {}).status == 400
    items = owner.get("/api/v1/audit", query={"limit": 8}).json["Items"]
    assert [(e["Action"], e["Object"]["Kind"], e["Object"]["Id"]) for e in items][:6] == [
        ("panelist.erased", "panelist", None), ("app.test_sent", "app", account.app_id),
        ("recovery.removed", "recovery", made), ("recovery.created", "recovery", made),
        ("callback.resent", "callback", "noted-1"), ("callback.resent", "callback", "noted-1")]
    assert [e["Actor"]["Id"] for e in items[:6]] == [owner.user_id] * 4 + [None, owner.user_id]
    assert items[4]["Actor"]["Kind"] == "operator" and support.email not in str(items[4])
    assert [e["Address"] for e in items[:6]] == ["127.0.0.1"] * 4 + [None, "127.0.0.1"]
    assert all(e["RequestId"] and e["PartnerId"] == account.partner_id for e in items[:6])
    assert items[1]["After"] == {"RewardId": tested["RewardId"], "RewardType": "survey_completed",
                                 "Url": test["Url"].replace("me:geheim", "***:***")}
    assert items[3]["After"]["States"] == ["dead"] and items[3]["After"]["AppId"] == account.app_id
    text = owner.get("/api/v1/audit", query={"limit": 500}).text
    assert "secret-panelist" not in text and "geheim" not in text
    noted = daemon.api().get("/api/v1/audit", query=dict(of, object="noted-1")).json["Items"]
    assert [e["Actor"]["Id"] for e in noted] == [support.user_id, owner.user_id]


def test_an_operator_leaves_a_partner_that_is_disabled(daemon):
    p = partner(daemon)
    operator, owner = person(daemon, "admin"), person(daemon, "owner", p)
    for leave, status in (("/api/v1/session/act-as", 200), ("/api/v1/session", 204)):
        assert operator.post("/api/v1/session/act-as", {"PartnerId": p}).status == 200
        assert daemon.api().patch("/api/v1/partners/" + p, {"Enabled": False}).status == 200
        assert operator.get("/api/v1/partners/" + p).status == 200 and owner.get("/api/v1/partners/" + p).status == 403
        assert operator.delete(leave).status == status
        assert daemon.api().patch("/api/v1/partners/" + p, {"Enabled": True}).status == 200


def test_the_audit_log_is_ones_own_and_paged(daemon):
    mine, theirs = partner(daemon), partner(daemon, "Theirs")
    owner, stranger = person(daemon, "owner", mine), person(daemon, "owner", theirs)
    for i in range(7):
        assert owner.patch("/api/v1/partners/" + mine, {"Name": "Name %d" % i}).status == 200
    assert mine not in stranger.get("/api/v1/audit").text and theirs not in owner.get("/api/v1/audit").text
    everything = owner.get("/api/v1/audit", query={"limit": 500}).json
    assert everything["Next"] is None
    seen, query = [], {"limit": 4}
    while True:
        page = owner.get("/api/v1/audit", query=query).json
        seen += page["Items"]
        assert len(page["Items"]) == 4 or page["Next"] is None
        if not page["Next"]:
            break
        query["after"] = page["Next"]
    assert seen == everything["Items"]
    only = owner.get("/api/v1/audit", query={"action": "partner.changed", "limit": 3}).json
    assert [e["After"]["Name"] for e in only["Items"]] == ["Name 6", "Name 5", "Name 4"] and only["Next"]
    at = seen[3]["At"]
    since, before = (owner.get("/api/v1/audit", query={name: at, "limit": 500}).json["Items"] for name in ("from", "to"))
    assert since == [e for e in seen if e["At"] >= at] and len(since) >= 4
    assert before == [e for e in seen if e["At"] < at] != []
    old = {"from": "1960-01-01T00:00:00Z"}
    assert owner.get("/api/v1/audit", query=dict(old, limit=500)).json["Items"] == seen
    assert owner.get("/api/v1/audit", query={"to": old["from"]}).json == {"Items": [], "Next": None}
    assert owner.get("/api/v1/audit", query={"object": "nothing"}).json == {"Items": [], "Next": None}
    for bad in ({"after": "x"}, {"from": "yesterday"}, {"limit": "0"}, {"nope": "1"},
                {"from": "2026-11-20T12:00:00Z", "to": "2026-11-20T11:00:00Z"}):
        assert owner.get("/api/v1/audit", query=bad).status == 400
    both = daemon.api().get("/api/v1/audit", query={"limit": 500}).text
    assert mine in both and theirs in both


def test_a_change_and_its_audit_entry_survive_together(own_daemon):
    own_daemon.start()
    p = partner(own_daemon)
    own_daemon.kill()
    own_daemon.start()
    found = own_daemon.api().get("/api/v1/audit", query={"partnerId": p}).json["Items"]
    assert [e["Action"] for e in found] == ["partner.created"]


# --- live ----------------------------------------------------------------------------------------

class Stream:
    def __init__(self, browser_or_key, daemon, query="", last_event_id=None):
        self.seen = []  # (name, data, id) of each event
        headers = {"X-Api-Key": browser_or_key} if isinstance(browser_or_key, str) else {"Cookie": browser_or_key.cookie}
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        self.connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=20)
        self.connection.request("GET", "/api/v1/live" + query, headers=headers)
        self.answer = self.connection.getresponse()

    def event(self):
        """(name, data) of the next one; None at the end."""
        name, data, id = None, None, None
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif line.startswith("id: "):
                id = line[4:]
            elif name:
                self.seen.append((name, data, id))
                return name, data
            elif not line:
                return None

    def wait(self, name):
        while True:
            found = self.event()
            assert found, "the stream ended"
            if found[0] == name:
                return found[1]

    def close(self):
        self.answer.close()
        self.connection.close()


def test_outcomes_are_told_as_they_come(daemon, receiver):
    account, other = Account(daemon, receiver.url), Account(daemon, receiver.url)
    owner, admin = person(daemon, "owner", account.partner_id), person(daemon, "admin")
    streams = [Stream(owner, daemon), Stream(admin, daemon), Stream(OPERATOR_KEY, daemon, "?partnerId=" + account.partner_id)]
    for s in streams:
        assert s.answer.status == 200 and s.answer.headers["Content-Type"] == "text/event-stream"
        assert s.answer.headers["X-Accel-Buffering"] == "no"  # else nginx holds the stream back
        assert s.event()[0] == "hello"
    daemon.api().events([other.event("live-other"), account.event("live-1"), account.event("live-2")])
    daemon.api().wait_state("live-2", account.partner_id, "delivered")
    for s in (streams[0], streams[2]):
        delivered = 0
        while delivered < 2:
            items = s.wait("callbacks")["Items"]
            assert [i["AppId"] for i in items] == [account.app_id]
            delivered += items[0]["Delivered"]
        assert delivered == 2
    before = daemon.metrics()["postbackd_events_accepted_total"]
    while streams[1].wait("counters")["EventsAccepted"] < before:
        pass
    assert owner.delete("/api/v1/session").status == 204
    while streams[0].event():  # it ends with the session
        pass
    for s in streams:
        s.close()
    assert daemon.api("wrong").get("/api/v1/live").status == 401


def test_open_streams_do_not_hold_up_the_stop(own_daemon):
    own_daemon.start()
    s = Stream(OPERATOR_KEY, own_daemon)
    assert s.event()[0] == "hello"
    assert own_daemon.stop() == 0
    s.close()

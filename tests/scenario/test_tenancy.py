"""Two partners on one daemon: whatever names the other's things is 404, and nothing leaks.

The routes come from /openapi.json, so that a new route is tried too."""
import itertools
import json
import re
from datetime import timedelta

import pytest

from checks import ago, all_pages, assert_problem, counts, encode, now, refusals
from harness import LIVE, Account, Receiver

SCOPES = ["reports:read", "callbacks:read", "callbacks:write", "panelists:erase", "apps:read", "apps:write", "keys:write",
          "people:write", "audit:read"]
ACCOUNT_LISTS = ["/api/v1/callbacks", "/api/v1/rewards"] + [
    "/api/v1/reports/" + r for r in ("earnings", "arpdau", "survey-attempts", "conversions", "active-panelist")]


class Tenant:
    """A partner with something of every kind, all of it named after the partner."""

    def __init__(self, daemon, url, mark):
        self.mark, self.daemon = mark, daemon
        self.account = Account(daemon, url, clients=("sdk", "iframe"), OfferCallbackUrl=None)
        a = self.account
        path = "/api/v1/partners/%s/keys" % a.partner_id
        made = daemon.api().post(path, {"Name": mark, "Scopes": SCOPES}).json
        self.key, self.key_id = made["Key"], made["KeyId"]
        self.api = daemon.api(self.key)
        events = [a.event("same-1", PanelistId=mark + "-panelist", SessionId=mark + "-session"),
                  a.event("same-2", "offer_completed", PanelistId="shared", RevenueAmount="2.5"),
                  a.event(mark + "-3", "survey_started", PanelistId="shared")]
        daemon.api().events(events)
        daemon.api().wait_state("same-1", a.partner_id, "delivered")
        self.ids = {"PartnerId": a.partner_id, "AppId": a.app_id, "ClientId": a.client, "KeyId": self.key_id,
                    "RewardId": mark + "-own"}
        daemon.api().events(a.event(self.ids["RewardId"]))
        daemon.api().wait_state(self.ids["RewardId"], a.partner_id, "delivered")
        invited = {"Email": mark + "@example.test", "Role": "owner", "UserId": "u-" + mark}
        assert self.api.post("/api/v1/users", invited).status == 201
        self.ids["UserId"] = invited["UserId"]
        self.words = [a.partner_id, a.app_id, a.secret, self.key_id, mark] + a.clients

    def snapshot(self):
        """All that can be read of this partner, as one text."""
        a, api = self.account, self.daemon.api()
        paths = ["/api/v1/partners/" + a.partner_id, "/api/v1/apps/" + a.app_id, "/api/v1/apps/%s/secret" % a.app_id,
                 "/api/v1/apps/%s/clients" % a.app_id, "/api/v1/partners/%s/keys" % a.partner_id,
                 "/api/v1/partners/%s/apps" % a.partner_id]
        texts = [api.get(path).text for path in paths]
        query = {"partnerId": a.partner_id}
        for reward_id in ("same-1", "same-2", self.ids["RewardId"]):
            texts.append(api.get("/api/v1/callbacks/" + reward_id, query=query).text)
        texts.append(api.get("/api/v1/rewards", query=query).text)
        texts += [json.dumps(api.get(p, query=query).json["Rows"]) for p in ACCOUNT_LISTS if "reports" in p]
        return "\n".join(texts)


@pytest.fixture(scope="module")
def tenants(daemon):
    receiver = Receiver()
    yield Tenant(daemon, receiver.url, "alpha"), Tenant(daemon, receiver.url, "omega")
    receiver.close()


@pytest.fixture(scope="module")
def operations(daemon):
    """Those that a key may use: sessions are no tenants' objects, see test_people.py."""
    document = daemon.api().get("/openapi.json", key=None).json
    return [(method.upper(), path) for path, item in document["paths"].items() for method in item
            if item[method]["security"] != [{"session": []}]]


def fill(path, ids):
    return re.sub(r"\{(\w+)\}", lambda m: ids.get(m.group(1), "nothing"), path)


OPERATORS_OWN = ("/api/v1/partners", "/api/v1/operations-secret", "/api/v1/system", "/api/v1/earnings",
                 "/api/v1/search")
QUERIES = {path: {"day": now().date().isoformat()}  # of routes that need one
           for path in ("/api/v1/statements", "/api/v1/intraday")}
QUERIES["/api/v1/events"] = {field: now().date().isoformat() for field in ("startDate", "endDate")}
BODIES = {  # good bodies, so that only whose object it is can be wrong
    "/api/v1/partners/{PartnerId}": {"Name": "stolen"},
    "/api/v1/partners/{PartnerId}/apps": {"CurrencyValue": 1},
    "/api/v1/partners/{PartnerId}/keys": {"Scopes": ["apps:read"]},
    "/api/v1/apps/{AppId}": {"Name": "stolen"},
    "/api/v1/apps/{AppId}/clients": {"Integration": "sdk"},
    "/api/v1/apps/{AppId}/secret/rotate": {"OverlapSeconds": 0},
    "/api/v1/apps/{AppId}/test-callback": {"RewardType": "survey_completed", "PanelistId": "u"},
    "/api/v1/apps/{AppId}/verify-callback": {"Body": "{}"},
    "/api/v1/clients/{ClientId}": {"Enabled": False},
    "/api/v1/users/{UserId}": {"Name": "stolen"},
}


def attempts(operations, ids):
    """(method, path, body) of every route that takes an id, with these ids."""
    for method, path in operations:
        if "{" in path and "{Provider}" not in path:  # of a sign-in: nobody's
            yield method, fill(path, ids), None if method in ("GET", "DELETE") else BODIES.get(path, {})


def test_ones_own_partner_id_changes_nothing(daemon, tenants):
    """A client that operators and partners share names the account whoever asks."""
    document = daemon.api().get("/openapi.json", key=None).json
    mine, theirs = tenants
    tried = 0
    for path, item in document["paths"].items():
        names = {p.get("name") or re.split("[/.]", p["$ref"])[-1] for p in item.get("get", {}).get("parameters", [])}
        if "partnerId" not in names or path == LIVE:
            continue
        real, query = fill(path, mine.ids), QUERIES.get(path, {})
        plain = mine.api.get(real, query=query)
        named = mine.api.get(real, query=dict(query, partnerId=mine.account.partner_id))
        assert (named.status, set(named.json)) == (plain.status, set(plain.json)), path
        assert_problem(mine.api.get(real, query=dict(query, partnerId=theirs.account.partner_id)), 404)
        tried += 1
    assert tried >= 15
    answer = mine.api.post("/api/v1/panelists/erase", {"PanelistId": "nobody"},
                           query={"partnerId": mine.account.partner_id})
    assert answer.status == 200, answer


def test_the_others_ids_are_404_everywhere(tenants, operations):
    tried = 0
    for mine, theirs in itertools.permutations(tenants):
        before = theirs.snapshot()
        assert "stolen" not in before
        unknown = {name: "no-such-id" for name in theirs.ids}
        for (method, path, body), (_, never, _) in zip(attempts(operations, theirs.ids),
                                                       attempts(operations, unknown)):
            answer = mine.api.request(method, path, body)
            assert_problem(answer, 404)
            # no telling what is another's from what is not there
            absent = mine.api.request(method, never, body)
            assert (absent.status, absent.body) == (404, answer.body), path
            tried += 1
        assert theirs.snapshot() == before
    assert tried >= 2 * 15


def test_a_mix_of_ids_is_404(tenants, daemon):
    mine, theirs = tenants
    for api in (mine.api, theirs.api, daemon.api()):
        assert_problem(api.delete("/api/v1/partners/%s/keys/%s" % (mine.ids["PartnerId"], theirs.key_id)), 404)
    assert theirs.api.get("/api/v1/apps/" + theirs.ids["AppId"]).status == 200


def test_partner_id_of_another_is_404(tenants, operations, daemon):
    mine, theirs = tenants
    before = theirs.snapshot()
    for path in ACCOUNT_LISTS:
        assert_problem(mine.api.get(path, query={"partnerId": theirs.ids["PartnerId"]}), 404)
        assert_problem(daemon.api().get(path, query={"partnerId": "nobody"}), 404)
    for path, query in QUERIES.items():
        assert_problem(mine.api.get(path, query=dict(query, partnerId=theirs.ids["PartnerId"])), 404)
    for method, path, body in attempts(operations, mine.ids):
        # an operator who names one partner and another's object
        answer = daemon.api().request(method, path, body, query={"partnerId": theirs.ids["PartnerId"]})
        assert_problem(answer, 404)
    assert_problem(mine.api.post("/api/v1/panelists/erase", {"PanelistId": "shared"},
                                 query={"partnerId": theirs.ids["PartnerId"]}), 404)
    assert theirs.snapshot() == before


def test_operator_reaches_each_with_partner_id(tenants, daemon):
    for t in tenants:
        query = {"partnerId": t.ids["PartnerId"]}
        for path in ACCOUNT_LISTS:
            answer = daemon.api().get(path, query=query)
            own = t.api.get(path)
            field = "Rows" if "reports" in path else "Items"
            assert answer.status == own.status == 200 and answer.json[field] == own.json[field] != []
        for path in ("/api/v1/apps/" + t.ids["AppId"], "/api/v1/clients/" + t.ids["ClientId"],
                     "/api/v1/partners/" + t.ids["PartnerId"]):
            assert daemon.api().get(path, query=query).json == daemon.api().get(path).json == t.api.get(path).json
        found = daemon.api().get("/api/v1/callbacks/same-1", query=query).json
        assert found["PanelistId"] == t.mark + "-panelist"


def test_operator_must_say_whose(daemon):
    for path in ACCOUNT_LISTS[1:] + ["/api/v1/callbacks/same-1"]:  # the log is of all partners then
        assert_problem(daemon.api().get(path), 400, "partnerId")
    assert_problem(daemon.api().post("/api/v1/callbacks/same-1/resend"), 400, "partnerId")
    assert_problem(daemon.api().post("/api/v1/panelists/erase", {"PanelistId": "x"}), 400, "partnerId")


def test_a_percent_encoded_name_is_partner_id_too(tenants, daemon):
    """Names are decoded (WHATWG URL, application/x-www-form-urlencoded): partner%49d means one partner alone."""
    mine, theirs = tenants
    for name in ("partner%49d", "%70artnerId", "partnerI%64"):
        query = "?%s=%s" % (name, mine.ids["PartnerId"])
        found = daemon.api().get("/api/v1/callbacks" + query)
        assert found.status == 200 and {i["AppId"] for i in found.json["Items"]} == {mine.ids["AppId"]}
        assert_problem(daemon.api().get("/api/v1/callbacks?%s=nobody" % name), 404)
        assert_problem(theirs.api.get("/api/v1/callbacks" + query), 404)
        invited = {"Email": name.lower().replace("%", "") + "@example.test", "Role": "owner"}
        assert daemon.api().post("/api/v1/users" + query, invited).status == 201
        assert invited["Email"] in {user["Email"] for user in mine.api.get("/api/v1/users").json["Items"]}


def test_nothing_of_the_other_in_any_answer(tenants, operations):
    mine, theirs = tenants
    read = 0
    for method, path in operations:
        if method == "GET" and path.startswith("/api/") and path != LIVE and "/sign-in/" not in path:
            answer = mine.api.get(fill(path, mine.ids), query=QUERIES.get(path))
            if path in OPERATORS_OWN:
                assert_problem(answer, 403)  # the installation's, not one partner's
                continue
            if answer.status == 404:
                continue  # a kind of object that this partner has none of
            assert answer.status == 200, (path, answer)
            for word in theirs.words:
                assert word not in answer.text, path
            read += 1
    assert read >= 15


def test_public_answers_name_no_tenant(tenants, daemon):
    for path in ("/metrics", "/openapi.json", "/healthz", "/readyz"):
        text = daemon.api().get(path, key=None).text
        for t in tenants:
            for word in t.words:
                assert not re.search(r"\b%s\b" % re.escape(word), text), (path, word)


def test_the_same_reward_id_is_each_partners_own(tenants):
    for t in tenants:
        found = t.api.get("/api/v1/callbacks/same-1").json
        assert (found["PanelistId"], found["AppId"]) == (t.mark + "-panelist", t.ids["AppId"])
        listed = t.api.get("/api/v1/callbacks", query={"rewardId": "same-1"}).json["Items"]
        assert [i["PanelistId"] for i in listed] == [t.mark + "-panelist"]
        shared = t.api.get("/api/v1/callbacks", query={"panelistId": "shared"}).json["Items"]
        assert {i["AppId"] for i in shared} == {t.ids["AppId"]}


def test_filters_with_the_others_ids(tenants):
    mine, theirs = tenants
    assert_problem(mine.api.get("/api/v1/callbacks", query={"appId": theirs.ids["AppId"]}), 404)
    assert_problem(mine.api.get("/api/v1/reports/earnings", query={"clientIds": theirs.ids["ClientId"]}), 404)
    for query in ({"rewardId": theirs.ids["RewardId"]}, {"panelistId": theirs.mark + "-panelist"}):
        assert mine.api.get("/api/v1/callbacks", query=query).json["Items"] == []


def test_cursors_of_the_other_show_nothing(tenants):
    mine, theirs = tenants
    days = {"startDate": (now() - timedelta(days=300)).date().isoformat(), "endDate": now().date().isoformat()}
    for path, query in (("/api/v1/callbacks", {}), ("/api/v1/rewards", {}), ("/api/v1/rewards", days),
                        ("/api/v1/events", days)):
        after = theirs.api.get(path, query=dict(query, limit=1)).json["Next"]
        assert after
        answer = mine.api.get(path, query=dict(query, after=after))
        if answer.status == 200:
            assert not any(word in answer.text for word in theirs.words)
        else:
            assert_problem(answer, 400, "after")


def test_event_keys_reach_only_their_partner(tenants, daemon):
    """A partner's key with events:write (the operator may give one) reports for its own clients."""
    mine, theirs = tenants
    answer = daemon.api().post("/api/v1/partners/%s/keys" % mine.ids["PartnerId"], {"Scopes": ["events:write"]})
    assert answer.status == 201, answer
    api = daemon.api(answer.json["Key"])
    good, bad = mine.account.event("by-key-1"), theirs.account.event("by-key-2")
    found = api.post("/api/v1/events", [good, bad])
    assert counts(found) == (1, 0, 1)
    assert refusals(found) == {1: {("ClientId", "unknown_client")}}
    assert_problem(theirs.api.get("/api/v1/callbacks/by-key-2"), 404)
    old = dict(mine.account.event("by-key-3"), Timestamp=ago(days=100))
    assert_problem(api.post("/api/v1/events?deliver=false", old), 403)


def test_an_original_of_the_other_is_not_found(tenants, daemon):
    mine, theirs = tenants
    daemon.api().events(theirs.account.event("their-offer", "offer_completed"))
    reversal = {"EventId": "thief", "Type": "offer_completion_reversed", "ClientId": mine.ids["ClientId"],
                "OriginalRewardId": "their-offer"}
    answer = daemon.api().post("/api/v1/events", encode(reversal))
    assert refusals(answer) == {0: {("OriginalRewardId", "original_not_found")}}


def test_erasing_reaches_only_ones_own(tenants, daemon):
    mine, theirs = tenants
    before = theirs.snapshot()
    answer = mine.api.post("/api/v1/panelists/erase", {"PanelistId": "shared"})
    assert answer.status == 200 and answer.json["Erased"] == 2, answer
    assert theirs.snapshot() == before
    assert [i for i in all_pages(mine.api, "/api/v1/callbacks", 100)[0] if i["PanelistId"] == "shared"] == []


def test_a_disabled_partner(daemon):
    receiver = Receiver()
    t = Tenant(daemon, receiver.url, "later")
    receiver.close()
    daemon.api().patch("/api/v1/partners/" + t.ids["PartnerId"], {"Enabled": False})
    assert t.api.get("/api/v1/apps/" + t.ids["AppId"]).status in (401, 403)
    assert daemon.api().get("/api/v1/apps/" + t.ids["AppId"]).status == 200

"""/openapi.json says what the server does: it is sound, it has the routes of the contract, every answer
fits its schema, every bound is the server's own, and what is sent to partners fits its webhooks."""
import json
import re
from collections import defaultdict

import pytest

from checks import now
from described import World, check_answer, check_webhook, real_path, successes
from harness import LIVE, ROOT, Account
from schema import ANNOTATIONS, check_fits, faults, look_up, operations


@pytest.fixture(scope="module")
def document(daemon):
    return daemon.api(None).get("/openapi.json").json


@pytest.fixture(scope="module")
def world(daemon):
    w = World(daemon)
    yield w
    w.close()


def named_nodes(value, at="#"):
    """(path, object) of all objects of a document, from the outside in."""
    if isinstance(value, dict):
        yield at, value
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from named_nodes(inner, "%s/%s" % (at, name))


def nodes(value):
    return (node for _, node in named_nodes(value))


# --- the document by itself --------------------------------------------------------------------

def test_each_reference_leads_somewhere_and_each_component_is_used(document):
    used = {n["$ref"] for n in nodes(document) if "$ref" in n}
    for reference in used:
        assert look_up({"$ref": reference}, document)
    components = {"#/components/%s/%s" % (kind, name) for kind in ("schemas", "parameters", "headers", "responses")
                  for name in document["components"][kind]}
    assert components - used == set()


def test_examples_and_defaults_fit(document):
    tried = 0
    for at, node in named_nodes(document):
        if {"type", "anyOf", "oneOf", "$ref"} & set(node) and not isinstance(node.get("type"), dict):
            for value in node.get("examples", []) + [node[word] for word in ("default",) if word in node]:
                check_fits(value, node, document, at)
                tried += 1
    assert tried > 25


def test_operations_have_names_and_groups(document):
    found = [o for _, _, o in operations(document)]
    found += [item["post"] for item in document["webhooks"].values()]
    names = [o["operationId"] for o in found]
    assert len(set(names)) == len(names) and all(re.fullmatch("[a-z][A-Za-z]+", n) for n in names)
    groups = {t["name"] for t in document["tags"]}
    assert {t for o in found for t in o["tags"]} == groups and all(len(o["tags"]) == 1 for o in found)
    sent = {t for item in document["webhooks"].values() for t in item["post"]["tags"]}
    assert sent == {"Webhooks"}  # a generator makes a file of each tag, and of these another one
    assert all(o["summary"] for o in found) and all(t["description"] for t in document["tags"])


def test_parameters_are_typed(document):
    free = {"after", "rewardId", "panelistId", "text", "email", "action", "actor", "object", "SessionId", "PasskeyId",
            "If-Match", "If-None-Match"}
    for method, path, operation in operations(document):
        assert {p["name"] for p in operation["parameters"] if p["in"] == "path"} == set(re.findall(r"\{(\w+)\}", path))
        for p in operation["parameters"]:
            schema = look_up(p["schema"], document)
            bounds = set(schema) - ANNOTATIONS - {"type", "minLength"}
            assert p["description"] and (bounds or schema["type"] == "boolean" or p["name"] in free), (path, p)
            assert p["in"] != "path" or p["required"]


def test_what_is_asked_is_closed_and_what_is_answered_open(document):
    """A request with a member that is not known is refused; an answer may have new ones."""
    asked = [c["schema"] for _, _, o in operations(document) for c in o.get("requestBody", {"content": {}})["content"].values()]
    reached, todo = [], list(asked)
    while todo:
        for node in nodes(todo.pop()):
            if "$ref" in node and node not in reached:
                reached.append(node)
                todo.append(look_up(node, document))
    closed = {r["$ref"].rsplit("/", 1)[1] for r in reached}
    for name, schema in document["components"]["schemas"].items():
        for at, node in named_nodes(schema, name):
            if "properties" in node:
                assert (node.get("additionalProperties") is False) == (name in closed), at


def test_fields_have_no_defaults(document):
    """openapi-typescript takes a field with a default for one that must be given: descriptions say it."""
    for at, node in named_nodes(document["components"]["schemas"], "#/components/schemas"):
        having = [field for field, inner in node.get("properties", {}).items() if "default" in inner]
        assert not having, (at, having)


def test_numbers_say_how_wide_they_are(document):
    """Without a format, generators make 32 bits of them: int in Java, float32 in Go."""
    for at, node in named_nodes(document):
        kinds = node.get("type") if isinstance(node.get("type"), list) else [node.get("type")]
        if "number" in kinds:
            assert node.get("format") == "double", 'add "format": "double" to ' + at
        if "integer" in kinds:
            wide = node.get("maximum", 2**63) >= 2**31
            assert ("format" in node) == wide, '%s "format": "int64" %s %s' % (
                ("add", "to", at) if wide else ("remove", "from", at))


def test_names_of_components_are_types_of_their_own(document):
    """Go's types have one name space, without regard for the case of the first letter; Client is the client's own; and
    those of java.lang are everywhere."""
    names = [name[:1].upper() + name[1:] for kind, members in document["components"].items()
             if kind in ("schemas", "parameters") for name in members]
    taken = {"Client", "Class", "Error", "Exception", "Module", "Number", "Object", "Package", "Process", "Record",
             "Runtime", "String", "System", "Thread", "Void"}
    assert len(set(names)) == len(names) and not taken & set(names)
    for at, node in named_nodes(document["components"]["schemas"], "#/components/schemas"):
        assert node.get("type") != "null" or len(node) == 1, at
        assert not isinstance(node.get("type"), list) or node["type"][1:] == ["null"], (at, node)


def test_each_route_of_the_sources_is_described(document):
    table = (ROOT / "src/api/routes.c").read_text()
    rows = set(re.findall(r'\{HTTP_([A-Z]+), "([^"]+)"', table))
    assert len(rows) > 70 and rows == {(m, p) for m, p, _ in operations(document)}


def contract_paths():
    """The routes that the contract's sections 3, 5 and 6 name for this part of the service."""
    reports = ["earnings", "arpdau", "survey-attempts", "conversions", "active-panelist"]
    return {("GET", "/api/v1/reports/" + r) for r in reports} | {
        ("POST", "/api/v1/events"), ("POST", "/api/v1/partners"), ("GET", "/api/v1/partners"),
        ("GET", "/api/v1/partners/{PartnerId}"), ("PATCH", "/api/v1/partners/{PartnerId}"),
        ("POST", "/api/v1/partners/{PartnerId}/apps"), ("GET", "/api/v1/partners/{PartnerId}/apps"),
        ("GET", "/api/v1/apps/{AppId}"), ("PATCH", "/api/v1/apps/{AppId}"),
        ("POST", "/api/v1/apps/{AppId}/clients"), ("GET", "/api/v1/apps/{AppId}/clients"),
        ("GET", "/api/v1/clients/{ClientId}"), ("PATCH", "/api/v1/clients/{ClientId}"),
        ("POST", "/api/v1/partners/{PartnerId}/keys"), ("GET", "/api/v1/partners/{PartnerId}/keys"),
        ("DELETE", "/api/v1/partners/{PartnerId}/keys/{KeyId}"), ("GET", "/api/v1/apps/{AppId}/secret"),
        ("POST", "/api/v1/apps/{AppId}/secret/rotate"), ("GET", "/api/v1/callbacks"),
        ("GET", "/api/v1/callbacks/{RewardId}"), ("POST", "/api/v1/callbacks/{RewardId}/resend"),
        ("POST", "/api/v1/apps/{AppId}/test-callback"), ("GET", "/api/v1/rewards"),
        ("GET", "/api/v1/apps/{AppId}/endpoints"), ("POST", "/api/v1/panelists/erase"), ("GET", "/api/v1/statements"),
        ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/metrics"), ("GET", "/openapi.json")}


def test_openapi_has_the_routes_of_the_contract(document):
    assert contract_paths() - {(m, p) for m, p, _ in operations(document)} == set()


def test_openapi_names_every_query_parameter(document):
    wanted = {"startDate", "endDate", "clientIds", "format", "includeTest"}
    for method, path, operation in operations(document):
        names = {p["name"] for p in operation["parameters"] if p["in"] == "query"}
        if path.startswith("/api/v1/reports/"):
            extra = {"productType"} if path.endswith(("earnings", "arpdau", "conversions")) else set()
            assert names - {"partnerId"} == wanted | extra, path
        if path == "/api/v1/callbacks":
            assert names >= {"rewardId", "panelistId", "rewardType", "state", "appId", "from", "to", "limit", "after"}
        inside = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
        assert inside == set(re.findall(r"\{(\w+)\}", path))


@pytest.mark.parametrize("path", ["/api/v1/callbacks", "/api/v1/rewards", "/api/v1/partners/%s/apps"])
def test_a_list_has_as_many_items_as_its_default_says(daemon, document, path):
    default = document["components"]["parameters"]["query.limit"]["schema"]["default"]
    a = Account(daemon)
    daemon.api().events([a.event("one-of-%d" % i) for i in range(default + 1)])
    for i in range(default if "%s" in path else 0):
        made = daemon.api().post(path % a.partner_id, {"Name": "App %d" % i, "CurrencyValue": 100})
        assert made.status == 201, made
    answer = daemon.api().get(path % a.partner_id if "%s" in path else path, query={"partnerId": a.partner_id})
    assert len(answer.json["Items"]) == default and answer.json["Next"], answer
    # and those of all partners together
    if path == "/api/v1/callbacks":
        assert len(daemon.api().get(path).json["Items"]) == default


def test_the_validator_can_fail():
    schema = {"type": "object", "properties": {"A": {"type": ["integer", "null"]}}, "required": ["A"],
              "additionalProperties": False}
    assert faults({"A": None}, schema, {}) == []
    for bad in ({}, {"A": "1"}, {"A": True}, {"A": 1, "B": 2}, [], None, {"A": 1.5}):
        assert faults(bad, schema, {}) != []


def test_what_does_not_fit_is_named_before_what_was_sent():
    """pytest cuts a long answer; who added a field must see its name and where to describe it."""
    with pytest.raises(AssertionError) as error:
        check_fits({"More": 1}, {"type": "object", "properties": {}, "additionalProperties": False}, {}, "x" * 1000)
    assert str(error.value).startswith("$.More is not in the schema: see src/api/openapi_*.json - x")


# --- against the server ------------------------------------------------------------------------

def test_every_answer_of_every_route_is_as_described(daemon, document, world):
    left = {o["operationId"]: (m, p, o) for m, p, o in operations(document)}
    for name, call in successes(world):
        method, path, operation = left.pop(name)
        who, ids, query, body = call()
        if body is not None and "requestBody" in operation:
            if name != "reportEvents":
                check_fits(body, operation["requestBody"]["content"]["application/json"]["schema"], document, name)
        answer = who.request(method, real_path(path, dict(world.ids, **ids)), body, query=query)
        assert 200 <= answer.status < 304, (name, answer)
        check_answer(answer, operation, document)
        assert all(answer.headers[h] for h in operation["responses"][str(answer.status)]["headers"]
                   if h != "Idempotency-Replayed"), name
    # Those take a mail server, test_link_mail.py, or an identity provider, test_identity.py.
    assert set(left) == {"streamOutcomes", "requestLink", "startIdentityLink", "linkIdentity", "unlinkIdentity"}


def test_refusals_are_as_described(daemon, document, world):
    """A stranger, an unknown parameter, a wrong id, a wrong type, a body that is none or too large, an expectation."""
    too_large = set()
    for method, path, operation in operations(document):
        if path == LIVE:
            continue
        person = operation["security"] == [{"session": []}]
        who = world.admin if person else daemon.api()
        body = "{" if "requestBody" in operation else None
        nowhere = re.sub(r"\{\w+\}", "nowhere", path)
        answers = [who.request(method, nowhere, body, query={"no": "such"}),
                   daemon.api("wrong").request(method, nowhere, body), daemon.api(None).request(method, nowhere, body)]
        real = real_path(path, defaultdict(lambda: "nowhere", world.ids))
        answers += [who.request(method, real, body, headers={"Expect": "nonsense"})]
        if method != "GET":  # whether the path needs a body or not
            answers += [who.request(method, real, b" ", headers={"Content-Length": str(9 << 20)})]
            too_large |= {operation["operationId"]} if answers[-1].status == 413 else set()
        if body:
            answers += [who.request(method, nowhere, body, headers={"Content-Type": "text/plain"}),
                        who.request(method, nowhere, "[]"), who.request(method, nowhere, "{}")]
        for answer in answers:
            check_answer(answer, operation, document)
    assert too_large >= {"enableEndpoint", "resendCallback", "createUserLink"}


def test_csv_ndjson_and_versions(daemon, document, world):
    by_name = {o["operationId"]: (m, p, o) for m, p, o in operations(document)}
    for name, (method, path, operation) in by_name.items():
        content = next(r for s, r in operation["responses"].items() if s < "304").get("content", {})
        assert ("text/csv" in content) == any(p["name"] == "format" for p in operation["parameters"])
        if "text/csv" in content:
            answer = daemon.api().get(path, query={"partnerId": world.partner_id, "format": "csv"})
            assert answer.headers["Content-Type"].startswith("text/csv")
            check_answer(answer, operation, document)
        if any(p["name"] == "If-None-Match" for p in operation["parameters"]) and name != "getUser":
            real = real_path(path, world.ids)
            answer = daemon.api().get(real, headers={"If-None-Match": '"other", W/' + tag_of(daemon, real)})
            assert answer.status == 304
            check_answer(answer, operation, document)
        if any(p["name"] == "If-Match" for p in operation["parameters"]):
            ids = {"KeyId": made_key(daemon, world)}  # world's own has been revoked
            real = real_path(path, dict(world.ids, **ids))
            headers = {"If-Match": '"other"', "Content-Type": "application/merge-patch+json"}
            answer = daemon.api().request(method, real, None if method == "DELETE" else {}, headers=headers)
            assert answer.status == 412
            check_answer(answer, operation, document)
        if method == "PATCH" and "412" in operation["responses"]:
            headers["If-Match"] += ", " + tag_of(daemon, real)
            answer = daemon.api().patch(real, {}, headers=headers)
            assert answer.status == 200 and "application/merge-patch+json" in operation["requestBody"]["content"]
            check_answer(answer, operation, document)
    lines = "\n".join(json.dumps(world.account.event("lines-%d" % i)) for i in range(2))
    answer = daemon.api().post("/api/v1/events", lines, headers={"Content-Type": "application/x-ndjson"})
    assert answer.json["Accepted"] == 2
    assert set(by_name["reportEvents"][2]["requestBody"]["content"]) == {"application/json", "application/x-ndjson"}


def made_key(daemon, world):
    keys = "/api/v1/partners/%s/keys" % world.partner_id
    return daemon.api().post(keys, {"Scopes": ["reports:read"]}).json["KeyId"]


def tag_of(daemon, path):
    return daemon.api().get(path).headers["ETag"]


# --- bounds ------------------------------------------------------------------------------------

def beyond(schema):
    """(a value within each bound, a value just beyond it) of a schema."""
    if "maximum" in schema:
        yield schema["maximum"], schema["maximum"] + 1
    if "minimum" in schema:
        yield schema["minimum"], schema["minimum"] - 1
    if "exclusiveMinimum" in schema:
        yield schema["exclusiveMinimum"] + schema["multipleOf"], schema["exclusiveMinimum"]
    if "multipleOf" in schema:
        yield schema["maximum"] - schema["multipleOf"], 0.1234567
    if "x-max-bytes" in schema and "format" not in schema:
        yield "a" * schema["x-max-bytes"], "ä" * (schema["x-max-bytes"] // 2) + "a" * (schema["x-max-bytes"] % 2 + 1)
    if schema.get("minLength") and "pattern" not in schema and "maxLength" in schema:
        yield ("ab" * schema["minLength"])[:schema["minLength"]], "a" * (schema["minLength"] - 1)
    if "enum" in schema and schema.get("type") == "string":
        for value in schema["enum"]:
            yield value, "Nobody"
    if "minItems" in schema:
        yield None, []
    if schema.get("pattern", "").startswith("^[A-Za-z0-9_-]{1,64}"):
        yield "a-_Z09" * 10 + "abcd", "a" * 65
        yield "a", "ä"
    if schema.get("format") == "date-time":
        yield "2026-01-01T12:00:00.123+05:30", "2026-01-01T12:00:00"
    if schema.get("format") == "date":
        yield "2026-02-28", "2026-02-29"


def bounds_of(schema, document):
    schema = look_up(schema, document)
    yield from beyond(schema)
    for branch in schema.get("anyOf", []):
        yield from bounds_of(branch, document)


def names_of(answer):
    return {e.get("Field", e.get("Parameter")) for e in answer.json.get("errors", [])} if answer.status == 400 else set()


# Whose values the server judges by more than their form, or that it can only look up.
NOT_TRIED = {"partnerId", "appId", "after", "clientIds", "startDate", "endDate", "day"}


def test_bounds_of_parameters_are_the_servers(daemon, document, world):
    tried = 0
    for method, path, operation in operations(document):
        if method != "GET" or path == LIVE:
            continue
        real = real_path(path, world.ids)
        query = {"partnerId": world.partner_id} if "partnerId" in {p["name"] for p in operation["parameters"]} else {}
        query.update({p["name"]: "x" if p["name"] == "text" else now().date().isoformat()
                      for p in operation["parameters"] if p.get("required") and p["in"] == "query"})
        for p in operation["parameters"]:
            if p["in"] != "query" or p["name"] in NOT_TRIED:
                continue
            schema = look_up(p["schema"], document)
            pairs = list(bounds_of(schema, document))
            if schema["type"] == "boolean":
                pairs = [("true", "yes"), ("false", "1")]
            for good, bad in pairs:
                answer = daemon.api().get(real, query=dict(query, **{p["name"]: good}))
                assert answer.status in (200, 303), (path, p["name"], good, answer)
                answer = daemon.api().get(real, query=dict(query, **{p["name"]: bad}))
                assert names_of(answer) == {p["name"]}, (path, p["name"], bad, answer)
                tried += 1
    assert tried > 90


def test_days_and_clients_of_reports(daemon, world):
    for path in ("/api/v1/reports/earnings", "/api/v1/reports/conversions"):
        api, query = daemon.api(), {"partnerId": world.partner_id}
        for bad in ("2026-02-29", "2026-2-1", "today"):
            assert names_of(api.get(path, query=dict(query, startDate=bad))) == {"startDate"}
        assert api.get(path, query=dict(query, startDate="2025-01-01", endDate="2026-01-01")).status == 200
        assert names_of(api.get(path, query=dict(query, startDate="2024-12-31", endDate="2026-01-01"))) == {"startDate"}
        assert api.get(path, query=dict(query, clientIds=world.ids["ClientId"])).status == 200
        assert api.get(path, query=dict(query, clientIds="nobody")).status == 404
    for path in ("/api/v1/statements", "/api/v1/intraday"):
        assert names_of(api.get(path, query=dict(query, day="2026-02-29"))) == {"day"}
        assert names_of(api.get(path, query=query)) == {"day"}


# What only the operation's own state makes right or wrong.
ONLY_SOME = {
    ("createPartner", "Cluster"): "there is one cluster here",
    ("createApp", "ClientCertificate"): "a real certificate, see test_client_certificates.py",
    ("changeApp", "ClientCertificate"): "the same",
    ("createKey", "ExpiresAt"): "in the future",
    ("createRecovery", "AppId"): "an app that exists",
    ("actAs", "PartnerId"): "a partner that exists",
    ("inviteUser", "Role"): "of this side",
    ("changeUser", "Role"): "of this side",
    ("sendTestCallback", "RewardType"): "each sends a callback; see test_callbacks.py",
    ("sendTestCallback", "PanelistId"): "the same", ("sendTestCallback", "Reward"): "the same",
    ("sendTestCallback", "RevenueAmount"): "the same",
    ("changeMailPreferences", "Endpoints"): "takes a mail server; see test_mail_preferences.py",
    ("changeMailPreferences", "Certificates"): "the same", ("changeMailPreferences", "Statements"): "the same",
    ("changeMailPreferences", "Books"): "the same",
}
SIGNING_IN = ("signIn", "changePassword", "startSecondFactor", "confirmSecondFactor", "removeSecondFactor",
              "createRecoveryCodes", "checkLink", "useLink", "actAs", "startPasskey", "startIdentityLink",
              "linkIdentity", "unlinkIdentity")


def test_bounds_of_bodies_are_the_servers(daemon, document, world):
    """Each field just within its bounds is taken, and just beyond them it is refused by its name."""
    calls = dict(successes(world))
    tried = 0
    for method, path, operation in operations(document):
        name = operation["operationId"]
        if "requestBody" not in operation or name == "reportEvents" or name in SIGNING_IN:
            continue
        schema = look_up(operation["requestBody"]["content"]["application/json"]["schema"], document)
        for field, inner in schema["properties"].items():
            if (name, field) in ONLY_SOME:
                continue
            for good, bad in bounds_of(inner, document):
                who, ids, query, body = calls[name]()
                real = real_path(path, dict(world.ids, **ids))
                refused = who.request(method, real, dict(body, **{field: bad}), query=query)
                assert names_of(refused) == {field}, (name, field, bad, refused)
                if good is not None and faults(good, inner, document) == []:
                    taken = who.request(method, real, dict(body, **{field: good}), query=query)
                    assert taken.status < 400 or taken.status == 409, (name, field, good, taken)
                tried += 1
    assert tried > 80


# --- what is sent to partners ------------------------------------------------------------------

def test_callbacks_fit_their_webhooks(daemon, document, world):
    account, receiver = Account(daemon, world.receiver.url), world.receiver
    account.patch(LegacyFields=True, ExtendedFields=True, DisqualificationReward=1)
    sent = [account.event("hook-1", SessionId="s", IsTest=True), account.event("hook-2", "ad_hoc", Reason="support"),
            account.event("hook-3", "profiler_completed"), account.event("hook-4", "survey_disqualified"),
            account.event("hook-5", "offer_clicked"), account.event("hook-6", "offer_completed", IsTest=True, OfferGoalId="7"),
            {"EventId": "hook-7", "Type": "offer_completion_reversed", "ClientId": account.client, "OriginalRewardId": "hook-6"}]
    daemon.api().events(sent, headers={"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
    for event in sent:
        request = receiver.wait_for(event["EventId"])[0]
        kind = "offer" if event["Type"].startswith("offer") else "surveyFailure" if "disq" in event["Type"] else "surveySuccess"
        check_webhook(request, kind, document)
        assert request.header("traceparent")
    test = daemon.api().post("/api/v1/apps/%s/test-callback" % account.app_id, {"RewardType": "ad_hoc", "PanelistId": "u"})
    check_webhook(receiver.of(test.json["RewardId"])[0], "surveySuccess", document)

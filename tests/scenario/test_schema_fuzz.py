"""Questions drawn by lot from /openapi.json: whatever its schemas allow is not refused for its form, and
every answer is one that it describes. POSTBACKD_SEED repeats a run, POSTBACKD_QUESTIONS is how many each
route is asked (12)."""
import os
import random
from datetime import datetime, timedelta

import pytest

from checks import now, spell
from described import World, check_answer, real_path
from drawn import draw
from harness import LIVE, Daemon, forget_stores
from people import PASSWORD
from schema import check_fits, look_up, operations

SEED = int(os.environ.get("POSTBACKD_SEED", "1"))
QUESTIONS = int(os.environ.get("POSTBACKD_QUESTIONS", "12"))

# Not asked: an answer that never ends; what ends the session that asks.
LEFT_OUT = {"streamOutcomes", "signOut"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """With a mail server, so that an OperationsEmail is taken; nobody listens there."""
    directory = tmp_path_factory.mktemp("daemon")
    daemon = Daemon(directory, "--reads-per-minute", "1000000", "--smtp-url", "smtp://127.0.0.1:9",
                    "--mail-from", "postbackd@example.test").start()
    w = World(daemon)
    w.password = PASSWORD
    yield w
    w.close()
    assert daemon.stop() == 0
    forget_stores(directory)


@pytest.fixture(scope="module")
def document(world):
    return world.operator.get("/openapi.json").json


# What a schema cannot say: one field depends on another, or on what exists.
def queries(dice, name, query):
    query.pop("after", None)  # opaque: only what was given out
    if query.get("format") == "csv":
        query.pop("limit", None), query.pop("attempts", None)
    if query.get("state") == "delivered":
        query.pop("class", None), query.pop("status", None)
    days = [(now() - timedelta(days=dice.randrange(0, 3))).date().isoformat() for _ in range(2)]
    for field, day in zip(("startDate", "endDate"), sorted(days)):
        if field in query:
            query[field] = day
    if name == "listRewards" and {"startDate", "endDate"} & set(query):
        query.update(startDate=min(days), endDate=max(days), format="json")
        query.pop("day", None)
    if name == "getIntradayReport":
        query["day"] = days[0]
    if {"from", "to"} <= set(query):
        query["from"], query["to"] = sorted((query["from"], query["to"]), key=datetime.fromisoformat)
    if "clientIds" in query:
        query["clientIds"] = ",".join(query["clientIds"])
    return {k: {True: "true", False: "false"}.get(v, v) if isinstance(v, bool) else v for k, v in query.items()}


def bodies(dice, world, name, body):
    if name == "createPartner" and body.get("Cluster"):
        body["Cluster"] = 0
    if name in ("createApp", "changeApp") and body.get("ClientCertificate"):
        del body["ClientCertificate"]
    if name == "actAs":
        body["PartnerId"] = world.partner_id
    if "Password" in body and name not in ("signIn", "useLink"):
        body["Password"] = world.password
        world.password = body.get("NewPassword", world.password)
    if name == "createKey" and body.get("ExpiresAt"):
        body["ExpiresAt"] = spell(now() + timedelta(days=dice.randrange(1, 1000)))
    if name == "createRecovery":
        body["From"], body["To"] = spell(now() - timedelta(days=2)), spell(now() - timedelta(days=1))
    if name == "sendTestCallback":
        body["Send"], body["Url"] = False, body.get("Url") or "http://127.0.0.1:9/"
        for field in ("Reward", "RevenueAmount"):
            if field in body and body["RewardType"] not in ("ad_hoc", "offer_completion_reversed"):
                body[field] = str(body[field]).lstrip("-")
    if name in ("inviteUser", "changeUser") and "Role" in body:
        body["Role"] = dice.choice(("owner", "developer", "analyst"))
    return body


def question(dice, world, document, path, operation):
    """(who asks, path, query, body)"""
    name, query, ids = operation["operationId"], {}, dict(world.ids, SessionId="other", PasskeyId="other")
    for p in operation["parameters"]:
        schema = look_up(p["schema"], document)
        if p["in"] == "path" and dice.random() < 0.2:
            ids[p["name"]] = draw(dice, schema, document) if "pattern" in schema else "other"
        elif p["in"] == "query" and (p.get("required") or dice.random() < 0.4):
            query[p["name"]] = draw(dice, schema, document)
    if any(p["name"] == "partnerId" for p in operation["parameters"]):
        query["partnerId"] = world.partner_id
    body = None
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        body = bodies(dice, world, name, draw(dice, schema, document))
        check_fits(body, schema, document)
    who = world.admin if operation["security"] == [{"session": []}] else world.operator
    return who, real_path(path, ids), queries(dice, name, query), body


def questions(operation):
    """One of twelve where a password is looked at, which takes its time."""
    return -(-QUESTIONS // 12) if operation["tags"] == ["Sessions"] else QUESTIONS


def is_wrong(answer, operation, document):
    if answer.status == 400 or answer.status >= 500:
        return True
    try:
        check_answer(answer, operation, document)
    except AssertionError:
        return True
    return False


def test_what_the_schemas_allow_is_answered_as_described(world, document):
    asked, answered, wrong = 0, 0, []
    for method, path, operation in sorted(operations(document), key=lambda o: o[2]["operationId"]):
        name = operation["operationId"]
        if name in LEFT_OUT:
            continue
        dice = random.Random("%d %s" % (SEED, name))  # a route's questions do not depend on the others
        for _ in range(questions(operation)):
            who, real, query, body = question(dice, world, document, path, operation)
            answer = who.request(method, real, body, query=query)
            asked += 1
            answered += answer.status < 300
            if is_wrong(answer, operation, document):
                wrong.append((name, real, query, body, answer))
    assert not wrong, "\n".join(map(str, wrong))
    assert answered > asked / 2


def test_what_the_schemas_forbid_is_refused(world, document):
    """One field of a good body is of another type, or there is one more."""
    for method, path, operation in sorted(operations(document), key=lambda o: o[2]["operationId"]):
        name = operation["operationId"]
        if "requestBody" not in operation or name in LEFT_OUT | {"reportEvents", "verifyCallback"}:
            continue
        dice = random.Random("%d not %s" % (SEED, name))
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        for _ in range(-(-questions(operation) // 2)):
            who, _, query, body = question(dice, world, document, path, operation)
            body[dice.choice([*look_up(schema, document)["properties"], "More"])] = {"A": [1]}
            answer = who.request(method, real_path(path, dict(world.ids, SessionId="other")), body, query=query)
            assert 400 <= answer.status < 500, (name, body, answer)
            check_answer(answer, operation, document)

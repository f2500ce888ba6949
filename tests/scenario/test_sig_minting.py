"""Nobody gets a Sig out of the daemon who may not see the Callback Secret: one Sig is good for any
amount, and for every PanelistId and RewardId that make the same text when they are put together."""
import json
import subprocess
from base64 import b64encode
from contextlib import closing

import pytest

from checks import assert_problem, counts, refusals
from harness import BINARY, Account, Receiver, eventually, sig
from people import person

TEST = {"RewardType": "survey_completed", "PanelistId": "me"}
HIDDEN = "*" * 32


@pytest.fixture(scope="module")
def other():
    r = Receiver()
    yield r
    r.close()


def verify(body, secret):
    return subprocess.run([BINARY, "verify", "--secret", secret], input=json.dumps(body).encode(), capture_output=True, timeout=20)


def test_a_foreign_url_needs_apps_write(daemon, receiver, other):
    account = Account(daemon, receiver.url)
    path = "/api/v1/apps/%s/test-callback" % account.app_id
    writer, developer = daemon.api(account.key("callbacks:write")), daemon.api(account.key("callbacks:write", "apps:write"))
    before = len(other.requests)
    for url in (other.url, receiver.url + "?x", receiver.url.upper()):
        assert_problem(writer.post(path, dict(TEST, Url=url)), 403)
    assert_problem(person(daemon, "support").post(path, dict(TEST, Url=other.url)), 403)
    assert len(other.requests) == before
    for url in ({}, {"Url": None}, {"Url": receiver.url}):
        assert writer.post(path, dict(TEST, **url)).json["Status"] == 200
    assert developer.post(path, dict(TEST, Url=other.url)).json["Status"] == 200
    assert len(other.requests) == before + 1


@pytest.mark.parametrize("kind", ["survey_completed", "survey_disqualified", "offer_completed", "offer_clicked", "ad_hoc",
                                  "profiler_completed", "offer_completion_reversed"])
@pytest.mark.parametrize("legacy", [False, True])
def test_what_a_test_answers_hides_its_sig(daemon, receiver, kind, legacy):
    account = Account(daemon, receiver.url, LegacyFields=legacy)
    path = "/api/v1/apps/%s/test-callback" % account.app_id
    writer, developer = daemon.api(account.key("callbacks:write")), daemon.api(account.key("callbacks:write", "apps:write"))
    for api, shown in ((writer, False), (developer, True)):
        answer = api.post(path, dict(TEST, RewardType=kind, PanelistId="me \u00fc\"")).json
        sent = receiver.wait_for(answer["RewardId"])[0]
        right = sig(sent.json["PanelistId"], sent.json["RewardId"], account.secret)
        assert sent.json["Sig"] == right and answer["RewardId"].startswith("test_")
        assert answer["Body"] == (sent.body.decode() if shown else sent.body.decode().replace(right, HIDDEN))
        assert (right in json.dumps(answer)) == shown
        assert len(answer["Body"].encode()) == len(sent.body)


def test_the_log_hides_it_from_who_may_not_see_the_secret(daemon, receiver):
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("sig-1"), account.event("sig-2", PanelistId="somebody")])
    daemon.api().wait_state("sig-2", account.partner_id, "delivered")
    daemon.api().wait_state("sig-1", account.partner_id, "delivered")
    rights = [sig("user-1", "sig-1", account.secret), sig("somebody", "sig-2", account.secret)]
    of = {"partnerId": account.partner_id}
    viewer, support = person(daemon, "support"), person(daemon, "support")
    viewer.post("/api/v1/session/act-as", {"PartnerId": account.partner_id})
    hidden = [(daemon.api(account.key("callbacks:read", "callbacks:write", "panelists:erase", "keys:write")), {}),
              (person(daemon, "analyst", account.partner_id), {}), (viewer, {}), (support, of)]
    shown = [(daemon.api(account.key("callbacks:read", "apps:write")), {}), (person(daemon, "developer", account.partner_id), {}),
             (person(daemon, "owner", account.partner_id), {}), (daemon.api(), of)]
    for who, query in hidden + shown:
        texts = [who.get("/api/v1/callbacks", query=query).text, who.get("/api/v1/callbacks/sig-1", query=query).text,
                 who.get("/api/v1/callbacks/sig-2", query=query).text]
        assert [[right in text for text in texts] for right in rights] == (
            [[True, True, False], [True, False, True]] if (who, query) in shown else [[False] * 3] * 2)
        assert all(HIDDEN in text for text in texts) == ((who, query) in hidden)


def test_what_a_receiver_echoes_hides_it(daemon):
    """In whatever spelling and place; the end of what is kept of a body may cut it in two."""
    def echo(request):
        it = request.json["Sig"]
        base64 = b64encode(bytes.fromhex(it)).decode()
        text = "%s %s %s %s" % (request.body.decode(), it.upper(), base64, base64.replace("+", "-").replace("/", "_"))
        headers = {"X-Echo": it, "Location": "/callback?sig=" + it}
        return (302 if request.json["PanelistId"] == "moved" else 200), headers, (text + "." * (4076 - len(text)) + it).encode()
    with closing(Receiver(echo)) as receiver:
        account = Account(daemon, receiver.url)
        daemon.api().events([account.event("echo-1"), account.event("echo-2", PanelistId="moved")])
        daemon.api().wait_state("echo-1", account.partner_id, "delivered")
        answers = [daemon.api().post("/api/v1/apps/%s/test-callback" % account.app_id, TEST)]
        eventually(lambda: daemon.api().callback("echo-2", account.partner_id)["Attempts"])
        reader = daemon.api(account.key("callbacks:read", "apps:read"))
        answers += [reader.get(path) for path in ("/api/v1/callbacks/echo-1", "/api/v1/callbacks/echo-2",
                                                  "/api/v1/apps/%s/endpoints" % account.app_id)]
        sent = {r.json["RewardId"]: r.json["Sig"] for r in receiver.requests}
        assert len(sent) == 3
        for answer in answers[1:]:
            for it in sent.values():
                base64 = b64encode(bytes.fromhex(it)).decode()[:22]
                for spelling in (it, it.upper(), it[:16], base64, base64.replace("+", "-").replace("/", "_")):
                    assert spelling not in answer.text, (spelling, answer)
        for attempt in (answers[0].json, answers[1].json["Attempts"][0], answers[2].json["Attempts"][0]):
            assert attempt["ResponseHeaders"]["X-Echo"] == HIDDEN
            assert '{"Sig":"%s"' % HIDDEN in attempt["ResponseBody"] and attempt["ResponseBody"].endswith("." + "*" * 20)
        assert HIDDEN in answers[2].json["Attempts"][0]["Detail"]


def test_what_a_receiver_echoes_hides_the_password_of_its_url(daemon):
    """Whoever reads the log of attempts may be somebody who may not see the URL."""
    def echo(request):
        token = request.headers["Authorization"].split()[1]
        text = "Authorization: Basic %s, password p@ss-SECRET" % token
        return 200, {"X-Echo": "Basic " + token}, text.encode()
    with closing(Receiver(echo)) as receiver:
        account = Account(daemon, receiver.url.replace("://", "://user:p%40ss-SECRET@"))
        daemon.api().events([account.event("echo-password")])
        daemon.api().wait_state("echo-password", account.partner_id, "delivered")
        reader = daemon.api(account.key("callbacks:read", "callbacks:write"))
        answers = [reader.get("/api/v1/callbacks/echo-password"),
                   reader.post("/api/v1/apps/%s/test-callback" % account.app_id, TEST)]
        token = b64encode(b"user:p@ss-SECRET").decode()
        assert receiver.requests[0].headers["Authorization"] == "Basic " + token
        for answer in answers:
            assert answer.status == 200 and token.rstrip("=") not in answer.text, answer
            assert "p@ss-SECRET" not in answer.text and "Basic ***" in answer.text, answer


def test_verify_says_that_it_is_a_test(daemon, receiver):
    """A test's body stays one whatever amount is written into it."""
    account = Account(daemon, receiver.url)
    made = daemon.api().post("/api/v1/apps/%s/test-callback" % account.app_id, TEST).json
    body = receiver.wait_for(made["RewardId"])[0].json
    body["Reward"] = 1000000
    result = verify(body, account.secret)
    assert (result.returncode, result.stdout[:12]) == (0, b"Sig matches.") and b"test" in result.stdout
    found = daemon.api().post("/api/v1/apps/%s/verify-callback" % account.app_id, {"Body": json.dumps(body)}).json["Sig"]
    assert (found["Matches"], found["Cause"]) == (True, None) and "test" in found["Detail"]
    daemon.api().events(account.event("real-1"))
    body = receiver.wait_for("real-1")[0].json
    assert verify(body, account.secret).stdout == b"Sig matches.\n"
    found = daemon.api().post("/api/v1/apps/%s/verify-callback" % account.app_id, {"Body": json.dumps(body)}).json["Sig"]
    assert found == {"Matches": True, "Cause": None, "Detail": None}


def test_no_event_is_named_like_a_test(daemon):
    account = Account(daemon)
    names = ["test_", "test_1", "test_" + "a" * 100, "Test_1", "test-1", "atest_1", "tes_1"]
    answer = daemon.api().post("/api/v1/events", [account.event(name) for name in names])
    assert counts(answer) == (4, 0, 3)
    assert [(i, {f for f, _ in errors}) for i, errors in refusals(answer).items()] == [(i, {"EventId"}) for i in range(3)]


def test_erasing_needs_its_own_scope(daemon):
    account = Account(daemon)
    for scopes, status in (({"callbacks:read", "callbacks:write", "apps:write", "keys:write"}, 403), ({"panelists:erase"}, 200)):
        key = daemon.api(account.key(*scopes))
        assert key.post("/api/v1/panelists/erase", {"PanelistId": "p"}).status == status
        assert key.post("/api/v1/callbacks/nothing/resend").status == (404 if status == 403 else 403)
    for role, status in (("owner", 200), ("developer", 200), ("analyst", 403)):
        assert person(daemon, role, account.partner_id).post("/api/v1/panelists/erase", {"PanelistId": "p"}).status == status
    of = {"partnerId": account.partner_id}
    assert person(daemon, "support").post("/api/v1/panelists/erase", {"PanelistId": "p"}, query=of).status == 403

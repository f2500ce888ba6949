"""Callback Secrets: shown, rotated with an overlap, and what callbacks are then signed with."""
import base64
import itertools
import json
import time

import pytest

from checks import assert_problem
from harness import Account, Receiver, assert_signed, eventually, sig, webhook_signature

serial = itertools.count(1)


def fresh(prefix):
    return "%s-%d" % (prefix, next(serial))


@pytest.fixture
def api(daemon):
    return daemon.api()


@pytest.fixture
def account(daemon):
    return Account(daemon)


def last_body(receiver, account, event_id):
    account.daemon.api().events(account.event(event_id))
    return receiver.wait_for(event_id)[0]


def signatures(request):
    return request.header("webhook-signature").split(" ")


def mac(secret, request):
    return webhook_signature(secret, request.json["RewardId"], int(request.header("webhook-timestamp")), request.body)


def test_the_secret_is_shown_to_apps_write(api, account):
    answer = api.get("/api/v1/apps/%s/secret" % account.app_id)
    assert answer.status == 200 and answer.json["CallbackSecret"] == account.secret


def test_rotation_with_sig_at_once(daemon, api, receiver):
    a = Account(daemon, receiver.url)
    path = "/api/v1/apps/%s/secret" % a.app_id
    answer = api.post(path + "/rotate", {"OverlapSeconds": 3600, "SigSwitch": "now"})
    assert answer.status == 200, answer
    newer = answer.json["CallbackSecret"]
    assert newer != a.secret and newer.startswith("whsec_")
    assert api.get(path).json["CallbackSecret"] == newer
    request = last_body(receiver, a, fresh("rot"))
    assert signatures(request) == [mac(newer, request), mac(a.secret, request)]
    assert request.json["Sig"] == sig("user-1", request.json["RewardId"], newer)


def rotated_and_called(daemon, api, receiver):
    """An account, its newer secret, and a callback that came while the older one was still in force."""
    for seconds in (3, 12, 60):  # more where the machine is too busy
        a = Account(daemon, receiver.url, LegacyFields=True)
        end = time.monotonic() + seconds
        newer = api.post("/api/v1/apps/%s/secret/rotate" % a.app_id,
                         {"OverlapSeconds": seconds, "SigSwitch": "end"}).json["CallbackSecret"]
        request = last_body(receiver, a, fresh("rot"))
        if time.monotonic() < end:
            return a, newer, request
    raise AssertionError("no callback comes within a minute")


def test_rotation_with_sig_at_the_end(daemon, api, receiver):
    a, newer, request = rotated_and_called(daemon, api, receiver)
    assert signatures(request) == [mac(newer, request), mac(a.secret, request)]
    assert request.json["Sig"] == request.json["Signature"] == sig("user-1", request.json["RewardId"], a.secret)

    def signed_once():
        request = last_body(receiver, a, fresh("rot"))
        return len(signatures(request)) == 1 and request
    request = eventually(signed_once, 90, 0.2)
    assert signatures(request) == [mac(newer, request)]
    assert request.json["Sig"] == request.json["Signature"] == sig("user-1", request.json["RewardId"], newer)


def test_a_retry_is_signed_with_the_secret_then_in_force(daemon, api):
    receiver = Receiver(answer=lambda r: 503 if len(receiver.requests) == 1 else 200)
    try:
        a = Account(daemon, receiver.url)
        event_id = fresh("rot")
        api.events(a.event(event_id))
        receiver.wait_for(event_id)
        newer = api.post("/api/v1/apps/%s/secret/rotate" % a.app_id,
                         {"OverlapSeconds": 0, "SigSwitch": "now"}).json["CallbackSecret"]
        first, second = receiver.wait_for(event_id, 2)
        assert_signed(first, a.secret)
        assert_signed(second, newer)
        assert signatures(second) == [mac(newer, second)]
        assert first.body.replace(first.json["Sig"].encode(), b"") == second.body.replace(second.json["Sig"].encode(), b"")
    finally:
        receiver.close()


def test_rotation_defaults_to_a_day(daemon, api, receiver):
    a = Account(daemon, receiver.url)
    answer = api.post("/api/v1/apps/%s/secret/rotate" % a.app_id)
    assert answer.status == 200, answer
    request = last_body(receiver, a, fresh("rot"))
    assert signatures(request) == [mac(answer.json["CallbackSecret"], request), mac(a.secret, request)]
    for bad, name in (({"OverlapSeconds": -1}, "OverlapSeconds"), ({"OverlapSeconds": "1"}, "OverlapSeconds"),
                      ({"SigSwitch": "later"}, "SigSwitch"), ({"Secret": "x" * 20}, "Secret")):
        assert_problem(api.post("/api/v1/apps/%s/secret/rotate" % a.app_id, bad), 400, name)
    assert api.get("/api/v1/apps/%s/secret" % a.app_id).json["CallbackSecret"] == answer.json["CallbackSecret"]


def test_rotating_again_keeps_every_overlap_that_was_chosen(own_daemon):
    receiver = Receiver()
    daemon = own_daemon.start()
    try:
        api = daemon.api()
        a = Account(daemon, receiver.url)
        path = "/api/v1/apps/%s/secret" % a.app_id
        live = [a.secret]
        for _ in range(4):
            answer = api.post(path + "/rotate", {"OverlapSeconds": 3600})
            assert answer.status == 200, answer
            live.insert(0, answer.json["CallbackSecret"])
        refused = api.post(path + "/rotate", {"OverlapSeconds": 3600})
        assert_problem(refused, 409)
        assert "OverlapSeconds 0" in refused.json["detail"]
        daemon.restart()
        request = last_body(receiver, a, fresh("rot"))
        assert signatures(request) == [mac(secret, request) for secret in live]
        assert request.json["Sig"] == sig("user-1", request.json["RewardId"], live[0])
        last = daemon.api().post(path + "/rotate", {"OverlapSeconds": 0}).json
        assert last["OlderSecretUntil"] is None
        request = last_body(receiver, a, fresh("rot"))
        assert signatures(request) == [mac(last["CallbackSecret"], request)]
    finally:
        receiver.close()


@pytest.mark.parametrize("given", ["brought-along", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"])
def test_an_operator_rotates_to_a_secret_that_is_brought_along(daemon, api, receiver, given):
    a = Account(daemon, receiver.url)
    path = "/api/v1/apps/%s/secret" % a.app_id
    answer = api.post(path + "/rotate", {"CallbackSecret": given, "OverlapSeconds": 3600})
    assert answer.status == 200 and answer.json["CallbackSecret"] == given, answer
    request = last_body(receiver, a, fresh("rot"))
    assert signatures(request) == [mac(given, request), mac(a.secret, request)]
    assert request.json["Sig"] == sig("user-1", request.json["RewardId"], given)
    if not given.startswith("whsec_"):  # what libraries of Standard Webhooks are given: base64
        assert mac("whsec_" + base64.b64encode(given.encode()).decode(), request) in signatures(request)
    audit = api.get("/api/v1/audit", query={"partnerId": a.partner_id})
    assert audit.json["Items"][0]["Action"] == "app.secret_rotated" and given not in audit.text
    assert given not in daemon.log_text()


def test_a_secret_that_cannot_be_brought_along_changes_nothing(daemon, api):
    a = Account(daemon)
    path = "/api/v1/apps/%s/secret" % a.app_id
    older, newest = a.secret, api.post(path + "/rotate", {}).json["CallbackSecret"]
    for bad in ("short", "with space in it", "x" * 257, "whsec_no base64", "whsec_abc", 5, None, "", older, newest):
        assert_problem(api.post(path + "/rotate", {"CallbackSecret": bad}), 400, "CallbackSecret")
    refused = api.post(path + "/rotate", {"CallbackSecret": "by-a-partner"}, key=a.key("apps:write"))
    assert_problem(refused, 400, "CallbackSecret")
    assert "operator" in refused.text
    assert_problem(api.post("/api/v1/partners/%s/operations-secret/rotate" % a.partner_id,
                            {"CallbackSecret": "not-of-messages"}), 400, "CallbackSecret")
    assert api.get(path).json["CallbackSecret"] == newest


def test_showing_and_rotating_a_secret_is_audited(daemon, api):
    a = Account(daemon)
    key = a.key("apps:write")
    daemon.api(key).get("/api/v1/apps/%s/secret" % a.app_id)
    daemon.api(key).post("/api/v1/apps/%s/secret/rotate" % a.app_id, {})
    lines = [json.loads(line) for line in daemon.log_text().splitlines() if line.startswith("{")]
    events = [line["event"] for line in lines if line.get("app") == a.app_id and line.get("key")]
    assert "secret_shown" in events and "secret_rotated" in events

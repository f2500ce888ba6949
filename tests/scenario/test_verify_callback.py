"""POST /api/v1/apps/{AppId}/verify-callback: a received body judged with the app's own secrets."""
import hashlib
import json

from checks import assert_problem
from harness import Account, Receiver, sig, webhook_signature


def ask(daemon, account, body, **fields):
    path = "/api/v1/apps/%s/verify-callback" % account.app_id
    text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
    return daemon.api().post(path, dict(fields, Body=text))


def judged(daemon, account, body, **fields):
    answer = ask(daemon, account, body, **fields)
    assert answer.status == 200, answer
    assert account.secret not in answer.text
    return answer.json


def body_with(account, made_sig=None, **fields):
    body = {"Sig": "", "PanelistId": "user-ü/1", "RewardId": "r-1", "Reward": 72}
    body.update(fields)
    body["Sig"] = made_sig or sig(body["PanelistId"], body["RewardId"], account.secret)
    return body


def test_a_right_sig(daemon, account):
    found = judged(daemon, account, body_with(account))
    assert found == {"RewardId": "r-1", "Sig": {"Matches": True, "Cause": None, "Detail": None},
                     "WebhookSignature": None}


def test_wrong_sigs_and_why(daemon, account):
    md5 = lambda text: hashlib.md5(text.encode()).hexdigest()
    s = account.secret
    for made, cause in ((md5("r-1" + "user-ü/1" + s), "order"),
                        (md5("user-ü/1" + "r-1" + " " + s), "white_space"),
                        (md5("user-ü/1" + "r-1" + s).upper(), "upper_case"),
                        (md5("user-ü/1" + ":" + "r-1" + ":" + s), "separator"),
                        (md5("something else"), "unexplained")):
        found = judged(daemon, account, body_with(account, made))["Sig"]
        assert (found["Matches"], found["Cause"]) == (False, cause), found
        assert found["Detail"]


def test_another_secret(daemon, account):
    for secret in (" " + account.secret, "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"):
        found = judged(daemon, account, body_with(account), Secret=secret)["Sig"]
        assert (found["Matches"], found["Cause"]) == (True, "wrong_secret"), found
    assert judged(daemon, account, body_with(account), Secret=account.secret)["Sig"]["Cause"] is None


def test_a_secret_that_is_right_is_written_down(daemon):
    account = Account(daemon)

    def noted():
        query = {"action": "app.secret_checked", "partnerId": account.partner_id}
        return [item["Object"]["Id"] for item in daemon.api().get("/api/v1/audit", query=query).json["Items"]]

    judged(daemon, account, body_with(account))
    judged(daemon, account, body_with(account), Secret="whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3")
    judged(daemon, account, body_with(account, "0" * 32), Secret=account.secret)
    assert noted() == []
    judged(daemon, account, body_with(account), Secret=account.secret)
    assert noted() == [account.app_id]
    secret = daemon.api().get("/api/v1/audit", query={"limit": 500}).text
    assert account.secret not in secret


def test_an_older_secret_that_is_live_still_matches(daemon):
    account = Account(daemon)
    old = body_with(account)
    path = "/api/v1/apps/%s/secret/rotate" % account.app_id
    assert daemon.api().post(path, {"OverlapSeconds": 3600, "SigSwitch": "now"}).status == 200
    assert judged(daemon, account, old)["Sig"]["Matches"] is True
    assert daemon.api().post(path, {"OverlapSeconds": 0}).status == 200
    assert judged(daemon, account, old)["Sig"]["Matches"] is False


def test_webhook_signature(daemon, account):
    text = json.dumps(body_with(account), separators=(",", ":"), ensure_ascii=False)
    made = webhook_signature(account.secret, "r-1", 1763726400, text.encode())
    headers = {"WebhookId": "r-1", "WebhookTimestamp": "1763726400", "WebhookSignature": "v1,other " + made}

    def found(body, **changed):
        return judged(daemon, account, body, **dict(headers, **changed))["WebhookSignature"]

    assert found(text) == {"Matches": True, "Cause": None, "Detail": None}
    assert found(text + "\n")["Cause"] == "white_space"
    assert found(text.replace("72", "72.0"))["Cause"] == "unexplained"
    assert found(text, WebhookId="r-2")["Cause"] == "unexplained"
    assert found(text, WebhookTimestamp="soon")["Cause"] == "timestamp"


def test_what_was_really_received(daemon):
    receiver = Receiver()
    try:
        account = Account(daemon, receiver.url)
        daemon.api().events([account.event("verify-1")])
        request = receiver.wait_for("verify-1")[0]
        found = judged(daemon, account, request.body.decode(), WebhookId=request.header("webhook-id"),
                       WebhookTimestamp=request.header("webhook-timestamp"),
                       WebhookSignature=request.header("webhook-signature"))
        assert found["Sig"]["Matches"] and found["WebhookSignature"]["Matches"], found
    finally:
        receiver.close()


def test_what_is_no_body(daemon, account):
    path = "/api/v1/apps/%s/verify-callback" % account.app_id
    for body in ("", "no json", "[1]"):
        assert_problem(ask(daemon, account, body), 400, "Body")
    assert_problem(daemon.api().post(path, {}), 400, "Body")
    assert_problem(daemon.api().post(path, {"Body": 1}), 400, "Body")
    assert_problem(daemon.api().post(path, {"Body": "{}", "X": "y"}), 400, "X")

"""How callbacks are sent: POST of JSON, POST of a form, or GET, and macros in the URL."""
import hashlib
import hmac
from urllib.parse import parse_qsl, quote, unquote

import pytest

from checks import DEAD_URL, assert_problem
from harness import Account, Receiver, eventually, sig, webhook_signature

ODD = "a b/ü?&=+#%\"'<>{Reward}\\\u0001;~"


def sent(receiver, reward_id, count=1):
    """The requests that came for one reward, whatever their format."""
    def found():
        with receiver.lock:
            return [r for r in receiver.requests if r.header("webhook-id") == reward_id]
    return eventually(lambda: len(found()) >= count and found(), what="%d requests for %s" % (count, reward_id))


def query_signature(secret, query):
    return hmac.new(secret.encode(), query.encode(), hashlib.sha256).hexdigest()


def whole(a, reward_id):
    return a.daemon.api().callback(reward_id, a.partner_id)


def ended(a, reward_id):
    return a.daemon.api().wait_state(reward_id, a.partner_id, "delivered")


def assert_header_signs(request, a, text):
    """text: what webhook-signature is documented to sign in this format."""
    wanted = webhook_signature(a.secret, request.header("webhook-id"),
                               int(request.header("webhook-timestamp")), text)
    assert wanted in request.header("webhook-signature").split(" ")


# --- the three formats --------------------------------------------------------------------------

def test_json_is_what_it_was(daemon, receiver):
    a = Account(daemon, receiver.url)
    assert daemon.api().get("/api/v1/apps/" + a.app_id).json["RequestFormat"] == "json"
    daemon.api().events(a.event("rf-json", PanelistId=ODD))
    got, = sent(receiver, "rf-json")
    assert (got.method, got.header("Content-Type")) == ("POST", "application/json")
    attempt, = ended(a, "rf-json")["Attempts"]
    assert (attempt["Method"], attempt["Url"], attempt["RequestBody"]) == ("POST", receiver.url, None)


def test_a_form_has_the_fields_of_the_body(daemon, receiver):
    a = Account(daemon, receiver.url + "?key=%20k", RequestFormat="form")
    daemon.api().events(a.event("rf-form", "offer_completed", PanelistId=ODD, SessionId="s &=\n"))
    got, = sent(receiver, "rf-form")
    assert (got.method, got.query) == ("POST", "key=%20k")
    assert got.header("Content-Type") == "application/x-www-form-urlencoded"
    assert_header_signs(got, a, got.body)
    callback = ended(a, "rf-form")
    assert got.json["PanelistId"] == ODD and got.json["SessionId"] == "s &=\n", got.json
    assert got.json["Sig"] == sig(ODD, "rf-form", a.secret)
    names = [name for name, _ in parse_qsl(got.body.decode(), keep_blank_values=True)]
    assert names == ["Sig", "OfferId", "OfferGoalId", "OfferTitle", "PanelistId", "RewardType", "RewardId",
                     "Reward", "RevenueAmount", "SessionId", "ClientId", "Timestamp"]
    attempt, = callback["Attempts"]
    assert (attempt["Method"], attempt["RequestBody"]) == ("POST", got.body.decode()), attempt


def test_a_get_has_the_fields_and_a_signature_of_the_query(daemon, receiver):
    a = Account(daemon, receiver.url + "?key=k", RequestFormat="get")
    daemon.api().events(a.event("rf-get", PanelistId=ODD))
    got, = sent(receiver, "rf-get")
    assert (got.method, got.body, got.header("Content-Length"), got.header("Content-Type")) == (
        "GET", b"", None, None)
    assert got.json["key"] == "k" and got.json["PanelistId"] == ODD and got.json["IsTest"] == "false"
    signed, _, signature = got.query.rpartition("&QuerySignature=")
    assert signature == query_signature(a.secret, signed)
    assert_header_signs(got, a, got.path.encode())
    attempt, = ended(a, "rf-get")["Attempts"]
    assert (attempt["Method"], attempt["RequestBody"]) == ("GET", None)
    assert attempt["Url"] == "http://127.0.0.1:%d%s" % (receiver.port, got.path)
    assert "Content-Type" not in attempt["RequestHeaders"]


# --- macros -------------------------------------------------------------------------------------

def test_macros_are_encoded_by_position(daemon, receiver):
    url = "http://127.0.0.1:%d" % receiver.port
    a = Account(daemon, RequestFormat="get", SuccessCallbackUrl=url +
                "/cb/{PanelistId}/x%7BReward%7D?uid={PanelistId}&amount={Reward}&micros={RewardMicros}&tx={RewardId}"
                "&at={Timestamp}&test={IsTest}&offer={OfferId}&sig={Sig}&q={QuerySignature}")
    daemon.api().events(a.event("rf-macros", PanelistId=ODD))
    got, = sent(receiver, "rf-macros")
    callback = ended(a, "rf-macros")
    path, _, query = got.path.partition("?")
    encoded = quote(ODD, safe="~")
    assert path == "/cb/%s/x%%7BReward%%7D" % encoded
    fields = dict(parse_qsl(query, keep_blank_values=True))
    assert fields["uid"] == ODD and "uid=%s&" % encoded in query
    assert (fields["tx"], fields["test"], fields["offer"]) == ("rf-macros", "false", "")
    assert fields["at"] == callback["Timestamp"]
    assert int(fields["micros"]) == round(float(fields["amount"]) * 1000000)
    assert fields["sig"] == sig(ODD, "rf-macros", a.secret)
    assert fields["q"] == query_signature(a.secret, query.rpartition("&q=")[0])
    assert callback["Attempts"][0]["Url"] == url + got.path
    assert callback["Url"].endswith("&q={QuerySignature}")  # what is set


def test_macros_and_the_body_go_together_in_a_post(daemon, receiver):
    for name in ("json", "form"):
        a = Account(daemon, receiver.url + "?u={PanelistId}", RequestFormat=name)
        daemon.api().events(a.event("rf-post-" + name, PanelistId="a b"))
        got, = sent(receiver, "rf-post-" + name)
        assert got.query == "u=a%20b" and got.json["PanelistId"] == "a b"
        assert_header_signs(got, a, got.body)
        assert ended(a, "rf-post-" + name)["Attempts"][0]["Url"].endswith("?u=a%20b")


def test_no_value_is_a_step_in_the_path(daemon, receiver):
    a = Account(daemon, "http://127.0.0.1:%d/a/{PanelistId}/b" % receiver.port)
    daemon.api().events(a.event("rf-steps", PanelistId=".."))
    assert sent(receiver, "rf-steps")[0].path == "/a/%252E%252E/b"
    daemon.api().events(a.event("rf-steps-decoded", PanelistId="../../x"))
    assert sent(receiver, "rf-steps-decoded")[0].path == "/a/%252E%252E%2F%252E%252E%2Fx/b"


def test_the_longest_values_arrive(daemon, receiver):
    a = Account(daemon, receiver.url, RequestFormat="get")
    long = "ü" * 512  # 1,024 bytes, 3,072 as they are sent
    daemon.api().events(a.event("rf-long", "offer_completed", PanelistId="ü" * 128, SessionId=long, OfferTitle=long,
                                OfferGoalId=long))
    got, = sent(receiver, "rf-long")
    assert [got.json[name] for name in ("SessionId", "OfferTitle", "OfferGoalId")] == [long] * 3
    assert len(ended(a, "rf-long")["Attempts"]) == 1


@pytest.mark.parametrize("url, words", [
    ("https://h.example/?a={Foo}", "there is no macro {Foo}; the macros are {Sig}, {PanelistId},"),
    ("https://{PanelistId}.example/", "is before the path"),
    ("https://u:{Sig}@h.example/", "is before the path"),
    ("https://h.example:{OfferId}/", "is before the path"),
    ("{RewardType}://h.example/", "is before the path"),
    ("https://h.example/?{PanelistId}=1", "in the name of a parameter"),
    ("https://h.example/?a=1&s={QuerySignature}&b=1", "the last parameter"),
    ("https://h.example/?s={QuerySignature}", "the last parameter"),
    ("https://h.example/?a={", "%7B"), ("https://h.example/{Sig}#x", "fragment"),
    ("https://h.example/{Sig}\r\nX: y", "control characters"), ("https://h.example/{Sig}ü", "ASCII"),
    ("https://h.example/?a=" + "{OfferTitle}" * 6, "most 16384 are allowed")])
def test_what_cannot_be_sent_is_refused_with_words(daemon, url, words):
    a = Account(daemon, DEAD_URL)
    for answer, field in (
            (daemon.api().patch("/api/v1/apps/" + a.app_id, {"OfferCallbackUrl": url}), "OfferCallbackUrl"),
            (daemon.api().post("/api/v1/apps/%s/test-callback" % a.app_id, {
                "RewardType": "ad_hoc", "PanelistId": "u", "Url": url}), "Url")):
        assert answer.status == 400, answer
        fault, = answer.json["errors"]
        assert fault["Field"] == field and words in fault["Detail"], fault
    assert daemon.api().get("/api/v1/apps/" + a.app_id).json["OfferCallbackUrl"] == DEAD_URL


def test_an_operations_url_has_no_macros(daemon):
    a = Account(daemon)
    url = "https://h.example/{Foo}"
    answer = daemon.api().patch("/api/v1/partners/" + a.partner_id, {"OperationsUrl": url})
    assert answer.status == 200 and answer.json["OperationsUrl"] == url, answer


# --- the setting --------------------------------------------------------------------------------

@pytest.mark.parametrize("value", ["GET", "", "xml", None, 1, {}])
def test_what_is_no_format_is_refused(daemon, value):
    a = Account(daemon, RequestFormat="form")
    answer = daemon.api().patch("/api/v1/apps/" + a.app_id, {"RequestFormat": value})
    assert answer.status == 400 and answer.json["errors"][0]["Field"] == "RequestFormat", answer
    assert daemon.api().get("/api/v1/apps/" + a.app_id).json["RequestFormat"] == "form"


def test_the_format_is_audited_and_kept(own_daemon, receiver):
    daemon = own_daemon.start()
    a = Account(daemon, receiver.url + "/{PanelistId}")
    a.patch(RequestFormat="get")
    entry = daemon.api().get("/api/v1/audit", query={"partnerId": a.partner_id}).json["Items"][0]
    assert (entry["Before"]["RequestFormat"], entry["After"]["RequestFormat"]) == ("json", "get"), entry
    daemon.restart()
    assert daemon.api().get("/api/v1/apps/" + a.app_id).json["RequestFormat"] == "get"
    daemon.api().events(a.event("rf-kept", PanelistId="p"))
    assert [(r.method, r.path.rpartition("/")[2]) for r in sent(receiver, "rf-kept")] == [("GET", "p")]


def test_the_format_of_an_attempt_is_that_of_its_time(daemon):
    receiver = Receiver(lambda request: 500 if request.method == "POST" else 200)
    try:
        a = Account(daemon, receiver.url)
        daemon.api().events(a.event("rf-change"))
        sent(receiver, "rf-change")
        a.patch(RequestFormat="get", SuccessCallbackUrl=receiver.url + "?tx={RewardId}")
        eventually(lambda: whole(a, "rf-change")["State"] == "delivered" or daemon.api().post(
            "/api/v1/callbacks/rf-change/resend", query={"partnerId": a.partner_id}) is None,
            what="the callback is delivered by a GET")
        attempts = whole(a, "rf-change")["Attempts"]
        assert (attempts[0]["Method"], attempts[0]["Url"]) == ("POST", receiver.url)
        assert (attempts[-1]["Method"], attempts[-1]["Url"]) == ("GET", receiver.url + "?tx=rf-change")
    finally:
        receiver.close()


def test_a_resend_is_the_same_request(daemon, receiver):
    a = Account(daemon, receiver.url, RequestFormat="get")
    daemon.api().events(a.event("rf-again", PanelistId=ODD))
    ended(a, "rf-again")
    assert daemon.api().post("/api/v1/callbacks/rf-again/resend", query={"partnerId": a.partner_id}).status == 202
    first, second = sent(receiver, "rf-again", 2)
    assert (first.method, first.path) == (second.method, second.path)


# --- what others see ----------------------------------------------------------------------------

def test_who_may_not_see_the_secret_sees_no_sig(daemon, receiver):
    a = Account(daemon, receiver.url + "?u={PanelistId}&s={Sig}&q={QuerySignature}", RequestFormat="form")
    daemon.api().events(a.event("rf-hidden"))
    ended(a, "rf-hidden")
    seen = daemon.api(a.key("callbacks:read")).get("/api/v1/callbacks/rf-hidden").json
    attempt, = seen["Attempts"]
    assert attempt["Url"].endswith("&s=%s&q=%s" % ("%2A" * 32, "*" * 64)), attempt["Url"]
    got, = sent(receiver, "rf-hidden")
    for secret in (got.json["Sig"], got.query.rpartition("=")[2]):
        assert secret not in str(seen)
    assert unquote(attempt["RequestBody"]).startswith("Sig=" + "*" * 32)


def test_an_erased_panelist_is_in_no_url(daemon, receiver):
    a = Account(daemon, receiver.url + "?u={PanelistId}")
    daemon.api().events(a.event("rf-erased", PanelistId="somebody"))
    ended(a, "rf-erased")
    answer = daemon.api().post("/api/v1/panelists/erase", {"PanelistId": "somebody"}, query={"partnerId": a.partner_id})
    assert answer.status == 200, answer
    seen = whole(a, "rf-erased")
    assert "somebody" not in str(seen) and seen["Attempts"][0]["Url"].endswith("?u={PanelistId}"), seen


# --- test callbacks -----------------------------------------------------------------------------

@pytest.mark.parametrize("name, method", [("json", "POST"), ("form", "POST"), ("get", "GET")])
def test_a_test_callback_is_shown_as_it_is_sent(daemon, receiver, name, method):
    a = Account(daemon, receiver.url + "?u={PanelistId}&t={IsTest}", RequestFormat=name)
    ask = {"RewardType": "survey_completed", "PanelistId": "a b", "Reward": 5}
    shown = daemon.api().post("/api/v1/apps/%s/test-callback" % a.app_id, dict(ask, Send=False))
    assert shown.status == 200 and not receiver.requests, shown
    done = daemon.api().post("/api/v1/apps/%s/test-callback" % a.app_id, ask)
    assert done.status == 200 and done.json["Status"] == 200, done
    got, = sent(receiver, done.json["RewardId"])
    assert (got.method, got.query, done.json["Method"]) == (method, "u=a%20b&t=true", method)
    assert done.json["Url"] == shown.json["Url"] == receiver.url + "?u=a%20b&t=true"
    assert done.json["RequestBody"] == (got.body.decode() if name == "form" else None)
    assert set(shown.json) == {"RewardId", "Method", "Url", "RequestHeaders", "RequestBody", "Body"}
    assert list(shown.json["RequestHeaders"]) == list(done.json["RequestHeaders"])
    for header in ("Host", "User-Agent", "Content-Type", "Postbackd-Test"):
        assert shown.json["RequestHeaders"].get(header) == done.json["RequestHeaders"].get(header) == got.header(header)


def test_another_format_and_url_are_tried_before_they_are_set(daemon, receiver):
    a = Account(daemon, DEAD_URL)
    ask = {"RewardType": "offer_completed", "PanelistId": "p", "RequestFormat": "get",
           "Url": receiver.url + "?t={OfferTitle}&test={IsTest}"}
    path = "/api/v1/apps/%s/test-callback" % a.app_id
    shown = daemon.api().post(path, dict(ask, Send=False)).json
    assert (shown["Method"], shown["Url"]) == ("GET", receiver.url + "?t=Test%20offer&test=true")
    assert daemon.api().post(path, ask).json["Status"] == 200
    whole = [daemon.api().post(path, dict(ask, Url=receiver.url + "?r={Reward}", TrimDecimals=trims, Send=False))
             for trims in (True, False)]
    assert [answer.json["Url"] for answer in whole] == [receiver.url + "?r=1", receiver.url + "?r=1.00"]
    goals = [daemon.api().post(path, dict(ask, NumericOfferGoalId=numeric, Send=False)).json["Body"]
             for numeric in (True, False)]
    assert '"OfferGoalId":1,' in goals[0] and '"OfferGoalId":"1",' in goals[1], goals
    click = daemon.api().post(path, dict(ask, RewardType="offer_clicked", Send=False)).json["Body"]
    assert '"OfferGoalId":null,' in click, click
    for member in ({"RequestFormat": "x"}, {"TrimDecimals": "yes"}, {"NumericOfferGoalId": 1}, {"Send": 1}):
        answer = daemon.api().post(path, dict(ask, **member))
        assert answer.status == 400 and [e["Field"] for e in answer.json["errors"]] == list(member), answer


@pytest.mark.parametrize("name, query, is_sent", [
    ("get", "?u={PanelistId}&r={Reward}", False), ("get", "?u={PanelistId}&sig={QuerySignature}", False),
    ("form", "?u={PanelistId}&sig={QuerySignature}", False), ("json", "?u={PanelistId}&sig={QuerySignature}", False),
    ("get", "?u={PanelistId}&tx={RewardId}&sig={QuerySignature}", True), ("get", "?u={PanelistId}&test={IsTest}", True),
    ("get", "", True), ("form", "?u={PanelistId}&r={Reward}", True)])
def test_a_test_that_looks_like_a_real_callback_is_not_sent(daemon, receiver, name, query, is_sent):
    a = Account(daemon, receiver.url + query, RequestFormat=name)
    path = "/api/v1/apps/%s/test-callback" % a.app_id
    ask = {"RewardType": "survey_completed", "PanelistId": "user"}
    assert daemon.api().post(path, dict(ask, Send=False)).status == 200
    for key in (a.key("callbacks:write"), a.key("callbacks:write", "apps:write")):
        for url in ({}, {"Url": receiver.url + query}):
            answer = daemon.api(key).post(path, dict(ask, **url))
            assert answer.status == (200 if is_sent else 409), answer
            assert is_sent or all(way in answer.json["detail"] for way in ("{RewardId}", "{IsTest}", "TestCallbackUrl"))
    assert len(receiver.requests) == (4 if is_sent else 0)
    a.patch(TestCallbackUrl=receiver.url + query)  # the same as the real one
    assert daemon.api().post(path, ask).status == (200 if is_sent else 409)
    a.patch(TestCallbackUrl=receiver.url + "/tests" + query)
    assert daemon.api().post(path, ask).status == 200 and receiver.requests[-1].path.startswith("/callback/tests")


# --- what the receiver answers ------------------------------------------------------------------

@pytest.mark.parametrize("name, status, words", [
    ("get", 405, "the path does not accept GET"), ("json", 405, "the path does not accept POST"),
    ("get", 414, "a URL of this length"), ("form", 415, "does not accept application/x-www-form-urlencoded"),
    ("json", 415, "does not accept application/json")])
def test_the_advice_names_what_was_sent(daemon, name, status, words):
    receiver = Receiver(lambda request: status)
    try:
        a = Account(daemon, receiver.url)
        done = daemon.api().post("/api/v1/apps/%s/test-callback" % a.app_id, {
            "RewardType": "ad_hoc", "PanelistId": "u", "RequestFormat": name}).json
        assert (done["Status"], done["Class"]) == (status, "status") and words in done["Detail"], done
    finally:
        receiver.close()


@pytest.mark.parametrize("name, url", [("get", ""), ("json", "/{PanelistId}"), ("form", "?u={PanelistId}")])
def test_a_redirect_that_repeats_the_values_puts_them_into_no_message(daemon, name, url):
    receiver = Receiver(lambda request: (301, {"Location": "https://h.example" + request.path}, b""))
    try:
        a = Account(daemon, receiver.url + url, RequestFormat=name)
        daemon.api().events(a.event("rf-moved-" + name, PanelistId="somebody"))
        attempt = eventually(lambda: whole(a, "rf-moved-" + name)["Attempts"])[0]
        assert attempt["Class"] == "redirect" and "somebody" in attempt["ResponseHeaders"]["Location"], attempt
        assert "URL in the Location header" in attempt["Detail"], attempt
        health = daemon.api().get("/api/v1/apps/%s/endpoints" % a.app_id).json
        assert "redirect" in str(health) and "somebody" not in str(health) + attempt["Detail"], health
    finally:
        receiver.close()


def test_a_redirect_of_a_form_says_where_to(daemon):
    receiver = Receiver(lambda request: (301, {"Location": "https://h.example/new"}, b""))
    try:
        a = Account(daemon, receiver.url, RequestFormat="form")
        daemon.api().events(a.event("rf-moved-to"))
        attempt = eventually(lambda: whole(a, "rf-moved-to")["Attempts"])[0]
        assert "https://h.example/new" in attempt["Detail"], attempt
    finally:
        receiver.close()


def test_a_url_that_is_far_too_long_costs_no_time(daemon, receiver):
    """Within the client's patience, which going to and fro over each macro would take many times."""
    a = Account(daemon, receiver.url)
    url = receiver.url + "?a=" + "{Sig}" * 200_000
    for answer in (daemon.api().patch("/api/v1/apps/" + a.app_id, {"SuccessCallbackUrl": url}),
                   daemon.api().post("/api/v1/apps/%s/test-callback" % a.app_id, {
                       "RewardType": "ad_hoc", "PanelistId": "u", "Send": False, "Url": url})):
        assert_problem(answer, 400)
        assert "2,048" in answer.json["errors"][0]["Detail"], answer.json

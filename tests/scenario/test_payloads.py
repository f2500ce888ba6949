"""The exact bytes of every callback: type x integration x the app's switches x test.

The body is built here a second time, member by member, from the contract's section 4; only Sig is
computed. Both signatures and every header are checked on each request."""
import itertools
import json
import re
import time
from datetime import timedelta

import pytest

from checks import encode, now, spell
from harness import Account, Receiver, assert_signed, eventually, sig, webhook_signature

INTEGRATIONS = ("sdk", "iframe", "monetization_api")
SURVEYS = ("survey_completed", "survey_disqualified", "profiler_completed", "ad_hoc")
OFFERS = ("offer_completed", "offer_clicked", "offer_completion_reversed")
VECTOR_SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
serial = itertools.count(1)

ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text):
    """Only the quote, the backslash and U+0000..U+001F are escaped: short forms, else \\u00xx."""
    return '"%s"' % "".join(
        ESCAPES.get(c, "\\u%04x" % ord(c) if c < " " else c) for c in text)


def expected(event, integration, secret, switches, reward, revenue, at, original=None):
    """The body that the contract's section 4 asks for, byte for byte."""
    payee = original or event
    kind, reward_id = event["Type"], event["EventId"]
    signature = sig(payee["PanelistId"], reward_id, secret)
    out = ['"Sig":"%s"' % signature]

    def put(name, text):
        out.append('"%s":%s' % (name, text))

    head = [("PanelistId", quoted(payee["PanelistId"])), ("RewardType", quoted(kind)),
            ("RewardId", quoted(reward_id)), ("Reward", reward)]
    if kind in SURVEYS:
        for name, text in head:
            put(name, text)
        if "SessionId" in event and integration != "monetization_api":
            put("SessionId", quoted(event["SessionId"]))
        if "Mid" in event and integration == "monetization_api":
            put("Mid", quoted(event["Mid"]))
        put("RevenueAmount", revenue)
        put("IsTest", "true" if event.get("IsTest") else "false")
        if switches.get("LegacyFields"):
            put("Signature", quoted(signature))
            put("UniqueSurveyId", quoted(reward_id))
        if switches.get("ExtendedFields"):
            put("ClientId", quoted(event["ClientId"]))
            put("Timestamp", quoted(at))
    else:
        put("OfferId", str(payee["OfferId"]))
        goal = None if kind == "offer_clicked" else payee.get("OfferGoalId")
        put("OfferGoalId", "null" if goal is None else quoted(goal))
        put("OfferTitle", quoted(payee["OfferTitle"]))
        for name, text in head:
            put(name, text)
        put("RevenueAmount", revenue)
        if "SessionId" in payee:
            put("SessionId", quoted(payee["SessionId"]))
        put("ClientId", quoted(event["ClientId"]))
        put("Timestamp", quoted(at))
        if original:
            put("OriginalRewardId", quoted(event["OriginalRewardId"]))
        if payee.get("IsTest"):
            put("IsTest", "true")
    return "{%s}" % ",".join(out)


def assert_headers(request, event, at, is_test):
    assert request.header("content-type") == "application/json"
    assert re.fullmatch(r"postbackd/\d+\.\d+\.\d+\S*", request.header("user-agent"))
    assert request.header("accept-encoding") == "identity"
    assert request.header("postbackd-attempt") == "1"
    assert request.header("postbackd-event-time") == at
    assert request.header("postbackd-test") == ("true" if is_test else None)
    assert request.header("webhook-id") == event["EventId"]
    assert abs(int(request.header("webhook-timestamp")) - time.time()) < 60
    assert int(request.header("content-length")) == len(request.body)


def make(kind, client, when, is_test, full):
    e = {"EventId": "pl-%d" % next(serial), "Type": kind, "ClientId": client, "PanelistId": "user-ü/1",
         "Timestamp": spell(when, 90)}
    if kind in ("survey_completed", "offer_completed"):
        e["RevenueAmount"] = "0.35"
    if kind == "ad_hoc":
        e["Reward"] = "12.5"
    if kind in ("offer_completed", "offer_clicked"):
        e.update(OfferId=9007199254740991, OfferTitle="Ti<tle> & \"more\"/")
        if full:
            e["OfferGoalId"] = "12"
    if full:
        e["SessionId"] = 's "1"'
        if kind in SURVEYS:
            e["Mid"] = "m\\1"
    if is_test:
        e["IsTest"] = True
    return e


AMOUNTS = {"survey_completed": ("25.38", "0.35"), "survey_disqualified": ("2.00", "0.00"),
           "profiler_completed": ("0.00", "0.00"), "ad_hoc": ("12.50", "0.00"),
           "offer_completed": ("25.38", "0.35"), "offer_clicked": ("0.00", "0.00"),
           "offer_completion_reversed": ("-25.38", "-0.35")}


@pytest.mark.parametrize("legacy,extended", list(itertools.product((False, True), repeat=2)))
def test_bytes_of_every_kind(daemon, receiver, legacy, extended):
    """7 types x 3 integrations x test x with and without what is optional."""
    switches = {"LegacyFields": legacy, "ExtendedFields": extended}
    account = Account(daemon, receiver.url, clients=INTEGRATIONS, currency="72.5",
                      DisqualificationReward=2, DisqualificationCap=1000, **switches)
    when, batch, wanted = now() - timedelta(days=2), [], {}
    for integration, client in zip(INTEGRATIONS, account.clients):
        for is_test, full in itertools.product((False, True), repeat=2):
            offer = None
            for kind in SURVEYS + OFFERS:
                when += timedelta(milliseconds=61001)
                if kind == "offer_completion_reversed":
                    e = {"EventId": "pl-%d" % next(serial), "Type": kind, "ClientId": client,
                         "OriginalRewardId": offer["EventId"], "Timestamp": spell(when, -60),
                         "PanelistId": offer["PanelistId"]}
                else:
                    e = make(kind, client, when, is_test, full)
                offer = e if kind == "offer_completed" else offer
                batch.append(e)
                original = offer if kind == "offer_completion_reversed" else None
                body = expected(e, integration, account.secret, switches, *AMOUNTS[kind], spell(when), original)
                wanted[e["EventId"]] = (body, e, spell(when), is_test)
    daemon.api().events(encode(batch))
    eventually(lambda: len(receiver.ids()) >= len(wanted), 30)
    assert sorted(receiver.ids()) == sorted(wanted)
    for reward_id, (body, e, at, is_test) in wanted.items():
        request, = receiver.of(reward_id)
        assert request.body.decode() == body
        assert_signed(request, account.secret)
        assert_headers(request, e, at, is_test)


NASTY = ["".join(map(chr, range(1, 32))), '"\\/<>&\'', "\x7f\x80\x9f\u00a0", "\u2028\u2029\ufeff\ufffe\uffff",
         "😀\U0010ffff", "e\u0301é", "\\u0041\\n", "</script><!--", "{}[],:", "\u202eabc\u200b", "ü" * 128, " ", "null"]


@pytest.mark.parametrize("text", NASTY, ids=[ascii(t)[:20] for t in NASTY])
def test_strings_go_through_byte_for_byte(daemon, receiver, text):
    account = Account(daemon, receiver.url)
    when = now() - timedelta(hours=1)
    survey = {"EventId": "pl-%d" % next(serial), "Type": "survey_completed", "ClientId": account.client,
              "PanelistId": text, "SessionId": text, "RevenueAmount": 1, "Timestamp": spell(when)}
    offer = {"EventId": "pl-%d" % next(serial), "Type": "offer_completed", "ClientId": account.client,
             "PanelistId": text, "SessionId": text, "RevenueAmount": 1, "OfferId": 1, "OfferTitle": text,
             "OfferGoalId": text, "Timestamp": spell(when)}
    daemon.api().events([survey, offer])
    for e in (survey, offer):
        request = receiver.wait_for(e["EventId"])[0]
        wanted = expected(e, "sdk", account.secret, {}, "100.00", "1.00", spell(when))
        assert request.body == wanted.encode()
        assert_signed(request, account.secret)
        found = daemon.api().callback(e["EventId"], account.partner_id)
        assert found["PanelistId"] == text
        assert found["Body"] == wanted


def test_escaped_input_comes_out_plain(daemon, receiver):
    account = Account(daemon, receiver.url)
    daemon.api().events('{"EventId":"pl-escaped","Type":"survey_completed","ClientId":"%s",'
                        '"PanelistId":"\\u00fc\\/\\ud83d\\ude00\\u001f\\u007f","RevenueAmount":1}' % account.client)
    body = receiver.wait_for("pl-escaped")[0].body.decode()
    assert '"PanelistId":"ü/😀\\u001f\x7f",' in body


def test_an_empty_string_is_a_value(daemon, receiver):
    account = Account(daemon, receiver.url, clients=("sdk", "monetization_api"))
    when = spell(now())
    base = {"PanelistId": "u", "RevenueAmount": 1, "SessionId": "", "Timestamp": when}
    events = [dict(base, EventId="pl-e1", Type="survey_completed", ClientId=account.clients[0]),
              dict(base, EventId="pl-e2", Type="survey_completed", ClientId=account.clients[1], Mid=""),
              dict(base, EventId="pl-e3", Type="offer_completed", ClientId=account.clients[1], OfferId=1,
                   OfferTitle="t", OfferGoalId="")]
    daemon.api().events(events)
    for e, integration in zip(events, ("sdk", "monetization_api", "monetization_api")):
        body = receiver.wait_for(e["EventId"])[0].body.decode()
        assert body == expected(e, integration, account.secret, {}, "100.00", "1.00", when)
    assert '"SessionId":""' in receiver.of("pl-e1")[0].body.decode()
    assert '"Mid":""' in receiver.of("pl-e2")[0].body.decode()
    assert '"OfferGoalId":""' in receiver.of("pl-e3")[0].body.decode()


def test_the_vectors_of_the_contract(daemon, receiver):
    """The same two bodies as in the contract; their signatures at the contract's time too."""
    account = Account(daemon, receiver.url, currency="1", CallbackSecret=VECTOR_SECRET)
    assert account.secret == VECTOR_SECRET
    answer = daemon.api().post("/api/v1/apps/%s/clients" % account.app_id,
                               {"ClientId": "c_1", "Name": "One", "Integration": "sdk"})
    assert answer.status == 201, answer
    daemon.api().events([
        {"EventId": "r-1", "Type": "survey_completed", "ClientId": "c_1", "PanelistId": "user-ü/1", "Reward": 72,
         "RevenueAmount": "0.35", "SessionId": 's "1"'},
        {"EventId": "c-1", "Type": "offer_clicked", "ClientId": "c_1", "PanelistId": "user-ü/1", "OfferId": 12345,
         "OfferTitle": "Ti<tle>", "OfferGoalId": "never sent", "Timestamp": "2026-11-20T12:00:00.000Z"},
    ], query={"deliver": "false"})
    vectors = {
        "r-1": ('{"Sig":"68814bd5ca811bc95364ba60868977a8","PanelistId":"user-ü/1","RewardType":"survey_completed",'
                '"RewardId":"r-1","Reward":72.00,"SessionId":"s \\"1\\"","RevenueAmount":0.35,"IsTest":false}',
                "v1,w0WTbsLn7HQtTdHV6B9cjz5B0AY0+x7aaQGZQDgu0Y8="),
        "c-1": ('{"Sig":"1869117705bdee1a6406e206fb0100d6","OfferId":12345,"OfferGoalId":null,"OfferTitle":"Ti<tle>",'
                '"PanelistId":"user-ü/1","RewardType":"offer_clicked","RewardId":"c-1","Reward":0.00,'
                '"RevenueAmount":0.00,"ClientId":"c_1","Timestamp":"2026-11-20T12:00:00.000Z"}',
                "v1,Dm53LZZmtev/4bFFucI7Mz53YOBDibcXMWvNOWFxeNY="),
    }
    for reward_id, (body, mac) in vectors.items():
        answer = daemon.api().post("/api/v1/callbacks/%s/resend" % reward_id, query={"partnerId": account.partner_id})
        assert answer.status == 202, answer
        request = receiver.wait_for(reward_id)[0]
        assert request.body.decode() == body
        assert_signed(request, VECTOR_SECRET)
        # the same function that just held this daemon's signature gives the contract's at its time
        assert webhook_signature(VECTOR_SECRET, reward_id, 1763726400, request.body) == mac


def test_a_secret_without_prefix_is_its_own_key(daemon, receiver):
    for secret in ("8letters", "~!@#$%^&*()_+ moved".replace(" ", "-"), "x" * 256):
        account = Account(daemon, receiver.url, CallbackSecret=secret)
        event = account.event("pl-%d" % next(serial))
        daemon.api().events(event)
        request = receiver.wait_for(event["EventId"])[0]
        assert request.json["Sig"] == sig("user-1", event["EventId"], secret)
        assert_signed(request, secret)


def test_bytes_are_fixed_at_acceptance(daemon):
    """What is retried has the first try's bytes, whatever the app's switches and ratio have become."""
    refuse = {"now": True}
    receiver = Receiver(answer=lambda r: 503 if refuse["now"] else 200)
    try:
        account = Account(daemon, receiver.url)
        event = account.event("pl-fixed", SessionId="s")
        daemon.api().events(event)
        receiver.wait_for("pl-fixed")
        account.patch(LegacyFields=True, ExtendedFields=True, CurrencyValue="7", RewardDecimals=0)
        refuse["now"] = False
        requests = receiver.wait_for("pl-fixed", 2)
        assert requests[0].body == requests[1].body
        assert b"UniqueSurveyId" not in requests[1].body
        daemon.api().events(account.event("pl-after", SessionId="s"))
        body = receiver.wait_for("pl-after")[0].json
        assert list(body)[-4:] == ["Signature", "UniqueSurveyId", "ClientId", "Timestamp"]
        assert body["Reward"] == 7
    finally:
        receiver.close()


def test_the_url_is_kept_as_it_is(daemon, receiver):
    base = "http://127.0.0.1:%d" % receiver.port
    for path in ("/a/../b//c?x=1&y=%20z&&q=a+b;c", "/?", "/%7Euser/%C3%BC", "/p?u=http://x/?a=b"):
        account = Account(daemon, base + path)
        event = account.event("pl-%d" % next(serial))
        daemon.api().events(event)
        assert receiver.wait_for(event["EventId"])[0].path == path


def test_userinfo_becomes_basic_auth_and_is_masked(daemon, receiver):
    account = Account(daemon, "http://user:pa%%3Ass@127.0.0.1:%d/cb" % receiver.port)
    event = account.event("pl-auth")
    daemon.api().events(event)
    request = receiver.wait_for("pl-auth")[0]
    assert request.header("authorization") == "Basic dXNlcjpwYTpzcw=="
    found = daemon.api().wait_state("pl-auth", account.partner_id, "delivered")
    text = json.dumps(found) + daemon.api().get("/api/v1/apps/%s/endpoints" % account.app_id).text
    app = daemon.api().get("/api/v1/apps/" + account.app_id).text
    for shown in (text, app, daemon.log_text()):
        assert "pa%3Ass" not in shown and "pa:ss" not in shown and "dXNlcjpwYTpzcw" not in shown
    assert account.secret not in text + app + daemon.log_text()

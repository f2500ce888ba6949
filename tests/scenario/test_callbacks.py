"""Events in, signed callbacks out: every RewardType, byte for byte."""
from harness import Account, Receiver, assert_signed, eventually


def deliver(daemon, receiver, account, event):
    daemon.api().events(event)
    request = receiver.wait_for(event["EventId"])[0]
    assert_signed(request, account.secret)
    return request


def test_survey_completed_has_the_specified_bytes(daemon, receiver):
    account = Account(daemon, receiver.url, currency="72.5")
    event = account.event("e-1", SessionId='s "1"', PanelistId="user-ü/1", RevenueAmount="0.35")
    request = deliver(daemon, receiver, account, event)
    assert request.body.decode() == (
        '{"Sig":"%s","PanelistId":"user-ü/1","RewardType":"survey_completed","RewardId":"e-1",'
        '"Reward":25.38,"SessionId":"s \\"1\\"","RevenueAmount":0.35,"IsTest":false}'
        % request.json["Sig"])
    assert request.header("content-type") == "application/json"
    assert request.header("postbackd-attempt") == "1"


def test_every_type_goes_to_its_url(daemon):
    receivers = {name: Receiver() for name in ("success", "failure", "offer")}
    try:
        account = Account(daemon, currency="10", DisqualificationReward="2",
                          SuccessCallbackUrl=receivers["success"].url,
                          FailureCallbackUrl=receivers["failure"].url,
                          OfferCallbackUrl=receivers["offer"].url)
        events = [account.event("t-" + kind, kind) for kind in
                  ("survey_completed", "survey_disqualified", "profiler_completed", "ad_hoc",
                   "offer_completed", "offer_clicked")]
        events.append({"EventId": "t-reversal", "Type": "offer_completion_reversed",
                       "ClientId": account.client, "OriginalRewardId": "t-offer_completed"})
        events.append(account.event("t-started", "survey_started"))
        daemon.api().events(events)
        eventually(lambda: len(receivers["success"].ids()) == 3)
        eventually(lambda: len(receivers["failure"].ids()) == 1)
        eventually(lambda: len(receivers["offer"].ids()) == 3)
        assert set(receivers["success"].ids()) == {"t-survey_completed", "t-profiler_completed", "t-ad_hoc"}
        rewards = {r.json["RewardId"]: r for server in receivers.values() for r in server.requests}
        for request in rewards.values():
            assert_signed(request, account.secret)
        assert b'"Reward":2.00,' in rewards["t-survey_disqualified"].body
        assert b'"OfferGoalId":null,' in rewards["t-offer_clicked"].body
        assert b'"Reward":-10.00,"RevenueAmount":-1.00,' in rewards["t-reversal"].body
        assert rewards["t-reversal"].body.endswith(b'"OriginalRewardId":"t-offer_completed"}')
        ids = receivers["offer"].ids()
        assert ids.index("t-offer_completed") < ids.index("t-reversal")
    finally:
        for server in receivers.values():
            server.close()


def test_retry_until_it_is_taken(daemon):
    receiver = Receiver(answer=lambda r: 503 if len(receiver.requests) < 3 else 200)
    try:
        account = Account(daemon, receiver.url)
        daemon.api().events(account.event("r-1"))
        requests = receiver.wait_for("r-1", 3)
        assert [r.header("postbackd-attempt") for r in requests[:3]] == ["1", "2", "3"]
        assert len({r.body for r in requests}) == 1
        found = daemon.api().wait_state("r-1", account.partner_id, "delivered")
        assert [a["Status"] for a in found["Attempts"]] == [503, 503, 200]
        assert [a["Class"] for a in found["Attempts"]] == ["status", "status", None]
    finally:
        receiver.close()


def test_dead_after_the_schedule(daemon):
    receiver = Receiver(answer=lambda r: 404)
    try:
        account = Account(daemon, receiver.url)
        daemon.api().events(account.event("d-1"))
        found = daemon.api().wait_state("d-1", account.partner_id, "dead", 30)
        assert len(found["Attempts"]) == 4
        assert len(receiver.of("d-1")) == 4
    finally:
        receiver.close()


def test_no_url_is_skipped_and_resend_sends_it(daemon, receiver):
    account = Account(daemon)
    daemon.api().events(account.event("s-1"))
    found = daemon.api().callback("s-1", account.partner_id)
    assert (found["State"], found["Reason"]) == ("skipped", "no_url")
    account.patch(SuccessCallbackUrl=receiver.url)
    answer = daemon.api().post("/api/v1/callbacks/s-1/resend", query={"partnerId": account.partner_id})
    assert answer.status == 202
    assert_signed(receiver.wait_for("s-1")[0], account.secret)
    daemon.api().wait_state("s-1", account.partner_id, "delivered")

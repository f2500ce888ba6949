"""Erasing a panelist: what is stored, what lanes have in hand, what ends afterwards."""
import json
import threading
import time

from harness import Account, Receiver, eventually


def test_erasing_a_panelist(own_daemon, receiver):
    d = own_daemon.start()
    a = Account(d, receiver.url)
    kept = a.event("kept", PanelistId="someone-else")
    mine = [a.event("e-1", PanelistId="erase-me-ü", SessionId="erase-session"),
            a.event("e-2", "offer_completed", PanelistId="erase-me-ü", RevenueAmount="2.5", SessionId="erase-session"),
            a.event("e-3", "survey_started", PanelistId="erase-me-ü", SessionId="erase-session")]
    d.api().events(mine + [kept])
    for event_id in ("e-1", "e-2", "kept"):
        d.api().wait_state(event_id, a.partner_id, "delivered")
    query = {"partnerId": a.partner_id}
    reports = {r: d.api().get("/api/v1/reports/" + r, query=query).json["Rows"]
               for r in ("earnings", "arpdau", "survey-attempts", "conversions", "active-panelist")}
    answer = d.api().post("/api/v1/panelists/erase", {"PanelistId": "erase-me-ü"}, query=query)
    assert answer.status == 200 and answer.json["Erased"] == 3, answer

    def forgotten():
        for path in ("/api/v1/callbacks", "/api/v1/rewards", "/api/v1/callbacks/e-1", "/api/v1/callbacks/e-2"):
            text = d.api().get(path, query=query).text
            assert "erase-me" not in text and "erase-session" not in text, path
        found = d.api().callback("e-2", a.partner_id)
        assert (found["Reward"], found["RevenueAmount"], found["Body"]) == (250, 2.5, None)
        assert d.api().callback("kept", a.partner_id)["PanelistId"] == "someone-else"
        assert d.api().get("/api/v1/callbacks", query=dict(query, panelistId="erase-me-ü")).json["Items"] == []
        for name, rows in reports.items():
            assert d.api().get("/api/v1/reports/" + name, query=query).json["Rows"] == rows, name

    forgotten()
    d.restart()
    forgotten()
    # a duplicate stays one: the id is remembered, and what it carried is not taken up again
    answer = d.api().post("/api/v1/events", mine[0])
    assert (answer.json["Accepted"], answer.json["Duplicates"]) == (0, 1), answer
    forgotten()
    assert d.api().post("/api/v1/panelists/erase", {"PanelistId": "erase-me-ü"}, query=query).json["Erased"] == 0


def test_what_lanes_have_in_hand_is_erased_too(own_daemon):
    """Queued, waiting for a retry, being tried: nothing is sent with the old id afterwards."""
    hold = threading.Event()

    def echo(request):
        hold.wait(60)
        return 404, {"X-Echo": request.json["RewardId"]}, request.body

    d = own_daemon.start()
    r = Receiver(echo)
    a = Account(d, r.url, MaxConcurrency=4, TimeoutSeconds=30)
    query = {"partnerId": a.partner_id}
    d.api().events([a.event("e-%d" % i, PanelistId="erase-me-ü") for i in range(30)])
    eventually(lambda: len(r.requests) == 4, what="the first ones are being tried")
    answer = d.api().post("/api/v1/panelists/erase", {"PanelistId": "erase-me-ü"}, query=query)
    assert answer.status == 200 and answer.json["Erased"] == 30, answer
    tried = [request.json["RewardId"] for request in r.requests]
    hold.set()
    for event_id in tried:
        eventually(lambda: d.api().callback(event_id, a.partner_id)["Attempts"], what="the try has ended")
    eventually(lambda: d.metrics()["postbackd_callbacks_pending"] == 0)  # nothing is to be sent any more
    assert len(r.requests) == 4
    for i in range(30):
        found = d.api().callback("e-%d" % i, a.partner_id)
        assert (found["State"], found["Reason"], found["Body"]) == ("skipped", "disabled", None), found
        assert "erase-me" not in json.dumps(found, ensure_ascii=False)
        kept = [(one["RequestHeaders"], one["ResponseHeaders"], one["ResponseBody"]) for one in found["Attempts"]]
        assert kept == [(None,) * 3] * tried.count("e-%d" % i)
    d.restart()
    assert len(r.requests) == 4
    r.close()

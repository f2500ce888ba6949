"""FinalStatuses: the answers after which a receiver wants no other try of that callback."""
import threading

import pytest
from harness import Account, Receiver, eventually


class Answering(Receiver):
    """Answers with the status that a callback's PanelistId names."""

    def __init__(self):
        super().__init__(lambda request: int(request.json["PanelistId"]))


@pytest.fixture
def answering():
    r = Answering()
    yield r
    r.close()


def app(daemon, account):
    answer = daemon.api().get("/api/v1/apps/" + account.app_id)
    assert answer.status == 200, answer
    return answer.json


def patch(daemon, account, value):
    return daemon.api().patch("/api/v1/apps/" + account.app_id, {"FinalStatuses": value})


def ended_at_once(daemon, account, reward_id):
    c = daemon.api().wait_state(reward_id, account.partner_id, "dead")
    assert (c["Reason"], len(c["Attempts"]), c["NextAttemptAt"]) == ("final_status", 1, None), c


def test_the_first_such_answer_ends_that_callback_alone(daemon, answering):
    a = Account(daemon, answering.url, FinalStatuses=[404, 422])
    daemon.api().events([a.event("s-%d" % status, PanelistId=str(status)) for status in (404, 422, 200, 400)])
    for status in (404, 422):
        ended_at_once(daemon, a, "s-%d" % status)
    daemon.api().wait_state("s-200", a.partner_id, "delivered")
    c = daemon.api().wait_state("s-400", a.partner_id, "dead")
    assert (c["Reason"], len(c["Attempts"])) == ("attempts", 4), c


def test_408_and_429_end_it_too_where_they_are_listed(daemon, answering):
    a = Account(daemon, answering.url, FinalStatuses=[408, 429])
    daemon.api().events([a.event("t-%d" % status, PanelistId=str(status)) for status in (408, 429)])
    for status in (408, 429):
        ended_at_once(daemon, a, "t-%d" % status)


def test_410_keeps_its_own_reason(daemon, answering):
    a = Account(daemon, answering.url, FinalStatuses=[410])
    daemon.api().events([a.event("g-1", PanelistId="410")])
    assert daemon.api().wait_state("g-1", a.partner_id, "dead")["Reason"] == "gone"


def test_a_resend_begins_anew_and_ends_the_same_way(daemon, answering):
    a = Account(daemon, answering.url, FinalStatuses=[404])
    daemon.api().events([a.event("f-1", PanelistId="404")])
    daemon.api().wait_state("f-1", a.partner_id, "dead")
    assert daemon.api().post("/api/v1/callbacks/f-1/resend", query={"partnerId": a.partner_id}).status == 202
    c = eventually(lambda: (lambda c: c["State"] == "dead" and len(c["Attempts"]) == 2 and c)(
        daemon.api().callback("f-1", a.partner_id)))
    assert c["Reason"] == "final_status", c


@pytest.mark.parametrize("sent, kept", [
    ([], []), ([404], [404]), ([499, 404, 400, 404], [400, 404, 499]), ([410, 408, 429], [408, 410, 429]),
    (list(range(400, 464)), list(range(400, 464))), (list(range(499, 399, -1)), list(range(400, 500)))])
def test_a_list_of_4xx_is_kept_in_order(daemon, sent, kept):
    a = Account(daemon)
    assert app(daemon, a)["FinalStatuses"] == []
    answer = patch(daemon, a, sent)
    assert answer.status == 200 and answer.json["FinalStatuses"] == kept, answer
    assert app(daemon, a)["FinalStatuses"] == kept
    assert patch(daemon, a, []).json["FinalStatuses"] == []


@pytest.mark.parametrize("value, code, words", [
    ([399], "out_of_range", "399"), ([500], "out_of_range", "500"), ([302], "out_of_range", "302"),
    ([200], "out_of_range", "200"), ([404, 503], "out_of_range", "503"), ([-404], "out_of_range", "400 to 499"),
    ([10 ** 30], "out_of_range", "400 to 499"), ([404.5], "invalid", "whole"), (["404"], "invalid", "whole"),
    ([[404]], "invalid", "whole"), ([None], "invalid", "whole"), (404, "invalid", "list"), ("404", "invalid", "list"),
    (None, "invalid", "[]"), ({"404": True}, "invalid", "list"), (True, "invalid", "list")])
def test_what_is_no_list_of_4xx_is_refused_and_changes_nothing(daemon, value, code, words):
    a = Account(daemon, FinalStatuses=[404])
    before = app(daemon, a)
    answer = patch(daemon, a, value)
    assert answer.status == 400, answer
    fault, = answer.json["errors"]
    assert (fault["Field"], fault["Code"]) == ("FinalStatuses", code) and words in fault["Detail"], fault
    assert app(daemon, a) == before


def test_the_setting_when_the_attempt_ends_counts(daemon):
    asked, patched = threading.Semaphore(0), threading.Semaphore(0)

    def slow(request):
        asked.release()
        patched.acquire(timeout=20)
        return 404

    receiver = Receiver(slow)
    try:
        a = Account(daemon, receiver.url)
        for statuses, state in (([404], "dead"), ([], "pending")):
            daemon.api().events([a.event("while-%s" % state)])
            assert asked.acquire(timeout=20)
            assert patch(daemon, a, statuses).status == 200
            patched.release()
            c = daemon.api().wait_state("while-" + state, a.partner_id, state)
            assert c["Reason"] == ("final_status" if state == "dead" else None)
        for _ in range(20):
            patched.release()
    finally:
        receiver.close()


def test_it_holds_for_what_waits_and_after_a_restart(own_daemon, answering):
    daemon = own_daemon.start()
    a = Account(daemon, answering.url)
    daemon.api().events([a.event("w-1", PanelistId="404")])
    answering.wait_for("w-1")
    assert patch(daemon, a, [404]).status == 200
    c = daemon.api().wait_state("w-1", a.partner_id, "dead")
    assert c["Reason"] == "final_status" and len(c["Attempts"]) < 4, c
    daemon.restart()
    assert app(daemon, a)["FinalStatuses"] == [404]
    daemon.api().events([a.event("w-2", PanelistId="404")])
    assert len(daemon.api().wait_state("w-2", a.partner_id, "dead")["Attempts"]) == 1


def test_a_change_is_in_the_audit_log(daemon):
    a = Account(daemon)
    patch(daemon, a, [404, 422])
    entry = daemon.api().get("/api/v1/audit", query={"partnerId": a.partner_id}).json["Items"][0]
    assert entry["Action"] == "app.changed", entry
    assert (entry["Before"]["FinalStatuses"], entry["After"]["FinalStatuses"]) == ([], [404, 422]), entry

"""A callback carries the traceparent that its event was posted with, whatever happens in between."""
import json

import pytest

from harness import Account, Daemon, Receiver, eventually
from inside import POSTGRESQL, everything, rows
from test_resend_of_purged import check_gone, purge_bodies, resend

ONE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TWO = "00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-00"
WANTED = {"one": ONE, "also-one": ONE, "two": TWO, "none": None, "wrong": None, "later": None}


@pytest.fixture
def patient_daemon(tmp_path):
    """Whose callbacks are not given up."""
    d = Daemon(tmp_path, schedule=",".join(["1s"] * 60))
    yield d
    d.stop()


def post(daemon, account, traceparent, *event_ids):
    daemon.api().events([account.event(event_id, PanelistId="p-" + event_id) for event_id in event_ids],
                        headers={"traceparent": traceparent} if traceparent else {})


def carried(receiver, event_id):
    return {request.header("traceparent") for request in receiver.of(event_id)}


def test_every_attempt_carries_it(patient_daemon):
    """The first one, from memory; the one after a kill; resends, from what is stored; and no other event's."""
    status = 503
    receiver = Receiver(lambda request: status)
    daemon = patient_daemon.start()
    account = Account(daemon, receiver.url)
    for traceparent, *event_ids in ((ONE, "one", "also-one"), (TWO, "two"), (None, "none"), (ONE[:-1], "wrong"),
                                    ("cc" + ONE[2:], "later")):
        post(daemon, account, traceparent, *event_ids)
    for event_id in WANTED:
        receiver.wait_for(event_id)
    daemon.kill()
    before = {event_id: len(receiver.of(event_id)) for event_id in WANTED}
    status = 200
    daemon.start()
    for event_id in WANTED:
        receiver.wait_for(event_id, before[event_id] + 1)
        daemon.api().wait_state(event_id, account.partner_id, "delivered")
    daemon.restart()
    for event_id, traceparent in WANTED.items():
        before = len(receiver.of(event_id))
        assert resend(daemon, account, event_id).status == 202
        receiver.wait_for(event_id, before + 1)
        assert carried(receiver, event_id) == {traceparent}, event_id
    log = daemon.api().callback("one", account.partner_id)
    assert ONE[3:35] not in log["Body"] and {a["RequestHeaders"]["traceparent"] for a in log["Attempts"]} == {ONE}
    receiver.close()


def test_a_duplicate_changes_nothing(patient_daemon):
    receiver = Receiver(lambda request: 503)
    daemon = patient_daemon.start()
    account = Account(daemon, receiver.url)
    post(daemon, account, ONE, "e-1")
    again = daemon.api().events(account.event("e-1", PanelistId="p-e-1"), headers={"traceparent": TWO})
    assert (again["Accepted"], again["Duplicates"]) == (0, 1), again
    receiver.wait_for("e-1", 2)
    assert carried(receiver, "e-1") == {ONE}
    receiver.close()


@pytest.mark.parametrize("request_format", ["form", "get"])
def test_other_formats_carry_it(own_daemon, receiver, request_format):
    daemon = own_daemon.start()
    account = Account(daemon, receiver.url, RequestFormat=request_format)
    post(daemon, account, ONE, "e-1")
    receiver.wait_for("e-1")
    assert carried(receiver, "e-1") == {ONE}


def test_it_goes_with_the_body(own_daemon, receiver):
    daemon = own_daemon.start()
    account = Account(daemon, receiver.url)
    post(daemon, account, ONE, "erased")
    post(daemon, account, TWO, "purged")
    eventually(lambda: len(rows(daemon, "SELECT event_id FROM event WHERE state=3")) == 2, what="both are stored")
    answer = daemon.api().post("/api/v1/panelists/erase", query={"partnerId": account.partner_id},
                               body={"PanelistId": "p-erased"})
    assert answer.json["Erased"] == 1, answer
    check_gone(resend(daemon, account, "erased"), "erased")
    found = json.dumps(daemon.api().callback("erased", account.partner_id))
    assert ONE[3:35] not in found and ONE[36:52] not in found
    daemon.stop()
    if POSTGRESQL:  # SQLite's free pages and the journal keep old bytes until they are written over
        assert ONE[3:35].encode() not in everything(daemon)["dump"]
    purge_bodies(daemon)
    daemon.start()
    check_gone(resend(daemon, account, "purged"), "retention")
    assert [len(receiver.of(event_id)) for event_id in ("erased", "purged")] == [1, 1]

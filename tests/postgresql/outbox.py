"""An operator that loses nothing, and what must then be true."""
import threading
import time

from harness import eventually


class Operator(threading.Thread):
    """Reports events, batch after batch, and repeats a batch until it has an answer that says that
    it was taken: as an operator's outbox does."""

    def __init__(self, daemon, account, size=20):
        super().__init__(daemon=True)
        self.target_daemon, self.account, self.size = daemon, account, size
        self.acknowledged, self.refused, self.failure = [], [], None
        self.asked = []  # what has no answer: nobody knows whether it is stored
        self.ending = threading.Event()

    def run(self):
        number = 0
        try:
            while not self.ending.is_set():
                ids = ["e-%d-%d" % (number, i) for i in range(self.size)]
                if self.report(ids):
                    self.acknowledged += ids
                    number += 1
                else:
                    time.sleep(0.05)
        except Exception as problem:  # noqa: BLE001  (said by the test)
            self.failure = problem

    def report(self, ids):
        self.asked = ids
        answer = self.target_daemon.api().post(
            "/api/v1/events", [self.account.event(event_id) for event_id in ids], timeout=90)
        self.asked = []
        if answer.status in (429, 503):
            assert int(answer.headers["Retry-After"]) > 0
            self.refused.append(answer)
            return False
        assert answer.status == 202, answer
        found = answer.json
        assert found["Rejected"] == [], found
        assert found["Accepted"] + found["Duplicates"] == len(ids), found
        return True

    def repeat(self):
        """What has no answer, as an outbox does once the daemon is back."""
        if ids := self.asked:
            assert self.report(ids)
            self.acknowledged += ids

    def end(self):
        self.ending.set()
        self.join(120)
        assert not self.is_alive()
        assert self.failure is None, repr(self.failure)


def check_all(daemon, account, receiver, ids):
    """Everything acknowledged is delivered, once in the books and the reports."""
    wanted = set(ids)
    try:
        eventually(lambda: wanted <= set(receiver.ids()), 60)
    except AssertionError:
        missing = sorted(wanted - set(receiver.ids()))
        said = [daemon.api().get("/api/v1/callbacks/" + one, query={"partnerId": account.partner_id}).text
                for one in missing[:3]]
        raise AssertionError("%d of %d callbacks did not arrive: %s" % (len(missing), len(wanted), said)) from None
    rows = daemon.api().get("/api/v1/reports/conversions", query={"partnerId": account.partner_id})
    assert sum(row["Conversions"] for row in rows.json["Rows"]) == len(wanted)

    def counted():  # the numbers are those of some moment of the last seconds
        n = daemon.metrics()
        return (n["postbackd_callbacks_pending"], n["postbackd_events_accepted_total"],
                n["postbackd_callbacks_delivered_total"]) == (0, len(wanted), len(wanted))

    eventually(counted, 30)

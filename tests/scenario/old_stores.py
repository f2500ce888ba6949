"""Stores of former versions, kept in stores/ as an archive each: what their own daemon left, killed
with a part of it in the journal only, and what that daemon had answered about it.

    POSTBACKD_BIN=OLD/build/postbackd python3 tests/scenario/old_stores.py FILE.tar.xz

makes one, with the daemon of a checkout whose store had that version.
"""
import json
import sqlite3
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from harness import Account, Daemon, Receiver

HERE = Path(__file__).resolve().parent / "stores"
NOTE = "expected.json"
# One wait and it is over; or so long a wait that it still waits when the store is opened again.
SHORT, LONG = "1s", "1s,3d"


def version_of(directory):
    db = sqlite3.connect(Path(directory) / "store" / "postbackd.db")
    try:
        return db.execute("PRAGMA user_version").fetchone()[0]
    finally:
        db.close()


def unpack(version, directory):
    """The archive's store below `directory`, for a Daemon; what was answered about it."""
    with tarfile.open(HERE / ("schema-%d.tar.xz" % version)) as archive:
        archive.extractall(directory)
    return json.loads((Path(directory) / NOTE).read_text())


def look(daemon, account, reward_ids, day):
    """What a partner may ask: the same answers from every version."""
    api = daemon.api()
    report = api.get("/api/v1/reports/earnings", query={
        "partnerId": account.partner_id, "startDate": day, "endDate": day, "includeTest": "true"})
    assert report.status == 200, report
    return {"Callbacks": {i: api.callback(i, account.partner_id) for i in reward_ids},
            "Earnings": report.json, "Day": day}


class Known(Account):
    """The account that is in the store."""

    def __init__(self, daemon, noted):
        self.daemon, self.partner_id, self.app_id = daemon, noted["PartnerId"], noted["AppId"]
        self.secret, self.client, self.clients = noted["Secret"], noted["Client"], [noted["Client"]]


def make(file):
    receiver = Receiver(lambda r: 500 if r.json["RewardId"].startswith(("dead", "wait")) else 200)
    with tempfile.TemporaryDirectory() as directory:
        daemon = Daemon(directory, schedule=SHORT).start()
        a = Account(daemon, receiver.url, clients=("sdk", "sdk"))
        events = [a.event("good-%d" % i, PanelistId="user-%d" % i, RevenueAmount="1.25") for i in range(30)]
        events += [a.event("start-1", "survey_started"), a.event("fail-1", "survey_disqualified"),
                   a.event("test-1", IsTest=True), a.event("offer-1", "offer_completed"),
                   a.event("reward-1", "ad_hoc", Reward="7"), a.event("dead-1")]
        daemon.api().events(events)
        daemon.api().wait_state("dead-1", a.partner_id, "dead")
        daemon.api().events([a.event("offer-1-back", "offer_completion_reversed", OriginalRewardId="offer-1")])
        final = [e["EventId"] for e in events if e["EventId"] != "start-1"] + ["offer-1-back"]
        for reward_id in final:
            if reward_id != "dead-1":
                daemon.api().wait_state(reward_id, a.partner_id, "delivered")
        daemon.schedule = LONG
        daemon.restart()
        daemon.api().events([a.event("wait-1", PanelistId="user-77")])
        receiver.wait_for("wait-1", 2)  # the second try is over: three days to the next
        time.sleep(2.5)
        # What comes now is a moment old at the kill, and in the journal only.
        daemon.api().events([a.event("wait-%d" % i, PanelistId="user-7%d" % i) for i in range(2, 6)])
        receiver.wait_for("wait-5", 1)
        daemon.kill()
        with tarfile.open(file, "w:xz") as archive:
            archive.add(Path(directory) / "store", "store")
            daemon.start()
            noted = look(daemon, a, final, time.strftime("%Y-%m-%d", time.gmtime()))
            noted.update(PartnerId=a.partner_id, AppId=a.app_id, Secret=a.secret, Client=a.client,
                         Waiting=["wait-%d" % i for i in range(1, 6)])
            daemon.kill()
            (Path(directory) / NOTE).write_text(json.dumps(noted, indent=1))
            archive.add(Path(directory) / NOTE, NOTE)
        print(file, "holds version", version_of(directory))
    receiver.close()


if __name__ == "__main__":
    make(sys.argv[1])

"""Databases of former schema versions, kept in databases/ as an archive each: what pg_dump told of
the one that its own daemon left, and what that daemon had answered about it.

    POSTBACKD_BIN=OLD/build/postbackd python3 tests/scenario/postgresql.py run \
        python3 tests/postgresql/old_databases.py FILE.tar.xz

makes one, with the daemon of a checkout whose schema had that version.
"""
import json
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scenario"))

import postgresql  # noqa: E402  (of the folder above)
from harness import Account, Daemon, Receiver  # noqa: E402
from old_stores import LONG, SHORT, look  # noqa: E402

HERE = Path(__file__).resolve().parent / "databases"
NOTE, DUMP = "expected.json", "database.sql"
# How a database tells its version, whatever it is.
VERSION = "SELECT max(version) FROM schema_version"


def restore(version, directory, uri):
    """The archive's tables into the empty database of `uri`; what was answered about them."""
    with tarfile.open(HERE / ("schema-%d.tar.xz" % version)) as archive:
        archive.extractall(directory)
    done = subprocess.run([str(postgresql.tools() / "psql"), "-Xq", "-v", "ON_ERROR_STOP=1", "-f",
                           str(Path(directory) / DUMP), uri], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")
    return json.loads((Path(directory) / NOTE).read_text())


def make(file):
    receiver = Receiver(lambda r: 500 if r.json["RewardId"].startswith(("dead", "wait")) else 200)
    with tempfile.TemporaryDirectory() as directory:
        daemon = Daemon(directory, schedule=SHORT).start()
        uri = daemon.store()
        a = Account(daemon, receiver.url, clients=("sdk", "sdk"))
        events = [a.event("good-%d" % i, PanelistId="user-%d" % i, RevenueAmount="1.25")
                  for i in range(30)]
        events += [a.event("start-1", "survey_started"), a.event("fail-1", "survey_disqualified"),
                   a.event("test-1", IsTest=True), a.event("offer-1", "offer_completed"),
                   a.event("reward-1", "ad_hoc", Reward="7"), a.event("dead-1")]
        daemon.api().events(events)
        daemon.api().wait_state("dead-1", a.partner_id, "dead")
        daemon.api().events([a.event("offer-1-back", "offer_completion_reversed",
                                     OriginalRewardId="offer-1")])
        final = [e["EventId"] for e in events if e["EventId"] != "start-1"] + ["offer-1-back"]
        for reward_id in final:
            if reward_id != "dead-1":
                daemon.api().wait_state(reward_id, a.partner_id, "delivered")
        daemon.schedule = LONG
        daemon.restart()
        waiting = ["wait-%d" % i for i in range(1, 6)]
        daemon.api().events([a.event(waiting[0], PanelistId="user-70")])
        receiver.wait_for(waiting[0], 2)  # the second try is over: three days to the next
        daemon.api().events([a.event(i, PanelistId="user-7" + i) for i in waiting[1:]])
        noted = look(daemon, a, final, time.strftime("%Y-%m-%d", time.gmtime()))
        noted.update(PartnerId=a.partner_id, AppId=a.app_id, Secret=a.secret, Client=a.client,
                     Waiting=waiting)
        daemon.stop()
        (Path(directory) / NOTE).write_text(json.dumps(noted, indent=1))
        dump = subprocess.run([str(postgresql.tools() / "pg_dump"), "--no-owner", "--inserts", uri],
                              stdout=subprocess.PIPE, check=True).stdout.decode()
        # \restrict of newer pg_dumps is unknown to older psqls.
        lines = [line for line in dump.splitlines(True)
                 if not line.startswith(("\\restrict", "\\unrestrict", "SET transaction_timeout"))]
        (Path(directory) / DUMP).write_text("".join(lines))
        with tarfile.open(file, "w:xz") as archive:
            archive.add(Path(directory) / DUMP, DUMP)
            archive.add(Path(directory) / NOTE, NOTE)
        print(file, "holds version", postgresql.sql(uri, VERSION))
    receiver.close()


if __name__ == "__main__":
    make(sys.argv[1])

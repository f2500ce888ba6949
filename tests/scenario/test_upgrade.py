"""Stores that older daemons left, killed in the middle of their work: each is taken over whole."""
import re
import signal
import sqlite3
import subprocess

import pytest

import old_stores
from harness import BINARY, ROOT, Daemon, eventually, sig
from old_stores import Known

pytestmark = pytest.mark.sqlite("stores of its former versions")

VERSIONS = sorted(int(p.name[len("schema-"):-len(".tar.xz")]) for p in old_stores.HERE.glob("schema-*.tar.xz"))
KEPT = ("--retain-bodies-days", "36500", "--retain-attempts-days", "36500", "--retain-panelists-days", "36500")


@pytest.fixture
def old_store(tmp_path):
    """old_store(version): a daemon on that store, not started yet, and what was noted about it."""
    daemons = []

    def made(version):
        noted = old_stores.unpack(version, tmp_path)
        assert old_stores.version_of(tmp_path) == version
        daemons.append(Daemon(tmp_path, *KEPT, schedule="1s,1s"))
        return daemons[-1], noted
    yield made
    for daemon in daemons:
        daemon.stop()


def test_every_former_version_has_its_store():
    header = (ROOT / "src/store/sqlite/schema.h").read_text()
    present = int(re.search(r"#define SCHEMA_VERSION (\d+)", header)[1])
    assert set(range(1, present)) <= set(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_old_store_is_taken_over(old_store, receiver, version):
    daemon, noted = old_store(version)
    daemon.start()
    api, a = daemon.api(), Known(daemon, noted)
    now = old_stores.look(daemon, a, noted["Callbacks"], noted["Day"])
    assert now["Earnings"]["Rows"] == noted["Earnings"]["Rows"] != []
    for reward_id, was in noted["Callbacks"].items():
        found = now["Callbacks"][reward_id]
        assert {field: found.get(field) for field in was} == was
        assert found["Attempts"], reward_id
    # Known as they were, and what was owed is sent, signed with the secret of then.
    again = api.events([a.event("good-3", PanelistId="user-3", RevenueAmount="1.25")])
    assert (again["Accepted"], again["Duplicates"]) == (0, 1)
    a.patch(SuccessCallbackUrl=receiver.url)
    for reward_id in noted["Waiting"]:
        assert api.post("/api/v1/callbacks/%s/resend" % reward_id, query={"partnerId": a.partner_id}).status == 202
        got = receiver.wait_for(reward_id)[0]
        assert got.json["Sig"] == sig(got.json["PanelistId"], reward_id, a.secret)
        api.wait_state(reward_id, a.partner_id, "delivered")
    # New things go beside it, and the books are whole.
    api.events([a.event("new-1", PanelistId="user-3")])
    api.wait_state("new-1", a.partner_id, "delivered")
    daemon.stop()
    assert ledger_faults(daemon) == []


def ledger_faults(daemon):
    """Where the ledger and the events of a stopped store differ."""
    db = sqlite3.connect(daemon.directory / "store" / "postbackd.db")
    key = "id>>40, occurred_ms/86400000, app_no, lane, is_test, "
    sums = ", count(*), sum(reward_micros), sum(revenue_micros) FROM event WHERE lane<>0 GROUP BY 1,2,3,4,5,6"
    events = "SELECT %s state%s UNION ALL SELECT %s 0%s" % (key, sums, key, sums)
    ledger = ("SELECT account_no, day, app_no, lane, is_test, state, count, reward_high*1000000000000000+reward_low,"
              " revenue_high*1000000000000000+revenue_low FROM book WHERE count<>0")
    found = [db.execute("SELECT * FROM (%s) EXCEPT SELECT * FROM (%s)" % pair).fetchall()
             for pair in ((events, ledger), (ledger, events))]
    assert db.execute("SELECT count(*) FROM book").fetchone()[0] > 0
    db.close()
    return found[0] + found[1]


def grow(daemon, factor):
    """As many callbacks as make an upgrade last: copies of those that are there."""
    db = sqlite3.connect(daemon.directory / "store" / "postbackd.db")
    columns = [row[1] for row in db.execute("PRAGMA table_info(event)")]
    copied = ["id+i*100" if c == "id" else "event_id||i" if c == "event_id" else c for c in columns]
    db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<%d)"
               " INSERT INTO event SELECT %s FROM n, event WHERE state>=3" % (factor, ",".join(copied)))
    db.commit()
    db.close()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_an_upgrade_that_is_ended_goes_on(old_store, how):
    daemon, _ = old_store(2)
    grow(daemon, 5000)
    begin = daemon.spawn()
    eventually(lambda: '"event":"store_upgrade"' in daemon.log_text(begin), what="the upgrade begins")
    daemon.process.send_signal(how)
    assert daemon.process.wait(40) == (0 if how == signal.SIGTERM else -how)
    daemon.start()
    daemon.stop()
    assert ledger_faults(daemon) == []


def migrate(daemon, *options):
    done = subprocess.run([BINARY, "migrate", "--store", daemon.store(), *options],
                          capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_migrate_does_what_a_start_does(old_store):
    daemon, noted = old_store(VERSIONS[0])
    present = VERSIONS[-1] + 1
    status, told, _ = migrate(daemon, "--dry-run")
    assert (status, told) == (0, "schema version %d: to be brought to %d\n" % (VERSIONS[0], present))
    assert old_stores.version_of(daemon.directory) == VERSIONS[0]
    status, told, _ = migrate(daemon)
    assert (status, told) == (0, "schema version %d: brought to %d\n" % (VERSIONS[0], present))
    assert old_stores.version_of(daemon.directory) == present
    assert migrate(daemon)[:2] == (0, "schema version %d: nothing to do\n" % present)
    daemon.start()
    now = old_stores.look(daemon, Known(daemon, noted), noted["Callbacks"], noted["Day"])
    assert now["Earnings"]["Rows"] == noted["Earnings"]["Rows"] != []
    daemon.stop()
    db = sqlite3.connect(daemon.directory / "store" / "postbackd.db")
    db.execute("PRAGMA user_version=99")
    db.close()
    for options in ((), ("--dry-run",)):
        status, _, why = migrate(daemon, *options)
        assert status == 1 and "99" in why and "newer" in why
    (daemon.directory / "none").mkdir()
    done = subprocess.run([BINARY, "migrate", "--store", "sqlite:%s" % (daemon.directory / "none")],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "there is no store" in done.stderr
    assert list((daemon.directory / "none").iterdir()) == []

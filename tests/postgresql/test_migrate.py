"""Databases of former schema versions, and of later ones; old and new programs beside each other."""
import re
import subprocess

import old_databases
import pytest
from harness import BINARY, ROOT, Account, eventually, sig
from old_stores import Known, look
from postgresql import sql, tools

VERSIONS = sorted(int(p.name[len("schema-"):-len(".tar.xz")])
                  for p in old_databases.HERE.glob("schema-*.tar.xz"))
KEPT = ("--retain-bodies-days", "36500", "--retain-attempts-days", "36500")
HEADER = (ROOT / "src/store/postgresql/schema.h").read_text()
PRESENT = int(re.search(r"#define PG_SCHEMA_VERSION (\d+)", HEADER)[1])


def migrate(uri, *options):
    done = subprocess.run([BINARY, "migrate", "--store", uri, *options], capture_output=True,
                          text=True, timeout=60)
    return done.returncode, done.stdout.splitlines(), done.stderr


def versions(uri):
    return [int(v) for v in sql(uri, "SELECT version FROM schema_version ORDER BY 1").split()]


def test_every_former_version_has_its_dump():
    assert set(range(1, PRESENT)) <= set(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_daemon_takes_an_old_database_over(database, database_daemon, receiver, tmp_path, version):
    noted = old_databases.restore(version, tmp_path, database)
    assert versions(database)[-1] == version
    database_daemon.options += KEPT
    daemon = database_daemon.start()
    assert '"event":"schema_migrated","from":%d' % version in daemon.log_text()
    api, a = daemon.api(), Known(daemon, noted)
    now = look(daemon, a, noted["Callbacks"], noted["Day"])
    assert now["Earnings"]["Rows"] == noted["Earnings"]["Rows"] != []
    assert now["Callbacks"] == noted["Callbacks"]
    again = api.events([a.event("good-3", PanelistId="user-3", RevenueAmount="1.25")])
    assert (again["Accepted"], again["Duplicates"]) == (0, 1)
    a.patch(SuccessCallbackUrl=receiver.url)
    for reward_id in noted["Waiting"]:
        assert api.post("/api/v1/callbacks/%s/resend" % reward_id,
                        query={"partnerId": a.partner_id}).status == 202
        got = receiver.wait_for(reward_id)[0]
        assert got.json["Sig"] == sig(got.json["PanelistId"], reward_id, a.secret)
        api.wait_state(reward_id, a.partner_id, "delivered")
    api.events([a.event("new-1", PanelistId="user-3")])
    api.wait_state("new-1", a.partner_id, "delivered")


def test_migrate_says_what_is_missing_and_makes_it(database, tmp_path):
    old_databases.restore(1, tmp_path, database)
    status, told, _ = migrate(database, "--dry-run")
    assert status == 0 and len(told) == PRESENT + 1
    assert told[0].split()[:3] == ["1", "expand", "there"]
    assert all("to make" in line for line in told[1:PRESENT])
    assert told[-1].startswith("schema version %d: %d step" % (PRESENT, PRESENT - 1))
    assert versions(database) == [1]
    status, told, _ = migrate(database)
    assert status == 0 and all("made" in line for line in told[1:])
    assert versions(database) == list(range(1, PRESENT + 1))
    status, told, _ = migrate(database)
    assert (status, told[-1]) == (0, "schema version %d: nothing to do" % PRESENT)


def test_migrate_looks_at_an_empty_database_without_touching_it(database):
    status, told, _ = migrate(database, "--dry-run")
    assert status == 0 and "to make" in told[0]
    assert sql(database, "SELECT count(*) FROM pg_tables WHERE schemaname='public'") == "0"
    status, _, why = migrate(database.replace("/test_", "/none_"))
    assert status == 1 and "does not exist" in why


def test_two_that_start_on_an_empty_database_at_once(database, database_daemon):
    """The other one has just begun to make the tables, and has not committed."""
    other = subprocess.Popen([str(tools() / "psql"), "-Xq", "-v", "ON_ERROR_STOP=1", database],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    other.stdin.write("BEGIN; CREATE TABLE schema_version(version int PRIMARY KEY, made_at timestamptz"
                      " NOT NULL DEFAULT now(), least int NOT NULL DEFAULT 1);\n\\echo made\n")
    other.stdin.flush()
    assert other.stdout.readline() == "made\n"
    database_daemon.spawn()
    eventually(lambda: sql(database, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type='Lock'"
                                     " AND datname=current_database()") == "1", 30)
    other.stdin.write("COMMIT;\n")
    other.stdin.close()
    assert other.wait(30) == 0
    eventually(lambda: '"event":"listening"' in database_daemon.log_text(), 30)
    assert versions(database) == list(range(1, PRESENT + 1))


def test_a_running_daemon_goes_on_while_a_newer_program_expands(database, database_daemon, receiver):
    """What a later version will do to the tables: columns and tables that this one does not know."""
    daemon = database_daemon.start()
    a = Account(daemon, receiver.url)
    daemon.api().events([a.event("before")])
    sql(database, "BEGIN; ALTER TABLE event ADD COLUMN later int;"
                  " ALTER TABLE waiting ADD COLUMN later int NOT NULL DEFAULT 0;"
                  " ALTER TABLE book ADD COLUMN later int NOT NULL DEFAULT 0;"
                  " ALTER TABLE object ADD COLUMN later text; CREATE TABLE later(a int);"
                  " INSERT INTO schema_version(version,least) VALUES(99,%d); COMMIT" % PRESENT)
    daemon.api().events([a.event("beside")])
    receiver.wait_for("beside")
    daemon.api().wait_state("beside", a.partner_id, "delivered")
    daemon.restart()
    daemon.api().events([a.event("behind")])
    receiver.wait_for("behind")
    status, told, _ = migrate(database)
    assert (status, told[-1]) == (0, "schema version %d: nothing to do" % PRESENT)


def test_a_database_for_newer_programs_is_refused(database, database_daemon):
    database_daemon.start()
    database_daemon.stop()
    sql(database, "INSERT INTO schema_version(version,least) VALUES(99,%d)" % (PRESENT + 1))
    for options in ((), ("--dry-run",)):
        status, _, why = migrate(database, *options)
        assert status == 1 and "schema version 99" in why and "use a newer one" in why
    database_daemon.spawn()
    assert database_daemon.process.wait(40) == 1
    assert "use a newer one" in database_daemon.log_text()

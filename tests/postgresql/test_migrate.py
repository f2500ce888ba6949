"""postbackd migrate on PostgreSQL, and databases of later versions. Those of older versions:
tests/conformance/postgresql_migrate.c, with planted steps."""
import re
import subprocess

from harness import BINARY, ROOT, Account, eventually
from postgresql import sql, tools

HEADER = (ROOT / "src/store/postgresql/pg_schema.h").read_text()
PRESENT = int(re.search(r"#define PG_SCHEMA_VERSION (\d+)", HEADER)[1])


def migrate(uri, *options):
    done = subprocess.run([BINARY, "migrate", "--store", uri, *options], capture_output=True,
                          text=True, timeout=60)
    return done.returncode, done.stdout.splitlines(), done.stderr


def versions(uri):
    return [int(v) for v in sql(uri, "SELECT version FROM schema_version ORDER BY 1").split()]


def test_a_database_of_this_version_needs_nothing(database, database_daemon):
    database_daemon.start()
    database_daemon.stop()
    for options in ((), ("--dry-run",)):
        status, told, _ = migrate(database, *options)
        assert status == 0 and told[0].split()[:3] == ["1", "expand", "there"]
        assert told[-1] == "schema version %d: nothing to do" % PRESENT


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
                      " NOT NULL DEFAULT now(), least int NOT NULL DEFAULT 1, crc bigint);\n\\echo made\n")
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


def test_tables_of_an_unreleased_program_are_refused_by_every_command(database, database_daemon, tmp_path):
    database_daemon.start()
    database_daemon.stop()
    sql(database, "ALTER TABLE schema_version DROP COLUMN crc")
    for words in (["migrate", "--store", database], ["copy", "--store", database, "--to", "sqlite:%s" % (tmp_path / "to")]):
        done = subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "made by an unreleased postbackd with other tables" in done.stderr, done
    database_daemon.spawn()
    assert database_daemon.process.wait(40) == 1
    assert "made by an unreleased postbackd with other tables" in database_daemon.log_text()

"""postbackd migrate on SQLite, and starts on stores that this program does not know. Stores of older
versions: tests/unit/test_sqlite_migrate.c, with a planted step."""
import sqlite3
import subprocess

import pytest

from harness import BINARY

pytestmark = pytest.mark.sqlite("the version in its file; for PostgreSQL: tests/postgresql/test_migrate.py")


def migrate(store, *options):
    done = subprocess.run([BINARY, "migrate", "--store", store, *options], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_a_store_of_this_version_needs_nothing(own_daemon):
    own_daemon.start()
    own_daemon.stop()
    for options in ((), ("--dry-run",)):
        assert migrate(own_daemon.store(), *options) == (0, "schema version 1: nothing to do\n", "")


def test_a_store_of_an_unknown_version_is_refused_by_one_line(own_daemon):
    own_daemon.start()
    own_daemon.stop()
    db = sqlite3.connect(own_daemon.directory / "store" / "postbackd.db")
    db.execute("PRAGMA user_version=99")
    db.close()
    for options in ((), ("--dry-run",)):
        status, _, why = migrate(own_daemon.store(), *options)
        assert status == 1 and "schema version 99" in why and "use the newer program" in why
    own_daemon.spawn()
    assert own_daemon.process.wait(40) == 1
    said = [line for line in own_daemon.log_text().splitlines() if "schema version 99" in line]
    assert len(said) == 1 and "use the newer program" in said[0]


@pytest.mark.parametrize("pragma,words", [
    ("user_version=99", "use the newer program"),
    ("user_version=-1", "another program's"),
    ("application_id=0", "another program's"),
    ("user_version=0", "not a store"),
])
def test_a_backup_of_what_no_start_takes_is_refused(own_daemon, pragma, words):
    own_daemon.start()
    own_daemon.stop()
    db = sqlite3.connect(own_daemon.directory / "store" / "postbackd.db")
    db.execute("PRAGMA " + pragma)
    db.close()
    copy = own_daemon.directory / "copy.db"
    done = subprocess.run([BINARY, "backup", "--store", own_daemon.store(), str(copy)], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1, done
    assert not copy.exists()


def test_no_store_is_made(tmp_path):
    status, _, why = migrate("sqlite:%s" % tmp_path)
    assert status == 1 and "there is no store" in why
    assert list(tmp_path.iterdir()) == []

"""Files of two stores in one folder: one clear line with the way out, and nothing is changed."""
import shutil
import subprocess

import pytest

from harness import BINARY, Account, Daemon

pytestmark = pytest.mark.sqlite("its files")


def store_with_events(directory, name, stop=True):
    """A store's folder, after its daemon has stopped or was killed."""
    d = Daemon(directory / name).start()
    account = Account(d)
    assert d.api().events([account.event("%s-%d" % (name, i)) for i in range(20)])["Accepted"] == 20
    d.api().get("/api/v1/callbacks", query={"partnerId": account.partner_id})  # it is in the database
    if stop:
        assert d.stop() == 0
    else:
        d.kill()
    return directory / name / "store"


def files(store):
    """What is in the folder, but for the WAL index, which is nobody's data."""
    return {p.relative_to(store): p.read_bytes() for p in store.rglob("*")
            if p.is_file() and p.name != "postbackd.db-shm"}


def refused(store, *words):
    before = files(store)
    done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--store", "sqlite:%s" % store],
                          capture_output=True, text=True, timeout=60)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1, done.stderr
    assert all(word in last for word in words + ("nothing has been changed",)), last
    assert files(store) == before


def starts(store):
    d = Daemon(store.parent).start()
    assert d.stop() == 0


def put_back(path, store):
    shutil.copy(path, store / "postbackd.db")


def take_backup(store, path):
    subprocess.run([BINARY, "backup", "--store", "sqlite:%s" % store, str(path)], check=True,
                   timeout=60)


@pytest.mark.parametrize("stop", (True, False))
def test_the_journal_of_another_store_is_refused(tmp_path, stop):
    ours = store_with_events(tmp_path, "ours", stop)
    theirs = store_with_events(tmp_path, "theirs", stop)
    (ours / "journal").rename(tmp_path / "kept")
    shutil.copytree(theirs / "journal", ours / "journal")
    refused(ours, "journal", "another database")
    shutil.rmtree(ours / "journal")
    (tmp_path / "kept").rename(ours / "journal")
    starts(ours)


def test_a_backup_beside_the_old_journal_is_refused(tmp_path):
    store = store_with_events(tmp_path, "ours")
    take_backup(store, tmp_path / "copy.db")
    for old in store.glob("postbackd.db*"):
        old.unlink()
    put_back(tmp_path / "copy.db", store)
    refused(store, "journal", "another database")
    (store / "journal").rename(tmp_path / "journal-of-before")
    starts(store)


def test_a_backup_beside_the_old_wal_is_refused(tmp_path):
    store = store_with_events(tmp_path, "ours", stop=False)
    take_backup(store, tmp_path / "copy.db")
    assert (store / "postbackd.db-wal").stat().st_size > 0
    put_back(tmp_path / "copy.db", store)
    refused(store, "postbackd.db-wal", "restored from a backup")
    for name in ("postbackd.db-wal", "postbackd.db-shm", "journal"):
        (store / name).rename(tmp_path / name)
    starts(store)


def test_a_journal_without_a_database_is_refused(tmp_path):
    store = store_with_events(tmp_path, "ours")
    (store / "postbackd.db").rename(tmp_path / "kept.db")
    refused(store, "no database beside it")
    assert not (store / "postbackd.db").exists()
    put_back(tmp_path / "kept.db", store)
    starts(store)

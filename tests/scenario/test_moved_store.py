"""A store's directory that is moved, replaced or deleted under a daemon: nothing that was acknowledged
is lost, and another store's files are never touched."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import BINARY, OPERATOR_KEY, Account, Daemon, eventually

pytestmark = pytest.mark.sqlite("its directory")
SMALL = {"POSTBACKD_TEST_SIZES": "131072,64,200"}  # journal segments of 128 KiB
SCRUB = Path(__file__).resolve().parents[2] / "docs/operators/scrub.md"
BATCH = 30  # events of 1 KB: a group of them is smaller than a segment


def post(d, account, name):
    """The events, if they were acknowledged; else None."""
    events = [account.event("%s-%d" % (name, i), SessionId="s" * 1000) for i in range(BATCH)]
    answer = d.api().post("/api/v1/events", events)
    assert answer.status in (202, 503), answer
    assert answer.status == 503 or answer.json["Accepted"] == BATCH, answer
    return events if answer.status == 202 else None


def post_until_refused(d, account, name):
    """What was acknowledged before the first refusal."""
    acknowledged = []
    while (events := post(d, account, "%s-%d" % (name, len(acknowledged)))) is not None:
        acknowledged.append(events)
        assert len(acknowledged) < 1000, "it never refuses"
    return acknowledged


def assert_has(d, batches):
    for events in batches:
        assert d.api().events(events)["Duplicates"] == BATCH


def assert_away(d, account, word):
    """It refuses what is new, says why, and goes on with all that was taken before."""
    ready = d.api().get("/readyz", key=None)
    assert ready.status == 503 and "(directory)" in ready.text and "scrub.md" in ready.text
    failures = d.api().get("/healthz", key=None).json["Failures"]
    assert [f["Check"] for f in failures] == ["intake"] and "moved" in failures[0]["Detail"]
    assert d.api().patch("/api/v1/apps/" + account.app_id, {"Name": "refused"}).status == 503
    assert d.api().get("/api/v1/callbacks", query={"partnerId": account.partner_id}).status == 200
    lines = [line for line in d.log_text().splitlines() if '"store_directory_away"' in line]
    assert len(lines) == 1 and word in lines[0]
    assert d.process.poll() is None


def begin(directory, env=SMALL):
    d = Daemon(directory, env=env).start()
    account = Account(d)
    return d, d.directory / "store", account, [post(d, account, "first-%d" % i) for i in range(3)]


def test_whoever_deletes_files_that_look_stale_lets_no_second_daemon_in(own_daemon):
    d = own_daemon.start()
    for path in (d.directory / "store").iterdir():
        if path.is_file() and not path.name.startswith(("postbackd.db", "master.key")):
            path.unlink(missing_ok=True)
    done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--store", d.store()],
                          env=dict(os.environ, POSTBACKD_OPERATOR_KEY=OPERATOR_KEY),
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "another postbackd is running" in done.stderr, done.stderr
    assert d.api().get("/readyz", key=None).status == 200


def test_a_backup_is_started_in_the_place_of_a_moved_store(tmp_path):
    """The first daemon ends, and its segments are in its own directory."""
    first, store, account, acknowledged = begin(tmp_path / "here")
    subprocess.run([BINARY, "backup", "--store", first.store(), str(tmp_path / "copy.db")],
                   check=True, timeout=60)
    restored = list(acknowledged)
    (tmp_path / "there").mkdir()
    store.rename(tmp_path / "there" / "store")
    store.mkdir(mode=0o700)
    shutil.copy(tmp_path / "there" / "store" / "master.key", store)
    shutil.copy(tmp_path / "copy.db", store / "postbackd.db")
    acknowledged += post_until_refused(first, account, "moved")
    assert_away(first, account, "another directory is in its place")
    second = Daemon(tmp_path / "here", env=SMALL).start()
    restored += [post(second, account, "restored-%d" % i) for i in range(3)]
    eventually(lambda: first.process.poll() is not None, 30, what="the first daemon ends")
    assert first.process.returncode == 1 and "another postbackd runs" in first.log_text()
    restored += [post(second, account, "restored-%d" % i) for i in range(3, 6)]
    second.kill()
    second.start()
    assert_has(second, restored)
    assert second.stop() == 0
    moved = Daemon(tmp_path / "there", env=SMALL).start()
    assert_has(moved, acknowledged)
    assert moved.stop() == 0


@pytest.mark.parametrize("segments", (1, 20))
def test_a_moved_store_keeps_its_journal(tmp_path, segments):
    """Whatever is made in its old place: segments go where their journal is."""
    d, store, account, acknowledged = begin(tmp_path / "here")
    (tmp_path / "there").mkdir()
    store.rename(tmp_path / "there" / "store")
    (store / "journal").mkdir(parents=True)
    for i in range(segments):
        batch = post(d, account, "moved-%d" % i)
        acknowledged += [batch] if batch else []
    eventually(lambda: "store_directory_away" in d.log_text(), 30)
    d.kill()
    assert [p.name for p in store.rglob("*")] == ["journal"]
    moved = Daemon(tmp_path / "there", env=SMALL).start()
    assert_has(moved, acknowledged)
    assert moved.stop() == 0


def test_a_store_that_is_moved_back_goes_on(tmp_path):
    d, store, account, acknowledged = begin(tmp_path / "here")
    store.rename(tmp_path / "away")
    acknowledged += post_until_refused(d, account, "moved")
    assert_away(d, account, "moved away")
    (tmp_path / "away").rename(store)
    eventually(lambda: d.api().get("/readyz", key=None).status == 200, 30, what="it is ready again")
    acknowledged.append(post(d, account, "back"))
    assert "store_directory_back" in d.log_text()
    d.kill()
    d.start()
    assert_has(d, acknowledged)
    assert d.stop() == 0


def delete_all(store):
    while store.exists():  # the daemon may make a file meanwhile
        shutil.rmtree(store, ignore_errors=True)


def delete_journal(store):
    eventually(lambda: not list((store / "journal").glob("*.new")), what="the next segment is made")
    for path in (store / "journal").iterdir():
        path.unlink()


def saving(pid, store, saved):
    """The block of scrub.md, with values of our own in its first line."""
    block = re.search(r"```shell\n(PID=.*?)```", SCRUB.read_text(), re.S).group(1)
    return "PID=%d STORE=%s SAVED=%s\n%s" % (pid, store, saved, block.split("\n", 1)[1])


@pytest.mark.parametrize("delete,word,env", [
    (delete_all, "has been deleted", SMALL),
    (lambda store: (store / "postbackd.db").unlink(), "postbackd.db has been", SMALL),
    (delete_journal, "a file of the journal", {}),  # small segments are soon needed no more
])
def test_deleted_files_are_saved_from_the_process(tmp_path, delete, word, env):
    """As scrub.md says: the process stops taking events and does not end, as it has the last copy."""
    d, store, account, acknowledged = begin(tmp_path / "here", env)
    key = (store / "master.key").read_bytes()
    delete(store)
    acknowledged += post_until_refused(d, account, "deleted")
    assert_away(d, account, word)
    saved = tmp_path / "saved" / "store"
    subprocess.run(["bash", "-c", saving(d.process.pid, store, saved)], check=True, timeout=60)
    d.process.wait(30)
    (saved / "master.key").write_bytes(key)
    os.chmod(saved / "master.key", 0o600)
    again = Daemon(tmp_path / "saved", env=SMALL).start()
    assert_has(again, acknowledged)
    assert again.stop() == 0

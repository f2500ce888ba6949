"""A copy taken from a daemon in use, restored: what was acknowledged is in it, secrets too."""

import os
import stat
import subprocess
from datetime import datetime, timedelta, timezone

import pytest

from harness import BINARY, Account, Daemon, Receiver, eventually
from private import private_mounts
from test_scrub import flip

MASTER_KEY = "0123456789abcdef" * 4
LONG = ",".join(["2s"] * 60)  # nothing is given up while it is refused


def backup(daemon, path):
    return subprocess.run(
        [BINARY, "backup", "--store", "sqlite:%s" % (daemon.directory / "store"), str(path)],
        capture_output=True, text=True, timeout=60)


def day(offset):
    return (datetime.now(timezone.utc) + timedelta(days=offset)).strftime("%Y-%m-%d")


def earnings(daemon, account):
    answer = daemon.api().get("/api/v1/reports/earnings", query={"partnerId": account.partner_id})
    assert answer.status == 200
    return answer.json["Rows"]


@pytest.mark.sqlite("postbackd backup")
def test_a_copy_of_a_daemon_in_use_is_restored(tmp_path):
    env = {"POSTBACKD_MASTER_KEY": MASTER_KEY}
    # It refuses at first: the callbacks wait, and are the restored daemon's to send.
    receiver = Receiver(answer=lambda request: 503)
    first = Daemon(tmp_path / "first", env=env, schedule=LONG)
    first.start()
    account = Account(first, receiver.url)
    count = 500
    answer = first.api().events([account.event("b-%d" % i) for i in range(count)])
    assert answer["Accepted"] == count
    path = tmp_path / "copy.db"
    done = backup(first, path)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert not os.path.exists(str(path) + ".part")

    again = backup(first, path)
    assert again.returncode == 1
    assert "exists already" in again.stderr
    rows = earnings(first, account)
    first.kill()

    store = tmp_path / "second" / "store"
    store.mkdir(parents=True)
    path.rename(store / "postbackd.db")
    second = Daemon(tmp_path / "second", env=env, schedule=LONG)
    receiver.answer = lambda request: 200
    second.start()
    try:
        assert earnings(second, account) == rows
        eventually(lambda: second.metrics()["postbackd_callbacks_delivered_total"] == count, 90)
        assert {r.header("webhook-id") for r in receiver.requests} >= {
            "b-%d" % i for i in range(count)}
    finally:
        second.kill()
        receiver.close()


@pytest.mark.sqlite("postbackd backup")
def test_a_place_in_the_feed_from_before_a_restore_skips_nothing(tmp_path):
    """It answers with nothing until its number belongs to another reward, and then says what to do."""
    env = {"POSTBACKD_MASTER_KEY": MASTER_KEY}
    first = Daemon(tmp_path / "first", env=env).start()
    account = Account(first)
    path = tmp_path / "copy.db"

    def feed(d, after=None):
        query = {"partnerId": account.partner_id, **({"after": after} if after else {})}
        return d.api().get("/api/v1/rewards", query=query)

    first.api().events([account.event("kept-%d" % i) for i in range(10)])
    kept = feed(first).json["Next"]
    assert backup(first, path).returncode == 0
    first.api().events([account.event("lost-%d" % i) for i in range(3)])
    place = feed(first).json["Next"]
    assert feed(first, place).json == {"Items": [], "Next": place}
    days = "startDate=%s&endDate=%s" % (day(-1), day(1))
    in_range = first.api().get("/api/v1/rewards?partnerId=%s&limit=12&%s" % (account.partner_id, days)).json["Next"]
    newest = first.api().get("/api/v1/callbacks", query={"partnerId": account.partner_id, "limit": 1}).json
    assert newest["Next"] == place  # `postbackd listen` begins there
    first.stop()

    store = tmp_path / "second" / "store"
    store.mkdir(parents=True)
    path.rename(store / "postbackd.db")
    second = Daemon(tmp_path / "second", env=env).start()
    try:
        assert feed(second, kept).json == {"Items": [], "Next": kept}
        second.api().events([account.event("again-%d" % i) for i in range(2)])
        assert feed(second, place).json == {"Items": [], "Next": place}
        assert len(feed(second, kept).json["Items"]) == 2
        second.api().events([account.event("again-2")])
        for after, more in ((place, ""), (place, "&format=csv"), (place, "&appId=" + account.app_id), (in_range, "&" + days)):
            answer = second.api().get("/api/v1/rewards?partnerId=%s&after=%s%s" % (account.partner_id, after, more))
            assert (answer.status, answer.json["errors"][0].get("Parameter")) == (400, "after"), answer
            assert "restored" in answer.text, answer
        assert len(feed(second).json["Items"]) == 13
    finally:
        second.stop()


@pytest.mark.sqlite("its file")
def test_a_page_that_the_disk_has_changed_is_said(tmp_path):
    """Of a daemon that is not running: beside one, the page may be read from the WAL instead."""
    d = Daemon(tmp_path).start()
    account = Account(d)
    d.api().events([account.event("copied-%d" % i) for i in range(50)])
    d.stop()
    path = tmp_path / "store" / "postbackd.db"
    at = path.read_bytes().rfind(b"copied-49")
    assert at > 0
    flip(path, at)
    done = backup(d, tmp_path / "damaged.db")
    assert done.returncode == 1 and "changed 1 pages" in done.stderr, done
    assert "offset %d " % (at // 4096 * 4096) in done.stderr, done
    assert (tmp_path / "damaged.db").exists()
    flip(path, at)
    done = backup(d, tmp_path / "whole.db")
    assert (done.returncode, done.stderr) == (0, ""), done


def test_what_cannot_be_copied_is_said(tmp_path):
    for arguments, status, words in (
            (["backup"], 2, "FILE"),
            (["backup", "--store", "postgresql://x", "f"], 2, "sqlite:DIR"),
            (["backup", "--store", "sqlite:%s" % (tmp_path / "none"), str(tmp_path / "f")], 1,
             "cannot be read and written")):
        done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == status
        assert words in done.stderr
    assert not (tmp_path / "f").exists()


@pytest.mark.sqlite("postbackd backup")
def test_a_file_system_that_is_read_only_is_said_with_the_way_out(tmp_path):
    daemon = Daemon(tmp_path).start()
    daemon.stop()
    store = tmp_path / "store"
    with private_mounts():
        for options in (["--bind", store], ["-o", "remount,bind,ro"]):
            subprocess.run(["mount", *options, store], check=True)
        from_it, into_it = backup(daemon, tmp_path / "f"), backup(daemon, store / "f")
    assert from_it.returncode == into_it.returncode == 1
    assert "postbackd.db is on a read-only file system" in from_it.stderr, from_it
    assert "mount that file system writable, or copy the whole directory" in from_it.stderr, from_it
    assert "f.part.lock cannot be made: Read-only file system: choose a FILE" in into_it.stderr, into_it
    assert not list(tmp_path.glob("f*"))


def test_nothing_is_left_of_a_copy_that_failed(tmp_path):
    """SQLite's own files go, too: a full disk leaves the first one, a kill the others."""
    for end in ("", "-journal", "-wal", "-shm"):
        (tmp_path / ("f.part" + end)).write_bytes(b"x")
    done = subprocess.run([BINARY, "backup", "--store", "sqlite:%s" % (tmp_path / "none"), tmp_path / "f"],
                          capture_output=True, timeout=60)
    assert done.returncode == 1 and list(tmp_path.iterdir()) == []


@pytest.mark.sqlite("postbackd backup")
def test_two_copies_to_one_file_do_not_disturb_each_other(tmp_path):
    daemon = Daemon(tmp_path / "d")
    daemon.start()
    try:
        command = [BINARY, "backup", "--store", "sqlite:%s" % (daemon.directory / "store")]
        for n in range(5):
            path = tmp_path / ("copy-%d.db" % n)
            both = [subprocess.Popen([*command, str(path)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                    for _ in range(3)]
            said = [(process.communicate(timeout=60)[1], process.returncode) for process in both]
            assert sorted(status for _, status in said) == [0, 1, 1], said
            for text, status in said:
                assert status == 0 or "is being written by another process" in text or "exists" in text, text
            assert [one.name for one in tmp_path.glob("copy-%d*" % n)] == [path.name]
    finally:
        daemon.stop()

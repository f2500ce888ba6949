"""Damage of the store's files is found while the daemon runs, and said until it is gone."""
import json

import pytest

from harness import Account, Daemon, eventually

pytestmark = pytest.mark.sqlite("its files")

OFTEN = {"POSTBACKD_TEST_SIZES": "131072,64,50"}  # a pass every 50 ms


def flip(path, at):
    """Changes one byte; the second time it is as before."""
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 0x10]))


def warnings(d):
    answer = d.api().get("/healthz", key=None)
    assert answer.status == 200 and answer.json["Status"] == "ok", answer
    return [w["Detail"] for w in answer.json.get("Warnings", []) if w["Check"] == "store_damaged"]


def lines(d, event):
    found = [json.loads(line) for line in d.log_text().splitlines() if line.startswith("{")]
    return [line for line in found if line["event"] == event]


def wait_for_pass(d):
    """A whole one that begins from here on."""
    until = d.metrics()["postbackd_scrub_passes_total"] + 2
    eventually(lambda: d.metrics()["postbackd_scrub_passes_total"] >= until, 60, what="a pass")


def body_of(d, event_id):
    """Where the event's body lies in the database's file, once it is there."""
    path = d.directory / "store" / "postbackd.db"
    return path, eventually(lambda: max(0, path.read_bytes().rfind(event_id.encode())), 60,
                            what="it is in the database's file")


def take_events(d):
    account = Account(d)
    assert d.api().events([account.event("scrubbed-%d" % i) for i in range(50)])["Accepted"] == 50
    d.api().get("/api/v1/callbacks", query={"partnerId": account.partner_id})  # they are applied
    return account


def test_a_damaged_byte_is_found_and_nothing_ends(tmp_path):
    d = Daemon(tmp_path, env=OFTEN).start()
    account = take_events(d)
    path, at = body_of(d, "scrubbed-49")
    wait_for_pass(d)
    assert warnings(d) == [] and d.metrics()["postbackd_scrub_damaged"] == 0
    flip(path, at)
    found = eventually(lambda: warnings(d), 60, what="the damage is found")
    page = at // 4096 * 4096
    assert "at 1 places" in found[0] and "%s at byte %d:" % (path, page) in found[0], found
    assert d.metrics()["postbackd_scrub_damaged"] == 1
    assert (lines(d, "store_damaged")[0]["file"], lines(d, "store_damaged")[0]["offset"]) == (str(path), page)
    assert "scrub.md" in lines(d, "store_damaged")[0]["fix"]
    assert d.restart().api().events([account.event("later")])["Accepted"] == 1
    eventually(lambda: warnings(d), 60, what="it is still said")
    flip(path, at)
    eventually(lambda: not warnings(d), 60, what="a pass has found it whole")
    assert d.metrics()["postbackd_scrub_damaged"] == 0
    assert d.stop() == 0


def test_a_pass_follows_a_kill(tmp_path):
    d = Daemon(tmp_path, env=OFTEN).start()
    take_events(d)
    path, at = body_of(d, "scrubbed-49")
    wait_for_pass(d)
    d.env = {}  # as it is without: a pass each week
    d.restart()
    assert d.metrics()["postbackd_scrub_passes_total"] == 0
    d.kill()
    flip(path, at)
    d.start()
    eventually(lambda: warnings(d), 60, what="the damage is found")
    assert d.stop() == 0

"""postbackd reconcile against a running daemon: each kind of difference is named, nothing else is."""
import csv
import io
import json
import os
import subprocess
from datetime import datetime, timedelta, timezone

import pytest

from harness import BINARY, OPERATOR_KEY, Account, eventually

DAY = (datetime.now(timezone.utc) - timedelta(days=2)).strftime("%Y-%m-%d")


def reconcile(daemon, records, *options, key=None, partner=None, day=DAY):
    env = {k: v for k, v in os.environ.items() if not k.startswith("POSTBACKD_")}
    if key:
        env["POSTBACKD_API_KEY"] = key
    else:
        env["POSTBACKD_OPERATOR_KEY"] = OPERATOR_KEY
        options += ("--partner", partner)
    return subprocess.run([BINARY, "reconcile", "--url", "http://127.0.0.1:%d" % daemon.port,
                           "--day", day, *options, "-"], input=records, env=env, text=True,
                          capture_output=True, timeout=60)


@pytest.fixture
def books(daemon, receiver):
    """1,203 rewards of the day (three pages), one of another day, and what the receiver recorded."""
    a = Account(daemon, receiver.url)
    at = DAY + "T23:59:59.999Z"
    for start in range(0, 1200, 400):
        daemon.api().events([a.event("r-%d" % i, Timestamp=at) for i in range(start, start + 400)])
    daemon.api().events([a.event("o-1", "offer_completed", Timestamp=at), a.event("c-1", "offer_clicked", Timestamp=at),
                         a.event("x-1", "offer_completion_reversed", OriginalRewardId="o-1", Timestamp=at),
                         a.event("t-1", IsTest=True, Timestamp=at), a.event("s-1", "survey_started", Timestamp=at),
                         a.event("other-day")])
    eventually(lambda: len(set(receiver.ids())) == 1205, 60, what="every callback arrived")
    bodies = {r.json["RewardId"]: r.body.decode() for r in receiver.requests}
    del bodies["other-day"]
    return a, bodies


def test_equal_books_and_every_difference(daemon, books):
    a, bodies = books
    key = a.key("callbacks:read")
    found = reconcile(daemon, "\n".join(bodies.values()), key=key)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == DAY + ": 1203 rewards, 1203 records: 0 missing, 0 doubled, 0 different, 0 unknown\n"

    rows = [json.loads(b) for b in bodies.values() if '"t-1"' not in b]
    text = io.StringIO()
    out = csv.DictWriter(text, ["When", "RewardId", "Reward", "RevenueAmount"], extrasaction="ignore")
    out.writeheader()
    for row in rows:
        if row["RewardId"] in ("r-7", "x-1"):
            continue
        if row["RewardId"] == "r-8":
            row["Reward"] = "100.01"
        if row["RewardId"] == "r-9":
            row["RevenueAmount"] = "0.99"
        out.writerow(row)
    out.writerow({"RewardId": "r-10", "Reward": "100", "RevenueAmount": "1"})
    out.writerow({"RewardId": "stranger", "Reward": "5"})
    found = reconcile(daemon, text.getvalue(), partner=a.partner_id)
    said = found.stdout.splitlines()
    assert found.returncode == 1
    assert said[-1] == DAY + ": 1203 rewards, 1203 records: 2 missing, 1 doubled, 2 different, 1 unknown"
    assert "missing: r-7: Reward 100.00, RevenueAmount 1.00" in said
    assert "missing: x-1: Reward -100.00, RevenueAmount -1.00" in said
    assert "different: r-8: Reward is 100.00, recorded as 100.01" in said
    assert "different: r-9: RevenueAmount is 1.00, recorded as 0.99" in said
    assert any(line.startswith("doubled: r-10: recorded on line ") for line in said)
    assert any(line.startswith("unknown: stranger: ") for line in said)
    assert len(said) == 7

    # what is missing, added to the records, makes them whole
    kept = "\n".join(b for i, b in bodies.items() if i not in ("r-7", "x-1"))
    found = reconcile(daemon, kept, "--fetch-missing", key=key)
    assert found.returncode == 1
    fetched = [json.loads(line) for line in found.stdout.splitlines()]
    assert sorted(f["RewardId"] for f in fetched) == ["r-7", "x-1"]
    assert "missing: r-7" in found.stderr
    assert {f["RewardType"] for f in fetched} == {"survey_completed", "offer_completion_reversed"}
    assert reconcile(daemon, kept + "\n" + found.stdout, key=key).returncode == 0


def test_what_cannot_be_compared_is_neither_equal_nor_different(daemon):
    a = Account(daemon)
    key = a.key("callbacks:read")
    for records, options, say in (("{", (), "line 1: no valid JSON"), ("Id\n", (), "must name the columns"),
                                  ("RewardId,Reward\ne1," + "1" * 70000, (), "line 2: is longer than 65536 bytes"),
                                  ("RewardId,Reward\ne1,1\0,2\n", (), "line 2: has a NUL byte: save the file as UTF-8."),
                                  ("", ("--url", "http://127.0.0.1:1"), "given twice")):
        found = reconcile(daemon, records, *options, key=key)
        assert found.returncode == 2 and say in found.stderr, found
    found = reconcile(daemon, "", key=key, day="2026-13-01")
    assert found.returncode == 2 and "--day is not a day of the calendar" in found.stderr
    header = "RewardId,Reward\n"
    assert reconcile(daemon, header, key="wrong-key").returncode == 2
    assert reconcile(daemon, header, key=a.key("apps:read")).returncode == 2
    assert reconcile(daemon, header, partner="nobody").returncode == 2
    assert reconcile(daemon, header, key=key).returncode == 0


@pytest.mark.parametrize("records, say", [
    ("", "the file is empty"), ("\r\n", "the file is empty"), ("\r", "the file is empty"),
    ("RewardId,Reward\rlost-1,100\r", "save the file with LF or CRLF line ends"),
    ("RewardId,Reward,RevenueAmount\rlost-1,100,1\r", "save the file with LF or CRLF line ends")])
def test_a_file_whose_records_would_be_lost_credits_nothing(daemon, records, say):
    """--fetch-missing would print every reward of the day, to be credited twice."""
    a = Account(daemon)
    daemon.api().events(a.event("lost-1", Timestamp=DAY + "T12:00:00Z"))
    found = reconcile(daemon, records, "--fetch-missing", partner=a.partner_id)
    assert (found.returncode, found.stdout) == (2, "") and say in found.stderr, found


def test_a_header_without_records_means_that_nothing_was_recorded(daemon):
    a = Account(daemon)
    daemon.api().events([a.event("first-%d" % i, Timestamp=DAY + "T12:00:00Z") for i in range(2)])
    found = reconcile(daemon, "RewardId,Reward\r\n", "--fetch-missing", partner=a.partner_id)
    assert found.returncode == 1 and "2 rewards, 0 records: 2 missing" in found.stderr, found
    assert [json.loads(line)["RewardId"] for line in found.stdout.splitlines()] == ["first-0", "first-1"]

"""postbackd export: rows of a range as NDJSON or CSV, and a run that was killed goes on to the same bytes."""
import csv
import http.server
import io
import json
import os
import subprocess
import threading
import urllib.request
from datetime import datetime, timedelta, timezone

import pytest

from harness import BINARY, OPERATOR_KEY, Account, eventually

FIRST, LAST = ((datetime.now(timezone.utc) - timedelta(days=d)).strftime("%Y-%m-%d") for d in (4, 3))
REWARD = ["RewardId", "AppId", "ClientId", "PanelistId", "RewardType", "State", "Reason", "Reward",
          "RevenueAmount", "IsTest", "Timestamp", "CreatedAt", "OriginalRewardId"]
SHORT = ["Number", "Manual", "At", "DurationMs", "Status", "Class", "Detail"]
EVENT = ["EventId", "AppId", "ClientId", "PanelistId", "Type", "State", "Reason", "Reward", "RevenueAmount", "Cap", "IsTest",
         "Timestamp", "CreatedAt", "SessionId", "Mid", "OfferId", "OfferTitle", "OfferGoalId", "OriginalRewardId", "ReasonGiven"]
ATTEMPT = ["RewardId", "AppId", "ClientId", "RewardType", "State"] + SHORT
STATEMENT = ["Day", "AppId", "Final", "Count", "Reward", "RevenueAmount", "Digest"]


def command(daemon, *words, server=None):
    for option, day in (("--start-date", FIRST), ("--end-date", LAST)):
        words += () if option in words else (option, day)
    host, port = server or ("127.0.0.1", daemon.port)
    return [BINARY, "export", "--url", "http://%s:%d" % (host, port), *words]


def environment(key=None, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("POSTBACKD_", "AWS_"))}
    env["POSTBACKD_API_KEY" if key else "POSTBACKD_OPERATOR_KEY"] = key or OPERATOR_KEY
    env.update(more)
    return env


def export(daemon, *words, key=None, **env):
    return subprocess.run(command(daemon, *words), env=environment(key, **env), text=True, capture_output=True,
                          timeout=120)


def rows(run):
    assert run.returncode == 0, run
    return [json.loads(line) for line in run.stdout.splitlines()]


def ids(run):
    return [r["RewardId"] for r in rows(run)]


@pytest.fixture(scope="module")
def world(daemon):
    """An account with 1,201 rewards on the first day (three pages), four on the last and one outside, and another."""
    a, other = Account(daemon), Account(daemon)
    for start in range(0, 1201, 400):
        daemon.api().events([a.event("r-%d" % i, Timestamp=FIRST + "T23:59:59.999Z")
                             for i in range(start, min(start + 400, 1201))])
    at = LAST + "T00:00:00Z"
    daemon.api().events([a.event("o-1", "offer_completed", Timestamp=at),
                         a.event("x-1", "offer_completion_reversed", OriginalRewardId="o-1", Timestamp=at),
                         a.event("f-1", PanelistId='=SUM(1,"2")', Timestamp=at), a.event("today"),
                         a.event("t-1", IsTest=True, Timestamp=at), a.event("s-1", "survey_started", Timestamp=at)])
    daemon.api().events([other.event("other-1", Timestamp=at)])
    return a, other


def test_rewards_in_the_order_of_days_and_acceptance(daemon, world):
    a, other = world
    run = export(daemon, "rewards", "--partner", a.partner_id)
    got = rows(run)
    assert [r["RewardId"] for r in got] == ["r-%d" % i for i in range(1201)] + ["o-1", "x-1", "f-1", "t-1"]
    assert run.stderr == "1205 rows\n"
    assert list(got[0]) == ["PartnerId"] + REWARD
    assert [(r["Reward"], r["RevenueAmount"], r["OriginalRewardId"]) for r in got[1201:1203]] == \
        [(100.0, 1.0, None), (-100.0, -1.0, "o-1")]
    assert '"Reward":-100.00,' in run.stdout and got[-1]["IsTest"] is True

    # A partner's own key: the same rows, and nothing of others.
    own = rows(export(daemon, "rewards", key=a.key("callbacks:read")))
    assert [dict(r, PartnerId=a.partner_id) for r in own] == got and list(own[0]) == REWARD
    assert ids(export(daemon, "rewards", "--partner", a.partner_id, "--app", a.app_id)) == [r["RewardId"] for r in own]
    assert rows(export(daemon, "rewards", "--partner", other.partner_id, "--end-date", FIRST)) == []


def test_an_operator_exports_all_partners(daemon, world):
    a, other = world
    got = rows(export(daemon, "rewards", "--start-date", LAST))
    assert [(r["PartnerId"], r["RewardId"]) for r in got] == \
        [(other.partner_id, "other-1")] + [(a.partner_id, i) for i in ("o-1", "x-1", "f-1", "t-1")]


def test_csv(daemon, world):
    a, _ = world
    run = subprocess.run(command(daemon, "rewards", "--format", "csv", "--partner", a.partner_id, "--start-date", LAST),
                         env=environment(), capture_output=True, timeout=120)
    assert run.returncode == 0 and run.stdout.endswith(b"\r\n")
    got = list(csv.DictReader(io.StringIO(run.stdout.decode(), newline="")))
    assert list(got[0]) == ["PartnerId"] + REWARD
    assert [(r["RewardId"], r["Reward"], r["IsTest"], r["OriginalRewardId"]) for r in got] == \
        [("o-1", "100.00", "false", ""), ("x-1", "-100.00", "false", "o-1"), ("f-1", "100.00", "false", ""),
         ("t-1", "100.00", "true", "")]
    assert got[2]["PanelistId"] == "'=SUM(1,\"2\")"


def test_attempts_of_each_reward_and_one_app_of_two(daemon, world, receiver):
    a, api = Account(daemon, receiver.url), daemon.api()
    receiver.answer = lambda r: 404 if r.json["RewardId"] == "a-2" and r.headers["Postbackd-Attempt"] == "1" else 200
    for path, body in (("partners/%s/apps" % a.partner_id, {"AppId": "second", "Name": "App", "CurrencyValue": "1"}),
                       ("apps/second/clients", {"ClientId": "second", "Name": "Client", "Integration": "sdk"})):
        assert api.post("/api/v1/" + path, body).status == 201
    at = LAST + "T12:00:00Z"
    api.events([a.event("a-1", Timestamp=at), a.event("a-2", Timestamp=at),
                a.event("a-3", ClientId="second", Timestamp=at)])
    for reward in ("a-1", "a-2"):
        api.wait_state(reward, a.partner_id, "delivered")
    assert api.post("/api/v1/callbacks/a-1/resend", query={"partnerId": a.partner_id}).status == 202
    whole = eventually(lambda: (lambda got: got if len(got) == 4 else None)(
        rows(export(daemon, "attempts", "--partner", a.partner_id))), what="the resend is an attempt, too")
    assert list(whole[0]) == ["PartnerId"] + ATTEMPT
    assert [[r[name] for name in ("RewardId", "Number", "Manual", "Status", "Class", "AppId")] for r in whole] == \
        [["a-1", 1, False, 200, None, a.app_id], ["a-1", 2, True, 200, None, a.app_id],
         ["a-2", 1, False, 404, "status", a.app_id], ["a-2", 2, False, 200, None, a.app_id]]
    one = api.get("/api/v1/callbacks/a-2", query={"partnerId": a.partner_id}).json["Attempts"]
    assert [{name: r[name] for name in SHORT} for r in whole[2:]] == [{name: r[name] for name in SHORT} for r in one]

    assert ids(export(daemon, "rewards", "--partner", a.partner_id)) == ["a-1", "a-2", "a-3"]
    assert ids(export(daemon, "rewards", "--app", "second", key=a.key("callbacks:read"))) == ["a-3"]
    assert [r["AppId"] for r in rows(export(daemon, "statements", "--app", "second", "--partner", a.partner_id))] == \
        ["second"]
    csv_too = api.get("/api/v1/rewards", query={"partnerId": a.partner_id, "attempts": "true", "format": "csv"})
    assert csv_too.status == 400 and csv_too.json["errors"][0]["Parameter"] == "attempts"


def test_statements(daemon, world):
    a, other = world
    got = rows(export(daemon, "statements", "--partner", a.partner_id))
    assert list(got[0]) == ["PartnerId"] + STATEMENT
    assert [(r["Day"], r["AppId"], r["Count"], r["Reward"]) for r in got] == \
        [(FIRST, a.app_id, 1201, 120100.0), (LAST, a.app_id, 3, 100.0)]
    assert len(got[0]["Digest"]) == 64
    assert rows(export(daemon, "statements", "--app", a.app_id, key=a.key("reports:read"))) == \
        [{k: v for k, v in r.items() if k != "PartnerId"} for r in got]


def test_statements_whose_file_cannot_be_named_are_not_written_twice(daemon, world, tmp_path):
    """The last page ends the export: nothing says to go on behind it."""
    a, _ = world
    for partner in (["--partner", a.partner_id], []):
        words = ("statements", "--start-date", FIRST, *partner)
        whole, taken = tmp_path / "whole", tmp_path / "taken"
        assert export(daemon, *words, str(whole)).returncode == 0
        taken.mkdir()
        assert export(daemon, *words, str(taken)).returncode == 1
        taken.rmdir()
        assert export(daemon, *words, str(taken)).returncode == 0
        assert taken.read_bytes() == whole.read_bytes() != b""
        whole.unlink()
        taken.unlink()


@pytest.mark.parametrize("kind,count", [("rewards", 1205), ("events", 1206)])
def test_a_killed_run_goes_on_to_the_same_bytes(daemon, world, tmp_path, kind, count):
    a, _ = world
    words, said = (kind, "--format", "csv", "--partner", a.partner_id), "%d rows\n" % count
    whole, cut = tmp_path / "whole.csv", tmp_path / "cut.csv"
    assert export(daemon, *words, str(whole)).stderr == said
    assert sorted(os.listdir(tmp_path)) == ["whole.csv"]
    assert whole.stat().st_mode & 0o777 == 0o600

    # Cut where a kill can cut: behind the first page, in the middle of a line that no state tells of.
    part, state = tmp_path / "cut.csv.part", tmp_path / "cut.csv.part.state"
    with subprocess.Popen(command(daemon, *words, str(cut)), env=environment(), stderr=subprocess.PIPE) as run:
        eventually(lambda: state.exists() or run.poll() is not None, 30, what="the first page is written")
        run.kill()
    assert export(daemon, *words, str(cut)).stderr == said
    assert cut.read_bytes() == whole.read_bytes()
    cut.unlink()
    kept = whole.read_bytes().split(b"\r\n")[:501]
    saved = b"\r\n".join(kept) + b"\r\n"
    part.write_bytes(saved + b"p1,torn")
    seen = daemon.api().get("/api/v1/" + kind, query={"partnerId": a.partner_id, "startDate": FIRST, "endDate": LAST,
                                                      "limit": 500})
    export_of = "%s csv http://127.0.0.1:%d %s %s %s  true" % (kind, daemon.port, FIRST, LAST, a.partner_id)
    state.write_text(json.dumps({"Export": export_of, "Bytes": len(saved), "Rows": 500, "Day": FIRST,
                                 "After": seen.json["Next"], "Partner": a.partner_id, "PartnersAfter": ""}))

    # Another export does not write over it, one that can reach nobody leaves it as it is, ...
    refused = export(daemon, *words, "--app", a.app_id, str(cut))
    assert (refused.returncode, "another export" in refused.stderr) == (1, True)
    assert subprocess.run(command(daemon, *words, str(cut), server=("127.0.0.1", 1)), env=environment(), capture_output=True,
                          timeout=60).returncode == 1
    assert state.exists()
    # ... and the same command again goes on.
    assert export(daemon, *words, str(cut)).stderr == said
    assert cut.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["cut.csv", "whole.csv"]

    # What the file has lost since the state was written is written again.
    part.write_bytes(b"")
    state.write_text(json.dumps({"Export": export_of, "Bytes": len(saved), "Rows": 500, "Day": FIRST,
                                 "After": seen.json["Next"], "Partner": a.partner_id, "PartnersAfter": ""}))
    assert export(daemon, *words, str(cut)).stderr == said
    assert cut.read_bytes() == whole.read_bytes()


class Forwards(http.server.BaseHTTPRequestHandler):
    """A server of the test's own, which can be away: it hands requests on to the daemon."""

    def do_GET(self):
        asked = urllib.request.Request("http://127.0.0.1:%d%s" % (self.server.daemon_port, self.path),
                                       headers={"Authorization": self.headers["Authorization"]})
        body = urllib.request.urlopen(asked).read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def forward(daemon, port=0):
    """At an address of its own, where nobody takes its port while it is away."""
    server = http.server.HTTPServer(("127.0.0.9", port), Forwards)
    server.daemon_port = daemon.port
    return server


def test_it_waits_for_a_server_that_is_away(daemon, world, tmp_path):
    a, _ = world
    words, file = ("rewards", "--partner", a.partner_id), tmp_path / "rewards"
    server = forward(daemon)
    port = server.server_port
    with subprocess.Popen(command(daemon, *words, str(file), server=server.server_address), env=environment(), text=True,
                          stderr=subprocess.PIPE) as run:
        server.handle_request()
        server.server_close()
        assert run.stderr.readline().startswith("postbackd: waiting: the server cannot be reached: ")
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(4)  # longer than it gives a server that has never answered
        server = forward(daemon, port)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert (run.wait(60), run.stderr.read()) == (0, "1205 rows\n")
    server.shutdown()
    server.server_close()
    assert file.read_text() == export(daemon, *words).stdout


def test_refusals(daemon, world, tmp_path):
    a, _ = world
    for words, said in (((), "attempts or statements"), (("callbacks",), "events, rewards, attempts or statements"),
                        (("rewards", "--start-date", "2026-13-01"), "--start-date"),
                        (("rewards", "--start-date", LAST, "--end-date", FIRST), "--end-date"),
                        (("rewards", "--format", "parquet"), "ndjson or csv"),
                        (("rewards", "--app", "a/b"), "--app"), (("rewards", "--partner", "a b"), "--partner"),
                        (("rewards", "--app", a.app_id), "--partner")):
        run = export(daemon, *words)
        assert (run.returncode, said in run.stderr, run.stdout) == (2, True, ""), run
    for key, words in (("wrong-key", ()), (a.key("apps:read"), ()), (a.key("callbacks:read"), ("--app", "nobody")),
                       (None, ("--partner", "nobody"))):
        run = export(daemon, "rewards", *words, key=key)
        assert (run.returncode, run.stdout) == (1, "") and "rows" not in run.stderr, run
    assert export(daemon, "rewards", "--partner", a.partner_id, str(tmp_path / "no" / "file")).returncode == 1
    (tmp_path / "device").symlink_to("/dev/null")
    run = export(daemon, "rewards", "--partner", a.partner_id, str(tmp_path / "device"))
    assert (run.returncode, "not a regular file" in run.stderr) == (1, True), run
    assert (tmp_path / "device").is_symlink()
    with open("/dev/full", "w") as full:
        run = subprocess.run(command(daemon, "rewards", "--partner", a.partner_id), env=environment(), stdout=full,
                             stderr=subprocess.PIPE, text=True, timeout=60)
    assert (run.returncode, "cannot be written" in run.stderr) == (1, True), run

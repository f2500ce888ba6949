"""postbackd import apps: publishers of another network, with their receivers' settings and secrets."""
import json
import os
import subprocess

import pytest

from harness import BINARY, OPERATOR_KEY, assert_signed, eventually

SECRET = "from-the-other-network"


def run(daemon, path, stdin="", key=OPERATOR_KEY):
    url = "http://127.0.0.1:%d" % daemon.port
    return subprocess.run([BINARY, "import", "apps", str(path), "--url", url], input=stdin, capture_output=True,
                          text=True, timeout=120, env={**os.environ, "POSTBACKD_OPERATOR_KEY": key})


def lines(*apps):
    return "".join(json.dumps(app) + "\n" for app in apps)


def app(app_id, partner_id="moved", **more):
    return {"PartnerId": partner_id, "AppId": app_id, "CurrencyValue": "100", **more}


def audited(daemon, action):
    return daemon.api().get("/api/v1/audit", query={"action": action, "limit": "500"}).json["Items"]


def test_a_receiver_gets_callbacks_signed_with_the_secret_that_it_has(daemon, tmp_path, receiver):
    file = tmp_path / "apps.ndjson"
    file.write_text("\n" + lines(
        app("moved-a", PartnerName="Moved Ünited", Name="Ä", CallbackSecret=SECRET, SuccessCallbackUrl=receiver.url,
            RewardTypes=["survey_completed"], SuccessAnswer={"Contains": "k"}, TrimDecimals=True),
        app("moved-b", PartnerName="Moved Ünited", RequestFormat="get")))
    receiver.answer = lambda request: (200, {}, b"ok")
    first = run(daemon, file)
    assert (first.returncode, first.stdout) == (0, ""), first
    assert first.stderr == "2 apps made (and 1 partners), 0 there already, 0 rejected\n"
    api = daemon.api()
    assert api.get("/api/v1/partners/moved").json["Name"] == "Moved Ünited"
    made = api.get("/api/v1/apps/moved-a").json
    assert (made["Name"], made["RewardTypes"], made["SuccessAnswer"], made["TrimDecimals"]) == (
        "Ä", ["survey_completed"], {"Contains": "k"}, True)
    assert api.get("/api/v1/apps/moved-b").json["RequestFormat"] == "get"
    assert api.get("/api/v1/apps/moved-a/secret").json["CallbackSecret"] == SECRET
    assert api.post("/api/v1/apps/moved-a/clients", {"ClientId": "moved-c", "Integration": "sdk"}).status == 201
    api.events([{"EventId": "moved-1", "Type": "survey_completed", "ClientId": "moved-c", "PanelistId": "u",
                 "RevenueAmount": "1"}])
    assert_signed(receiver.wait_for("moved-1")[0], SECRET)

    second = run(daemon, "-", stdin=file.read_text())
    assert (second.returncode, second.stderr) == (0, "0 apps made (and 0 partners), 2 there already, 0 rejected\n")
    assert api.get("/api/v1/apps/moved-a").json == made
    assert SECRET not in first.stderr + second.stderr + daemon.log_text()


def test_beyond_the_most_apps_the_answer_names_the_limit(daemon, tmp_path):
    file = tmp_path / "apps.ndjson"
    file.write_text(lines(*(app("full-%d" % i, "full", PartnerName="Full") for i in range(5002))))
    first = run(daemon, file)
    assert first.returncode == 1 and first.stderr.splitlines() == [
        "line %d: AppId: This account has 5000 apps, the most it may have. Apps are never deleted: "
        "change one that is not used." % line for line in (5001, 5002)
    ] + ["5000 apps made (and 1 partners), 0 there already, 2 rejected"], first
    answer = daemon.api().post("/api/v1/partners/full/apps", {"CurrencyValue": 1})
    assert (answer.status, answer.json["errors"][0]["Code"]) == (409, "too_many")
    assert "5000 apps" in answer.json["detail"]
    assert daemon.api().post("/api/v1/partners/full/apps", app("full-7", PartnerId=None)).status == 400
    again = daemon.api().post("/api/v1/partners/full/apps", {"AppId": "full-7", "CurrencyValue": 1})
    assert (again.status, again.json["errors"][0]["Code"]) == (409, "conflict")


WRONG = [
    ("{", "is no JSON"), ("[]", "must be a JSON object"), ('{"AppId":"x"}', "PartnerId: "), ('{"PartnerId":"x"}', "AppId: "),
    (lines(app("a b")), "AppId: must be 1 to 64"), (lines(app("x", "a/b")), "PartnerId: must be 1 to 64"),
    (lines(app("x", PartnerName=5)), "PartnerName: "), (lines(app("good")), "AppId: good is on line 1 already"),
    (lines(app("x", Name="n" * 70000)), "is longer than"),
]


@pytest.mark.parametrize("line,said", WRONG, ids=range(len(WRONG)))
def test_a_line_that_is_wrong_is_named_and_nothing_is_made(daemon, line, said):
    done = run(daemon, "-", stdin=lines(app("good", "good", PartnerName="Good")) + "\n" + line)
    assert done.returncode == 1 and "line 3: " in done.stderr and said in done.stderr, done
    assert "nothing was made" in done.stderr and daemon.api().get("/api/v1/partners/good").status == 404


def test_what_only_the_server_knows_is_said_with_its_line(daemon):
    mine = lines(app("server-a", "server", PartnerName="Server"))
    assert run(daemon, "-", stdin=mine).returncode == 0
    done = run(daemon, "-", stdin=lines(
        app("server-b", "server", CallbackSecret="short", RewardDecimals=9), app("server-c", "no-such-partner"),
        app("server-a", "server-2", PartnerName="Second"), app("server-d", "server", SuccesCallbackUrl="http://x.example"),
        {"PartnerId": "server", "AppId": "server-e"}, app("server-g", "server")))
    assert done.returncode == 1
    said = done.stderr.splitlines()
    assert "line 2: PartnerId: there is no such partner: PartnerName makes one" in said
    assert [line for line in said if line.startswith("line 3: ") and "taken" in line] != [], said
    assert [line.split(": ")[1] for line in said if line[:7] in ("line 1:", "line 4:", "line 5:")] == [
        "RewardDecimals", "CallbackSecret", "SuccesCallbackUrl", "CurrencyValue"]  # two of one line, which counts once
    assert said[-1] == "1 apps made (and 1 partners), 0 there already, 5 rejected"
    assert daemon.api().get("/api/v1/apps/server-g").status == 200
    assert daemon.api().get("/api/v1/partners/server-2").status == 200


def test_a_second_run_asks_once_for_each_app(daemon):
    """However many apps the partner has: only the apps of the file are read."""
    many = lines(*(app("many-%d" % i, "many", PartnerName="Many") for i in range(510)))
    assert run(daemon, "-", stdin=many).stderr.startswith("510 apps made (and 1 partners)")
    again = lines(*(app("many-%d" % i, "many") for i in (0, 250, 509)))
    read = 'postbackd_http_responses_total{status="200"}'
    before = daemon.metrics()[read]
    assert run(daemon, "-", stdin=again).stderr == "0 apps made (and 0 partners), 3 there already, 0 rejected\n"
    assert daemon.metrics()[read] - before == 1 + 3  # one answer of /metrics itself


def test_a_wrong_key_stops_it(daemon):
    done = run(daemon, "-", stdin=lines(app("keyless"), app("keyless-2")), key="not-the-key-of-it")
    assert done.returncode == 1 and "stopped at line 1" in done.stderr and "keyless" not in done.stdout


def test_a_daemon_that_is_killed_in_the_middle(own_daemon):
    """The import waits for it; each app is there once, with its secret."""
    d = own_daemon.start()
    text = lines(*(app("kill-%d" % i, "kill", PartnerName="Kill", CallbackSecret="secret-of-%d" % i) for i in range(300)))
    importing = subprocess.Popen([BINARY, "import", "apps", "-", "--url", "http://127.0.0.1:%d" % d.port],
                                 stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, "POSTBACKD_OPERATOR_KEY": OPERATOR_KEY})
    importing.stdin.write(text)
    importing.stdin.close()
    importing.stdin = None
    eventually(lambda: d.api().get("/api/v1/apps/kill-20").status == 200, 60)
    d.kill()
    d.start()
    _, stderr = importing.communicate(timeout=300)
    assert importing.returncode == 0, stderr
    assert len(audited(d, "app.created")) == 300
    assert d.api().get("/api/v1/apps/kill-299/secret").json["CallbackSecret"] == "secret-of-299"

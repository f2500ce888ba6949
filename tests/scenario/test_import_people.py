"""postbackd import people: who is invited, who is there already, and what is wrong with a line."""
import json
import os
import re
import signal
import subprocess

import pytest

from harness import BINARY, OPERATOR_KEY, Daemon, eventually
from people import PASSWORD, Browser, partner, person


def run(daemon, path, stdin="", key=OPERATOR_KEY):
    url = "http://127.0.0.1:%d" % daemon.port
    return subprocess.run([BINARY, "import", "people", str(path), "--url", url], input=stdin, capture_output=True,
                          text=True, timeout=120, env={**os.environ, "POSTBACKD_OPERATOR_KEY": key})


def lines(*people):
    return "".join(json.dumps(p) + "\n" for p in people)


def users(daemon, partner_id=None):
    query = {"limit": "500", **({"partnerId": partner_id} if partner_id else {})}
    return {u["Email"]: u for u in daemon.api().get("/api/v1/users", query=query).json["Items"]}


def test_people_are_invited_and_a_second_run_changes_nothing(daemon, tmp_path):
    p = partner(daemon)
    file = tmp_path / "people.ndjson"
    file.write_text(lines({"Email": "Ada@Import.test", "Role": "admin", "Name": "Ada", "UserId": "u_import_ada"}) + "\n" + lines(
        {"Email": "bo@import.test", "Role": "owner", "PartnerId": p}, {"Email": "ada@import.test", "Role": "analyst", "PartnerId": p}))
    first = run(daemon, file)
    assert first.returncode == 0, first
    assert first.stderr == "3 invited (0 by e-mail), 0 there already (0 still invited), 0 rejected\n"
    made = [json.loads(line) for line in first.stdout.splitlines()]
    assert [(m["Email"], m["PartnerId"]) for m in made] == [
        ("ada@import.test", None), ("bo@import.test", p), ("ada@import.test", p)]
    ada, of_partner = users(daemon)["ada@import.test"], users(daemon, p)
    assert (ada["UserId"], ada["Name"], ada["Role"], ada["Invited"]) == ("u_import_ada", "Ada", "admin", True)
    assert {e: u["Role"] for e, u in of_partner.items()} == {"bo@import.test": "owner", "ada@import.test": "analyst"}
    joined = Browser(daemon)
    token = made[1]["Link"].split("#")[1]
    assert joined.post("/api/v1/links/use", {"Token": token, "Password": PASSWORD}).json["User"]["Role"] == "owner"

    second = run(daemon, "-", stdin="\ufeff" + file.read_text())
    assert (second.returncode, second.stdout) == (0, "")
    assert second.stderr == "0 invited (0 by e-mail), 3 there already (2 still invited), 0 rejected\n"
    assert users(daemon, p)["ada@import.test"] == of_partner["ada@import.test"]
    other = Browser(daemon)  # the first run's link is still good
    assert other.post("/api/v1/links/use", {"Token": made[2]["Link"].split("#")[1], "Password": PASSWORD}).status == 200
    created = daemon.api().get("/api/v1/audit", query={"action": "user.created", "partnerId": p}).json["Items"]
    assert len(created) == 2


def test_beyond_the_most_people_the_answer_names_the_limit(daemon, tmp_path):
    p = partner(daemon)
    file = tmp_path / "people.ndjson"
    file.write_text(lines(*({"Email": "n%d@full.test" % i, "Role": "analyst", "PartnerId": p} for i in range(1001))))
    first = run(daemon, file)
    assert first.returncode == 1 and first.stderr.splitlines() == [
        "line 1001: Email: This account has 1000 people, the most it may have. Remove one first.",
        "1000 invited (0 by e-mail), 0 there already (0 still invited), 1 rejected"], first
    api, path = daemon.api(), "/api/v1/users"
    new = {"Email": "new@full.test", "Role": "analyst"}
    answer = api.post(path, new, query={"partnerId": p})
    assert answer.status == 409 and "1000 people" in answer.json["detail"]
    user = api.get(path, query={"partnerId": p, "email": "n7@full.test"}).json["Items"][0]
    assert api.delete(path + "/" + user["UserId"]).status == 204
    assert api.post(path, new, query={"partnerId": p}).status == 201


WRONG = [
    ("{", "is no JSON"), ("[]", "must be a JSON object"), ('{"Email":"x@y.test"}', "Role: "),
    (lines({"Email": "x@y.test", "Role": "admin", "Password": "correct horse battery"}), "Password: passwords are not taken"),
    (lines({"Email": "nobody", "Role": "admin"}), "Email: must be an e-mail address"),
    (lines({"Email": "x@b\u00fccher.test", "Role": "admin"}), "Email: must be in ASCII"),
    (lines({"Email": "x@y.test", "Role": "owner"}), "Role: must be admin or support (or add PartnerId)"),
    (lines({"Email": "x@y.test", "Role": "admin", "PartnerId": "p"}), "Role: must be owner, developer or analyst"),
    (lines({"Email": "x@y.test", "Role": "admin", "Rolle": "x"}), "Rolle: "),
    (lines({"Email": "x@y.test", "Role": "admin", "SendMail": "yes"}), "SendMail: "),
    (lines({"Email": "x@y.test", "Role": "admin", "PartnerId": "a b"}), "PartnerId: "),
    ('{"Email":"x@y.test","Role":"admin","Role":"support"}', "Role: "),
    (lines({"Email": "x@y.test", "Role": "admin", "Name": "n" * 70000}), "is longer than"),
    ("\0", "has a NUL byte"), (lines({"Email": "x@y.test", "Role": "admin"})[:-1] + "\0", "has a NUL byte: save the file as UTF-8"),
    (lines({"Email": "GOOD@import.test", "Role": "support"}), "Email: good@import.test is on line 1 already"),
]


@pytest.mark.parametrize("line,said", WRONG, ids=range(len(WRONG)))
def test_a_line_that_is_wrong_is_named_and_nobody_is_invited(daemon, line, said):
    done = run(daemon, "-", stdin=lines({"Email": "good@import.test", "Role": "admin"}) + "\n" + line)
    assert done.returncode == 1 and done.stdout == ""
    assert "line 3: " in done.stderr and said in done.stderr and "nobody was invited" in done.stderr, done
    assert "battery" not in done.stderr and "good@import.test" not in users(daemon)


def test_what_only_the_server_knows_is_said_with_its_line(daemon):
    p = partner(daemon)
    owner = person(daemon, "owner", p)
    done = run(daemon, "-", stdin=lines(
        {"Email": owner.email, "Role": "analyst", "PartnerId": p},
        {"Email": "cy@import.test", "Role": "owner", "PartnerId": "no-such-partner"},
        {"Email": "di@import.test", "Role": "owner", "PartnerId": p, "UserId": owner.user_id},
        {"Email": "ed@import.test", "Role": "owner", "PartnerId": p, "SendMail": True},
        {"Email": "flo@import.test", "Role": "owner", "PartnerId": p, "SendMail": False},
        {"Email": owner.email, "Role": "admin"}))
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "line 1: Role: %s is there as owner; import changes nobody: change the role on the people page" % owner.email,
        "line 2: PartnerId: there is no such partner",
        "line 3: The UserId is taken. Choose another, or leave it out.",
        "line 4: No link can be sent by e-mail here. Leave SendMail out, and pass the link on yourself.",
        "2 invited (0 by e-mail), 0 there already (0 still invited), 4 rejected"]
    assert owner.session()["User"]["Role"] == "owner"


def test_none_and_very_many(daemon):
    p = partner(daemon)
    assert run(daemon, "-").stderr.startswith("0 invited")
    many = lines(*({"Email": "many-%d@import.test" % i, "Role": "analyst", "PartnerId": p} for i in range(300)))
    done = run(daemon, "-", stdin=many)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == len(users(daemon, p)) == 300, done.stderr
    assert "300 there already (300 still invited)" in run(daemon, "-", stdin=many).stderr


def test_links_go_by_mail_where_the_server_sends_any(tmp_path):
    """Up to the 20 mails of an account in an hour; the other links are printed."""
    d = Daemon(tmp_path, "--smtp-url", "smtp://127.0.0.1:9", "--mail-from", "postbackd@example.test",
               "--public-url", "http://localhost").start()
    done = run(d, "-", stdin=lines(*({"Email": "mail-%d@import.test" % i, "Role": "support"} for i in range(22)),
                                   {"Email": "by-hand@import.test", "Role": "support", "SendMail": False}))
    assert done.returncode == 0
    counts = re.fullmatch(r"23 invited \((\d+) by e-mail\), 0 there already \(0 still invited\), 0 rejected\n", done.stderr)
    printed = [json.loads(line)["Email"] for line in done.stdout.splitlines()]
    assert int(counts[1]) >= 20 and len(printed) == 23 - int(counts[1]) and "by-hand@import.test" in printed
    assert d.stop() == 0


def test_a_wrong_key_and_a_wrong_command_line(daemon, tmp_path):
    done = run(daemon, "-", stdin=lines({"Email": "gus@import.test", "Role": "admin"}), key="not-the-key-of-it")
    assert done.returncode == 1 and "line 1: " in done.stderr and "stopped at line 1" in done.stderr
    assert run(daemon, tmp_path / "none").returncode == 1
    for operands in (["persons", "x"], ["people"], ["people", "x", "y"], []):
        wrong = subprocess.run([BINARY, "import", *operands], capture_output=True, text=True, timeout=60,
                               env={**os.environ, "POSTBACKD_OPERATOR_KEY": OPERATOR_KEY})
        assert wrong.returncode in (1, 2) and "postbackd: " in wrong.stderr, operands


def test_a_wait_for_the_limit_of_reads_is_said(own_daemon, tmp_path):
    """A second run asks about each person who is there; a minute has so many reads for a key."""
    settings = tmp_path / "conf"
    settings.write_text("reads-per-minute = 3\n")
    own_daemon.options = ["--config", str(settings)]
    d = own_daemon.start()
    file = tmp_path / "people.ndjson"
    file.write_text(lines(*({"Email": "slow-%d@import.test" % i, "Role": "support"} for i in range(5))))
    assert run(d, file).returncode == 0
    again = subprocess.Popen([BINARY, "import", "people", str(file), "--url", "http://127.0.0.1:%d" % d.port],
                             stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "POSTBACKD_OPERATOR_KEY": OPERATOR_KEY})
    said = again.stderr.readline()
    assert re.fullmatch(r"postbackd: waiting \d+ s, as the server asks \(status 429\)\n", said), said
    settings.write_text("reads-per-minute = 100\n")
    d.process.send_signal(signal.SIGHUP)
    assert again.stderr.read() == "0 invited (0 by e-mail), 5 there already (5 still invited), 0 rejected\n"
    assert again.wait(60) == 0


def test_a_daemon_that_is_killed_in_the_middle(own_daemon):
    """The import waits for it; whoever was invited before is there once."""
    d = own_daemon.start()
    p = partner(d)
    text = lines(*({"Email": "kill-%d@import.test" % i, "Role": "analyst", "PartnerId": p} for i in range(400)))
    url = "http://127.0.0.1:%d" % d.port
    importing = subprocess.Popen([BINARY, "import", "people", "-", "--url", url], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, "POSTBACKD_OPERATOR_KEY": OPERATOR_KEY})
    importing.stdin.write(text)
    importing.stdin.close()
    importing.stdin = None
    eventually(lambda: len(users(d, p)) >= 20, 60)
    d.kill()
    d.start()
    stdout, stderr = importing.communicate(timeout=300)
    assert importing.returncode == 0, stderr
    assert len(users(d, p)) == 400
    # One that was invited while the daemon died may have lost its answer, and with it its link.
    assert len(stdout.splitlines()) in (399, 400), stderr

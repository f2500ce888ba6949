"""One-time links by e-mail: invitations, new passwords, and who has forgotten one."""
import json
import re

import pytest

from checks import assert_problem
from harness import eventually
from people import PASSWORD, Browser, partner
from test_mail import FROM, mails
from test_sign_in import reload

URL = "https://wall.example"


def start(daemon, server, *options):
    daemon.options += ["--smtp-url", server.url(), "--mail-from", FROM, *options]
    return daemon.start()


@pytest.fixture
def daemon(own_daemon, server):
    return start(own_daemon, server, "--public-url", URL + "/")


def invite(d, email, partner_id=None, **more):
    query = {"partnerId": partner_id} if partner_id else {}
    role = "owner" if partner_id else "admin"
    made = d.api().request("POST", "/api/v1/users", {"Email": email, "Role": role, **more}, query=query)
    assert made.status == 201, made
    return made.json


def to(server, email):
    return [mail for _, mail in mails(server) if mail["To"] == email]


def token_of(mail):
    return re.search(re.escape(URL) + r"/link#(\S+)\n", mail.get_body().get_content())[1]


def use(d, token, password=PASSWORD):
    return Browser(d).post("/api/v1/links/use", {"Token": token, "Password": password})


def audited(d, action):
    return [e for e in d.api().get("/api/v1/audit").json["Items"] if e["Action"] == action]


def settled(d):
    eventually(lambda: d.metrics()["postbackd_link_mails_owed"] == 0)
    return d.metrics()


def test_an_invitation_arrives_and_opens_once(daemon, server):
    account = partner(daemon, "Ünited Rewards")
    made = invite(daemon, "ada@b.example", account)
    assert made["MailQueued"] is True
    mail, = eventually(lambda: to(server, "ada@b.example"))
    text = mail.get_body().get_content()
    assert mail["Subject"] == "Your invitation"
    assert "Ünited Rewards (%s)" % account in text and "User: ada@b.example" in text and made["LinkExpiresAt"] in text
    assert made["Link"] == "%s/link#%s" % (URL, token_of(mail))
    numbers = settled(daemon)
    assert (numbers["postbackd_link_mails_sent_total"], numbers["postbackd_link_mails_failed_total"]) == (1, 0)
    assert use(daemon, token_of(mail)).status == 200
    assert use(daemon, token_of(mail)).status == 404
    again = daemon.api().post("/api/v1/users/%s/link" % made["User"]["UserId"], {}, query={"partnerId": account})
    assert (again.status, again.json["MailQueued"], again.json["Kind"]) == (200, True, "reset"), again
    second = eventually(lambda: to(server, "ada@b.example")[1:])[0]
    assert second["Subject"] == "Your new password" and second["Message-ID"] != mail["Message-ID"]
    assert use(daemon, token_of(second), PASSWORD + "2").status == 200
    assert "/link#" not in daemon.log_text()


def test_not_wanted_and_not_possible(daemon, server, tmp_path):
    made = invite(daemon, "quiet@b.example", SendMail=False)
    assert made["MailQueued"] is False
    assert use(daemon, made["Link"].split("#")[1]).status == 200
    loud = invite(daemon, "loud@b.example")
    assert loud["MailQueued"] and eventually(lambda: to(server, "loud@b.example"))
    assert to(server, "quiet@b.example") == []


@pytest.mark.parametrize("options", [[], ["--public-url", URL]])
def test_a_server_without_mail_or_url_says_so(own_daemon, server, options):
    """Without a public URL only the Host header would say where the link leads, and that is the asker's."""
    d = own_daemon
    d.options += options
    d = d.start() if options else start(d, server)
    assert invite(d, "a@b.example")["MailQueued"] is False
    refused = d.api().post("/api/v1/users", {"Email": "c@d.example", "Role": "admin", "SendMail": True})
    assert_problem(refused, 409)
    answer = Browser(d).post("/api/v1/links/request", {"Email": "a@b.example"})
    assert_problem(answer, 409)
    assert mails(server) == []


def test_what_is_owed_survives_a_kill_and_a_used_link_is_not_sent(own_daemon, server):
    server.says["MAIL"] = "451 later"
    d = start(own_daemon, server, "--public-url", URL)
    made, used = invite(d, "a@b.example"), invite(d, "used@b.example")
    eventually(lambda: d.metrics()["postbackd_link_mails_failed_total"] >= 1)
    mailed = d.api().get("/api/v1/system").json["LinkMails"]
    assert mailed["Owed"] == 2 and mailed["Failed"] >= 1 and (mailed["Sent"], mailed["GivenUp"]) == (0, 0)
    assert use(d, used["Link"].split("#")[1]).status == 200
    d.kill()
    del server.says["MAIL"]
    d.start()
    mail = eventually(lambda: to(server, "a@b.example"))[0]
    assert made["Link"].endswith("#" + token_of(mail))  # the same, though only its hash was kept
    settled(d)
    assert to(server, "used@b.example") == []
    d.restart()
    assert settled(d)["postbackd_link_mails_sent_total"] == 0 and len(mails(server)) == 1


def test_one_bad_address_holds_up_nobody(daemon, server):
    """What is refused for good is not tried again, and what is refused for now is."""
    server.says["RCPT"] = "550 5.1.1 no such user"
    for i in range(5):
        invite(daemon, "nobody%d@b.example" % i)
    numbers = settled(daemon)
    assert [numbers["postbackd_link_mails_%s_total" % n] for n in ("given_up", "failed", "sent")] == [5, 0, 0]
    assert "550 5.1.1 no such user" in daemon.log_text()
    server.says["RCPT"] = "451 4.7.1 greylisted"
    invite(daemon, "later@b.example")
    eventually(lambda: daemon.metrics()["postbackd_link_mails_failed_total"] >= 1)
    del server.says["RCPT"]
    invite(daemon, "a@b.example")
    eventually(lambda: to(server, "a@b.example") and to(server, "later@b.example"), 30)
    assert len(mails(server)) == 2


def test_a_server_that_hangs_holds_up_no_stop(daemon, server):
    server.says["MAIL"] = "hang"
    invite(daemon, "a@b.example")
    eventually(lambda: [line for line in server.lines if line.startswith("MAIL")])
    assert daemon.stop() == 0


def test_a_stop_waits_for_the_answer_of_a_mail_that_the_server_has(own_daemon, server):
    d = start(own_daemon, server, "--public-url", URL)
    came = server.answer_late("250 kept", 2)
    invite(d, "a@b.example")
    assert came.wait(30)
    assert d.stop() == 0
    assert "link_mail_sent" in d.log_text()
    d.start()
    assert d.metrics()["postbackd_link_mails_owed"] == 0
    assert len(to(server, "a@b.example")) == 1


def test_the_name_of_an_account_is_not_read_as_lines(daemon, server):
    account = partner(daemon)
    named = {"Name": "Acme\nUser: eve@evil.example\u2029Good once, \u202euntil: never"}
    assert daemon.api().patch("/api/v1/partners/" + account, named).status == 200
    invite(daemon, "ada@b.example", account)
    mail, = eventually(lambda: to(server, "ada@b.example"))
    lines = mail.get_body().get_content().splitlines()
    assert "Account: Acme User: eve@evil.example Good once,  until: never (%s)" % account in lines, lines
    assert [line for line in lines if line.startswith("User: ")] == ["User: ada@b.example"]


def test_a_forgotten_password(daemon, server):
    first, second = partner(daemon), partner(daemon)
    for account in (first, second):
        made = invite(daemon, "ada@b.example", account, SendMail=False)
        assert use(daemon, made["Link"].split("#")[1]).status == 200
    invited = invite(daemon, "new@b.example", first, SendMail=False)
    stranger = Browser(daemon)
    for email in ("ada@b.example", "ADA@b.example", "nobody@b.example", "new@b.example"):
        answer = stranger.post("/api/v1/links/request", {"Email": email})
        assert (answer.status, answer.body) == (202, b""), answer
    settled(daemon)
    both = eventually(lambda: len(to(server, "ada@b.example")) == 2 and to(server, "ada@b.example"))
    assert len(audited(daemon, "user.link_requested")) == 2  # the second time they are still good
    for mail in both:
        assert use(daemon, token_of(mail), PASSWORD + " again").status == 200
    # Who has no password yet was invited by somebody, and that link ends with its maker.
    assert len(mails(server)) == 2
    assert use(daemon, invited["Link"].split("#")[1]).status == 200


def test_a_stranger_ends_no_link(own_daemon, server):
    """Of one that was handed over nobody knows the token: it stays. One that was mailed stays, too."""
    d = start(own_daemon, server)  # it does not know where it is, so its links are handed over
    made = invite(d, "ada@b.example")
    assert use(d, made["Link"].split("#")[1]).status == 200
    user = "/api/v1/users/" + made["User"]["UserId"]
    handed = d.api().post(user + "/link", {}).json["Link"].split("#")[1]
    assert d.stop() == 0
    d.options += ["--public-url", URL]
    d.start()
    assert Browser(d).post("/api/v1/links/request", {"Email": "ada@b.example"}).status == 202
    settled(d)
    assert use(d, handed).status == 200 and mails(server) == []
    assert d.api().post(user + "/link", {}).json["MailQueued"]
    mail, = eventually(lambda: to(server, "ada@b.example"))
    settled(d)  # while it is under way a request is answered by it
    assert Browser(d).post("/api/v1/links/request", {"Email": "ada@b.example"}).status == 202
    again = eventually(lambda: to(server, "ada@b.example")[1:])[0]
    assert token_of(again) == token_of(mail) and use(d, token_of(mail)).status == 200


def test_who_asks_for_too_many_waits(daemon, server):
    stranger = Browser(daemon)
    answers = [stranger.post("/api/v1/links/request", {"Email": "nobody%d@b.example" % i}) for i in range(21)]
    assert [a.status for a in answers[:20]] == [202] * 20
    assert answers[20].status == 429 and int(answers[20].headers["Retry-After"]) > 0
    for body in ({}, {"Email": "x"}, {"Email": None}, {"Email": "a@b.example", "Name": "x"}):
        assert_problem(stranger.post("/api/v1/links/request", body), 400)
    queued = [invite(daemon, "many%d@b.example" % i)["MailQueued"] for i in range(21)]
    assert queued == [True] * 20 + [False]


def test_the_maker_is_removed_before_the_mail_goes(own_daemon, server):
    server.says["MAIL"] = "451 later"
    d = start(own_daemon, server, "--public-url", URL)
    account = partner(d)
    owners = []
    for name in ("boss", "mole"):
        made = invite(d, "%s@b.example" % name, account, SendMail=False)
        owners.append(Browser(d))
        assert owners[-1].post("/api/v1/links/use", {"Token": made["Link"].split("#")[1], "Password": PASSWORD}).status == 200
    by_mole = owners[1].post("/api/v1/users", {"Email": "friend@b.example", "Role": "owner"})
    assert by_mole.status == 201 and by_mole.json["MailQueued"]
    mole = d.api().get("/api/v1/users", query={"partnerId": account, "email": "mole@b.example"}).json["Items"][0]
    assert owners[0].delete("/api/v1/users/" + mole["UserId"]).status == 204
    del server.says["MAIL"]
    assert eventually(lambda: d.metrics()["postbackd_link_mails_given_up_total"] == 1, 30)
    assert mails(server) == []


def test_who_has_no_password_here_is_mailed_no_link_to_one(own_daemon, server, tmp_path):
    """Operators sign in by an identity provider alone; a partner's people have passwords."""
    file, secret = tmp_path / "providers", tmp_path / "secret"
    secret.write_text("a secret of the client")
    entry = {"Name": "Staff", "Issuer": "https://sign-in.example", "ClientId": "c", "ClientSecretFile": str(secret),
             "Groups": {"staff": "admin"}}
    file.write_text(json.dumps({"Providers": [entry]}))
    d = start(own_daemon, server, "--public-url", URL, "--sign-in-file", str(file))
    account = partner(d)
    for where in (None, account):
        made = invite(d, "ada@b.example", where, SendMail=False)
        assert use(d, made["Link"].split("#")[1]).status == 200
    file.write_text(json.dumps({"Providers": [{**entry, "Passwords": False}]}))
    reload(d)
    assert invite(d, "new@b.example")["MailQueued"] is False
    assert Browser(d).post("/api/v1/links/request", {"Email": "ada@b.example"}).status == 202
    mail, = eventually(lambda: to(server, "ada@b.example"))
    assert "(%s)" % account in mail.get_body().get_content()
    settled(d)
    assert len(mails(server)) == 1 and len(audited(d, "user.link_requested")) == 1


def test_of_a_disabled_partner_nobody_is_mailed_a_link(daemon, server):
    first, second = partner(daemon), partner(daemon)
    for account in (first, second):
        made = invite(daemon, "ada@b.example", account, SendMail=False)
        assert use(daemon, made["Link"].split("#")[1]).status == 200
    assert daemon.api().patch("/api/v1/partners/" + first, {"Enabled": False}).status == 200
    assert Browser(daemon).post("/api/v1/links/request", {"Email": "ada@b.example"}).status == 202
    mail, = eventually(lambda: to(server, "ada@b.example"))
    assert "(%s)" % second in mail.get_body().get_content()
    settled(daemon)
    assert len(mails(server)) == 1 and len(audited(daemon, "user.link_requested")) == 1

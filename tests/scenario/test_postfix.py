"""E-mail through a mail server that others wrote: Debian's Postfix."""
import pytest

from harness import eventually
from people import PASSWORD, partner as account_of_people
from postfix import Postfix
from raw import Authority
from smtp import MailServer
from test_link_mail import URL, invite, to, token_of, use
from test_mail import FROM, TO, mails, partner
from test_operations import SCHEDULE

USER = ("postbackd", "hunter2 & co")


@pytest.fixture
def onward():
    s = MailServer()
    yield s
    s.close()


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def postfix(authority, onward):
    p = Postfix(authority.sign("mail"), USER, onward.port)
    yield p
    p.close()


def start(daemon, authority, url, password=USER[1]):
    daemon.schedule = SCHEDULE
    daemon.options += ["--operations-spacing", "1", "--smtp-url", url, "--mail-from", FROM, "--ca-file", authority.file,
                       "--smtp-user", USER[0], "--public-url", URL]
    daemon.env["POSTBACKD_SMTP_PASSWORD"] = password
    return daemon.start()


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_it_takes_what_is_told_and_links(own_daemon, authority, postfix, onward, scheme):
    """By STARTTLS and by TLS from the start: it takes a mail from nobody without TLS and a password."""
    daemon = start(own_daemon, authority, "%s://localhost:%d" % (scheme, getattr(postfix, scheme)))
    p = partner(daemon)
    p.suspend()
    down, = eventually(lambda: to(onward, TO))
    assert down["Subject"] == "%s: the Success Callback URL is down" % p.app_id
    assert "\nFix: " in down.get_body().get_content()
    invite(daemon, "ada@b.example", account_of_people(daemon, "Ünited Rewards"))
    invitation, = eventually(lambda: to(onward, "ada@b.example"))
    assert "Ünited Rewards" in invitation.get_body().get_content()
    assert use(daemon, token_of(invitation), PASSWORD).status == 200
    assert {envelope["MAIL"].split(" ")[1] for envelope, _ in mails(onward)} == {"FROM:<%s>" % FROM}
    assert "sasl_method=PLAIN, sasl_username=" + USER[0] in postfix.log()
    p.receiver.close()


def test_a_wrong_password_waits_where_the_operator_sees_it_until_it_is_right(own_daemon, authority, postfix, onward):
    daemon = start(own_daemon, authority, "smtp://localhost:%d" % postfix.smtp, password="wrong")
    invite(daemon, "ada@b.example")
    eventually(lambda: daemon.metrics()["postbackd_link_mails_failed_total"] >= 1)
    waiting = daemon.api().get("/api/v1/system").json["LinkMails"]
    assert (waiting["Owed"], waiting["Sent"], waiting["GivenUp"]) == (1, 0, 0)
    assert "535 5.7.8" in daemon.log_text() and "SASL PLAIN authentication failed" in postfix.log()
    daemon.kill()
    daemon.env["POSTBACKD_SMTP_PASSWORD"] = USER[1]
    daemon.start()
    eventually(lambda: to(onward, "ada@b.example"))
    eventually(lambda: daemon.api().get("/api/v1/system").json["LinkMails"]["Owed"] == 0)
    assert len(mails(onward)) == 1 and not any(word in daemon.log_text() for word in (USER[1], "wrong\""))

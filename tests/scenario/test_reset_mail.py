"""By e-mail to whose second factor somebody else has reset: it is the person who must know of it."""
import pytest

from harness import eventually
from people import PASSWORD, enrol, partner, person
from test_link_mail import URL, settled, start, to
from test_mail import mails

SUBJECT = "Your second factor was reset"


@pytest.fixture
def daemon(own_daemon, server):
    return start(own_daemon, server, "--public-url", URL)


def told(server, email):
    return [mail for mail in to(server, email) if mail["Subject"] == SUBJECT]


def reset(d, who, account=None):
    query = {"partnerId": account} if account else {}
    answer = d.api().request("DELETE", "/api/v1/users/%s/second-factor" % who.user_id, query=query)
    assert answer.status == 204, answer


def test_who_had_one_is_told_once(daemon, server):
    account = partner(daemon, "Ünited Rewards")
    ada = person(daemon, "owner", account)
    reset(daemon, ada, account)  # there is none: nothing has changed for her
    enrol(ada)
    reset(daemon, ada, account)
    mail, = eventually(lambda: told(server, ada.email))
    text = mail.get_body().get_content()
    assert "Ünited Rewards (%s)" % account in text and "User: %s\n" % ada.email in text
    assert URL + "/account\n" in text and "#" not in text
    assert mail["Message-ID"].startswith("<reset-") and mail["Auto-Submitted"] == "auto-generated"
    settled(daemon)
    assert ada.sign_in(ada.email).status == 200  # without a code
    enrol(ada)
    reset(daemon, ada, account)
    assert len(eventually(lambda: told(server, ada.email)[1:])) == 1
    settled(daemon)
    daemon.restart()
    settled(daemon)
    assert len(told(server, ada.email)) == 2


def test_who_removes_it_alone_is_not_told(daemon, server):
    ada = person(daemon, "admin")
    _, recovery = enrol(ada)
    off = ada.post("/api/v1/session/second-factor/remove", {"Password": PASSWORD, "Code": recovery[0]})
    assert off.status == 200, off
    settled(daemon)
    assert told(server, ada.email) == []


def test_it_survives_a_kill_and_a_disabled_user_gets_none(own_daemon, server):
    d = start(own_daemon, server, "--public-url", URL)
    ada, bob = person(d, "admin"), person(d, "support")
    settled(d)
    server.says["MAIL"] = "451 later"
    for who in (ada, bob):
        enrol(who)
        reset(d, who)
    eventually(lambda: d.metrics()["postbackd_link_mails_failed_total"] >= 1)
    assert d.api().get("/api/v1/system").json["LinkMails"]["Owed"] == 2
    assert d.api().patch("/api/v1/users/" + bob.user_id, {"Enabled": False}).status == 200
    d.kill()
    del server.says["MAIL"]
    d.start()
    eventually(lambda: told(server, ada.email))
    numbers = settled(d)
    assert (numbers["postbackd_link_mails_sent_total"], numbers["postbackd_link_mails_given_up_total"]) == (1, 1)
    assert told(server, bob.email) == []


def test_a_link_and_a_reset_at_once_are_two_mails(own_daemon, server):
    """Who lost both is helped with both, and neither mail ends the other."""
    server.says["MAIL"] = "451 later"
    d = start(own_daemon, server, "--public-url", URL)
    ada = person(d, "admin")
    enrol(ada)
    reset(d, ada)
    assert d.api().post("/api/v1/users/%s/link" % ada.user_id, {}).json["MailQueued"]
    del server.says["MAIL"]
    eventually(lambda: sorted(m["Subject"] for m in to(server, ada.email)) == ["Your new password", SUBJECT], 60)
    settled(d)
    assert len(mails(server)) == 2

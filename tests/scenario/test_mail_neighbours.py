"""Addresses of one account that fail or hang, a mail server that is away, and everybody else's mails."""
import socket

import pytest
from harness import eventually
from people import partner
from smtp import MailServer
from test_link_mail import invite, settled, start, to
from test_link_mail import URL as PUBLIC_URL
from test_mail import FROM, mails
from test_mail import partner as partner_with_mail
from test_mail import start as start_alerts


@pytest.fixture
def daemon(own_daemon, server):
    return start(own_daemon, server, "--public-url", PUBLIC_URL)


def refuse(server, address, answer):
    server.says["RCPT TO:<%s>" % address.upper()] = answer


def asked(server, address):
    """How often the server was asked to take a mail to it."""
    with server.lock:
        return server.lines.count("RCPT TO:<%s>" % address)


def failed(daemon):
    return daemon.metrics()["postbackd_link_mails_failed_total"]


def test_addresses_that_fail_for_now_hold_up_only_their_own_mail(daemon, server):
    """By one wait for all, the neighbour's would go behind the tenth failure, and its own account's as well."""
    bad = ["bad%d@b.example" % i for i in range(12)]
    first, second = partner(daemon), partner(daemon)
    for address in bad:
        refuse(server, address, "450 4.2.0 greylisted")
        invite(daemon, address, first)
    invite(daemon, "own@b.example", first)
    invite(daemon, "neighbour@b.example", second)
    eventually(lambda: to(server, "neighbour@b.example") and to(server, "own@b.example"))
    assert all(asked(server, address) >= 1 for address in bad)
    server.says.clear()
    eventually(lambda: len(mails(server)) == 14, 60)
    assert settled(daemon)["postbackd_link_mails_given_up_total"] == 0


def test_an_address_that_hangs_holds_up_only_its_account(daemon, server):
    first, second = partner(daemon), partner(daemon)
    refuse(server, "hangs@b.example", "hang")
    invite(daemon, "hangs@b.example", first)
    eventually(lambda: asked(server, "hangs@b.example"))
    for i in range(3):
        invite(daemon, "neighbour%d@b.example" % i, second)
    invite(daemon, "operator@b.example")
    eventually(lambda: len(mails(server)) == 4)
    eventually(lambda: daemon.metrics()["postbackd_link_mails_owed"] == 1)
    assert failed(daemon) == 0  # it still hangs
    assert daemon.stop() == 0


def test_a_server_that_was_away_gets_all(own_daemon):
    """Nobody listens at its port, then it does."""
    held = socket.socket()  # so that nobody else gets its port meanwhile
    held.bind(("127.0.0.1", 0))
    own_daemon.options += ["--smtp-url", "smtp://localhost:%d" % held.getsockname()[1], "--mail-from", FROM, "--public-url", PUBLIC_URL]
    daemon = own_daemon.start()
    accounts = [partner(daemon) for _ in range(3)]
    for i, account in enumerate(accounts):
        for j in range(3):
            invite(daemon, "user%d.%d@b.example" % (i, j), account)
    eventually(lambda: failed(daemon) >= 1)
    back = MailServer(held=held)
    try:
        eventually(lambda: len(mails(back)) == 9, 60)
        settled(daemon)
        assert len({mail["To"] for _, mail in mails(back)}) == 9
    finally:
        back.close()


def test_a_text_that_is_refused_is_given_up(daemon, server):
    server.says["END"] = "554 5.7.1 not this text"
    invite(daemon, "a@b.example")
    numbers = settled(daemon)
    assert [numbers["postbackd_link_mails_%s_total" % n] for n in ("given_up", "failed", "sent")] == [1, 0, 0]
    assert "554 5.7.1 not this text" in daemon.log_text()


def test_a_sender_that_is_refused_is_no_fault_of_the_mail(daemon, server):
    """That is the operator's to mend: nothing is given up for it."""
    server.says["MAIL"] = "550 5.7.1 not you"
    invite(daemon, "a@b.example")
    eventually(lambda: failed(daemon) >= 1)
    del server.says["MAIL"]
    eventually(lambda: to(server, "a@b.example"), 60)
    assert settled(daemon)["postbackd_link_mails_given_up_total"] == 0


def test_an_account_s_alerts_that_hang_hold_up_nobody_else_s(own_daemon, server):
    daemon = start_alerts(own_daemon, server, "--public-url", PUBLIC_URL)
    hanging = ["hangs%d@b.example" % i for i in range(3)]
    for address in hanging:
        refuse(server, address, "hang")
    stuck = [partner_with_mail(daemon, to=address) for address in hanging]
    other = partner_with_mail(daemon, to="neighbour@b.example")
    for p in stuck:
        p.suspend()
    eventually(lambda: all(asked(server, address) for address in hanging))
    other.suspend()
    eventually(lambda: to(server, "neighbour@b.example"))
    invite(daemon, "invited@b.example", other.partner_id)
    eventually(lambda: to(server, "invited@b.example"))
    assert daemon.metrics()["postbackd_operations_failed_total"] == 0  # they still hang
    assert daemon.stop() == 0
    for p in stuck + [other]:
        p.receiver.close()

"""Messages about endpoints and links by e-mail, under a clock that is set forward and put back."""
import pytest

from harness import Daemon, Receiver, eventually
from people import person
from shim import Clock, shimmed
from test_link_mail import invite
from test_link_mail import to as link_mails_to
from test_mail_preferences import choose, start_at, to
from test_operations import SCHEDULE, Partner, messages
from test_statement_ready import go_to

AHEAD_S = 40 * 86400


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path / "clock")


def numbers(daemon, what):
    found = daemon.metrics()
    return [found["postbackd_%s_%s_total" % (what, n)] for n in ("sent", "failed", "given_up")]


def fails(daemon, what, count):
    """Waits until so many tries of this process have failed; returns how many have. None was sent or given up."""
    eventually(lambda: sum(numbers(daemon, what)) >= count, 60)
    sent, failed, given_up = numbers(daemon, what)
    assert (sent, given_up) == (0, 0)
    return failed


def test_no_message_to_a_url_is_given_up_by_a_jump(tmp_path, clock):
    daemon = Daemon(tmp_path / "d", "--operations-spacing", "1", env=shimmed(SHIM_CLOCK=clock.path), schedule=SCHEDULE)
    answers = {"status": 500}
    ops = Receiver(lambda request: answers["status"])
    try:
        p = Partner(daemon.start(), {"callback": 200}, ops.url)
        p.suspend()
        failed = fails(daemon, "operations", 1)
        clock.jump(AHEAD_S)
        fails(daemon, "operations", failed + 1)
        daemon.kill()
        daemon.start()  # it is tried at once: by the wall clock it is 40 days old
        fails(daemon, "operations", 1)
        answers["status"] = 200
        eventually(lambda: numbers(daemon, "operations")[0] == 1, 60)
        assert numbers(daemon, "operations")[2] == 0
        assert len({m.header("webhook-id") for m in messages(ops)}) == 1
        p.receiver.close()
    finally:
        daemon.stop()
        ops.close()


def test_no_mail_with_a_link_is_given_up_by_a_jump(tmp_path, clock, server):
    server.says["RCPT"] = "451 4.7.1 greylisted"
    daemon = start_at(tmp_path, clock, server)
    try:
        invite(daemon, "before@b.example")
        failed = fails(daemon, "link_mails", 1)
        clock.jump(AHEAD_S)  # by the wall clock the link is over, and owed for more than a day
        invite(daemon, "then@b.example")
        # that fails twice, and the other one has had its turn before the second time
        fails(daemon, "link_mails", failed + 2)
        assert link_mails_to(server, "before@b.example") == []
        clock.jump(-AHEAD_S)
        del server.says["RCPT"]
        for email in ("before@b.example", "then@b.example"):
            eventually(lambda: link_mails_to(server, email), 60)
    finally:
        daemon.stop()


def test_what_is_owed_since_a_time_to_come_is_sent(tmp_path, clock, server):
    go_to(clock, "2027-04-24T12:00:00")
    daemon = start_at(tmp_path, clock, server)
    try:
        p = Partner(daemon, {"callback": 200}, None)
        later, daily, witness = [person(daemon, "owner", p.partner_id) for _ in range(3)]
        for each, when in ((later, "daily"), (daily, "daily"), (witness, "at_once")):
            choose(each, Endpoints=when)
        p.suspend()
        eventually(lambda: to(server, witness.email), 30)
        go_to(clock, "2027-03-15T12:00:00")
        choose(later, Endpoints="at_once")
        eventually(lambda: to(server, later.email), 30)
        assert to(server, daily.email) == []
        go_to(clock, "2027-03-16T07:00:10")
        eventually(lambda: to(server, daily.email), 30)
        p.receiver.close()
    finally:
        daemon.stop()

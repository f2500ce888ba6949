"""Each account is told once that a month's statement is final, whatever the daemon and its clock do meanwhile."""
from datetime import datetime, timezone

from described import check_message
from harness import Account, Daemon, Receiver, eventually
from inside import lived_until
from shim import Clock, shimmed
from smtp import MailServer
from test_mail import FROM
from test_operations import SCHEDULE, Partner, messages


def go_to(clock, text):
    clock.jump(int((datetime.fromisoformat(text).replace(tzinfo=timezone.utc) - clock.now()).total_seconds()))


def months(receiver):
    return [m.json["Month"] for m in messages(receiver) if m.json["Type"] == "statement.ready"]


def start(tmp_path, clock, mail):
    daemon = Daemon(tmp_path / "d", "--operations-spacing", "1", "--smtp-url", mail.url(), "--mail-from", FROM,
                    env=shimmed(SHIM_CLOCK=clock.path))
    daemon.schedule = SCHEDULE
    return daemon.start()


def test_once_per_account_and_month(tmp_path):
    clock, mail, ops, late_ops, quiet_ops = Clock(tmp_path / "clock"), MailServer(), Receiver(), Receiver(), Receiver()
    go_to(clock, "2027-03-15T12:00:00")
    daemon = start(tmp_path, clock, mail)
    p, late = Partner(daemon, {"callback": 200}, ops.url), Partner(daemon, {"callback": 410}, late_ops.url)
    quiet = Account(daemon)  # has nothing in that month
    for account, body in ((p, {"OperationsEmail": "p@partner.example", "Name": "Ann & Bob"}),
                          (quiet, {"OperationsUrl": quiet_ops.url})):
        assert daemon.api().patch("/api/v1/partners/" + account.partner_id, body).status == 200
    p.event_some(1)
    daemon.api().wait_state("e-1-0", p.partner_id, "delivered")
    late.event_some(10)
    eventually(lambda: [m.json["Type"] for m in messages(late_ops)] == ["endpoint.disabled"], 30)
    late.event_some(1)  # waits
    go_to(clock, "2027-04-20T12:00:00")
    p.event_some(1)
    daemon.api().wait_state("e-2-0", p.partner_id, "delivered")

    # It is down when the month closes: 90 days after its last day.
    go_to(clock, "2027-06-29T23:00:00")
    assert daemon.stop() == 0
    go_to(clock, "2027-06-30T00:30:00")
    lived_until(daemon, clock)
    daemon.start()
    first, = eventually(lambda: messages(ops), 30)
    assert (first.json["Month"], first.json["PartnerId"]) == ("2027-03", p.partner_id)
    check_message(first, daemon.api(None).get("/openapi.json").json)
    assert first.header("webhook-id") == first.json["MessageId"]
    (envelope, text), = eventually(lambda: list(mail.mails), 30)
    assert envelope["RCPT"] == "RCPT TO:<p@partner.example>"
    assert text["Subject"] == "The statement of 2027-03 is ready"
    assert "Account: Ann & Bob (%s)\n" % p.partner_id in text.get_body().get_content()
    eventually(lambda: daemon.metrics()["postbackd_operations_owed"] == 0)

    # A restart, with a clock that is 40 days ahead: April is not told, and what becomes final is still told.
    # The account whose callback waited comes last in the round, behind the one that had events in April.
    daemon.kill()
    go_to(clock, "2027-08-09T12:00:00")
    daemon.start()
    late.says["callback"] = 200
    late.patch(SuccessCallbackUrl=late.receiver.url)
    eventually(lambda: months(late_ops) == ["2027-03"], 60)
    assert months(ops) == ["2027-03"] and len(mail.mails) == 1
    daemon.restart()
    assert daemon.stop() == 0
    assert months(ops) == ["2027-03"]

    # The clock is right again; April is told when it closes, and no month a second time.
    go_to(clock, "2027-07-30T12:00:00")
    lived_until(daemon, clock)
    daemon.start()
    eventually(lambda: months(ops) == ["2027-03", "2027-04"] and len(mail.mails) == 2, 30)
    eventually(lambda: daemon.metrics()["postbackd_operations_owed"] == 0)
    daemon.restart()
    assert daemon.stop() == 0
    assert months(ops) == ["2027-03", "2027-04"] and months(late_ops) == ["2027-03"]
    assert len(mail.mails) == 2 and months(quiet_ops) == []
    for server in (mail, ops, late_ops, quiet_ops, p.receiver, late.receiver):
        server.close()

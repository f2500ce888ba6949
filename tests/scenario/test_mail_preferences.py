"""Each person chooses which messages come by e-mail: at once, in a daily digest, or not."""
from checks import assert_problem
from harness import Daemon, eventually
from inside import lived_until
from people import person
from shim import Clock, shimmed
from test_mail import FROM, mails, more_apps, start, told
from test_operations import SCHEDULE, Partner
from test_statement_ready import go_to

PATH = "/api/v1/session/mail-preferences"
NEVER = {"Endpoints": "never", "Certificates": "never", "Statements": "never"}


def choose(browser, **choices):
    answer = browser.patch(PATH, choices)
    assert answer.status == 200 and choices.items() <= answer.json.items(), answer
    return answer.json


def chosen(browser):
    return {kind: when for kind, when in browser.get(PATH).json.items() if when in ("never", "at_once", "daily")}


def sent(server):
    """Invitations are mails, too."""
    return [(envelope, mail) for envelope, mail in mails(server) if mail["Message-ID"].startswith("<ops_")]


def to(server, address):
    return [mail for envelope, mail in sent(server) if envelope["RCPT"] == "RCPT TO:<%s>" % address]


def start_at(tmp_path, clock, server, *options, spacing=1):
    daemon = Daemon(tmp_path / "d", "--operations-spacing", str(spacing), "--smtp-url", server.url(), "--mail-from", FROM,
                    "--public-url", "https://wall.example/", *options, env=shimmed(SHIM_CLOCK=clock.path))
    daemon.schedule = SCHEDULE
    return daemon.start()


def test_nobody_gets_mail_who_has_not_chosen_it(own_daemon, server):
    """And a choice is durable, the person's own, and in the audit log."""
    daemon = start(own_daemon, server)
    p = Partner(daemon, {"callback": 200}, None)
    quiet, wanting = [person(daemon, "owner", p.partner_id) for _ in range(2)]
    other = person(daemon, "owner", Partner(daemon, {"callback": 200}, None).partner_id)
    assert chosen(quiet) == NEVER
    said = choose(wanting, Endpoints="at_once", Statements="daily")
    assert (said["Email"], said["DailyAt"], said["SendsMail"]) == (wanting.email, "07:00", True)
    choose(other, Endpoints="at_once")
    daemon.kill()
    daemon.start()
    assert chosen(wanting) == {"Endpoints": "at_once", "Certificates": "never", "Statements": "daily"}
    assert chosen(quiet) == NEVER
    log = daemon.api().get("/api/v1/audit?action=user.mail_preferences_changed&partnerId=" + p.partner_id).json["Items"]
    assert [(e["Object"]["Id"], e["Before"], e["After"]) for e in log] == [
        (wanting.user_id, NEVER, dict(NEVER, Endpoints="at_once", Statements="daily"))]
    choose(wanting, Endpoints="at_once")  # no change, no entry
    again = daemon.api().get("/api/v1/audit?action=user.mail_preferences_changed&partnerId=" + p.partner_id).json["Items"]
    assert again == log

    p.suspend()
    mail, = eventually(lambda: to(server, wanting.email), 30)
    assert mail["Subject"] == "%s: the Success Callback URL is down" % p.app_id
    p.says["callback"] = 200
    eventually(lambda: len(to(server, wanting.email)) == 2, 30)
    assert to(server, wanting.email)[1]["Subject"] == "%s: the Success Callback URL works again" % p.app_id
    assert len(sent(server)) == 2
    p.receiver.close()


def test_what_is_no_choice_is_refused(own_daemon, server):
    daemon = start(own_daemon, server)
    p = Partner(daemon, {"callback": 200}, None)
    owner, admin, support = person(daemon, "owner", p.partner_id), person(daemon, "admin"), person(daemon, "support")
    for wrong in ("", "always", 1, None, True, ["daily"]):
        assert_problem(owner.patch(PATH, {"Endpoints": wrong}), 400, "Endpoints")
    assert_problem(owner.patch(PATH, {"Endpoints": "daily", "Security": "never"}), 400, "Security")
    for browser, kind in ((owner, "Books"), (admin, "Statements"), (support, "Books")):
        assert_problem(browser.patch(PATH, {kind: "daily"}), 400, kind)
    assert chosen(owner) == NEVER
    assert sorted(chosen(admin)) == ["Books", "Certificates", "Endpoints"]
    assert sorted(chosen(support)) == ["Certificates", "Endpoints"]
    assert owner.patch(PATH, {"Endpoints": "daily"}, csrf=False).status == 403
    assert daemon.api(None).get(PATH).status == 401
    assert daemon.api().get(PATH).status in (401, 403)  # a key is nobody
    p.receiver.close()


def test_without_a_mail_server_nothing_can_be_chosen(own_daemon):
    daemon = own_daemon.start()
    admin = person(daemon, "admin")
    assert admin.get(PATH).json["SendsMail"] is False
    answer = admin.patch(PATH, {"Endpoints": "daily"})
    assert_problem(answer, 400, "Endpoints")
    assert "smtp-url" in str(answer.json)
    assert admin.patch(PATH, {"Endpoints": "never"}).status == 200


def test_who_may_not_know_any_more_gets_no_mail(own_daemon, server):
    """Disabled, removed, or one who has turned it off: their messages end, those of others do not."""
    daemon = start(own_daemon, server)
    p = Partner(daemon, {"callback": 200}, None)
    stays, off, disabled, removed = [person(daemon, "owner", p.partner_id) for _ in range(4)]
    for each in (stays, off, disabled, removed):
        choose(each, Endpoints="at_once")
    p.suspend()
    for each in (stays, off, disabled, removed):
        eventually(lambda: to(server, each.email), 30)
    choose(off, Endpoints="never")
    assert daemon.api().patch("/api/v1/users/" + disabled.user_id, {"Enabled": False}).status == 200
    assert daemon.api().delete("/api/v1/users/" + removed.user_id).status == 204
    p.says["callback"] = 200
    eventually(lambda: len(to(server, stays.email)) == 2, 30)
    assert [len(to(server, each.email)) for each in (off, disabled, removed)] == [1, 1, 1]
    eventually(lambda: daemon.metrics()["postbackd_operations_owed"] == 0)
    p.receiver.close()


def test_an_operator_is_told_of_what_a_410_has_disabled(own_daemon, server):
    daemon = start(own_daemon, server, "--public-url", "https://wall.example/")
    admin = person(daemon, "admin")
    choose(admin, Endpoints="at_once")
    p = Partner(daemon, {"callback": 410}, None)
    p.event_some(20)
    mail, = eventually(lambda: to(server, admin.email), 30)
    assert mail["Subject"] == "%s: the Success Callback URL is disabled" % p.app_id
    assert mail["List-Unsubscribe"] == "<https://wall.example/account>"
    p.receiver.close()


def test_a_day_s_messages_are_one_mail_at_its_time(tmp_path, server):
    """Three endpoints of one account; one works again in time. A kill in the middle of the day, and a mail server
    that is away when the time has come, lose nothing and double nothing."""
    clock = Clock(tmp_path / "clock")
    go_to(clock, "2027-03-15T12:00:00")
    daemon = start_at(tmp_path, clock, server, "--daily-mail-at", "06:30")
    p = Partner(daemon, {"callback": 200}, None)
    daily, at_once = [person(daemon, "analyst", p.partner_id) for _ in range(2)]
    choose(daily, Endpoints="daily")
    choose(at_once, Endpoints="at_once")
    clients = more_apps(p, 2)
    p.suspend()
    daemon.api().events([dict(p.event("%s-%d" % (client, n)), ClientId=client) for client in clients[1:]
                         for n in range(20)])
    eventually(lambda: sorted(told(server, at_once.email, "down")) == sorted(p.apps), 60)
    daemon.kill()
    go_to(clock, "2027-03-15T23:00:00")
    daemon.start()
    down = Partner(daemon, {"callback": 200}, None)  # of another account: never in that mail
    down.suspend()
    app = daemon.api().patch("/api/v1/apps/" + p.apps[2], {"SuccessCallbackUrl": down.receiver.url + "/new"})
    assert app.status == 200
    down.says["callback"] = 200
    eventually(lambda: told(server, at_once.email, "again") == [p.apps[2]], 60)
    assert to(server, daily.email) == []

    server.says["MAIL"] = "451 not now"
    go_to(clock, "2027-03-16T06:30:10")
    eventually(lambda: "operations_message_failed" in daemon.log_text(), 30)
    daemon.kill()
    del server.says["MAIL"]
    daemon.start()
    mail, = eventually(lambda: to(server, daily.email), 30)
    assert mail["Subject"] == "Daily digest: 2 messages" and mail["Message-ID"].startswith("<ops_")
    assert sorted(told(server, daily.email, "down")) == sorted(p.apps[:2])
    assert told(server, daily.email, "again") == []
    eventually(lambda: daemon.metrics()["postbackd_operations_owed"] == 0)

    # The next day has nothing new; the one after it has what works again.
    p.says["callback"] = 200
    daemon.api().events([dict(p.event("%s-last" % client), ClientId=client) for client in clients[:2]])
    go_to(clock, "2027-03-17T06:31:00")
    eventually(lambda: sorted(told(server, at_once.email, "again")) == sorted(p.apps), 60)
    assert len(to(server, daily.email)) == 1
    daemon.restart()
    go_to(clock, "2027-03-18T06:31:00")
    eventually(lambda: len(to(server, daily.email)) == 2, 30)
    assert sorted(told(server, daily.email, "again")) == sorted(p.apps[:2])
    assert daemon.stop() == 0
    assert len(to(server, daily.email)) == 2
    for receiver in (p.receiver, down.receiver):
        receiver.close()


def test_a_choice_holds_for_what_is_owed_already(tmp_path, server):
    clock = Clock(tmp_path / "clock")
    go_to(clock, "2027-03-15T12:00:00")
    daemon = start_at(tmp_path, clock, server)
    p = Partner(daemon, {"callback": 200}, None)
    now, off, witness = [person(daemon, "owner", p.partner_id) for _ in range(3)]
    choose(now, Endpoints="daily")
    choose(off, Endpoints="daily")
    choose(witness, Endpoints="at_once")
    p.suspend()
    eventually(lambda: to(server, witness.email), 30)
    assert len(sent(server)) == 1
    choose(off, Endpoints="never")
    choose(now, Endpoints="at_once")
    mail, = eventually(lambda: to(server, now.email), 30)
    assert mail["Subject"] == "%s: the Success Callback URL is down" % p.app_id
    p.says["callback"] = 200
    for each in (witness, now):
        eventually(lambda: len(to(server, each.email)) == 2, 60)
    go_to(clock, "2027-03-16T07:00:10")
    eventually(lambda: daemon.metrics()["postbackd_operations_owed"] == 0)
    assert to(server, off.email) == []
    assert daemon.stop() == 0
    p.receiver.close()


def test_a_month_s_statement_is_told_once_to_each(tmp_path, server):
    clock = Clock(tmp_path / "clock")
    go_to(clock, "2027-03-15T12:00:00")
    daemon = start_at(tmp_path, clock, server)
    p = Partner(daemon, {"callback": 200}, None)
    at_once, daily = [person(daemon, "owner", p.partner_id) for _ in range(2)]
    choose(at_once, Statements="at_once")
    choose(daily, Statements="daily")
    p.event_some(1)
    daemon.api().wait_state("e-1-0", p.partner_id, "delivered")
    assert daemon.stop() == 0
    go_to(clock, "2027-06-30T12:00:00")
    lived_until(daemon, clock)
    daemon.start()
    mail, = eventually(lambda: to(server, at_once.email), 60)
    assert mail["Subject"] == "The statement of 2027-03 is ready"
    daemon.restart()
    go_to(clock, "2027-07-01T07:00:10")
    mail, = eventually(lambda: to(server, daily.email), 60)
    assert mail["Subject"] == "Daily digest: 1 message"
    assert "The statement of 2027-03 is ready" in mail.get_body().get_content()
    daemon.restart()
    go_to(clock, "2027-07-02T07:00:10")
    assert daemon.stop() == 0
    assert len(sent(server)) == 2
    p.receiver.close()

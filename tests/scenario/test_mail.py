"""Messages by e-mail: to a partner's OperationsEmail and to the operator, by the operator's mail server."""
import json
import re
import ssl
import time

import pytest

from checks import assert_problem
from harness import Receiver, eventually
from raw import Authority
from smtp import MailServer
from test_operations import SCHEDULE, Partner, messages

FROM, TO = "postbackd@wall.example", "alerts@partner.example"


def start(daemon, server, *options, spacing=1, scheme="smtp", host="localhost", **env):
    daemon.schedule = SCHEDULE
    daemon.options += ["--operations-spacing", str(spacing), "--smtp-url", server.url(scheme, host),
                       "--mail-from", FROM, *options]
    daemon.env.update(env)
    return daemon.start()


def partner(daemon, url=None, to=TO):
    p = Partner(daemon, {"callback": 200}, url)
    answer = daemon.api().patch("/api/v1/partners/" + p.partner_id, {"OperationsEmail": to})
    assert answer.status == 200 and answer.json["OperationsEmail"] == to, answer
    return p


def more_apps(p, count):
    """The account's apps, p.apps, are so many more; the client of each."""
    api, p.apps, clients = p.daemon.api(), [p.app_id], [p.clients[0]]
    for app in ["more-%d" % n for n in range(count)]:
        made = api.post("/api/v1/partners/%s/apps" % p.partner_id,
                        {"AppId": app, "CurrencyValue": "100", "SuccessCallbackUrl": p.receiver.url})
        assert made.status == 201, made
        assert api.post("/api/v1/apps/%s/clients" % app, {"ClientId": app + "-c", "Integration": "sdk"}).status == 201
        p.apps.append(app)
        clients.append(app + "-c")
    return clients


def told(server, to, word):
    """The apps of which mails to that address say so, as often as they do."""
    return [app for envelope, mail in mails(server) if envelope["RCPT"] == "RCPT TO:<%s>" % to
            for app in re.findall(r"URL of the app (\S+) [a-z ]*%s\." % word, mail.get_body().get_content())]


def mails(server):
    with server.lock:
        return list(server.mails)


def test_down_and_working_again(own_daemon, server):
    daemon = start(own_daemon, server, "--public-url", "https://wall.example/")
    p = partner(daemon)
    p.suspend()
    (envelope, mail), = eventually(lambda: mails(server))
    assert envelope == {"MAIL": "MAIL FROM:<%s>" % FROM, "RCPT": "RCPT TO:<%s>" % TO}
    assert mail["Subject"] == "%s: the Success Callback URL is down" % p.app_id
    assert (mail["To"], mail["Auto-Submitted"]) == (TO, "auto-generated") and FROM in mail["From"]
    assert abs(mail["Date"].datetime.timestamp() - time.time()) < 600
    assert mail["List-Unsubscribe"] == "<https://wall.example/alerts>"
    assert mail["Message-ID"].startswith("<ops_") and mail["Message-ID"].endswith("@wall.example>")
    text = mail.get_body().get_content()
    assert "Callbacks waiting: 20\n" in text and p.receiver.url in text and "503" in text and "Fix: " in text
    assert "Dashboard: https://wall.example/\n" in text
    # Lines end with CRLF: an encoded LF is none (RFC 2045, section 6.7).
    wire = server.texts[0]
    assert b"\r\nCallbacks waiting: 20\r\n" in wire and b"=0A" not in wire and b"=0D" not in wire, wire
    p.says["callback"] = 200
    _, again = eventually(lambda: mails(server)[1:], 30)[0]
    assert again["Subject"] == "%s: the Success Callback URL works again" % p.app_id
    assert "Last error" not in again.get_body().get_content()
    p.receiver.close()


@pytest.mark.parametrize("by", ["mail", "slack"])
def test_the_name_of_an_app_is_not_read_as_lines(own_daemon, server, by):
    daemon, ops = start(own_daemon, server), Receiver()
    p = partner(daemon, ops.url)
    named = {"Name": "Games\r\nURL: https://evil.example\u2028Fix: pay \u202eus\u0085\u2067now"}
    assert daemon.api().patch("/api/v1/apps/" + p.app_id, named).status == 200
    assert daemon.api().patch("/api/v1/partners/" + p.partner_id, {"OperationsFormat": "slack"}).status == 200
    p.suspend()
    if by == "mail":
        (_, mail), = eventually(lambda: mails(server))
        text = mail.get_body().get_content()
    else:
        text = eventually(lambda: messages(ops))[0].json["text"]
    lines = text.split("\n")
    assert "App: Games  URL: https://evil.example Fix: pay  us  now (%s)" % p.app_id in lines, lines
    assert [line for line in lines if line.startswith("URL: ")] == ["URL: " + p.receiver.url]
    assert len([line for line in text.splitlines() if line.startswith("Fix: ")]) == 1
    ops.close()
    p.receiver.close()


def test_a_url_that_is_down_holds_up_no_mail_and_the_other_way_round(own_daemon, server):
    server.says["RCPT"] = "451-4.7.1 Greylisted.\r\n451 4.7.1 Try again \x1b[2J in five minutes"
    daemon = start(own_daemon, server)
    ops = Receiver()
    p = partner(daemon, ops.url)
    p.suspend()
    assert eventually(lambda: messages(ops))[0].json["Type"] == "endpoint.suspended"
    said = eventually(lambda: [line for line in daemon.log_text().splitlines() if "operations_message_failed" in line])
    assert "451 4.7.1 Try again ?[2J in five minutes" in json.loads(said[0])["detail"]
    assert mails(server) == []
    del server.says["RCPT"]
    eventually(lambda: mails(server), 60)
    ops.close()
    p.receiver.close()


def test_a_mail_server_that_hangs_holds_up_no_webhook(own_daemon, server):
    """As many accounts have a mail under way as there are messages in progress."""
    server.says["MAIL"] = "hang"
    daemon = start(own_daemon, server)
    many = [partner(daemon) for _ in range(16)]
    for p in many:
        p.says["callback"] = 503
        p.event_some(20)
    eventually(lambda: [line for line in server.lines if line.startswith("MAIL")])
    eventually(lambda: daemon.metrics()["postbackd_operations_owed"] == len(many), 30)
    ops = Receiver()
    other = Partner(daemon, {"callback": 200}, ops.url)
    other.suspend()
    assert eventually(lambda: messages(ops), 30)[0].json["PartnerId"] == other.partner_id
    assert mails(server) == []
    ops.close()
    for p in many + [other]:
        p.receiver.close()


def test_an_owed_mail_survives_a_kill_and_a_server_that_hangs_no_stop(own_daemon, server):
    server.says["MAIL"] = "hang"
    daemon = start(own_daemon, server)
    p = partner(daemon)
    p.suspend()
    eventually(lambda: [line for line in server.lines if line.startswith("MAIL")])
    assert daemon.api().get("/api/v1/system").status == 200
    daemon.kill()
    daemon.start()
    eventually(lambda: len([line for line in server.lines if line.startswith("MAIL")]) == 2, 30)
    assert daemon.stop() == 0  # within the harness's own limit
    del server.says["MAIL"]
    daemon.start()
    assert len(eventually(lambda: mails(server), 30)) == 1
    p.receiver.close()


def test_a_stop_waits_for_the_answer_of_a_mail_that_the_server_has(own_daemon, server):
    """Otherwise its reader would get it again after the restart."""
    daemon = start(own_daemon, server)
    p = partner(daemon)
    came = server.answer_late("250 kept", 2)
    p.suspend()
    assert came.wait(30)
    assert daemon.stop() == 0
    assert "operations_message_sent" in daemon.log_text()
    daemon.start()
    p.says["callback"] = 200
    eventually(lambda: len(mails(server)) >= 2, 30)
    assert [mail["Subject"].split()[-1] for _, mail in mails(server)] == ["down", "again"]
    p.receiver.close()


def test_a_stop_waits_for_no_answer_that_does_not_come(own_daemon, server):
    daemon = start(own_daemon, server)
    p = partner(daemon)
    came = server.answer_late("451 never", 120)
    p.suspend()
    assert came.wait(30)
    assert daemon.stop() == 0  # within the harness's own limit
    del server.says["END"]
    daemon.start()
    assert len(eventually(lambda: mails(server), 30)) == 1
    p.receiver.close()


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_tls_and_a_password(own_daemon, tmp_path, scheme):
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.sign("mail"))
    server = MailServer(context, implicit=scheme == "smtps", user=("me", "hunter2"))
    daemon = start(own_daemon, server, "--ca-file", authority.file, "--smtp-user", "me", scheme=scheme,
                   POSTBACKD_SMTP_PASSWORD="hunter2")
    p = partner(daemon)
    p.suspend()
    assert len(eventually(lambda: mails(server))) == 1
    assert ("STARTTLS" in server.lines) == (scheme == "smtp")
    assert "hunter2" not in daemon.log_text()
    p.receiver.close()
    server.close()


def test_a_stranger_s_certificate_is_refused(own_daemon, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*Authority(tmp_path).sign("mail"))
    server = MailServer(context, implicit=True)
    daemon = start(own_daemon, server, scheme="smtps")
    p = partner(daemon)
    p.suspend()
    eventually(lambda: "operations_message_failed" in daemon.log_text())
    assert "certificate" in daemon.log_text() and mails(server) == []
    p.receiver.close()
    server.close()


def test_a_name_that_begins_like_this_machine_is_a_stranger(own_daemon, server):
    """Nothing is told it without TLS. A name below localhost leads here and needs no DNS."""
    daemon = start(own_daemon, server, host="127.mail.localhost")
    p = partner(daemon)
    p.suspend()
    eventually(lambda: "operations_message_failed" in daemon.log_text())
    assert mails(server) == [] and "MAIL" not in " ".join(server.lines)
    assert "EHLO" in " ".join(server.lines)  # it was reached
    p.receiver.close()


def test_the_operator_is_told_of_what_a_410_has_disabled(own_daemon, server):
    daemon = start(own_daemon, server, "--operations-email", "ops@wall.example", "--public-url", "https://wall.example/")
    p = Partner(daemon, {"callback": 410}, None)
    p.event_some(20)
    envelope, mail = eventually(lambda: mails(server))[0]
    assert envelope["RCPT"] == "RCPT TO:<ops@wall.example>" and "List-Unsubscribe" not in mail
    assert mail["Subject"] == "%s: the Success Callback URL is disabled" % p.app_id
    p.receiver.close()


def test_the_operator_s_mails_are_not_counted_as_the_partner_s(own_daemon, server):
    """11 endpoints are disabled: both are told of each."""
    daemon = start(own_daemon, server, "--operations-email", "ops@wall.example")
    p = partner(daemon)
    p.says["callback"] = 410
    clients = more_apps(p, 10)
    daemon.api().events([dict(p.event("%s-%d" % (client, n)), ClientId=client) for client in clients for n in range(5)])
    for to in (TO, "ops@wall.example"):
        eventually(lambda: sorted(told(server, to, "disabled")) == sorted(p.apps), 60)
    p.receiver.close()


def test_an_address_that_is_none_is_refused_and_null_clears_it(own_daemon, server):
    daemon = start(own_daemon, server)
    p = partner(daemon)
    path, api = "/api/v1/partners/" + p.partner_id, daemon.api()
    for wrong in ("nobody", "a b@c.example", "a@b@c", "a@b.example\r\nRCPT TO:<x@y>", "<a@b.example>", "", 7,
                  "x" * 250 + "@b.example", "\u00fc@b.example", "a@b\u00fccher.example",
                  "a,b@c.example", "a@b..example", "a@.example", ".a@b.example", "a@b_c.example"):
        assert_problem(api.patch(path, {"OperationsEmail": wrong}), 400, "OperationsEmail")
    assert api.get(path).json["OperationsEmail"] == TO
    daemon.restart()
    assert api.get(path).json["OperationsEmail"] == TO
    assert "OperationsEmail" not in api.patch(path, {"OperationsEmail": None}).json
    p.receiver.close()


def test_without_a_mail_server_no_address_is_taken(own_daemon):
    daemon = own_daemon.start()
    p = Partner(daemon, {"callback": 200}, None)
    answer = daemon.api().patch("/api/v1/partners/" + p.partner_id, {"OperationsEmail": TO})
    assert_problem(answer, 400, "OperationsEmail")
    assert "smtp-url" in str(answer.json)
    assert daemon.api().patch("/api/v1/partners/" + p.partner_id, {"OperationsEmail": None}).status == 200
    p.receiver.close()


def test_many_messages_are_one_mail_and_a_kill_loses_and_doubles_none(own_daemon, server):
    """22 endpoints go down. The first is told at once, the others wait, and go as one mail or a few."""
    daemon = start(own_daemon, server, "--public-url", "https://wall.example", spacing=5)
    p = partner(daemon)
    clients = more_apps(p, 21)
    p.suspend()
    eventually(lambda: told(server, TO, "down") == [p.app_id])
    server.says["MAIL"] = "hang"
    daemon.api().events([dict(p.event("%s-%d" % (client, n)), ClientId=client)
                         for client in clients[1:] for n in range(20)])
    eventually(lambda: daemon.metrics()["postbackd_operations_owed"] == 21, 60)
    daemon.kill()
    del server.says["MAIL"]
    begun = time.monotonic()
    daemon.start()
    eventually(lambda: sorted(told(server, TO, "down")) == sorted(p.apps), 60)
    _, digest = max(mails(server), key=lambda m: len(m[1].get_body().get_content()))
    text = digest.get_body().get_content()
    assert "messages: " in digest["Subject"] and digest["Subject"].endswith(", and others")
    assert text.count("Dashboard: https://wall.example\n") == 1 and text.endswith("\n")
    p.says["callback"] = 200
    eventually(lambda: sorted(told(server, TO, "again")) == sorted(p.apps), 60)
    assert len(mails(server)) <= 3 + (time.monotonic() - begun) / 5
    assert sorted(told(server, TO, "down")) == sorted(p.apps)
    p.receiver.close()

"""Certificates that expire soon are said before they cost anything: the receiver's in the health of
its endpoint, ours in the log, in metrics and in /healthz."""
import http.client
import json
import os
import re
import signal
import ssl

from described import check_message
from harness import Account, Daemon, Receiver, eventually
from people import person
from raw import Authority, RawServer, answer
from smtp import MailServer
from test_mail_preferences import choose, to

EXPIRY = re.compile(r'postbackd_certificate_expiry_seconds\{certificate="(\w+)"\} (-?\d+)')


def days_left(text):
    return {kind: round(int(seconds) / 86400) for kind, seconds in EXPIRY.findall(text)}


def keep(server, s, request):
    s.sendall(answer(200))
    return True


def receiver(authority, name, days):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authority.sign(name, days=days))
    return RawServer(keep, tls)


def endpoint(daemon, account):
    return daemon.api().get("/api/v1/apps/%s/endpoints" % account.app_id).json["Endpoints"][0]


def test_receivers(tmp_path):
    authority = Authority(tmp_path)
    daemon = Daemon(tmp_path / "d", "--ca-file", authority.file).start()
    servers = {days: receiver(authority, "days-%d" % days, days) for days in (5, 25)}
    accounts = {days: Account(daemon, s.url("https", "localhost")) for days, s in servers.items()}
    assert endpoint(daemon, accounts[5])["CertificateExpiresAt"] is None
    for days, account in accounts.items():
        for i in range(2):
            daemon.api().events(account.event("e-%d-%d" % (days, i)))
            daemon.api().wait_state("e-%d-%d" % (days, i), account.partner_id, "delivered")
    soon, late = endpoint(daemon, accounts[5]), endpoint(daemon, accounts[25])
    assert re.fullmatch(r"The certificate of this receiver expires in [45] days \(%s\): renew it\." %
                        soon["CertificateExpiresAt"][:10], soon["Warning"])
    assert late["Warning"] is None and late["CertificateExpiresAt"] > soon["CertificateExpiresAt"]
    assert days_left(daemon.api().get("/metrics", key=None).text) == {"receivers": 5}
    said = [json.loads(line) for line in daemon.log_text().splitlines() if "certificate_expires" in line]
    assert [(e["app"], e["certificate"]) for e in said] == [(accounts[5].app_id, "receiver")]
    # A renewed one is seen with the next connection.
    accounts[5].patch(SuccessCallbackUrl=servers[25].url("https", "localhost"))
    daemon.api().events(accounts[5].event("renewed"))
    daemon.api().wait_state("renewed", accounts[5].partner_id, "delivered")
    assert endpoint(daemon, accounts[5])["Warning"] is None
    for s in servers.values():
        s.close()
    assert daemon.stop() == 0


def test_people_get_mail_of_receivers(tmp_path):
    """Who has chosen it, and the partner's address; once, and again when it is renewed."""
    authority, mail = Authority(tmp_path), MailServer()
    daemon = Daemon(tmp_path / "d", "--ca-file", authority.file, "--smtp-url", mail.url(), "--mail-from",
                    "postbackd@wall.example", "--operations-spacing", "1").start()
    soon, late = receiver(authority, "soon", 5), receiver(authority, "late", 60)
    account = Account(daemon, soon.url("https", "localhost", "partner:hidden@"))
    team = "team@partner.example"
    path = "/api/v1/partners/" + account.partner_id
    assert daemon.api().patch(path, {"OperationsEmail": team}).status == 200
    chose, other = person(daemon, "developer", account.partner_id), person(daemon, "owner", account.partner_id)
    for browser, kind in ((chose, "Certificates"), (other, "Endpoints")):
        choose(browser, **{kind: "at_once"})

    def deliver(event_id):
        daemon.api().events(account.event(event_id))
        daemon.api().wait_state(event_id, account.partner_id, "delivered")

    def of(address):
        return to(mail, address)
    for i in range(3):
        deliver("e-%d" % i)
    first, = eventually(lambda: of(chose.email), 30)
    told, = eventually(lambda: of(team), 30)
    expires = endpoint(daemon, account)["CertificateExpiresAt"]
    for each in (first, told):
        assert each["Subject"] == account.app_id + ": the Success Callback URL has a certificate that expires soon"
        text = each.get_body().get_content()
        assert "After that day, callbacks to it fail." in text and "hidden" not in text
        assert "Certificate expires: %s\n" % expires in text, text
    account.patch(SuccessCallbackUrl=late.url("https", "localhost"))
    deliver("renewed")
    eventually(lambda: (len(of(chose.email)), len(of(team))) == (2, 2), 30)
    assert of(chose.email)[1]["Subject"] == account.app_id + ": the Success Callback URL has a new certificate"
    assert of(other.email) == []
    assert daemon.stop() == 0
    for server in (soon, late, mail):
        server.close()


def test_clients(tmp_path):
    authority = Authority(tmp_path)
    daemon = Daemon(tmp_path / "d").start()
    assert "certificate_expiry_seconds{" not in daemon.api().get("/metrics", key=None).text
    accounts = []
    for days in (6, 29):
        certificate, key = authority.sign("client-%d" % days, days=days)
        accounts.append(Account(daemon, "https://localhost:1/", ClientCertificate={
            "Certificate": open(certificate).read(), "PrivateKey": open(key).read()}))
    assert "ClientCertificate expires in" in endpoint(daemon, accounts[0])["Warning"]
    assert endpoint(daemon, accounts[1])["Warning"] is None
    daemon.restart()

    def warned():
        probe = daemon.api().get("/healthz", key=None)
        return probe if "Warnings" in probe.json else None
    probe = eventually(warned, what="a warning in /healthz")
    assert probe.status == 200 and probe.json["Status"] == "ok"
    assert probe.json["Warnings"][0]["Check"] == "client_certificates"
    assert probe.json["Warnings"][0]["Detail"].startswith("Apps whose ClientCertificate expires soon: 1.")
    assert days_left(daemon.api().get("/metrics", key=None).text) == {"clients": 6}
    said = [json.loads(line) for line in daemon.log_text().splitlines() if "certificate_expires" in line]
    assert {(e["app"], e["certificate"]) for e in said} == {(accounts[0].app_id, "client")}
    assert daemon.stop() == 0


def test_listener(tmp_path):
    authority = Authority(tmp_path)
    files = authority.sign("listener", days=3)
    ops, mail = Receiver(), MailServer()
    daemon = Daemon(tmp_path / "d", "--tls-cert", files[0], "--tls-key", files[1], "--operations-url", ops.url,
                    "--operations-email", "ops@wall.example", "--smtp-url", mail.url(),
                    "--mail-from", "postbackd@wall.example", "--operations-spacing", "1")
    daemon.start(wait_ready=False)
    trust = ssl.create_default_context(cafile=authority.file)

    def get(path):
        c = http.client.HTTPSConnection("localhost", daemon.port, context=trust, timeout=20)
        c.request("GET", path)
        text = c.getresponse().read().decode()
        c.close()
        return text

    def warnings():
        return json.loads(get("/healthz")).get("Warnings", [])
    found = eventually(warnings, what="a warning in /healthz")
    assert found[0]["Check"] == "listener_certificate" and "renew it" in found[0]["Detail"]
    assert days_left(get("/metrics")) == {"listener": 3}
    eventually(lambda: "\npostbackd_operations_sent_total 2\n" in get("/metrics"), what="the operator is told")
    daemon.stop()
    daemon.start(wait_ready=False)  # which is no news
    eventually(lambda: '"certificate":"listener"' in daemon.log_text())
    authority.sign("listener", days=29)
    os.kill(daemon.process.pid, signal.SIGHUP)
    eventually(lambda: not warnings(), what="the warning is gone")
    assert days_left(get("/metrics")) == {"listener": 29}
    eventually(lambda: (len(ops.requests), len(mail.mails)) == (2, 2), 30, what="the operator is told")
    for request in ops.requests:
        check_message(request, json.loads(get("/openapi.json")))
    assert [r.json["Type"] for r in ops.requests] == ["server.certificate_expiring", "server.certificate_renewed"]
    assert [m["Subject"] for _, m in mail.mails] == ["The server's certificate expires soon",
                                                     "The server has a new certificate"]
    assert daemon.stop() == 0
    ops.close()
    mail.close()


def test_clients_are_told_of(tmp_path):
    """Partner and operator, by webhook and by e-mail; what is renewed or removed, too."""
    authority, told, ops, mail = Authority(tmp_path), Receiver(), Receiver(), MailServer()
    daemon = Daemon(tmp_path / "d", "--operations-url", ops.url, "--operations-email", "ops@wall.example", "--smtp-url",
                    mail.url(), "--mail-from", "postbackd@wall.example", "--operations-spacing", "1").start()

    def certificate(days):
        files = authority.sign("client-%d" % days, days=days)
        return {"Certificate": open(files[0]).read(), "PrivateKey": open(files[1]).read()}

    def news(receiver):
        return [(m.json["Type"], m.json["AppId"], m.json["PartnerId"], m.json["CertificateExpiresAt"] is not None)
                for m in receiver.requests]
    account = Account(daemon, "https://localhost:1/", ClientCertificate=certificate(6))
    silent = Account(daemon, "https://localhost:1/", ClientCertificate=certificate(29))
    neighbour = Account(daemon, "https://localhost:1/")
    for each in (account, silent, neighbour):
        body = {"OperationsUrl": told.url, "OperationsEmail": each.partner_id.replace("_", "-") + "@partner.example"}
        assert daemon.api().patch("/api/v1/partners/" + each.partner_id, body).status == 200
    expiring, renewed, removed = (("app.certificate_" + what, account.app_id, account.partner_id, is_there)
                                  for what, is_there in (("expiring", True), ("renewed", True), ("renewed", False)))
    daemon.restart()  # which looks at once
    eventually(lambda: news(told) == news(ops) == [expiring] and len(mail.mails) == 2, 30)
    daemon.restart()  # which is no news
    account.patch(ClientCertificate=certificate(29))
    eventually(lambda: news(told) == news(ops) == [expiring, renewed] and len(mail.mails) == 4, 60)
    account.patch(ClientCertificate=certificate(6))
    daemon.restart()
    eventually(lambda: len(news(told)) == len(news(ops)) == 3 and len(mail.mails) == 6, 30)
    account.patch(ClientCertificate=None)
    daemon.restart()  # while it was down nobody saw it go
    eventually(lambda: news(told) == news(ops) == [expiring, renewed, expiring, removed] and len(mail.mails) == 8, 30)
    for request in told.requests + ops.requests:
        check_message(request, daemon.api(None).get("/openapi.json").json)
    subjects = sorted(m["Subject"] for _, m in mail.mails)
    assert subjects == sorted([account.app_id + ": the client certificate " + what
                               for what in ("expires soon", "was renewed", "expires soon", "was removed")] * 2)
    assert "Certificate expires: 20" in mail.mails[0][1].get_body().get_content()
    assert daemon.stop() == 0
    for server in (told, ops, mail):
        server.close()

"""Mails of several daemons on one database: who sends them, and what becomes of one under way."""
import signal

import nodes
import pytest
from harness import Receiver, eventually
from people import person
from postgresql import sql
from shim import Clock, shimmed
from smtp import MailServer
from test_link_mail import URL, invite, to, token_of, use
from test_mail import FROM, mails, more_apps, partner, told
from test_mail_preferences import choose, chosen
from test_mail_preferences import to as of
from test_operations import SCHEDULE, Partner
from test_statement_ready import go_to, months


@pytest.fixture
def mail_server():
    s = MailServer()
    yield s
    s.close()


def test_a_mail_is_under_way_at_a_node_that_has_lost_its_shards(tmp_path, database, mail_server):
    """The other node has sent it meanwhile, and says so: that is no end of the first one."""
    cluster = nodes.Cluster(tmp_path, database)
    env = {"POSTBACKD_SMTP_URL": mail_server.url(), "POSTBACKD_MAIL_FROM": FROM, "POSTBACKD_OPERATIONS_SPACING": "1"}
    try:
        mail_server.says["MAIL"] = "hang"
        a = cluster.start("a", env=env)
        p = partner(a)
        p.suspend()
        eventually(lambda: [line for line in mail_server.lines if line.startswith("MAIL")])
        a.process.send_signal(signal.SIGSTOP)
        try:
            del mail_server.says["MAIL"]
            b = cluster.start("b", env=env)
            eventually(lambda: len(mails(mail_server)) == 1, 40)
            eventually(lambda: b.metrics()["postbackd_operations_sent_total"] == 1)
            assert b.api().patch("/api/v1/apps/" + p.app_id, {"Name": "After the mail"}).status == 200
        finally:
            a.process.send_signal(signal.SIGCONT)
        eventually(lambda: a.api().get("/api/v1/apps/" + p.app_id).json["Name"] == "After the mail", 30)
        assert a.process.poll() is None
        p.says["callback"] = 200
        eventually(lambda: len(mails(mail_server)) == 2, 60)
        assert "works again" in mails(mail_server)[1][1]["Subject"]
        assert a.stop() == 0
        p.receiver.close()
    finally:
        cluster.stop()


def test_a_person_gets_one_mail_of_endpoints_of_several_nodes(tmp_path, database, mail_server):
    """At once, and as one daily digest, from the node that is left when the other one was killed in between."""
    clock = Clock(tmp_path / "clock")
    cluster = nodes.Cluster(tmp_path, database)
    env = {"POSTBACKD_SMTP_URL": mail_server.url(), "POSTBACKD_MAIL_FROM": FROM, "POSTBACKD_OPERATIONS_SPACING": "1",
           "POSTBACKD_RETRY_SCHEDULE": SCHEDULE, **shimmed(SHIM_CLOCK=clock.path)}
    try:
        go_to(clock, "2027-03-15T12:00:00")
        a = cluster.start("a", env=env)
        b = cluster.start("b", env=env)
        cluster.wait_even("a", "b")
        p = Partner(a, {"callback": 200}, None)
        clients = more_apps(p, 5)
        at_once, daily = [person(a, "owner", p.partner_id) for _ in range(2)]
        choose(at_once, Endpoints="at_once")
        choose(daily, Endpoints="daily")
        daily.daemon = b
        eventually(lambda: chosen(daily).get("Endpoints") == "daily", 30)
        p.says["callback"] = 503
        a.api().events([dict(p.event("%s-%d" % (client, n)), ClientId=client) for client in clients for n in range(20)])
        eventually(lambda: sorted(told(mail_server, at_once.email, "down")) == sorted(p.apps), 60)
        eventually(lambda: cluster.sum("postbackd_operations_sent_total", "a", "b") == 6)  # the answers were read, too
        first, other = (a, b) if a.metrics()["postbackd_operations_sent_total"] else (b, a)
        assert other.metrics()["postbackd_operations_sent_total"] == 0
        eventually(lambda: told_for_good(database, 6))
        first.kill()
        go_to(clock, "2027-03-16T07:00:10")
        mail, = eventually(lambda: of(mail_server, daily.email), 60)
        assert mail["Subject"] == "Daily digest: 6 messages"
        eventually(lambda: other.metrics()["postbackd_operations_owed"] == 0)
        first.start()
        go_to(clock, "2027-03-17T07:00:10")
        cluster.wait_even("a", "b")
        eventually(lambda: cluster.sum("postbackd_operations_owed", "a", "b") == 0)
        assert [d.stop() for d in (a, b)] == [0, 0]
        assert sorted(told(mail_server, daily.email, "down")) == sorted(p.apps)
        assert sorted(told(mail_server, at_once.email, "down")) == sorted(p.apps)
        p.receiver.close()
    finally:
        cluster.stop()


def test_an_invitation_is_under_way_at_a_node_that_sleeps(tmp_path, database, mail_server):
    """One node sends them all, whichever was asked; the next one goes on, and both know of it."""
    cluster = nodes.Cluster(tmp_path, database)
    env = {"POSTBACKD_SMTP_URL": mail_server.url(), "POSTBACKD_MAIL_FROM": FROM, "POSTBACKD_PUBLIC_URL": URL}

    def owed(*each):
        return [d.metrics()["postbackd_link_mails_owed"] for d in each]

    try:
        a = cluster.start("a", env=env)
        b = cluster.start("b", env=env)
        assert invite(b, "first@b.example")["MailQueued"]
        eventually(lambda: to(mail_server, "first@b.example"))
        eventually(lambda: owed(a, b) == [0, 0], 30)
        eventually(lambda: cluster.sum("postbackd_link_mails_sent_total", "a", "b") == 1)
        first, second = (a, b) if a.metrics()["postbackd_link_mails_sent_total"] else (b, a)

        mail_server.says["MAIL"] = "hang"
        made = invite(second, "next@b.example")
        eventually(lambda: len([line for line in mail_server.lines if line.startswith("MAIL")]) == 2)
        first.process.send_signal(signal.SIGSTOP)
        try:
            del mail_server.says["MAIL"]
            mail = eventually(lambda: to(mail_server, "next@b.example"), 40)[0]
            assert made["Link"].endswith("#" + token_of(mail))
            eventually(lambda: owed(second) == [0])
        finally:
            first.process.send_signal(signal.SIGCONT)
        eventually(lambda: owed(first) == [0], 30)
        assert use(first, token_of(mail)).status == 200
        assert [d.stop() for d in (a, b)] == [0, 0]
        assert len(to(mail_server, "next@b.example")) == 1
    finally:
        cluster.stop()


def told_for_good(database, mails=0):
    """No message is being sent, and so many mails to persons are recorded as sent: a node that is killed before that
    leaves them to be sent again."""
    return sql(database, """SELECT count(*) FILTER (WHERE document LIKE '%%"Body":%%')=0 AND count(*) FILTER (WHERE
                            document::json->>'Channel'='3' AND (document::json->>'Sent')::bigint>0)>=%d
                            FROM object WHERE kind=11""" % mails) == "t"


def believe(database, clock):
    """Whoever looks at the retention clock next takes it that this time has passed."""
    assert sql(database, "UPDATE meta SET value=convert_to('%d','UTF8') WHERE name='retention_clock_ms' RETURNING 1"
               % (clock.now().timestamp() * 1000)) == "1"


def test_a_statement_is_told_by_one_of_the_nodes(tmp_path, database, mail_server):
    """Both see the month close. Who tells it is killed; whoever goes on tells the next one, and this one no more."""
    clock, ops = Clock(tmp_path / "clock"), Receiver()
    cluster = nodes.Cluster(tmp_path, database)
    env = {"POSTBACKD_SMTP_URL": mail_server.url(), "POSTBACKD_MAIL_FROM": FROM, "POSTBACKD_OPERATIONS_SPACING": "1",
           **shimmed(SHIM_CLOCK=clock.path)}
    try:
        go_to(clock, "2027-03-15T12:00:00")
        a = cluster.start("a", env=env)
        b = cluster.start("b", env=env)
        p = partner(a, ops.url)
        p.event_some(1)
        a.api().wait_state("e-1-0", p.partner_id, "delivered")
        go_to(clock, "2027-04-15T12:00:00")
        p.event_some(1)
        a.api().wait_state("e-2-0", p.partner_id, "delivered")
        eventually(lambda: sql(database, "SELECT 1 FROM meta WHERE name='retention_clock_ms'") == "1")
        assert [d.stop() for d in (a, b)] == [0, 0]
        go_to(clock, "2027-06-30T12:00:00")
        believe(database, clock)
        a, b = cluster.start("a", env=env), cluster.start("b", env=env)
        eventually(lambda: cluster.sum("postbackd_operations_sent_total", "a", "b") == 2, 60)
        teller, other = (a, b) if a.metrics()["postbackd_operations_sent_total"] else (b, a)
        eventually(lambda: told_for_good(database))
        go_to(clock, "2027-07-30T12:00:00")
        believe(database, clock)
        teller.kill()
        eventually(lambda: len(mails(mail_server)) == 2 and len(months(ops)) == 2, 90)
        assert months(ops) == ["2027-03", "2027-04"]
        assert [m["Subject"][17:24] for _, m in mails(mail_server)] == months(ops)
        eventually(lambda: other.metrics()["postbackd_operations_owed"] == 0)
        assert other.stop() == 0
        p.receiver.close()
    finally:
        cluster.stop()
        ops.close()

"""Messages to a partner's OperationsUrl: what is told, signed how, when, and what survives."""
import socket
import ssl
import time
from datetime import datetime, timezone

from checks import assert_problem
from described import check_message
from harness import Account, Receiver, eventually, webhook_signature
from inside import change
from raw import Authority, RawServer
from raw import answer as raw_answer
from smtp import MailServer

SCHEDULE = "1s,1s,1s,5s,5s,5s,5s,5s"


class Partner(Account):
    """A partner with an OperationsUrl, whose app's receiver answers as told."""

    def __init__(self, daemon, says, operations_url, address="127.0.0.1", **app):
        self.says = says
        self.receiver = Receiver(answer=lambda request: self.says["callback"], address=address)
        super().__init__(daemon, self.receiver.url, **app)  # app's own URLs win
        answer = daemon.api().patch("/api/v1/partners/" + self.partner_id, {"OperationsUrl": operations_url})
        assert answer.status == 200, answer
        self.sent = 0

    def operations_secret(self):
        answer = self.daemon.api().get("/api/v1/partners/%s/operations-secret" % self.partner_id)
        assert answer.status == 200, answer
        return answer.json

    def suspend(self):
        """Lets the endpoint fail until it is suspended."""
        self.says["callback"] = 503
        self.event_some(20)
        eventually(lambda: state_of(self) == "suspended")

    def event_some(self, count):
        self.sent += count
        self.daemon.api().events([self.event("e-%d-%d" % (self.sent, i)) for i in range(count)])


def state_of(account):
    return account.daemon.api().get("/api/v1/apps/%s/endpoints" % account.app_id).json["Endpoints"][0]["State"]


def messages(receiver, app_id=None):
    with receiver.lock:
        return [r for r in receiver.requests if not app_id or r.json["AppId"] == app_id]


def assert_described(daemon, receiver, *types):
    """These have come, and each is as /openapi.json describes it."""
    document = daemon.api(None).get("/openapi.json").json
    for request in messages(receiver):
        check_message(request, document)
    assert tuple(m.json["Type"] for m in messages(receiver)) == types


def assert_signed(request, secret):
    assert request.header("webhook-id") == request.json["MessageId"]
    timestamp = int(request.header("webhook-timestamp"))
    assert abs(timestamp - time.time()) < 60
    wanted = webhook_signature(secret, request.json["MessageId"], timestamp, request.body)
    assert wanted in request.header("webhook-signature").split(" ")


def start(own_daemon, spacing=1):
    own_daemon.schedule = SCHEDULE
    own_daemon.options += ["--operations-spacing", str(spacing)]
    return own_daemon.start()


def test_suspended_and_recovered(own_daemon):
    daemon = start(own_daemon)
    ops = Receiver()
    p = Partner(daemon, {"callback": 200}, ops.url)
    p.suspend()
    first, = eventually(lambda: messages(ops))
    told = first.json
    assert told["Type"] == "endpoint.suspended"
    assert (told["PartnerId"], told["AppId"], told["Endpoint"]) == (p.partner_id, p.app_id, "success")
    assert (told["Url"], told["State"], told["Waiting"]) == (p.receiver.url, "suspended", 20)
    assert told["Since"] <= told["Timestamp"] and told["OldestWaitingAt"] <= told["Since"]
    assert (told["LastError"]["Class"], told["LastError"]["Status"]) == ("status", 503)
    assert told["LastError"]["Detail"] and told["LastError"]["Fix"]
    assert_signed(first, p.operations_secret()["OperationsSecret"])
    assert first.header("content-type") == "application/json"

    p.says["callback"] = 200
    eventually(lambda: len(messages(ops)) == 2, 30)
    second = messages(ops)[1]
    assert (second.json["Type"], second.json["State"], second.json["LastError"]) == ("endpoint.recovered", "open", None)
    assert second.header("webhook-id") != first.header("webhook-id")
    assert_signed(second, p.operations_secret()["OperationsSecret"])
    assert_described(daemon, ops, "endpoint.suspended", "endpoint.recovered")
    # The receiver has it before the daemon has the answer.
    eventually(lambda: daemon.metrics()["postbackd_operations_sent_total"] == 2)
    # whoever asks for no messages gets none
    quiet = Account(daemon, p.receiver.url)
    p.says["callback"] = 503
    daemon.api().events([quiet.event("q-%d" % i) for i in range(20)])
    eventually(lambda: state_of(quiet) == "suspended")
    p.suspend()
    eventually(lambda: len(messages(ops, p.app_id)) == 3)
    assert messages(ops, quiet.app_id) == []
    ops.close()
    p.receiver.close()


def test_formats_of_chats(own_daemon):
    """One account after the other; Slack's asks to wait longer than the 5 s that are usual."""
    own_daemon.options += ["--public-url", "https://postback.example"]
    daemon = start(own_daemon)
    texts = {"slack": lambda m: m["text"], "discord": lambda m: m["content"],
             "teams": lambda m: m["attachments"][0]["content"]["body"][0]["inlines"][0]["text"]}
    for name, text_of in texts.items():
        slow = [(429, {"Retry-After": "8"}, b"")] if name == "slack" else []
        ops = Receiver(answer=lambda request: slow.pop() if slow else 204)
        p = Partner(daemon, {"callback": 200}, ops.url)
        path = "/api/v1/partners/" + p.partner_id
        answer = daemon.api().patch(path, {"OperationsFormat": name})
        assert answer.status == 200 and answer.json["OperationsFormat"] == name, answer
        p.suspend()
        first = eventually(lambda: messages(ops))[0]
        assert "is down" in text_of(first.json), first.body
        assert b"https://postback.example" in first.body and b"MessageId" not in first.body
        wanted = webhook_signature(p.operations_secret()["OperationsSecret"], first.header("webhook-id"),
                                   first.header("webhook-timestamp"), first.body)
        assert wanted in first.header("webhook-signature").split(" ")
        if name == "slack":
            again = eventually(lambda: messages(ops)[1:], 30)[0]
            assert again.at - first.at > 7 and again.body == first.body
        ops.close()
        p.receiver.close()
    assert_problem(daemon.api().patch(path, {"OperationsFormat": "irc"}), 400, "OperationsFormat")
    daemon.kill()
    assert daemon.start().api().get(path).json["OperationsFormat"] == "teams"
    assert "OperationsFormat" not in daemon.api().patch(path, {"OperationsFormat": "standard"}).json


def test_disabled_by_410(own_daemon):
    operator = Receiver()
    own_daemon.options += ["--operations-url", operator.url]
    daemon = start(own_daemon)
    ops = Receiver()
    p = Partner(daemon, {"callback": 410}, ops.url.replace("http://", "http://user:secret@"))
    p.event_some(5)
    first, = eventually(lambda: messages(ops))
    assert (first.json["Type"], first.json["State"]) == ("endpoint.disabled", "disabled")
    assert first.json["LastError"]["Class"] == "gone"
    assert first.header("authorization").startswith("Basic ")
    p.says["callback"] = 200
    p.patch(SuccessCallbackUrl=p.receiver.url)
    p.event_some(1)
    eventually(lambda: [m.json["Type"] for m in messages(ops)] == ["endpoint.disabled", "endpoint.recovered"])
    # The operator is told the same, as callbacks wait without an end.
    eventually(lambda: [m.json["Type"] for m in messages(operator)] == ["endpoint.disabled", "endpoint.recovered"])
    assert [m.json["AppId"] for m in messages(operator)] == [p.app_id] * 2
    for receiver in (ops, operator):
        assert_described(daemon, receiver, "endpoint.disabled", "endpoint.recovered")
    assert "user:secret" not in daemon.log_text()
    ops.close()
    operator.close()
    p.receiver.close()


def test_an_owed_message_survives_a_kill(own_daemon):
    daemon = start(own_daemon)
    answers = {"status": 500}
    ops = Receiver(answer=lambda request: answers["status"])
    p = Partner(daemon, {"callback": 200}, ops.url)
    p.suspend()
    first = eventually(lambda: messages(ops))[0]
    daemon.kill()
    answers["status"] = 200
    tried = len(p.receiver.requests)
    daemon.start()
    again = eventually(lambda: messages(ops)[1:])[0]
    assert again.header("webhook-id") == first.header("webhook-id")
    assert again.body == first.body
    assert_signed(again, p.operations_secret()["OperationsSecret"])
    # told once: the endpoint is suspended again after the restart, which is no news
    eventually(lambda: len(p.receiver.requests) > tried and state_of(p) == "suspended")
    # and its recovery is, as the next one, though this process has never told of a suspension
    p.says["callback"] = 200
    eventually(lambda: [m.json["Type"] for m in messages(ops)][2:] == ["endpoint.recovered"], 30)
    ops.close()
    p.receiver.close()


def test_flapping_floods_nobody_and_ends_with_what_is(own_daemon):
    daemon = start(own_daemon, spacing=4)
    ops = Receiver()
    p = Partner(daemon, {"callback": 200}, ops.url)
    begun = time.monotonic()
    for _ in range(3):
        p.suspend()
        p.says["callback"] = 200
        eventually(lambda: daemon.metrics()["postbackd_callbacks_pending"] == 0, 40)
    took = time.monotonic() - begun
    eventually(lambda: messages(ops) and messages(ops)[-1].json["Type"] == "endpoint.recovered", 30)
    told = messages(ops)
    for a, b in zip(told, told[1:]):
        assert b.at - a.at > 3.5
        assert a.json["Type"] != b.json["Type"]
    assert len(told) <= 2 + took / 4
    eventually(lambda: daemon.metrics()["postbackd_operations_owed"] == 0)
    assert messages(ops)[-1].json["Type"] == "endpoint.recovered"
    ops.close()
    p.receiver.close()


def test_a_restart_does_not_shorten_the_spacing(own_daemon):
    daemon = start(own_daemon, spacing=600)
    ops = Receiver()
    p, other = (Partner(daemon, {"callback": 200}, ops.url) for _ in range(2))
    p.suspend()
    eventually(lambda: messages(ops, p.app_id))
    eventually(lambda: daemon.metrics()["postbackd_operations_sent_total"] == 1)
    daemon.restart()
    p.says["callback"] = 200
    eventually(lambda: state_of(p) != "suspended", 60)
    other.suspend()
    eventually(lambda: messages(ops, other.app_id), 30)
    assert [m.json["Type"] for m in messages(ops, p.app_id)] == ["endpoint.suspended"]
    ops.close()
    p.receiver.close()
    other.receiver.close()


def test_rotation(own_daemon):
    daemon = start(own_daemon)
    ops = Receiver()
    p = Partner(daemon, {"callback": 200}, ops.url)
    old = p.operations_secret()
    assert old["OlderSecretUntil"] is None
    path = "/api/v1/partners/%s/operations-secret" % p.partner_id
    new = daemon.api(p.key("apps:write")).post(path + "/rotate").json
    assert new["OperationsSecret"] != old["OperationsSecret"]
    assert new["OlderSecretUntil"] > time.strftime("%Y-%m-%d")
    key = daemon.api(p.key("apps:write"))
    assert_problem(key.post(path + "/rotate", {"SigSwitch": "now"}), 400, "SigSwitch")
    p.suspend()
    first, = eventually(lambda: messages(ops))
    assert len(first.header("webhook-signature").split(" ")) == 2
    assert_signed(first, new["OperationsSecret"])
    assert_signed(first, old["OperationsSecret"])
    assert daemon.api(p.key("apps:read")).get(path).status == 403
    other = Account(daemon)
    assert daemon.api(other.key("apps:write")).get(path).status == 404
    daemon.restart()
    assert p.operations_secret() == new
    last = daemon.api(p.key("apps:write")).post(path + "/rotate", {"OverlapSeconds": 0}).json
    assert last["OlderSecretUntil"] is None
    assert new["OperationsSecret"] not in daemon.log_text()
    ops.close()
    p.receiver.close()


def test_an_operations_url_that_hangs_or_is_refused_hurts_nobody(own_daemon):
    here = "127.0.0.2"
    own_daemon.allow = ("127.0.0.0/8",)
    daemon = start(own_daemon)
    hanging = socket.create_server((here, 0), backlog=50)  # connects, never answers
    port = hanging.getsockname()[1]
    p = Partner(daemon, {"callback": 200}, "http://%s:%d/" % (here, port), here)
    q = Partner(daemon, {"callback": 200}, "http://localhost:%d/" % port, here)
    own_daemon.allow = (here + "/32",)  # localhost resolves to what is no longer allowed
    daemon.restart()
    ops = Receiver(address=here)
    r = Partner(daemon, {"callback": 200}, ops.url, here)
    for partner in (p, q, r):
        partner.suspend()
    eventually(lambda: messages(ops, r.app_id))  # the hanging one holds up no other partner
    healthy = Receiver(address=here)
    good = Account(daemon, healthy.url)
    daemon.api().events([good.event("g-%d" % i) for i in range(50)])
    eventually(lambda: len(healthy.ids()) == 50)
    eventually(lambda: daemon.metrics()["postbackd_operations_failed_total"] >= 1, 30)
    assert "operations_message_failed" in daemon.log_text()
    assert '"class":"destination_refused"' in daemon.log_text()
    # nothing is told about an OperationsUrl itself
    assert {m.json["AppId"] for m in messages(ops)} == {r.app_id}
    assert daemon.stop() == 0
    hanging.close()
    for receiver in (ops, healthy, p.receiver, q.receiver, r.receiver):
        receiver.close()


def test_a_certificate_that_expires_soon_is_told_once_and_its_renewal_too(own_daemon, tmp_path):
    def keep(server, s, request):
        s.sendall(raw_answer(200))
        return True

    def secure(days):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*authority.sign("days-%d" % days, days=days))
        return RawServer(keep, tls)

    authority = Authority(tmp_path)
    own_daemon.options += ["--ca-file", authority.file]
    daemon = start(own_daemon)
    ops, soon, late = Receiver(), secure(5), secure(60)
    p = Partner(daemon, {"callback": 200}, ops.url, SuccessCallbackUrl=soon.url("https", "localhost"))
    for i in range(3):
        p.event_some(1)
        eventually(lambda: daemon.metrics()["postbackd_callbacks_pending"] == 0)
    first, = eventually(lambda: messages(ops))
    told = first.json
    assert (told["Type"], told["AppId"], told["Endpoint"]) == ("endpoint.certificate_expiring", p.app_id, "success")
    days = (datetime.fromisoformat(told["CertificateExpiresAt"].replace("Z", "+00:00"))
            - datetime.now(timezone.utc)).total_seconds() / 86400
    assert 3.9 < days < 5.1
    assert_signed(first, p.operations_secret()["OperationsSecret"])
    p.patch(SuccessCallbackUrl=late.url("https", "localhost"))
    p.event_some(1)
    eventually(lambda: [m.json["Type"] for m in messages(ops)][1:] == ["endpoint.certificate_renewed"])
    assert_described(daemon, ops, "endpoint.certificate_expiring", "endpoint.certificate_renewed")
    for server in (ops, soon, late, p.receiver):
        server.close()


def test_the_operator_is_told_of_books(own_daemon):
    ops, mail = Receiver(), MailServer()
    own_daemon.options += ["--operations-url", ops.url, "--operations-email", "ops@wall.example",
                           "--smtp-url", mail.url(), "--mail-from", "postbackd@wall.example"]
    daemon = start(own_daemon)
    a = Account(daemon)
    daemon.api().events([a.event("q-1")])
    daemon.stop()
    change(daemon, "UPDATE event SET revenue_micros=revenue_micros+1")
    daemon.start()
    first, = eventually(lambda: messages(ops, None), 30)
    assert first.json["Type"] == "books.wrong"
    assert "RevenueAmount -0.000001" in first.json["Detail"]
    assert a.app_id not in first.body.decode()
    answer = daemon.api().get("/api/v1/operations-secret")
    assert answer.status == 200
    assert_signed(first, answer.json["OperationsSecret"])
    assert daemon.api(a.key("apps:write")).get("/api/v1/operations-secret").status == 403
    change(daemon, "UPDATE event SET revenue_micros=revenue_micros-1")
    daemon.restart()
    eventually(lambda: [m.json["Type"] for m in messages(ops, None)] == ["books.wrong", "books.hold_again"], 30)
    assert_described(daemon, ops, "books.wrong", "books.hold_again")
    eventually(lambda: [m["Subject"] for _, m in mail.mails] == ["Books do not balance", "All books balance again"])
    assert "RevenueAmount -0.000001" in mail.mails[0][1].get_body().get_content()
    daemon.stop()
    mail.close()
    ops.close()

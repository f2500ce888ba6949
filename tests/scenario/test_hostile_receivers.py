"""Receivers that misbehave in every way: each attempt says what happened, in the right class and
in words a partner can act on, and a healthy receiver notices nothing."""
import base64
import contextlib
import datetime
import gzip
import socket
import ssl
import time

import pytest

from harness import Account, Daemon, Receiver, eventually
from raw import Acceptor, Authority, RawServer, answer, reset, timeout_for

OK = answer(200, b"ok")


def say(data):
    """Sends this and closes."""
    return lambda server, s, request: s.sendall(data)


def keep(data):
    """Sends this and goes on with the connection."""
    def behave(server, s, request):
        s.sendall(data)
        return True
    return behave


def hang(server, s, request):
    server.closed.wait(60)


def drip(server, s, request):
    for byte in OK:
        s.sendall(bytes([byte]))
        if server.closed.wait(1):
            return


def endless(begin, again):
    def behave(server, s, request):
        s.sendall(begin)
        while not server.closed.is_set():
            s.sendall(again * 100)
    return behave


def slow_body(server, s, request):
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nh")
    server.closed.wait(60)


def then_reset(data):
    def behave(server, s, request):
        s.sendall(data)
        time.sleep(0.2 if data else 0)
        reset(s)
    return behave


# name: (what it does, class of the first attempt or None, its Status, words of its Detail)
STATUS_REFUSED = "its status is not three digits from 100 to 599"
PLAIN = {
    "reset": (then_reset(b""), "reset", None, "reset the connection without an answer"),
    "closes": (lambda *_: None, "reset", None, "closed the connection without an answer"),
    "half_head": (say(b"HTTP/1.1 200 OK\r\nX: "), "reset", None, "in the middle of its answer"),
    "hang": (hang, "timeout", None, "no answer within 3 s"),
    "drip": (drip, "timeout", None, "headers were not complete within 3 s"),
    "endless_headers": (endless(b"HTTP/1.1 200 OK\r\n", b"X-More: of the same\r\n"), "protocol", None,
                        "header is longer than 32768 bytes"),
    "endless_header": (endless(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 100), "protocol", None, "longer than 32768 bytes"),
    "flood_1xx": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "protocol", None, "1xx"),
    "switches": (say(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), "protocol", None, "101"),
    "no_http": (say(b"SSH-2.0-OpenSSH_9.2\r\n"), "protocol", None, "SSH-2.0"),
    "bad_status": (say(b"HTTP/1.1 OK\r\n\r\n"), "protocol", None, "HTTP/1.1"),
    **{"status_" + name: (say(before + b"HTTP/1.1 " + status + b" OK\r\nContent-Length: 0\r\n\r\n"), "protocol", None, why)
       for name, before, status, why in (
           ("0200", b"", b"0200", STATUS_REFUSED),
           ("0200_later", b"HTTP/1.1 100 Continue\r\n\r\n", b"0200", STATUS_REFUSED),
           ("0100", b"HTTP/1.1 0100 Continue\r\n\r\n", b"200", STATUS_REFUSED),
           ("99", b"", b"99", STATUS_REFUSED), ("20", b"", b"20", STATUS_REFUSED),
           ("1000", b"", b"1000", "can be understood"), ("plus", b"", b"+200", "can be understood"))},
    "two_lengths": (say(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
                    "protocol", None, "Content-Length"),
    "redirect": (keep(answer(301, b"", "Location: https://user:pw@new.example/cb\r\n")), "redirect", 301,
                 "https://***:***@new.example/cb"),
    "redirect_same": (keep(answer(308, b"", "Location: //user:pw@new.example/cb\r\n")), "redirect", 308,
                      "//***:***@new.example/cb"),
    "redirect_path": (keep(answer(302, b"", "Location: /moved\r\n")), "redirect", 302, "/moved"),
    "not_found": (keep(answer(404, b"who?")), "status", 404, "404"),
    "unauthorized": (keep(answer(401)), "status", 401, "user:password@"),
    "fails": (keep(answer(500, b"stack trace")), "status", 500, "500"),
    "too_many": (keep(answer(429)), "status", 429, "429"),
    "fails_short": (say(b"HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\nten bytes!"), "status", 500, "500"),
    "gone": (keep(answer(410)), "gone", 410, "410"),
    # What is a success all the same: status and headers are complete.
    "endless_body": (endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"3\r\nabc\r\n"),
                     None, 200, ""),
    "short_body": (say(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten bytes!"), None, 200, ""),
    "reset_in_body": (then_reset(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten"), None, 200, ""),
    "slow_body": (slow_body, None, 200, ""),
    "early_1xx": (keep(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + OK),
                  None, 200, ""),
    "old_http": (say(b"HTTP/1.0 200 OK\r\n\r\nbye"), None, 200, ""),
    "no_content": (keep(b"HTTP/1.1 204 No Content\r\n\r\n"), None, 204, ""),
    "gzip": (keep(answer(200, gzip.compress(b"hello"), "Content-Encoding: gzip\r\n")), None, 200, ""),
}

TLS = {
    "tls_good": ("good", None, 200, ""),
    "tls_expired": ("expired", "tls", None, "expired"),
    "tls_wrong_name": ("wrong_name", "tls", None, "not for localhost but for other.example"),
    "tls_self_signed": ("self_signed", "tls", None, "self-signed"),
    "tls_unknown_authority": ("unknown", "tls", None, "issuer"),
}


def certificates(directory):
    known, unknown = Authority(directory), Authority(directory, "other")
    files = {"good": known.sign("good"), "expired": known.sign("expired", days=-1),
             "wrong_name": known.sign("wrong", "DNS:other.example"), "unknown": unknown.sign("unknown"),
             "self_signed": (unknown.file, unknown.file + ".key")}
    contexts = {}
    for name, (certificate, key) in files.items():
        contexts[name] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        contexts[name].load_cert_chain(certificate, key)
    return known, contexts


class Deaf:
    """Listens and takes no connection: what is sent to it waits for an answer to its SYN."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.port = self.listener.getsockname()[1]
        self.fillers = []
        for _ in range(4):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", self.port))
            self.fillers.append(s)

    def close(self):
        for s in [self.listener, *self.fillers]:
            s.close()


class Greeter(Acceptor):
    """Answers the first bytes it gets, whatever they are, and closes."""

    def __init__(self, words):
        self.words = words
        super().__init__()

    def _serve(self, s, number):
        with contextlib.suppress(OSError), s:
            s.recv(65536)
            s.sendall(self.words)


def nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Field:
    """One daemon, one account per hostile receiver, one healthy one, all at the same time."""

    def __init__(self, directory):
        self.servers, self.accounts = [], {}
        authority, contexts = certificates(directory)
        self.daemon = Daemon(directory / "d", "--ca-file", authority.file, "--loops", "1",
                             "--reads-per-minute", "100000", schedule="5s,5s").start()
        self.healthy_receiver = Receiver()
        self.healthy = Account(self.daemon, self.healthy_receiver.url)
        for name, (behave, wanted, *_) in PLAIN.items():
            self.account(name, self.server(behave).url(), wanted)
        for name, (context, wanted, *_) in TLS.items():
            self.account(name, self.server(keep(OK), contexts[context]).url("https", "localhost"), wanted)
        self.account("refused", "http://127.0.0.1:%d/" % nobody_there())
        deaf = Deaf()
        self.servers.append(deaf)
        self.account("deaf", "http://127.0.0.1:%d/" % deaf.port, "connect_timeout")
        plain = Greeter(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        self.servers.append(plain)
        self.account("tls_to_plain", "https://localhost:%d/" % plain.port)
        self.account("no_name", "http://no-such-name.invalid/cb")
        events = [a.event("h-" + name) for name, a in self.accounts.items()]
        for i in range(10):
            self.daemon.api().events(
                events[i::10] + [self.healthy.event("good-%d-%d" % (i, k)) for k in range(30)])

    def server(self, behave, tls=None):
        self.servers.append(RawServer(behave, tls))
        return self.servers[-1]

    def account(self, name, url, wanted=None):
        self.accounts[name] = Account(self.daemon, url, TimeoutSeconds=timeout_for(wanted))

    def close(self):
        for s in [*self.servers, self.healthy_receiver]:
            s.close()


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    f = Field(tmp_path_factory.mktemp("field"))
    yield f
    f.close()
    assert f.daemon.stop() == 0


CASES = {**{k: v[1:] for k, v in PLAIN.items()}, **{k: v[1:] for k, v in TLS.items()},
         "refused": ("refused", None, "refused"), "deaf": ("connect_timeout", None, "firewall"),
         "tls_to_plain": ("tls", None, "does not speak TLS"), "no_name": ("dns", None, "no-such-name.invalid")}


@pytest.mark.parametrize("name", CASES)
def test_attempt_says_what_happened(field, name):
    wanted_class, status, words = CASES[name]
    account = field.accounts[name]

    def attempted():
        found = field.daemon.api().callback("h-" + name, account.partner_id)
        return found if found["Attempts"] else None

    found = eventually(attempted, 60, 0.05, "an attempt of " + name)
    attempt = found["Attempts"][0]
    assert (attempt["Class"], attempt["Status"]) == (wanted_class, status), attempt
    assert attempt["Number"] == 1 and attempt["Manual"] is False
    if wanted_class is None:
        assert found["State"] == "delivered"
        return
    assert found["State"] in (("dead",) if name == "gone" else ("pending", "delivering"))
    assert words in attempt["Detail"], attempt["Detail"]
    assert "pw" not in attempt["Detail"] and "user:pw" not in str(found)


def test_healthy_receiver_is_unharmed(field):
    wanted = {"good-%d-%d" % (i, k) for i in range(10) for k in range(30)}
    eventually(lambda: wanted <= set(field.healthy_receiver.ids()), 60, what="all healthy callbacks")
    assert len(field.healthy_receiver.ids()) == len(wanted)


def seconds(n):
    return "Retry-After: %d\r\n" % n


def http_date(n):
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=n)
    return at.strftime("Retry-After: %a, %d %b %Y %H:%M:%S GMT\r\n")


def own_clock(n):
    """The receiver's clock is a year slow."""
    def text(at):
        return at.strftime("%a, %d %b %Y %H:%M:%S GMT\r\n")
    now = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=365)
    return "Date: %sRetry-After: %s" % (text(now), text(now + datetime.timedelta(seconds=n)))


def test_retry_after_pauses_the_whole_lane(field):
    """A second callback, posted after the answer, would go out at once if nothing paused it."""
    # name: (status, form, seconds asked for, seconds kept at least); the schedule's waits are 5 s
    cases = {"seconds": (429, seconds, 2, 2), "date": (503, http_date, 4, 3),
             "long": (503, seconds, 12, 12), "past": (503, http_date, -60, 0),
             "slow-clock": (503, own_clock, 8, 8)}
    api, times, accounts = field.daemon.api(), {}, {}

    def behave_as(name):
        status, form, asked, _ = cases[name]

        def behave(server, s, request):
            if b"-%s\r\n" % name.encode() not in request:
                return False  # for whoever had this port before
            log = times.setdefault(name, [])
            log.append((time.monotonic(), request))
            s.sendall(answer(status, b"", form(asked)) if len(log) == 1 else OK)
            return True
        return behave

    for name in cases:
        accounts[name] = Account(field.daemon, field.server(behave_as(name)).url())
        api.events(accounts[name].event("first-" + name))
    for name, account in accounts.items():
        eventually(lambda: api.callback("first-" + name, account.partner_id)["Attempts"])
        api.events(account.event("second-" + name))
    for name, account in accounts.items():
        for event_id in ("first-" + name, "second-" + name):
            found = api.wait_state(event_id, account.partner_id, "delivered", 30)
        first = api.callback("first-" + name, account.partner_id)
        assert str(cases[name][0]) in first["Attempts"][0]["Detail"]
        assert times[name][1][0] - times[name][0][0] >= cases[name][3] - 0.05, (
            name, times[name], first, found)
        assert found["Attempts"][0]["Number"] == 1


def test_a_retry_after_of_more_than_a_day_counts_as_a_day(field):
    server = field.server(keep(answer(429, b"", seconds(30 * 86400))))
    account, api = Account(field.daemon, server.url()), field.daemon.api()
    before = int(time.time() * 1000) / 1000  # NextAttemptAt is cut to the millisecond
    api.events(account.event("month"))
    found = eventually(lambda: (lambda f: f if f["Attempts"] and f["NextAttemptAt"] else None)(
        api.callback("month", account.partner_id)))
    asked = datetime.datetime.fromisoformat(found["NextAttemptAt"]).timestamp()
    assert 86400 <= asked - before <= 86400 + (time.time() - before) + 1, found


def test_userinfo_is_basic_auth_and_masked_everywhere(field):
    server = field.server(keep(answer(404, b"seen")))
    url = server.url(userinfo="m%C3%BCller:s3cr%40t-pass@")
    account, api = Account(field.daemon, url), field.daemon.api()
    api.events(account.event("userinfo"))
    found = eventually(lambda: (lambda f: f if f["Attempts"] else None)(
        api.callback("userinfo", account.partner_id)))
    wanted = b"Basic " + base64.b64encode("müller:s3cr@t-pass".encode())
    assert wanted in server.requests[0]
    texts = [str(found), api.get("/api/v1/apps/" + account.app_id).text,
             api.get("/api/v1/apps/%s/endpoints" % account.app_id).text,
             api.get("/metrics", key=None).text, field.daemon.log_text()]
    for text in texts:
        for secret in ("s3cr", wanted[6:].decode()):
            assert secret not in text
    assert "***@127.0.0.1:%d" % server.port in found["Attempts"][0]["Url"]

"""Receivers that misbehave below HTTP: TLS that stalls at each of its steps, is cut off, refused or
begun anew, and names whose addresses change. Each attempt says what happened; nobody else waits."""
import socket
import ssl
import struct
import subprocess
import threading

import pytest

from harness import Account, Daemon, Receiver, eventually
from raw import Acceptor, Authority, timeout_for

ALERT_HANDSHAKE_FAILURE = b"\x15\x03\x03\0\2\2\x28"


class Cut(Acceptor):
    """A TLS server whose bytes go out only up to a point: after `limit` bytes of all it has to say
    `then` happens. `pace`: seconds between bytes. It answers 200 if it ever gets that far."""

    def __init__(self, tls, limit, then="hang", pace=0):
        self.tls, self.limit, self.then, self.pace = tls, limit, then, pace
        super().__init__()

    def url(self):
        return "https://localhost:%d/cb" % self.port

    def _say(self, s, data, left):
        part = data[:left]
        if self.pace:
            for byte in part:
                s.sendall(bytes([byte]))
                if self.closed.wait(self.pace):
                    return 0
        elif part:
            s.sendall(part)
        if len(data) <= left:
            return left - len(data)
        if self.then == "reset":
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif self.then == "hang":
            self.closed.wait(60)
        return -1

    def _serve(self, s, number):
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self.tls.wrap_bio(into, out, server_side=True)
        left, step = self.limit, tls.do_handshake
        try:
            with s:
                while left >= 0:
                    try:
                        data = step()
                        if step == tls.do_handshake:
                            step = lambda: tls.read(65536)
                        elif data:
                            tls.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                    except ssl.SSLWantReadError:
                        left = self._say(s, out.read(), left)
                        if left >= 0:
                            data = s.recv(65536)
                            if not data:
                                return
                            into.write(data)
        except (OSError, ssl.SSLError):
            pass


class Speaker(Acceptor):
    """Says this as soon as somebody has said something, and goes on listening."""

    def __init__(self, words):
        self.words = words
        super().__init__()

    def url(self):
        return "https://localhost:%d/cb" % self.port

    def _serve(self, s, number):
        try:
            with s:
                s.recv(65536)
                s.sendall(self.words)
                s.recv(65536)
        except OSError:
            pass


def context(certificate, newest):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.maximum_version = newest
    tls.load_cert_chain(*certificate)
    return tls


V2, V3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
STALLED = ("connect_timeout", "TLS handshake was not complete")
GONE = ("tls", "during the TLS handshake")

# name: (server by certificate, class, words)
CASES = {
    # Before its first byte, within a record's head, within its hello, behind it, before the last of
    # its first flight; in 1.2 that is before the certificate is whole, then before its Finished.
    **{"stall_%s_%d" % (v.name[-3:], n): (lambda c, v=v, n=n: Cut(context(c, v), n), *STALLED)
       for v in (V2, V3) for n in (0, 3, 40, 130, 500)},
    "stall_before_finished": (lambda c: Cut(context(c, V2), 800), *STALLED),
    "drip": (lambda c: Cut(context(c, V3), 1 << 20, pace=0.05), *STALLED),
    **{"close_at_%d" % n: (lambda c, n=n: Cut(context(c, V3), n, then="close"), *GONE)
       for n in (0, 3, 130, 500)},
    **{"reset_at_%d" % n: (lambda c, n=n: Cut(context(c, V3), n, then="reset"), *GONE)
       for n in (0, 130, 500)},
    "alert": (lambda c: Speaker(ALERT_HANDSHAKE_FAILURE), "tls", "handshake failure"),
    "garbage": (lambda c: Speaker(b"\x16\x03\x03\0\x10" + b"\xee" * 16), "tls", "agree on TLS"),
    "huge_record": (lambda c: Speaker(b"\x16\x03\x03\xff\xff" + b"\0" * 1000), "tls", "agree on TLS"),
    "endless_hello": (lambda c: Speaker(b"".join(
        b"\x16\x03\x03\x40\0" + (b"\x02\xff\xff\xff" if i == 0 else b"\0\0\0\0") + b"\0" * 16380
        for i in range(64))), "tls", "agree on TLS"),
    "silent_after_handshake": (lambda c: Silent(c), "timeout", "no answer within 3 s"),
}


class Silent(Cut):
    """The handshake, and then nothing."""

    def __init__(self, certificate):
        super().__init__(context(certificate, V3), 1 << 20)

    def _serve(self, s, number):
        try:
            with self.tls.wrap_socket(s, server_side=True):
                self.closed.wait(60)
        except (OSError, ssl.SSLError):
            pass


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tls")
    authority = Authority(directory)
    certificate = authority.sign("receiver")
    daemon = Daemon(directory / "d", "--ca-file", authority.file, "--loops", "1",
                    "--reads-per-minute", "100000", schedule="30s").start()
    healthy_receiver, servers, accounts = Receiver(), [], {}
    healthy = Account(daemon, healthy_receiver.url)
    for name, (make, wanted, _) in CASES.items():
        servers.append(make(certificate))
        accounts[name] = Account(daemon, servers[-1].url(), TimeoutSeconds=timeout_for(wanted))
    daemon.api().events([a.event("h-" + name) for name, a in accounts.items()])
    daemon.api().events([healthy.event("good-%d" % i) for i in range(100)])
    yield daemon, accounts, healthy_receiver, certificate
    for s in [*servers, healthy_receiver]:
        s.close()
    assert daemon.stop() == 0


def first_attempt(daemon, account, name):
    return eventually(lambda: daemon.api().callback(name, account.partner_id)["Attempts"], 60, 0.05,
                      "an attempt of " + name)[0]


@pytest.mark.parametrize("name", CASES)
def test_attempt_says_what_happened(field, name):
    daemon, accounts, *_ = field
    _, wanted, words = CASES[name]
    attempt = first_attempt(daemon, accounts[name], "h-" + name)
    assert attempt["Class"] == wanted and words in attempt["Detail"], attempt["Detail"]
    if wanted == "connect_timeout":
        assert 2900 <= attempt["DurationMs"] < 30000


def test_healthy_receiver_is_unharmed(field):
    eventually(lambda: len(field[2].ids()) == 100, 60, what="all healthy callbacks")


def test_renegotiation_is_refused(field):
    """A server that wants to begin anew in the middle of an exchange (TLS 1.2) is told no. The
    exchange goes on: what it means is the server's to decide."""
    daemon, _, _, certificate = field
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    server = subprocess.Popen(
        ["openssl", "s_server", "-accept", "127.0.0.1:%d" % port, "-tls1_2", "-cert", certificate[0],
         "-key", certificate[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    try:
        seen = []
        threading.Thread(target=lambda: seen.extend(server.stdout), daemon=True).start()

        def said(words):
            eventually(lambda: any(words in line for line in seen), what=words)
        said(b"ACCEPT")
        account = Account(daemon, "https://localhost:%d/cb" % port, TimeoutSeconds=3)
        daemon.api().events(account.event("renegotiates"))
        said(b"POST /cb")
        server.stdin.write(b"r\n")
        server.stdin.flush()
        attempt = first_attempt(daemon, account, "renegotiates")
        assert attempt["Class"] in ("reset", "tls", "timeout"), attempt
        assert attempt["Status"] is None and attempt["Detail"]
        said(b"no renegotiation")
    finally:
        server.kill()
        server.wait()


def test_old_protocol_versions_are_refused(field, tmp_path):
    daemon, _, _, certificate = field
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    server = subprocess.Popen(
        ["openssl", "s_server", "-accept", "127.0.0.1:%d" % port, "-tls1_1", "-cipher",
         "ALL:@SECLEVEL=0", "-cert", certificate[0], "-key", certificate[1]],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        while b"ACCEPT" not in server.stdout.readline():
            pass
        account = Account(daemon, "https://localhost:%d/cb" % port)
        daemon.api().events(account.event("old"))
        attempt = first_attempt(daemon, account, "old")
        assert attempt["Class"] == "tls", attempt["Detail"]
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("newest", [V2, V3])
def test_session_outlives_the_connections(tmp_path, newest):
    """The pool is emptied, the receiver's process is another one with the same ticket key: the
    handshake is resumed all the same."""
    authority = Authority(tmp_path)
    certificate = authority.sign("receiver")
    daemon = Daemon(tmp_path / "d", "--ca-file", authority.file, "--loops", "1", schedule="30s").start()
    tls, seen = context(certificate, newest), []

    class Server(Cut):
        def _serve(self, s, number):
            try:
                with self.tls.wrap_socket(s, server_side=True) as s:
                    s.recv(65536)
                    seen.append((self.port, s.session_reused))
                    s.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            except (OSError, ssl.SSLError):
                pass
    server = Server(tls, 0)
    account = Account(daemon, server.url())
    for i in range(3):
        daemon.api().events(account.event("resumed-%s-%d" % (newest.name, i)))
        daemon.api().wait_state("resumed-%s-%d" % (newest.name, i), account.partner_id, "delivered")
    assert [resumed for _, resumed in seen] == [False, True, True]
    # One that does not know the session any more costs a full handshake, not the callback.
    server.tls = context(certificate, newest)
    daemon.api().events(account.event("forgotten-" + newest.name))
    found = daemon.api().wait_state("forgotten-" + newest.name, account.partner_id, "delivered")
    assert len(found["Attempts"]) == 1 and seen[-1][1] is False
    server.close()
    assert daemon.stop() == 0


def test_memory_stays_flat(field):
    """Handshakes that fail at every step leave nothing behind."""
    daemon, accounts, *_ = field
    names = [n for n in CASES if CASES[n][1] == "tls"]

    def storm(count):
        for n in names:
            for _ in range(count):
                attempt = daemon.api().post("/api/v1/apps/%s/test-callback" % accounts[n].app_id, {
                    "RewardType": "survey_completed", "PanelistId": "p"}).json
                assert attempt["Class"] == "tls", attempt
    storm(3)
    before = daemon.resident_kib()
    storm(20)
    daemon.check_grown(before, 8 << 10)

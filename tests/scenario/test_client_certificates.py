"""Certificates of our own: an app's, for receivers that ask who calls. Set, never shown back, used
for that app's URLs alone."""
import datetime
import hashlib
import pathlib
import ssl

import pytest

from harness import Account, Daemon, eventually
from raw import Authority, RawServer, answer, openssl


def pem(path):
    return pathlib.Path(path).read_text()


def pair(signed):
    certificate, key = signed
    return {"Certificate": pem(certificate), "PrivateKey": pem(key)}


class Place:
    """An authority for receivers and one for their callers."""

    def __init__(self, directory):
        self.directory = directory
        self.servers, self.callers = Authority(directory, "servers"), Authority(directory, "callers")
        self.certificate = self.servers.sign("receiver")
        self.client = {name: self.callers.sign(name, "DNS:" + name) for name in ("one", "two")}

    def context(self, newest=ssl.TLSVersion.TLSv1_3, required=True):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.maximum_version = newest
        tls.load_cert_chain(*self.certificate)
        tls.load_verify_locations(self.callers.file)
        tls.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_NONE
        return tls

    def receiver(self, seen, close=False, **kw):
        """`seen` gets (who called, whether the session was resumed, connection) per request."""
        def behave(server, s, request):
            names = dict(part[0] for part in s.getpeercert()["subject"])
            seen.append((names["commonName"], s.session_reused, id(s)))
            s.sendall(answer(200))
            return not close
        return RawServer(behave, self.context(**kw))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def daemon(place):
    d = Daemon(place.directory / "d", "--ca-file", place.servers.file, "--loops", "1",
               schedule="30s").start()
    yield d
    assert d.stop() == 0


def deliver(daemon, account, *ids):
    daemon.api().events([account.event(i) for i in ids])
    return [daemon.api().wait_state(i, account.partner_id, "delivered") for i in ids]


def test_each_app_shows_its_own(daemon, place):
    seen = []
    server = place.receiver(seen)
    accounts = {name: Account(daemon, server.url("https", "localhost"), ClientCertificate=pair(files))
                for name, files in place.client.items()}
    for i in range(3):
        for name, account in accounts.items():
            deliver(daemon, account, "own-%s-%d" % (name, i))
    assert [who for who, _, _ in seen] == ["one", "two"] * 3
    # Kept alive, and never shared.
    assert len({c for who, _, c in seen if who == "one"}) == 1
    assert len({c for _, _, c in seen}) == 2
    server.close()


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_sessions_are_resumed_but_not_shared(daemon, place, newest):
    seen = []
    server = place.receiver(seen, close=True, newest=newest)
    accounts = {name: Account(daemon, server.url("https", "localhost"), ClientCertificate=pair(files))
                for name, files in place.client.items()}
    for i in range(2):
        for name, account in accounts.items():
            deliver(daemon, account, "session-%s-%s-%d" % (newest.name, name, i))
    assert [(who, resumed) for who, resumed, _ in seen] == [
        ("one", False), ("two", False), ("one", True), ("two", True)]
    server.close()


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_receiver_that_wants_one_and_gets_none(daemon, place, newest):
    server = place.receiver([], newest=newest)
    account = Account(daemon, server.url("https", "localhost"))
    name = "none-" + newest.name
    daemon.api().events(account.event(name))
    attempt = eventually(lambda: daemon.api().callback(name, account.partner_id)["Attempts"])[0]
    assert attempt["Class"] == "tls"
    if newest == ssl.TLSVersion.TLSv1_3:  # 1.2 has no word for it
        assert "set the app's ClientCertificate" in attempt["Detail"]
    # Set, it goes through.
    account.patch(ClientCertificate=pair(place.client["one"]))
    daemon.api().post("/api/v1/callbacks/%s/resend" % name, query={"partnerId": account.partner_id})
    daemon.api().wait_state(name, account.partner_id, "delivered")
    server.close()


def test_receiver_that_does_not_accept_it(daemon, place):
    server = place.receiver([])
    other = Authority(place.directory, "strangers").sign("stranger", "DNS:stranger")
    account = Account(daemon, server.url("https", "localhost"), ClientCertificate=pair(other))
    daemon.api().events(account.event("stranger"))
    attempt = eventually(lambda: daemon.api().callback("stranger", account.partner_id)["Attempts"])[0]
    assert attempt["Class"] == "tls"
    assert "does not accept the app's ClientCertificate" in attempt["Detail"]
    server.close()


def test_never_shown_back_and_kept_over_a_restart(place, tmp_path):
    daemon = Daemon(tmp_path / "d", "--ca-file", place.servers.file).start()
    seen = []
    server = place.receiver(seen)
    account = Account(daemon, server.url("https", "localhost"))
    path = "/api/v1/apps/" + account.app_id
    assert "ClientCertificate" not in daemon.api().get(path).json
    key = pem(place.client["one"][1])
    patched = daemon.api().patch(path, {"ClientCertificate": pair(place.client["one"])})
    der = ssl.PEM_cert_to_DER_cert(pem(place.client["one"][0]))
    shown = patched.json["ClientCertificate"]
    assert shown == {"Subject": "CN=one", "Sha256": hashlib.sha256(der).hexdigest(),
                     "NotAfter": shown["NotAfter"]}
    after = datetime.datetime.fromisoformat(shown["NotAfter"].replace("Z", "+00:00"))
    days = (after - datetime.datetime.now(datetime.timezone.utc)).days
    assert days in (29, 30)
    deliver(daemon, account, "before")
    daemon.kill()
    daemon.start()
    assert daemon.api().get(path).json["ClientCertificate"] == shown
    deliver(daemon, account, "after")
    assert [who for who, _, _ in seen] == ["one", "one"]
    secret_lines = [line for line in key.splitlines() if "-----" not in line]
    texts = [patched.text, daemon.api().get(path).text, daemon.log_text(),
             daemon.api().get("/metrics", key=None).text]
    files = [p.read_bytes() for p in (tmp_path / "d").rglob("*") if p.is_file()]
    assert secret_lines and files
    for line in secret_lines:
        assert not any(line in text for text in texts)
        assert not any(line.encode() in data for data in files)
    # null takes it away.
    account.patch(ClientCertificate=None)
    assert "ClientCertificate" not in daemon.api().get(path).json
    server.close()
    assert daemon.stop() == 0


def test_what_cannot_be_used_is_refused(daemon, place):
    good, other = pair(place.client["one"]), pair(place.client["two"])
    locked = place.directory / "locked.key"
    openssl("pkey", "-in", place.client["one"][1], "-aes128", "-passout", "pass:x", "-out", str(locked))
    expired = place.callers.sign("expired", "DNS:expired", days=-1)
    weak = place.directory / "weak"
    openssl("req", "-x509", "-newkey", "rsa:1024", "-nodes", "-keyout", str(weak) + ".key", "-out",
            str(weak) + ".pem", "-days", "9", "-subj", "/CN=weak")
    block, begin = good["Certificate"], "-----BEGIN CERTIFICATE-----\n"
    junk = begin + "AAAA\n-----END CERTIFICATE-----\n"

    def chain(*behind):
        return {**good, "Certificate": block + "".join(behind)}
    cases = [
        (chain(junk), "Certificate", "number 2, that cannot be read"),
        (chain(junk, block), "Certificate", "number 2, that cannot be read"),
        (chain(block[:len(block) // 2]), "Certificate", "number 2, that cannot be read"),
        (chain(block, begin), "Certificate", "number 3, that cannot be read"),
        (chain(*[block] * 8, junk), "Certificate", "number 10, that cannot be read"),
        (chain(*[block] * 9), "Certificate", "more than 8"),
        ("yes", "ClientCertificate", "object"),
        ({}, "Certificate", "required"),
        ({"Certificate": good["Certificate"]}, "PrivateKey", "required"),
        ({**good, "Password": "x"}, "Password", "no such field"),
        ({**good, "Certificate": "hello"}, "Certificate", "no certificate"),
        ({**good, "Certificate": 1}, "Certificate", "string"),
        ({**good, "PrivateKey": "hello"}, "PrivateKey", "no key"),
        ({**good, "PrivateKey": locked.read_text()}, "PrivateKey", "without a password"),
        ({**good, "PrivateKey": other["PrivateKey"]}, "PrivateKey", "does not belong"),
        (pair(expired), "Certificate", "expired"),
        (pair((str(weak) + ".pem", str(weak) + ".key")), "Certificate", "key too small"),
    ]
    account = Account(daemon, "https://localhost:1/", ClientCertificate=good)
    path = "/api/v1/apps/" + account.app_id
    before = daemon.api().get(path).json
    for value, field, words in cases:
        refused = daemon.api().patch(path, {"ClientCertificate": value})
        assert refused.status == 400, value
        error = refused.json["errors"][0]
        assert error["Field"] == field and words in error["Detail"] + error["Code"], error
        assert "PRIVATE" not in refused.text
    assert daemon.api().get(path).json == before
    # A chain, and what people write between and behind its blocks.
    account.patch(ClientCertificate=chain("the authority:\n", pem(place.callers.file), "\n\nthe end\n"))

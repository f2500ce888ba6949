"""Where callbacks may not go: refused when the URL is set, and again on the address that a name
turns out to have. Runs on a network without a way out, where decoys listen on what is forbidden."""
import socket
import struct
import threading

import pytest

from harness import Account, Daemon, Receiver, eventually
from private import add_route_to_nowhere, private_network

FORBIDDEN = {  # name: what it resolves to
    "loopback": "127.0.0.1", "loopback2": "127.8.9.1", "zero": "0.0.0.0", "private10": "10.0.0.5",
    "private172": "172.16.3.4", "private192": "192.168.1.1", "linklocal": "169.254.1.1",
    "metadata": "169.254.169.254", "shared": "100.64.0.1", "metadata2": "100.100.100.200",
    "protocol": "192.0.0.8", "documentation": "203.0.113.9", "benchmark": "198.18.0.1",
    "multicast": "224.0.0.1", "broadcast": "255.255.255.255", "reserved": "240.0.0.1",
    "loopback6": "::1", "any6": "::", "mapped": "::ffff:127.0.0.1", "mapped10": "::ffff:10.0.0.5",
    "compatible": "::127.0.0.1", "unique6": "fd00::1", "metadata6": "fd00:ec2::254",
    "linklocal6": "fe80::1", "site6": "fec0::1", "multicast6": "ff02::1", "nat64": "64:ff9b::7f00:1",
    "nat64local": "64:ff9b:1::7f00:1", "sixtofour": "2002:7f00:1::", "teredo": "2001:0:1::1",
    "documentation6": "2001:db8::1",
}
PUBLIC = "93.184.215.14"  # not reachable here
ALIASES = ("10.0.0.5", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "198.18.0.1")


class Names:
    """A DNS server: NAME.test has the addresses of the table; callable ones are asked each time."""

    def __init__(self, table, port=0):
        self.table = table
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", port))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            query, peer = self.socket.recvfrom(2048)
            if query == b"stop":
                return
            self.socket.sendto(self.answer(query), peer)

    def answer(self, query):
        end = query.index(b"\0", 12)
        kind = struct.unpack(">H", query[end + 1:end + 3])[0]
        name = query[13:13 + query[12]].decode().lower()
        found = self.table.get(name, ())
        found = found(kind) if callable(found) else found
        family, length = (socket.AF_INET6, 16) if kind == 28 else (socket.AF_INET, 4)
        records = [socket.inet_pton(family, a) for a in found
                   if (":" in a) == (kind == 28) and kind in (1, 28)]
        head = query[:2] + struct.pack(">HHHHH", 0x8580, 1, len(records), 0, 0)
        body = query[12:end + 5]
        for r in records:
            body += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, length) + r
        return head + body

    def close(self):
        self.socket.sendto(b"stop", self.socket.getsockname())


class Decoy:
    """Everything that listens here must never be connected to."""

    def __init__(self):
        self.taken = []
        self.listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        try:
            while True:
                s, peer = self.listener.accept()
                self.taken.append(peer)
                s.close()
        except OSError:
            pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.fixture(scope="module")
def net():
    with private_network(*ALIASES):
        add_route_to_nowhere()  # without one, attempts would not be made at all
        yield


@pytest.fixture(scope="module")
def closed(net, tmp_path_factory):
    """A daemon that allows nothing beyond the public Internet, its names and a decoy."""
    rebound = []

    def rebind(kind):
        if kind != 1:
            return ()
        rebound.append(1)
        return (PUBLIC,) if len(rebound) == 1 else ("127.0.0.1",)

    table = {name: (address,) for name, address in FORBIDDEN.items()}
    table.update(rebind=rebind, mixed=("10.0.0.5", PUBLIC), both=("127.0.0.1", "::1"))
    names, decoy = Names(table), Decoy()
    d = Daemon(tmp_path_factory.mktemp("closed"), "--dns-server", names.address,
               "--reads-per-minute", "100000", allow=(), schedule="1s,1s,1s")
    d.start()
    yield d, decoy
    assert d.stop() == 0
    names.close()
    decoy.close()


def first_attempt(d, account, event_id):
    def attempted():
        return d.api().callback(event_id, account.partner_id)["Attempts"]
    return eventually(attempted, what="an attempt of " + event_id)[0]


def test_names_of_forbidden_addresses_are_refused_at_connect(closed):
    d, decoy = closed
    accounts = {name: Account(d, "http://%s.test:%d/cb" % (name, decoy.port), TimeoutSeconds=3)
                for name in [*FORBIDDEN, "both"]}
    d.api().events([a.event("n-" + name) for name, a in accounts.items()])
    for name, account in accounts.items():
        attempt = first_attempt(d, account, "n-" + name)
        assert attempt["Class"] == "destination_refused", (name, attempt)
        assert attempt["Status"] is None
        assert name + ".test" in attempt["Detail"] and "public" in attempt["Detail"], attempt
    assert decoy.taken == []


def test_a_name_that_is_bound_again_is_checked_again(closed):
    d, decoy = closed
    account = Account(d, "http://rebind.test:%d/cb" % decoy.port, TimeoutSeconds=3)
    d.api().events(account.event("rebind"))
    found = d.api().wait_state("rebind", account.partner_id, "dead", 40)
    classes = [a["Class"] for a in found["Attempts"]]
    assert classes[0] in ("refused", "connect_timeout") and classes[-1] == "destination_refused"
    assert decoy.taken == []


def test_what_the_operator_denies_is_refused_when_set_and_at_connect(net, tmp_path):
    names, decoy = Names({"inside": ("127.0.0.9",), "outside": (PUBLIC,)}), Decoy()
    d = Daemon(tmp_path, "--dns-server", names.address, "--deny-destination", "127.0.0.9",
               "--deny-destination", PUBLIC + "/32", schedule="1s").start()
    try:
        account = Account(d, "http://inside.test:%d/cb" % decoy.port, TimeoutSeconds=3)
        for host in ("127.0.0.9", "[::ffff:127.0.0.9]", PUBLIC, "[64:ff9b::%s]" % PUBLIC):
            answer = d.api().patch("/api/v1/apps/" + account.app_id,
                                   {"OfferCallbackUrl": "http://%s/cb" % host})
            assert answer.status == 400 and "operator" in answer.text, (host, answer)
        other = Account(d, "http://outside.test/cb", TimeoutSeconds=3)
        d.api().events([account.event("d-inside"), other.event("d-outside")])
        for owner, event_id in ((account, "d-inside"), (other, "d-outside")):
            attempt = first_attempt(d, owner, event_id)
            assert attempt["Class"] == "destination_refused" and "operator" in attempt["Detail"], attempt
        assert decoy.taken == []
    finally:
        assert d.stop() == 0
        names.close()
        decoy.close()


def test_of_mixed_addresses_only_the_public_one_is_tried(closed):
    d, decoy = closed
    account = Account(d, "http://mixed.test:%d/cb" % decoy.port, TimeoutSeconds=3)
    d.api().events(account.event("mixed"))
    assert first_attempt(d, account, "mixed")["Class"] in ("refused", "connect_timeout")
    assert decoy.taken == []


WRITTEN_OUT = [
    *("[%s]" % a if ":" in a else a for a in FORBIDDEN.values()),
    # The same and public addresses in spellings that other programs read differently.
    "2130706433", "0x7f000001", "017700000001", "127.1", "127.0.1", "0177.0.0.1", "0x7f.0.0.1",
    "127.0.0.01", "127.0.0.1.", "0", "1572395022", "93.184.55054", "0x5d.184.215.14",
    "localhost", "LocalHost", "localhost.", "%31%32%37.0.0.1", "１２７.0.0.1", "127。0。0。1", "[::ffff:7f00:1]", "[fe80::1%25lo]",
]


@pytest.mark.parametrize("host", [*WRITTEN_OUT, "app.localhost"])
def test_written_out_it_is_refused_when_set(closed, host):
    d, _ = closed
    account = Account(d)
    for lane in ("Success", "Failure", "Offer"):
        for url in ("http://%s/cb", "https://%s:8443/cb", "http://user:pw@%s/cb"):
            field = lane + "CallbackUrl"
            answer = d.api().patch("/api/v1/apps/" + account.app_id, {field: url % host})
            assert answer.status == 400, (url % host, answer)
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert [e["Field"] for e in answer.json["errors"]] == [field]
            assert "pw" not in answer.text
    assert d.api().get("/api/v1/apps/" + account.app_id).json["OfferCallbackUrl"] is None


@pytest.mark.parametrize("url", [
    "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "//example.com/", "example.com",
    "http://", "http:///cb", "https://example.com/#fragment", "https://example.com/#", "http://exa mple.com/",
    "http://example.com:0/", "http://example.com:65536/", "http://example.com:x/", "http://example.com/\r\nA: b",
    "http://example.com/\t", "https://example.com/" + "x" * 2048, "", "http://[::1", "http://a@b@127.0.0.1/"])
def test_urls_that_are_none_are_refused(closed, url):
    d, _ = closed
    account = Account(d)
    answer = d.api().patch("/api/v1/apps/" + account.app_id, {"SuccessCallbackUrl": url})
    assert answer.status == 400, answer
    assert answer.json["errors"][0]["Field"] == "SuccessCallbackUrl"


def test_a_test_callback_to_a_forbidden_address_is_refused(closed):
    d, decoy = closed
    account = Account(d, "http://loopback.test:%d/cb" % decoy.port)
    path = "/api/v1/apps/%s/test-callback" % account.app_id
    ask = {"RewardType": "survey_completed", "PanelistId": "p"}
    answer = d.api().post(path, ask)
    assert answer.json["Class"] == "destination_refused", answer
    answer = d.api().post(path, dict(ask, Url="http://metadata.test:%d/" % decoy.port))
    assert answer.json["Class"] == "destination_refused", answer
    for host in WRITTEN_OUT:
        answer = d.api().post(path, dict(ask, Url="http://%s:%d/" % (host, decoy.port)))
        assert answer.status == 400 or answer.json["Class"] == "destination_refused", (host, answer)
    assert decoy.taken == []


def test_only_what_is_allowed_is_reached(net, tmp_path):
    receiver = Receiver(address="10.0.0.5")
    names = Names({"inside": ("10.0.0.5",), "beside": ("172.16.3.4",)})
    d = Daemon(tmp_path, "--dns-server", names.address, allow=("10.0.0.5/32",)).start()
    for name, url in (("written", receiver.url), ("named", "http://inside.test:%d/" % receiver.port)):
        account = Account(d, url)
        d.api().events(account.event(name))
        d.api().wait_state(name, account.partner_id, "delivered")
    account = Account(d, "http://beside.test:%d/" % receiver.port)
    d.api().events(account.event("beside"))
    assert first_attempt(d, account, "beside")["Class"] == "destination_refused"
    answer = d.api().patch("/api/v1/apps/" + account.app_id, {"OfferCallbackUrl": "http://127.0.0.1/"})
    assert answer.status == 400
    assert d.stop() == 0
    names.close()
    receiver.close()

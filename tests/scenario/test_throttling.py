"""Guessing passwords is slowed down, and nobody can keep a person out by it: a stranger's wrong tries count against
their address, and whoever has signed in with this browser before is no stranger."""
import threading

import pytest

from harness import Daemon
from people import PASSWORD, Browser, invite, partner, person

ATTACKER, HOME = "203.0.113.7", "198.51.100.9"


@pytest.fixture
def proxied(tmp_path):
    """A daemon that is told where its clients are, by the tests."""
    d = Daemon(tmp_path, "--trusted-proxy", "127.0.0.0/8").start()
    yield d
    d.stop()


def at(daemon, address, device=None):
    b = Browser(daemon, **{"X-Forwarded-For": address})
    b.device = device
    return b


def guess(daemon, email, address, times, device=None):
    return [at(daemon, address, device).sign_in(email, "guess number %d" % i).status for i in range(times)]


def throttled(daemon, **query):
    return daemon.api().get("/api/v1/audit", query=dict(query, action="session.throttled")).json["Items"]


def test_an_attacker_keeps_nobody_out(proxied):
    p = partner(proxied)
    owner = person(proxied, "owner", p)
    assert guess(proxied, owner.email, ATTACKER, 12) == [401] * 10 + [429] * 2
    # Somewhere else the right password is enough, in the same place the browser of an earlier sign-in.
    assert at(proxied, HOME).sign_in(owner.email).status == 200
    assert at(proxied, ATTACKER).sign_in(owner.email).status == 429
    known = at(proxied, ATTACKER, owner.device)
    assert known.sign_in(owner.email).status == 200
    assert guess(proxied, owner.email, ATTACKER, 1) == [429]  # whoever attacks gains nothing by it
    found = throttled(proxied, partnerId=p)
    assert [(e["Actor"]["Kind"], e["Address"], e["After"]) for e in found] == [
        ("unknown", ATTACKER, {"UserId": owner.user_id, "Of": "address"})]


def test_a_whole_site_is_one_address(proxied):
    """Else whoever has one, which is 65,536 networks, keeps a person out by what counts for all strangers together."""
    owner = person(proxied, "owner", partner(proxied))
    found = [guess(proxied, owner.email, "2001:db8:1:%x::%x" % (i % 100, i + 1), 1)[0] for i in range(300)]
    assert found == [401] * 10 + [429] * 290
    assert at(proxied, HOME).sign_in(owner.email).status == 200
    assert guess(proxied, owner.email, "2001:db8:2:1::1", 1) == [401]
    links = [at(proxied, "2001:db8:5:%x::1" % i).post("/api/v1/links/check", {"Token": "guess"}).status for i in range(1, 52)]
    assert links == [404] * 50 + [429]


def test_ipv4_clients_of_a_proxy_with_both_families_are_many(proxied):
    """Its socket takes both, so that it says ::ffff:203.0.113.7: not all of IPv4 is one network then."""
    p = partner(proxied)
    owner = person(proxied, "owner", p)
    assert guess(proxied, owner.email, "::ffff:" + ATTACKER, 11) == [401] * 10 + [429]
    assert at(proxied, "::ffff:" + HOME).sign_in(owner.email).status == 200
    assert at(proxied, ATTACKER).sign_in(owner.email).status == 429
    assert [e["Address"] for e in throttled(proxied, partnerId=p)] == [ATTACKER]


def test_no_other_device_passes(proxied):
    p = partner(proxied)
    owner, colleague = person(proxied, "owner", p), person(proxied, "owner", p)
    assert guess(proxied, owner.email, ATTACKER, 10) == [401] * 10
    name, value = owner.device.split("=", 1)
    flipped = value[:-2] + ("AA" if value[-2:] != "AA" else "BB")
    for device in (colleague.device, name + "=" + flipped, name + "=" + "A" * len(value), name + "=", name + "=" + value[:22]):
        assert at(proxied, ATTACKER, device).sign_in(owner.email).status == 429, device
    assert at(proxied, ATTACKER, owner.device).sign_in(owner.email).status == 200


def test_a_known_device_guesses_no_more_often(proxied):
    p = partner(proxied)
    owner = person(proxied, "owner", p)
    assert guess(proxied, owner.email, ATTACKER, 11, owner.device) == [401] * 10 + [429]
    assert at(proxied, ATTACKER).sign_in(owner.email).status == 200  # its wrong tries are its own
    assert [e["After"]["Of"] for e in throttled(proxied, partnerId=p)] == ["device"]


def test_the_device_is_a_cookie_that_opens_nothing(proxied):
    user_id, email, token = invite(proxied, "owner", partner(proxied))
    b = Browser(proxied)
    answer = b.post("/api/v1/links/use", {"Token": token, "Password": PASSWORD})
    cookies = answer.headers.get_all("Set-Cookie")
    assert [c.split("=")[0] for c in cookies] == ["postbackd_session", "postbackd_device"]
    assert all(word in cookies[1] for word in ("; HttpOnly", "; SameSite=Strict", "; Path=/"))
    only = Browser(proxied)
    only.device = b.device
    assert only.session()["SignedIn"] is False and only.get("/api/v1/sessions").status == 401
    again = b.sign_in(email)
    assert [c.split("=")[0] for c in again.headers.get_all("Set-Cookie")] == ["postbackd_session"]
    assert b.delete("/api/v1/session").status == 204 and b.device
    proxied.restart()
    assert guess(proxied, email, ATTACKER, 10) == [401] * 10
    assert at(proxied, ATTACKER, b.device).sign_in(email).status == 200


def test_strangers_who_wait_for_passwords_leave_room(proxied):
    """A password takes long on purpose: strangers fill their part of the queue only."""
    owner = person(proxied, "owner", partner(proxied))
    stop, seen = threading.Event(), set()

    def attack(n):
        for i in range(1000):
            if stop.is_set():
                return
            seen.add(at(proxied, "203.0.113.%d" % (n + 1)).sign_in("nobody-%d-%d@b.example" % (n, i), PASSWORD).status)
    threads = [threading.Thread(target=attack, args=(n,)) for n in range(16)]
    for t in threads:
        t.start()
    try:
        for _ in range(6):
            assert at(proxied, HOME, owner.device).sign_in(owner.email).status == 200
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert seen <= {401, 429}

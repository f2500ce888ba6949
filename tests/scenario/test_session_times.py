"""What ends by the clock: sessions that lie idle or grow old, links, live streams; under a clock that is moved."""
from datetime import datetime, timedelta

import pytest

from authenticator import Authenticator
from harness import Daemon
from people import PASSWORD, Browser, enrol, invite, partner, person, totp
from shim import Clock, shimmed
from test_people_rights import Stream

HOUR = 3600


@pytest.fixture
def clocked(tmp_path):
    clock = Clock(tmp_path / "clock")
    d = Daemon(tmp_path / "d", env=shimmed(SHIM_CLOCK=tmp_path / "clock")).start()
    yield d, clock
    assert d.stop() == 0


def at(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def session_behind_a_jump(b):
    """The loop reads the clock once a tick, and the first request may come in one that began before a jump."""
    b.session()
    return b.session()


def assert_over(b):
    assert b.session()["SignedIn"] is False
    for answer in (b.get("/api/v1/sessions"), b.get("/api/v1/users"), b.post("/api/v1/session/password", {})):
        assert answer.status == 401, answer


def test_twelve_hours_without_use(clocked):
    daemon, clock = clocked
    b, idle = person(daemon, "owner", partner(daemon)), person(daemon, "admin")
    said = b.session()
    assert abs(at(said["IdleExpiresAt"]) - clock.now() - timedelta(hours=12)) < timedelta(minutes=1)
    assert abs(at(said["ExpiresAt"]) - clock.now() - timedelta(days=14)) < timedelta(minutes=1)
    for _ in range(3):  # each use begins the twelve hours anew
        clock.jump(12 * HOUR - 60)
        assert session_behind_a_jump(b)["SignedIn"]
    assert_over(idle)
    clock.jump(12 * HOUR + 60)
    assert_over(b)
    daemon.restart()
    assert_over(b)
    assert b.sign_in(b.email).status == 200 and b.session()["SignedIn"]
    listed = b.get("/api/v1/sessions").json["Items"]
    assert [s["Current"] for s in listed] == [True]  # the one that is over is not there any more


def test_a_restart_remembers_what_was_idle(clocked):
    daemon, clock = clocked
    b = person(daemon, "admin")
    clock.jump(6 * HOUR)
    assert session_behind_a_jump(b)["SignedIn"]
    partner(daemon)  # a change that is acknowledged, so what came before it is durable, too
    daemon.kill()
    daemon.start()
    clock.jump(11 * HOUR)  # 17 after the sign-in, 11 after the last use
    assert b.session()["SignedIn"]
    daemon.kill()
    clock.jump(12 * HOUR + 60)
    daemon.start()
    assert_over(b)


def test_a_passkey_has_ten_minutes(clocked, tmp_path):
    daemon, clock = clocked
    host = "localhost:%d" % daemon.port
    b, key = person(daemon, "admin"), Authenticator(tmp_path, "http://" + host)
    b.headers["Host"] = host
    for seconds, status in ((601, 409), (570, 200)):
        options = b.post("/api/v1/session/passkeys/options", {"Password": PASSWORD}).json
        clock.jump(seconds)
        assert b.post("/api/v1/session/passkeys", {"Name": "x", "Credential": key.create(options)}).status == status
    for seconds, status in ((601, 401), (570, 200)):
        body = {"Credential": key.get(b.post("/api/v1/sign-in/passkey/options").json)}
        clock.jump(seconds)
        assert b.post("/api/v1/sign-in/passkey", body).status == status


def test_fourteen_days_however_much_it_is_used(clocked):
    daemon, clock = clocked
    b = person(daemon, "owner", partner(daemon))
    end = at(b.session()["ExpiresAt"])
    while clock.now() + timedelta(hours=8) < end:
        clock.jump(8 * HOUR)
        said = session_behind_a_jump(b)
        assert said["SignedIn"], (clock.seconds / HOUR, end - clock.now())
        assert at(said["ExpiresAt"]) == end and at(said["IdleExpiresAt"]) <= end
    clock.jump(int((end - clock.now()).total_seconds()) + 2)
    assert_over(b)


def test_live_streams_end_with_their_session(clocked):
    daemon, clock = clocked
    b = person(daemon, "owner", partner(daemon))
    stream = Stream(b, daemon)
    assert stream.event()[0] == "hello"
    clock.jump(14 * 24 * HOUR + 1)
    while stream.event():
        pass
    stream.close()
    assert_over(b)


def test_links_are_good_for_a_time(clocked):
    daemon, clock = clocked
    p = partner(daemon)
    _, _, early = invite(daemon, "developer", p)
    _, _, late = invite(daemon, "developer", p)
    b = person(daemon, "analyst", p)

    def reset():
        return daemon.api().post("/api/v1/users/%s/link" % b.user_id).json["Link"].split("#")[1]

    def use(token):
        return Browser(daemon).post("/api/v1/links/use", {"Token": token, "Password": PASSWORD}).status

    token = reset()
    clock.jump(24 * HOUR - 60)
    assert use(token) == 200
    token = reset()
    clock.jump(24 * HOUR + 1)
    assert use(token) == 404
    clock.jump(5 * 24 * HOUR - 60)
    assert use(early) == 200
    clock.jump(120)
    assert Browser(daemon).post("/api/v1/links/check", {"Token": late}).status == 404 and use(late) == 404


def test_what_a_clock_that_was_ahead_leaves_locks_nobody_out(clocked):
    """An owner who was invited then invites others, and a session that was used then ends as any other."""
    daemon, clock = clocked
    p = partner(daemon)
    b = person(daemon, "owner", p)
    clock.jump(40 * 24 * HOUR)
    late = person(daemon, "owner", p)
    clock.jump(-40 * 24 * HOUR)
    made = late.post("/api/v1/users", {"Email": "new@example.test", "Role": "developer"})
    assert made.status == 201, made
    first = made.json["Link"].split("#")[1]
    again = late.post("/api/v1/users/%s/link" % made.json["User"]["UserId"])
    token = again.json["Link"].split("#")[1]
    assert Browser(daemon).post("/api/v1/links/use", {"Token": first, "Password": PASSWORD}).status == 404
    assert Browser(daemon).post("/api/v1/links/use", {"Token": token, "Password": PASSWORD}).status == 200
    assert abs(at(late.session()["IdleExpiresAt"]) - clock.now() - timedelta(hours=12)) < timedelta(minutes=1)
    assert late.session()["SignedIn"] and b.sign_in(b.email).status == 200
    clock.jump(12 * HOUR + 60)
    assert_over(late)


def test_codes_of_the_second_factor_after_a_clock_that_was_ahead(clocked):
    """They are good at once, and each of them once."""
    daemon, clock = clocked
    b = person(daemon, "owner", partner(daemon))

    def status(code):
        return Browser(daemon).sign_in(b.email, code=code).status

    secret, _ = enrol(b, clock.now().timestamp())
    used = []
    for seconds in (60, 40 * 24 * HOUR, 90):
        clock.jump(seconds)
        used.append(totp(secret, clock.now().timestamp()))
        assert status(used[-1]) == 200
    clock.jump(-40 * 24 * HOUR)
    now = totp(secret, clock.now().timestamp())
    assert status(now) == 200 and status(now) == 401
    daemon.restart()
    assert status(now) == 401
    clock.jump(-90)
    assert status(used[0]) == 401
    clock.jump(40 * 24 * HOUR)
    assert status(used[1]) == 401 and status(totp(secret, clock.now().timestamp(), step=1)) == 200


def test_a_passkey_after_a_clock_that_was_ahead(clocked, tmp_path):
    """It signs in at once, and with each answer once."""
    daemon, clock = clocked
    host = "localhost:%d" % daemon.port
    b, key = person(daemon, "admin"), Authenticator(tmp_path, "http://" + host, count=None)
    b.headers["Host"] = host
    options = b.post("/api/v1/session/passkeys/options", {"Password": PASSWORD}).json
    assert b.post("/api/v1/session/passkeys", {"Name": "x", "Credential": key.create(options)}).status == 200

    def answer():
        return {"Credential": key.get(b.post("/api/v1/sign-in/passkey/options").json)}, b.flow

    def status(body, flow):
        b.flow = flow
        return b.post("/api/v1/sign-in/passkey", body).status

    clock.jump(40 * 24 * HOUR)
    used, unused = answer(), answer()
    assert status(*used) == 200
    clock.jump(-40 * 24 * HOUR)
    assert status(*used) == 401 and status(*unused) == 401
    now = answer()
    assert status(*now) == 200 and status(*now) == 401
    clock.jump(40 * 24 * HOUR)
    assert status(*used) == 401 and status(*answer()) == 200

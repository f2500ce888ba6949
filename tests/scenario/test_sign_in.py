"""Sign-in by an identity provider (OpenID Connect): who gets in, as what, and who does not. Tokens that no
certified provider would make come from one of our own."""
import json
import os
import shutil
import signal
import socket
import threading
import time
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from harness import Daemon, eventually, forget_stores
from people import PASSWORD, Browser, invite, partner, person
from provider import CALLBACK, FakeProvider, Key, RealProvider, Visitor, write_file

STAFF = {"Groups": {"admins": "admin", "staff": "support"}}


def reload(d):
    begin = len(d.log_text())
    os.kill(d.process.pid, signal.SIGHUP)
    eventually(lambda: '"event":"reload' in d.log_text()[begin:], 30)
    assert '"event":"reloaded"' in d.log_text()[begin:], d.log_text()[begin:]


def audit(d, **query):
    return d.api().get("/api/v1/audit", query=query).json["Items"]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """(daemon, its file): the file's providers are each test's own."""
    directory = tmp_path_factory.mktemp("sign-in")
    file = directory / "sign-in.json"
    write_file(file, {"Name": "Nobody", "Issuer": "http://127.0.0.1:9", "ClientId": "x", **STAFF})
    d = Daemon(directory, "--sign-in-file", str(file), "--trusted-proxy", "127.0.0.0/8").start()
    yield d, file
    assert d.stop() == 0
    forget_stores(directory)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    if not shutil.which("npm"):
        pytest.skip("there is no npm")
    p = RealProvider(tmp_path_factory.mktemp("provider"))
    yield p
    p.close()


@pytest.fixture(scope="module")
def fake_of_module(tmp_path_factory):
    p = FakeProvider(tmp_path_factory.mktemp("fake"))
    yield p
    p.close()


@pytest.fixture
def fake(served, fake_of_module):
    """Set up as the only one, with nothing known of it."""
    fake_of_module.reset()
    write_file(served[1], {**fake_of_module.entry, **STAFF})
    reload(served[0])
    return fake_of_module


def ways(d):
    return d.api(None).get("/api/v1/sign-in").json


def signed_in(d, provider, **who):
    visitor = Visitor(d)
    assert visitor.sign_in_at(provider, **who) == "/"
    return visitor


def assert_refused(d, provider, problem):
    visitor = Visitor(d)
    assert visitor.sign_in_at(provider) == "/?problem=" + problem
    assert visitor.cookie is None and not visitor.session()["SignedIn"]


# --- with a certified provider -----------------------------------------------------------------

def test_groups_decide_who_gets_in_and_as_what(served, real):
    d, file = served
    p = partner(d, "Opinion Labs")
    write_file(file, {**real.entry, **STAFF},
               {**real.entry, "Name": "Opinion Labs", "PartnerId": p, "Groups": {"admins": "owner"}})
    reload(d)
    assert ways(d) == {"Providers": [{"Name": "Example staff", "Path": "/api/v1/sign-in/1"},
                                     {"Name": "Opinion Labs", "Path": "/api/v1/sign-in/2"}], "Passwords": True}
    real.people = {"grace": {"email": "Grace@example.test", "email_verified": True, "name": "Grace Hopper",
                             "groups": ["staff", "admins"]}}
    real.control(d)
    first = signed_in(d, real, login="grace")
    user = first.session()["User"]
    assert (user["Role"], user["Email"], user["Name"], user["PartnerId"], user["Invited"]) == (
        "admin", "grace@example.test", "Grace Hopper", None, False)
    entries = audit(d, actor=user["UserId"])
    assert [e["Action"] for e in entries] == ["session.begun", "user.created"]
    assert entries[0]["After"]["Provider"] == "Example staff"
    assert signed_in(d, real, login="grace").session()["User"]["UserId"] == user["UserId"]
    owner = signed_in(d, real, login="grace", place=2).session()
    assert (owner["Side"], owner["User"]["Role"], owner["User"]["PartnerId"]) == ("partner", "owner", p)
    assert owner["User"]["UserId"] != user["UserId"]

    real.people["grace"]["groups"] = ["staff"]
    real.control(d)
    assert signed_in(d, real, login="grace").session()["User"]["Role"] == "support"
    assert not first.session()["SignedIn"]
    changed = audit(d, object=user["UserId"], action="user.changed")
    assert [(e["Before"]["Role"], e["After"]["Role"]) for e in changed] == [("admin", "support")]

    last = signed_in(d, real, login="grace")
    real.people["grace"]["groups"] = ["another"]
    real.control(d)
    assert Visitor(d).sign_in_at(real, login="grace") == "/?problem=no-role"
    assert not last.session()["SignedIn"]
    assert audit(d, action="session.refused")[0]["After"]["UserId"] == user["UserId"]


def test_keys_are_rotated_and_of_another_kind(served, real):
    d, file = served
    write_file(file, {**real.entry, **STAFF})
    reload(d)
    real.people = {"alan": {"email": "alan@example.test", "groups": "staff"}}
    for algorithm in "RS256", "ES256":
        real.algorithm = algorithm
        real.control(d, rotate=True)
        assert signed_in(d, real, login="alan").session()["User"]["Role"] == "support"


# --- tokens and answers that are wrong ---------------------------------------------------------

NOW = int(time.time())
WRONG_CLAIMS = {
    "another nonce": {"nonce": "x" * 43}, "no nonce": {"nonce": None}, "another audience": {"aud": "somebody-else"},
    "an audience beside us, without azp": {"aud": ["postbackd", "x"]}, "no audience": {"aud": []},
    "made for another": {"aud": ["postbackd", "x"], "azp": "x"}, "azp alone": {"azp": "x"},
    "another issuer": {"iss": "https://accounts.example"}, "an issuer that begins alike": {"iss": "http://127.0.0.1"},
    "expired": {"exp": NOW - 7200}, "no exp": {"exp": None}, "exp no number": {"exp": "9999999999"},
    "from the future": {"iat": NOW + 864000}, "not yet": {"nbf": NOW + 864000}, "no iat": {"iat": None},
    "nobody": {"sub": None}, "an empty sub": {"sub": ""}, "a long sub": {"sub": "x" * 256},
}


@pytest.mark.parametrize("claims", WRONG_CLAIMS.values(), ids=list(WRONG_CLAIMS))
def test_a_token_that_says_something_else_is_refused(served, fake, claims):
    fake.claims = claims
    assert_refused(served[0], fake, "provider")


def test_a_token_for_several_that_was_made_for_us_is_good(served, fake):
    fake.claims = {"aud": ["x", "postbackd"], "azp": "postbackd", "exp": NOW + 7200.5, "sub": "several"}
    fake.claims["email"] = "several@example.test"
    signed_in(served[0], fake)


def test_a_token_that_the_provider_has_not_signed_is_refused(served, fake, tmp_path):
    d = served[0]
    stranger = Key(tmp_path, "2")
    public = json.dumps(fake.key.jwk).encode()
    for header, signer in (({"alg": "none"}, lambda text: b""), ({"alg": "None", "kid": "1"}, fake.key.sign),
                           ({"alg": "HS256", "kid": "1"}, fake.hmac_by(public)),
                           ({"alg": "HS256", "kid": "1"}, fake.hmac_by(b"")),
                           ({"alg": "RS256", "kid": "1"}, stranger.sign), ({"alg": "RS256", "kid": "2"}, stranger.sign),
                           ({"alg": "RS256", "kid": "2", "jwk": stranger.jwk}, stranger.sign),
                           ({"alg": "ES256", "kid": "1"}, fake.key.sign), ({"alg": "RS256", "kid": "1"}, lambda text: b""),
                           ({"alg": "RS256", "kid": "1", "crit": ["exp"]}, fake.key.sign), ({}, fake.key.sign)):
        fake.header, fake.signer = header, signer
        assert_refused(d, fake, "provider")
    fake.header, fake.signer = {"alg": "RS256"}, fake.key.sign
    signed_in(d, fake)


def test_a_new_key_is_looked_for_once_and_not_for_every_stranger(served, fake, tmp_path):
    d = served[0]
    signed_in(d, fake)
    stranger = Key(tmp_path, "2")
    fake.header, fake.signer = {"alg": "RS256", "kid": "2"}, stranger.sign
    before = len([r for r in fake.asked if r.path == "/keys"])
    for _ in range(3):
        assert_refused(d, fake, "provider")
    assert len([r for r in fake.asked if r.path == "/keys"]) == before + 1


BROKEN = {"/token": [(500, {}, b""), (200, {}, b"no JSON"), (200, {}, b"{}"), None],
          "/keys": [(404, {}, b""), (200, {}, b"[]"), (200, {}, b'{"keys":[{}]}')]}


def test_answers_are_not_followed_and_not_read_without_end(served, fake):
    d = served[0]
    fake.says = {"/token": (302, {"Location": "/elsewhere"}, b"")}
    assert_refused(d, fake, "provider")
    assert "/elsewhere" not in [r.path for r in fake.asked]
    fake.says, fake.padding = {}, "x" * 600000
    assert_refused(d, fake, "provider")
    fake.padding = "x" * 1000
    signed_in(d, fake)


def test_a_provider_that_answers_something_else(served, fake):
    d = served[0]
    for path, answers in BROKEN.items():
        for said in answers:
            fake.says = {path: said}
            assert_refused(d, fake, "provider")
            if said is None:
                reload(d)  # a provider that does not answer has a pause
    fake.says = {}
    signed_in(d, fake)


@pytest.mark.parametrize("change", [{"issuer": "https://accounts.example"}, {"authorization_endpoint": None},
                                    {"authorization_endpoint": "javascript:alert(1)"}])
def test_a_discovery_document_that_is_not_taken(served, fake, change):
    fake.document.update(change)
    assert Visitor(served[0]).leave() == "/?problem=provider"
    assert "postbackd_sign_in=;" in Visitor(served[0]).get("/api/v1/sign-in/1").headers["Set-Cookie"]


def test_the_provider_cannot_send_us_to_other_machines(tmp_path, fake):
    """The daemon may connect to 127.0.0.0/8 in tests; this one not to all of it."""
    file = write_file(tmp_path / "f", {**fake.entry, **STAFF})
    with socket.create_server(("127.0.0.2", 0)) as other, socket.create_server(("127.0.0.3", 0)) as allowed:
        d = Daemon(tmp_path / "own", "--sign-in-file", str(file), "--deny-destination", "127.0.0.2/32").start()
        fake.document["token_endpoint"] = "http://127.0.0.2:%d/token" % other.getsockname()[1]
        assert_refused(d, fake, "provider")
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()
        allowed.settimeout(30)
        fake.document["token_endpoint"] = "http://127.0.0.3:%d/token" % allowed.getsockname()[1]
        os.kill(d.process.pid, signal.SIGHUP)  # what was known of the provider is asked again
        eventually(lambda: '"event":"reload' in d.log_text(), 30)
        left = threading.Thread(target=assert_refused, args=(d, fake, "provider"))
        left.start()
        allowed.accept()[0].close()  # so it is the address that kept it away
        left.join()
        assert d.stop() == 0


def asked_for_document(fake):
    return [r.at for r in fake.asked if r.path.endswith("openid-configuration")]


def warnings(d):
    return [w for w in d.api(None).get("/healthz").json.get("Warnings", []) if w["Check"] == "identity_providers"]


@pytest.mark.parametrize("said", [None, (503, {}, b""), (200, {}, b"not JSON")])
def test_the_provider_is_down_and_back(served, fake, said):
    """However many strangers come, it is asked once, and again after pauses that grow."""
    d, file = served
    assert not warnings(d)
    fake.says = {"/.well-known/openid-configuration": said}
    begin = len(d.log_text())

    def stranger_is_the_third_to_ask():
        assert Visitor(d).leave() == "/?problem=provider"
        return len(asked_for_document(fake)) >= 3
    eventually(stranger_is_the_third_to_ask, 60)
    first, second, third = asked_for_document(fake)
    assert second - first >= 0.99 and third - second >= 1.99
    assert "not asked again for" in d.log_text()[begin:]
    assert "(Example staff)" in warnings(d)[0]["Detail"]
    fake.says = {}
    eventually(lambda: Visitor(d).leave() != "/?problem=provider", 60)
    signed_in(d, fake)
    assert not warnings(d)
    assert Visitor(d).leave(place=2) == Visitor(d).leave(place="x") == "/?problem=again"


def test_a_token_endpoint_that_does_not_answer_has_a_pause_and_one_that_refuses_has_none(served, fake):
    d = served[0]
    visitors = [Visitor(d) for _ in range(4)]
    callbacks = [fake.visit(v.leave()) for v in visitors]
    fake.says = {"/token": (400, {}, b'{"error":"invalid_grant"}')}  # a stranger's code
    assert visitors[0].come_back(callbacks[0]) == "/?problem=provider"
    assert not warnings(d)
    fake.says = {"/token": None}
    before, begin = len(fake.asked), time.monotonic()
    for visitor, callback in zip(visitors[1:], callbacks[1:]):
        assert visitor.come_back(callback) == "/?problem=provider"
    assert 1 <= len(fake.asked) - before <= 1 + (time.monotonic() - begin) and warnings(d)
    fake.says = {}
    eventually(lambda: Visitor(d).leave() != "/?problem=provider", 60)
    signed_in(d, fake)
    assert not warnings(d)


def test_the_answer_says_which_provider_it_is_of(served, fake):
    d = served[0]
    fake.extra = {"iss": "https://accounts.example"}
    assert_refused(d, fake, "provider")
    fake.extra = {"iss": fake.issuer, "session_state": "x", "scope": ""}
    signed_in(d, fake)
    fake.document["authorization_response_iss_parameter_supported"] = True
    fake.extra = {}
    reload(d)
    assert_refused(d, fake, "provider")


# --- the browser's part ------------------------------------------------------------------------

def test_only_the_browser_that_left_comes_back(served, fake):
    """Login CSRF: whoever has a code of his own cannot make another browser go on as him."""
    d = served[0]
    attacker, victim = Visitor(d), Visitor(d)
    callback = fake.visit(attacker.leave())
    assert victim.come_back(callback) == "/?problem=again"
    victim.leave()
    assert victim.come_back(callback) == "/?problem=again" and victim.cookie is None
    assert attacker.come_back(callback) == "/" and attacker.session()["SignedIn"]
    assert attacker.come_back(callback) == "/?problem=again"  # a replay


def test_what_comes_back_changed_is_no_sign_in(served, fake):
    d = served[0]
    visitor = Visitor(d)
    callback = urlsplit(fake.visit(visitor.leave())).query
    parameters = {k: v[0] for k, v in parse_qs(callback).items()}
    flow = visitor.flow
    for wrong in ({"state": "x" * 43}, {"state": None}):
        visitor.flow = flow
        query = {k: v for k, v in {**parameters, **wrong}.items() if v is not None}
        assert visitor.come_back(CALLBACK + "?" + urlencode(query)) == "/?problem=again"
    name, value = flow.split("=", 1)
    random, until, *rest = value.split(".")
    for changed in (".".join([random, str(int(until) + 1), *rest]), ".".join([random, "1", *rest]), "x", ""):
        visitor.flow = "%s=%s" % (name, changed)
        assert visitor.come_back(CALLBACK + "?" + callback) == "/?problem=again"
    visitor.flow = flow
    denied = CALLBACK + "?" + urlencode({"state": parameters["state"], "error": "access_denied"})
    assert visitor.come_back(denied) == "/?problem=refused"
    assert visitor.get("/api/v1/sign-in/1", headers={"Sec-Fetch-Site": "cross-site"}).headers["Location"] == "/?problem=again"


def test_the_cookies_are_as_browsers_guard_them(served, fake):
    d, _ = served
    started = Visitor(d).get("/api/v1/sign-in/1")
    cookie = started.headers["Set-Cookie"]
    assert cookie.startswith("postbackd_sign_in=") and "HttpOnly; SameSite=Lax; Max-Age=600" in cookie
    assert started.headers["Cache-Control"] == "no-store"
    asked = parse_qs(urlsplit(started.headers["Location"]).query)
    assert asked["redirect_uri"] == ["http://127.0.0.1:%d%s" % (d.port, CALLBACK)]
    assert asked["scope"] == ["openid email profile"]
    assert asked["nonce"][0] not in cookie and asked["state"][0] not in cookie


def test_a_restart_between_the_halves(served, fake):
    d = served[0]
    visitor = Visitor(d)
    callback = fake.visit(visitor.leave())
    d.restart()
    assert visitor.come_back(callback) == "/" and visitor.session()["SignedIn"]


# --- who it is ---------------------------------------------------------------------------------

def test_an_address_alone_opens_nothing(served, fake):
    """There is a user of that address: whoever says so at a provider is not taken for that user."""
    d = served[0]
    admin = person(d, "admin")
    fake.claims = {"sub": "known", "email": admin.email, "email_verified": True}
    assert_refused(d, fake, "address")
    assert admin.session()["User"]["Role"] == "admin"
    other = person(d, "admin")
    asked = Visitor(d)
    asked.cookie = other.cookie
    assert asked.sign_in_at(fake) == "/?problem=address"
    asked.cookie = admin.cookie  # nor signed in as that user: test_identity.py
    assert asked.sign_in_at(fake) == "/?problem=address"
    fake.claims = {"sub": "a stranger", "email": admin.email, "email_verified": True}
    assert_refused(d, fake, "provider")  # a blank in sub
    fake.claims["sub"] = "stranger"
    assert_refused(d, fake, "address")


@pytest.mark.parametrize("claims", [{"email_verified": False}, {"email_verified": "true"}, {"email": None}, {"email": "x"}])
def test_an_address_that_the_provider_does_not_vouch_for(served, fake, claims):
    fake.claims = {"sub": "new", **claims}
    assert_refused(served[0], fake, "email")


def test_a_disabled_user_stays_out(served, fake):
    d = served[0]
    fake.claims = {"sub": "disabled", "email": "disabled@example.test"}
    user_id = signed_in(d, fake).session()["User"]["UserId"]
    assert d.api().patch("/api/v1/users/" + user_id, {"Enabled": False}).status == 200
    assert_refused(d, fake, "disabled")


def test_a_role_of_the_groups_ends_a_link(served, fake):
    """One made while the user had another: it would open the new one."""
    d = served[0]
    fake.claims = {"sub": "risen", "email": "risen@example.test", "groups": ["staff"]}
    user = "/api/v1/users/" + signed_in(d, fake).session()["User"]["UserId"]
    token = d.api().post(user + "/link").json["Link"].split("#")[1]
    for groups, status in ((["staff"], 200), (["admins"], 404)):
        fake.claims["groups"] = groups
        signed_in(d, fake)
        assert Browser(d).post("/api/v1/links/check", {"Token": token}).status == status, groups


def test_of_a_disabled_partner_nobody_signs_in(served, fake):
    d, file = served
    p = partner(d)
    write_file(file, {**fake.entry, "PartnerId": p, "Groups": {"staff": "owner"}})
    reload(d)
    fake.claims = {"sub": "partners", "email": "partners@example.test"}
    b = signed_in(d, fake)
    fake.claims = {"sub": "off", "email": "off@example.test"}
    disabled = signed_in(d, fake).session()["User"]["UserId"]
    person(d, "owner", p)  # else he is the last one
    assert d.api().patch("/api/v1/users/" + disabled, {"Enabled": False}).status == 200
    assert_refused(d, fake, "disabled")
    assert d.api().patch("/api/v1/partners/" + p, {"Enabled": False}).status == 200
    for name in ("partners", "off", "new-of-partner"):  # not "disabled": no owner gets in to help
        fake.claims = {"sub": name, "email": name + "@example.test"}
        assert_refused(d, fake, "account-disabled")
    users = d.api().get("/api/v1/users", query={"partnerId": p}).json["Items"]
    assert "new-of-partner@example.test" not in [u["Email"] for u in users]
    assert d.api().patch("/api/v1/partners/" + p, {"Enabled": True}).status == 200
    assert b.get("/api/v1/users").status == 200  # a session of before holds again
    assert signed_in(d, fake).session()["User"]["Email"] == "new-of-partner@example.test"


def test_passwords_are_switched_off(served, fake):
    d, file = served
    p = partner(d)
    admin, owner = person(d, "admin"), person(d, "owner", p)
    link = invite(d, "admin")[2]
    write_file(file, {**fake.entry, **STAFF, "Passwords": False})
    reload(d)
    assert ways(d)["Passwords"] is True
    refused = Browser(d).sign_in(admin.email)
    assert refused.status == 403 and "identity provider" in refused.json["detail"]
    assert Browser(d).sign_in(admin.email, "not the password at all").status == 401
    assert Browser(d).post("/api/v1/links/use", {"Token": link, "Password": PASSWORD}).status == 403
    assert Browser(d).sign_in(owner.email).status == 200
    signed_in(d, fake)
    write_file(file, {**fake.entry, **STAFF}, Passwords=False)
    reload(d)
    assert ways(d)["Passwords"] is False and Browser(d).sign_in(owner.email).status == 403
    write_file(file, {**fake.entry, **STAFF})
    reload(d)
    assert Browser(d).sign_in(owner.email).status == Browser(d).sign_in(admin.email).status == 200


def test_too_many_failures_wait(tmp_path, fake):
    d = Daemon(tmp_path / "own", "--sign-in-file", str(write_file(tmp_path / "f", {**fake.entry, **STAFF}))).start()  # no proxy
    fake.claims = {"sub": None}
    begin, failures = time.monotonic(), 0
    while Visitor(d).leave() != "/?problem=busy":
        assert Visitor(d).sign_in_at(fake) in ("/?problem=provider", None)
        failures += 1
        assert failures <= 51 + (time.monotonic() - begin) / 10  # one more every ten seconds
    assert failures >= 50
    assert d.stop() == 0

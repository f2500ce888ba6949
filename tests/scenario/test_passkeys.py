"""Passkeys: added, used to sign in, removed, and what is refused of a browser and an authenticator."""
import copy

import pytest

from authenticator import PRESENT, VERIFIED, Authenticator, base64url, openssl
from harness import Daemon, forget_stores
from people import PASSWORD, Browser, codes, enrol, partner, person
from provider import write_file

ORIGIN, URL = "https://callbacks.example", "https://callbacks.example/base/"
MINE = "/api/v1/session/passkeys"
SIGN_IN = "/api/v1/sign-in/passkey"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    directory = tmp_path_factory.mktemp("passkeys")
    d = Daemon(directory, "--public-url", URL, "--trusted-proxy", "127.0.0.0/8").start()
    yield d
    assert d.stop() == 0
    forget_stores(directory)


def audit(d, **query):
    return d.api().get("/api/v1/audit", query=query).json["Items"]


def start(browser, **body):
    answer = browser.post(MINE + "/options", {"Password": PASSWORD, **body})
    assert answer.status == 200, answer
    return answer.json


def add(browser, authenticator, name="My phone", **wrong):
    return browser.post(MINE, {"Name": name, "Credential": authenticator.create(start(browser), **wrong)})


def add_well(browser, authenticator, name="My phone"):
    answer = add(browser, authenticator, name)
    assert answer.status == 200, answer
    return answer.json["Passkey"]["PasskeyId"]


def holder(d, directory, role="owner", partner_id=None, **more):
    """Somebody signed in with a passkey added, and the authenticator."""
    b = person(d, role, partner_id or (partner(d) if role == "owner" else None))
    a = Authenticator(directory, ORIGIN, **more)
    add_well(b, a)
    return b, a


def begin(browser):
    answer = browser.post(SIGN_IN + "/options")
    assert answer.status == 200, answer
    return answer.json


def sign_in(d, authenticator, browser=None, **wrong):
    browser = browser or Browser(d)
    return browser, browser.post(SIGN_IN, {"Credential": authenticator.get(begin(browser), **wrong)})


def refused(answer):
    return answer.status == 401 and not answer.headers["Set-Cookie"]


def reasons(d, user_id):
    return [e["After"]["Reason"] for e in audit(d, action="session.refused") if e["After"]["UserId"] == user_id]


@pytest.mark.parametrize("kind", ["ES256", "EdDSA", "RS256"])
def test_a_passkey_signs_in(served, tmp_path, kind):
    b, a = holder(served, tmp_path, kind=kind, count=None)
    browser, answer = sign_in(served, a)
    assert answer.status == 200 and answer.json["User"]["UserId"] == b.user_id
    assert answer.json["User"]["Passkeys"] == 1 and browser.session()["SignedIn"]
    assert sign_in(served, a, browser)[1].status == 200  # it does not count, and may sign in again
    mine = b.get(MINE).json["Items"]
    assert [(k["Name"], k["LastUsedAt"] is not None) for k in mine] == [("My phone", True)]
    begun = audit(served, actor=b.user_id, action="session.begun")[0]
    assert begun["After"]["PasskeyId"] == mine[0]["PasskeyId"]


def test_operators_and_several_passkeys(served, tmp_path):
    b = person(served, "admin")
    phone, stick = Authenticator(tmp_path, ORIGIN), Authenticator(tmp_path, ORIGIN)
    first, second = add_well(b, phone, "Phone"), add_well(b, stick, "Stick")
    other, answer = sign_in(served, stick)
    assert answer.json["Side"] == "operator" and answer.json["User"]["Passkeys"] == 2
    removed = b.delete("%s/%s" % (MINE, first))
    assert removed.status == 200 and removed.json["User"]["Passkeys"] == 1 and b.session()["SignedIn"]
    assert not other.session()["SignedIn"]  # it may have been the removed one's
    assert b.delete("%s/%s" % (MINE, first)).status == 404
    assert refused(sign_in(served, phone)[1]) and sign_in(served, stick)[1].status == 200
    entries = audit(served, object=b.user_id)
    assert [(e["Action"], (e["After"] or e["Before"])["Name"]) for e in entries if "passkey" in e["Action"]] == [
        ("user.passkey_removed", "Phone"), ("user.passkey_added", "Stick"), ("user.passkey_added", "Phone")]
    assert (entries[0]["Before"]["PasskeyId"], entries[0]["After"]) == (first, None) and second != first


def test_options_are_for_a_verified_and_discoverable_passkey(served):
    b = person(served, "owner", partner(served, "Opinion Labs"))
    options = start(b)
    assert options["rp"] == {"id": "callbacks.example", "name": "postbackd"}
    assert options["user"]["name"] == b.email + " (Opinion Labs)" and options["user"]["id"] == base64url(b.user_id.encode())
    assert options["authenticatorSelection"] == {"residentKey": "required", "requireResidentKey": True,
                                                 "userVerification": "required"}
    assert [p["alg"] for p in options["pubKeyCredParams"]] == [-7, -8, -257] and options["attestation"] == "none"
    asked = begin(Browser(served))
    assert (asked["rpId"], asked["userVerification"]) == ("callbacks.example", "required")
    assert asked["challenge"] != begin(Browser(served))["challenge"] and len(asked["challenge"]) == 43


def test_adding_needs_the_password_and_the_second_factor(served, tmp_path):
    b = person(served, "developer", partner(served))
    wrong = b.post(MINE + "/options", {"Password": "wrong wrong wrong"})
    assert codes(wrong) == {("Password", "invalid")}
    secret, recovery = enrol(b)
    assert codes(b.post(MINE + "/options", {"Password": PASSWORD})) == {("Code", "required")}
    assert codes(b.post(MINE + "/options", {"Password": PASSWORD, "Code": "000000"})) == {("Code", "invalid")}
    options = start(b, Code=recovery[0])
    assert codes(b.post(MINE + "/options", {"Password": PASSWORD, "Code": recovery[0]})) == {("Code", "invalid")}
    a = Authenticator(tmp_path, ORIGIN)
    body = {"Name": "Phone", "Credential": a.create(options)}
    assert b.post(MINE, body, csrf=False).status == 403
    assert b.post(MINE, body).status == 200
    browser, answer = sign_in(served, a)  # it is both factors
    assert answer.status == 200 and answer.json["User"]["SecondFactor"]


def test_a_request_to_add_one_is_good_once_in_its_session(served, tmp_path):
    b, other = person(served, "admin"), person(served, "admin")
    a = Authenticator(tmp_path, ORIGIN)
    assert b.post(MINE, {"Name": "x", "Credential": {}}).status == 409  # nothing was begun
    body = {"Name": "Phone", "Credential": a.create(start(b))}
    flow, other.flow = b.flow, b.flow
    assert other.post(MINE, body).status == 409
    elsewhere = Browser(served)
    elsewhere.sign_in(b.email)
    elsewhere.flow = flow
    assert elsewhere.post(MINE, body).status == 409
    assert b.post(MINE, body).status == 200 and b.session()["User"]["Passkeys"] == 1
    assert b.flow.endswith("=")  # cleared
    b.flow = flow
    assert b.post(MINE, body).status == 409 and len(b.get(MINE).json["Items"]) == 1
    again = add(b, a)
    assert again.status == 409 and "already" in again.json["detail"]


WRONG_CLIENTS = {"another type": {"type": "webauthn.other"}, "another challenge": {"challenge": "A" * 43},
                 "no challenge": {"challenge": None}, "another origin": {"origin": "https://callbacks.example.evil.example"},
                 "another scheme": {"origin": "http://callbacks.example"}, "another port": {"origin": ORIGIN + ":8443"},
                 "within another page": {"crossOrigin": True}, "under another page": {"topOrigin": "https://evil.example"},
                 "another relying party": {"rp_id": "example"}, "nobody present": {"flags": VERIFIED | 64},
                 "nobody verified": {"flags": PRESENT | 64}}


@pytest.mark.parametrize("wrong", WRONG_CLIENTS.values(), ids=WRONG_CLIENTS)
def test_what_was_not_asked_for_adds_nothing_and_signs_in_nobody(served, tmp_path, wrong):
    b, a = holder(served, tmp_path)
    answer = add(b, Authenticator(tmp_path, ORIGIN), **wrong)
    assert codes(answer) == {("Credential", "invalid")}, answer
    browser, answer = sign_in(served, a, **wrong)
    assert refused(answer) and not browser.session()["SignedIn"]
    assert len(reasons(served, b.user_id)) == 1
    assert sign_in(served, a)[1].status == 200


def test_keys_of_another_kind(served, tmp_path):
    b = person(served, "admin")
    for kind in (["EC", "-pkeyopt", "ec_paramgen_curve:P-384"], ["RSA", "-pkeyopt", "rsa_keygen_bits:1024"], ["ED448"]):
        path = tmp_path / "key.pem"
        openssl("genpkey", "-algorithm", *kind, "-out", path)
        key = openssl("pkey", "-in", path, "-pubout", "-outform", "DER")
        for der in (key, key + b"\0", b"", b"no key"):
            assert codes(add(b, Authenticator(tmp_path, ORIGIN), key=der or b"\0")) == {("Credential", "invalid")}, kind


DAMAGED = [{"id": 1}, {"id": "AAAA"}, {"type": "password"}, {"response": None}, {"response": []}, {"response": {}},
           {"clientDataJSON": "!"}, {"clientDataJSON": base64url(b"[]")}, {"clientDataJSON": "A" * 9000},
           {"clientDataJSON": base64url(b'{"type":"webauthn.get","type":"webauthn.get"}')}, {"authenticatorData": 1},
           {"authenticatorData": base64url(b"short")}, {"authenticatorData": base64url(bytes(37))}]


def damaged(credential, change):
    bad = copy.deepcopy(credential)
    for name, value in change.items():
        (bad if name in bad else bad["response"])[name] = value
    return {"Credential": bad}


def test_credentials_that_are_damaged(served, tmp_path):
    b, a = holder(served, tmp_path)
    new = Authenticator(tmp_path, ORIGIN).create(start(b))
    for change in DAMAGED + [{"publicKey": "AAAA"}, {"authenticatorData": new["response"]["authenticatorData"][:90]}]:
        assert codes(b.post(MINE, {"Name": "x", **damaged(new, change)})) == {("Credential", "invalid")}, change
    browser = Browser(served)
    known = a.get(begin(browser))
    for number, change in enumerate(DAMAGED + [{"signature": "AAAA"}, {"signature": None}, {"userHandle": "!"}]):
        browser.headers["X-Forwarded-For"] = "198.51.100.%d" % number  # nobody has tries for all of them
        assert refused(browser.post(SIGN_IN, damaged(known, change))), change
    for bad in (None, "x", 1, []):
        assert codes(browser.post(SIGN_IN, {"Credential": bad})) == {("Credential", "invalid")}
    assert codes(browser.post(SIGN_IN, {})) == {("Credential", "required")}
    assert browser.post(SIGN_IN, {"Credential": known}).status == 200


def test_a_passkey_signs_in_its_own_user_only(served, tmp_path):
    mine, a = holder(served, tmp_path)
    theirs, other = holder(served, tmp_path)
    assert refused(sign_in(served, a, user=theirs.user_id.encode())[1])
    assert refused(sign_in(served, a, user=b"u_nobody")[1])
    forged = copy.copy(a)
    forged.id, forged.user = other.id, other.user
    assert refused(sign_in(served, forged)[1])
    assert reasons(served, theirs.user_id) == ["its signature is wrong", "the user has no such passkey"]
    assert sign_in(served, a)[1].json["User"]["UserId"] == mine.user_id


@pytest.mark.parametrize("count", [None, 1], ids=["does not count", "counts"])
def test_an_assertion_signs_in_once(served, tmp_path, count):
    b, a = holder(served, tmp_path, count=count)
    browser = Browser(served)
    body = {"Credential": a.get(begin(browser))}
    flow = browser.flow
    assert browser.post(SIGN_IN, body).status == 200 and browser.flow.endswith("=")
    thief = Browser(served)
    assert thief.post(SIGN_IN, body).status == 401  # without the cookie
    begin(thief)
    assert refused(thief.post(SIGN_IN, body))  # with another one
    thief.flow = flow
    assert refused(thief.post(SIGN_IN, body))
    assert "signed in already" in reasons(served, b.user_id)[0]


def test_a_counter_that_goes_back_is_refused_and_told(served, tmp_path):
    b, a = holder(served, tmp_path, count=7)
    assert sign_in(served, a)[1].status == 200
    for count in (8, 3, None):
        a.count = count
        assert refused(sign_in(served, a)[1]), count
        assert "may be a copy" in reasons(served, b.user_id)[0]
    a.count = 9
    assert sign_in(served, a)[1].status == 200


def test_who_is_disabled_or_has_lost_them(served, tmp_path):
    b, a = holder(served, tmp_path, "support")
    user = "/api/v1/users/" + b.user_id
    assert served.api().get(user).json["Passkeys"] == 1
    served.api().patch(user, {"Enabled": False})
    assert refused(sign_in(served, a)[1])
    served.api().patch(user, {"Enabled": True})
    assert sign_in(served, a)[1].status == 200
    assert served.api().delete(user + "/second-factor").status == 204
    assert served.api().get(user).json["Passkeys"] == 0
    off = audit(served, object=b.user_id, action="user.second_factor_off")[0]
    assert (off["Before"]["Passkeys"], off["After"]["Passkeys"]) == (1, 0)
    assert refused(sign_in(served, a)[1])


def test_of_a_disabled_partner_nobody_signs_in(served, tmp_path):
    p = partner(served)
    b, a = holder(served, tmp_path, partner_id=p)
    for enabled, status in ((False, 403), (True, 200)):
        assert served.api().patch("/api/v1/partners/" + p, {"Enabled": enabled}).status == 200
        answer = sign_in(served, a)[1]
        assert answer.status == status and (answer.headers["Set-Cookie"] is None) == (status == 403), answer
    assert reasons(served, b.user_id) == ["the account is disabled"]


def test_the_most_and_the_largest(served, tmp_path):
    b = person(served, "admin")
    large = Authenticator(tmp_path, ORIGIN, kind=["RSA", "-pkeyopt", "rsa_keygen_bits:4096"])
    large.id = bytes(1024)
    assert codes(add(b, large)) == {("Credential", "invalid")}
    assert codes(b.post(MINE, {"Name": "x" * 257, "Credential": {}})) == {("Name", "out_of_range")}
    for i in range(10):
        large.id = bytes([i]) * 1023
        add_well(b, large, "ü" * 128)
    assert b.post(MINE + "/options", {"Password": PASSWORD}).status == 409
    assert sign_in(served, large)[1].status == 200
    assert [k["Name"] for k in b.get(MINE).json["Items"]] == ["ü" * 128] * 10


def test_wrong_passkeys_are_counted_as_wrong_passwords(served, tmp_path):
    b, a = holder(served, tmp_path)
    stranger = Browser(served, **{"X-Forwarded-For": "203.0.113.77"})
    options = begin(stranger)
    wrong = {"Credential": a.get(options, flags=0)}
    assert [stranger.post(SIGN_IN, wrong).status for _ in range(11)] == [401] * 10 + [429]
    assert stranger.sign_in(b.email).status == 429  # the same tries
    assert sign_in(served, a)[1].status == 200


def test_tries_do_not_tell_who_is_there(served, tmp_path):
    """Users who are not there are counted one by one, as those who are."""
    b, a = holder(served, tmp_path)
    stranger = Browser(served, **{"X-Forwarded-For": "203.0.113.78"})
    options = begin(stranger)
    names = [b"nobody-%d" % n for n in range(12)] + [a.user]
    wrong = [{"Credential": a.get(options, flags=0, user=name)} for name in names]
    assert {stranger.post(SIGN_IN, body).status for body in wrong} == {401}
    assert [stranger.post(SIGN_IN, wrong[0]).status for _ in range(10)] == [401] * 9 + [429]


def test_other_sites_and_addresses(served, tmp_path, daemon):
    for path in (SIGN_IN, SIGN_IN + "/options"):
        assert Browser(served).post(path, {"Credential": {}}, headers={"Origin": "https://evil.example"}).status == 403
    seen_by_address = Browser(daemon).post(SIGN_IN + "/options")
    assert seen_by_address.status == 409 and "host name" in seen_by_address.json["detail"]
    host = "localhost:%d" % daemon.port
    b = person(daemon, "admin")
    b.headers["Host"] = host
    a = Authenticator(tmp_path, "http://" + host)
    add_well(b, a)
    assert sign_in(daemon, a, Browser(daemon, Host=host))[1].status == 200
    b.headers["Host"] = "127.0.0.1:%d" % daemon.port
    assert b.post(MINE + "/options", {"Password": PASSWORD}).status == 409


def test_a_restart_between_the_halves(tmp_path):
    d = Daemon(tmp_path / "own", "--public-url", URL).start()
    try:
        b = person(d, "admin")
        a = Authenticator(tmp_path, ORIGIN)
        body = {"Name": "Phone", "Credential": a.create(start(b))}
        d.restart()
        assert b.post(MINE, body).status == 200
        browser = Browser(d)
        body = {"Credential": a.get(begin(browser))}
        d.restart()
        flow = browser.flow
        assert browser.post(SIGN_IN, body).status == 200
        d.restart()
        browser.flow = flow
        assert refused(browser.post(SIGN_IN, body))
    finally:
        assert d.stop() == 0


def test_where_nobody_signs_in_by_password(tmp_path):
    """Who has left the directory must not come in by a passkey."""
    p = {"Name": "Staff", "Issuer": "http://127.0.0.1:9", "ClientId": "x", "Groups": {"a": "admin"}, "Passwords": False}
    d = Daemon(tmp_path / "own", "--public-url", URL).start()
    try:
        b, a = holder(d, tmp_path, "admin")
        of_partner, other = holder(d, tmp_path)
        d.options += ["--sign-in-file", str(write_file(tmp_path / "file.json", p))]
        d.restart()
        assert sign_in(d, a)[1].status == 403 and sign_in(d, other)[1].status == 200
        assert b.post(MINE + "/options", {"Password": PASSWORD}).status == 403
        assert reasons(d, b.user_id) == ["passwords and passkeys are off for this account"]
    finally:
        assert d.stop() == 0

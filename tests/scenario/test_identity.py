"""A person's identity at an identity provider: linked and unlinked by that person, unlinked by others; what it
takes, and what it does not."""
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from described import check_answer
from harness import Daemon, eventually
from people import PASSWORD, Browser, codes, enrol, partner, person, totp
from provider import CALLBACK, Visitor, write_file
from schema import operations
from test_sign_in import (STAFF, assert_refused, audit, fake, fake_of_module, real, reload, served,  # noqa: F401
                          signed_in)

MINE = "/api/v1/session/identity"


def is_described(answer, name):
    """It is as /openapi.json says."""
    document = is_described.document
    check_answer(answer, next(o for _, _, o in operations(document) if o["operationId"] == name), document)
    return answer


@pytest.fixture(autouse=True)
def document(served):
    is_described.document = served[0].api(None).get("/openapi.json").json


def start(somebody, provider=1, password=PASSWORD, **more):
    return is_described(somebody.post(MINE + "/start", {"Provider": provider, "Password": password, **more}),
                        "startIdentityLink")


def come_back(somebody, url):
    """What the page of the account finds behind '#'."""
    parts = urlsplit(url)
    assert parts.path == CALLBACK
    # Coming from another site the browser sends no session: its cookie is SameSite=Strict.
    visitor = Browser(somebody.daemon, **somebody.headers)
    visitor.flow = somebody.flow
    answer = visitor.get(CALLBACK + "?" + parts.query)
    somebody.flow = visitor.flow
    page = urlsplit(answer.headers["Location"])
    assert answer.status == 303 and page.path == "/account", answer
    return {k: v[0] for k, v in parse_qs(page.fragment or page.query).items()}


def finish(somebody, found):
    body = {"AuthorizationCode": found["code"], "State": found["state"]}
    if "iss" in found:
        body["Issuer"] = found["iss"]
    return is_described(somebody.post(MINE, body), "linkIdentity")


def link(somebody, provider, place=1, **who):
    """The answer of the last step."""
    started = start(somebody, place)
    assert started.status == 200, started
    return finish(somebody, come_back(somebody, provider.visit(started.json["Url"], **who)))


def remove(somebody, password=PASSWORD, **more):
    return is_described(somebody.post(MINE + "/remove", {"Password": password, **more}), "unlinkIdentity")


def identity(somebody):
    return is_described(somebody.get(MINE), "getIdentity").json["Identity"]


# --- with a certified provider -----------------------------------------------------------------

def test_a_user_with_a_password_is_linked_and_unlinked(served, real):
    d, file = served
    p = partner(d, "Opinion Labs")
    write_file(file, {**real.entry, **STAFF},
               {**real.entry, "Name": "Labs", "PartnerId": p, "Groups": {"admins": "owner", "staff": "analyst"}})
    reload(d)
    real.people = {"grace": {"email": "grace@elsewhere.test", "groups": ["staff"]}}  # another address
    real.control(d)
    owner, other = person(d, "owner", p), person(d, "owner", p)
    assert is_described(owner.get(MINE), "getIdentity").json == {
        "Identity": None, "Providers": [{"Provider": 2, "Name": "Labs"}]}
    assert start(owner, 1).status == 404  # the operator's
    second = Browser(d)
    assert second.sign_in(owner.email).status == 200
    assert link(owner, real, 2, login="grace").status == 200
    assert identity(owner) == {"Name": "Labs", "Issuer": real.issuer, "Subject": "grace"}
    user = owner.session()["User"]
    assert (user["Issuer"], user["Role"], user["UserId"]) == (real.issuer, "owner", owner.user_id)
    assert second.session()["SignedIn"]
    assert start(owner, 2).status == 409  # once

    by_provider = signed_in(d, real, login="grace", place=2)
    user = by_provider.session()["User"]
    assert (user["UserId"], user["Email"], user["Role"]) == (owner.user_id, owner.email, "analyst")
    assert not owner.session()["SignedIn"]  # the role is the groups' now
    assert link(other, real, 2, login="grace").status == 409  # somebody else's
    assert identity(other) is None

    assert owner.sign_in(owner.email).status == 200  # by password, too
    assert remove(owner).status == 200 and identity(owner) is None
    assert not by_provider.session()["SignedIn"] and owner.session()["User"]["Issuer"] is None
    assert owner.sign_in(owner.email).status == 200
    linked, unlinked = [audit(d, object=owner.user_id, action="user.identity_" + verb)
                        for verb in ("linked", "unlinked")]
    assert [(e["Before"], e["After"], e["Actor"]["Id"]) for e in linked + unlinked] == [
        (None, {"Issuer": real.issuer, "Subject": "grace"}, owner.user_id),
        ({"Issuer": real.issuer, "Subject": "grace"}, None, owner.user_id)]
    assert link(other, real, 2, login="grace").status == 200


# --- what it takes -----------------------------------------------------------------------------

def test_password_and_second_factor_are_asked_for(served, fake):
    d = served[0]
    admin = person(d, "admin")
    fake.claims = {"sub": "with-factor"}
    assert codes(start(admin, password="not the password at all")) == {("Password", "invalid")}
    assert is_described(admin.post(MINE + "/start", {}), "startIdentityLink").status == 400
    secret, _ = enrol(admin)
    assert codes(start(admin)) == {("Code", "required")}
    assert codes(start(admin, Code="000000")) == {("Code", "invalid")}
    started = start(admin, Code=totp(secret, step=1))
    assert finish(admin, come_back(admin, fake.visit(started.json["Url"]))).status == 200
    assert codes(remove(admin)) == {("Code", "required")}
    assert codes(remove(admin, password="not the password at all")) == {("Password", "invalid")}
    assert identity(admin)


def test_nobody_loses_the_only_way_in(served, fake):
    d, file = served
    fake.claims = {"sub": "no-password", "email": "no-password@example.test"}
    visitor = signed_in(d, fake)
    assert visitor.session()["SignedIn"]
    answer = remove(visitor)
    assert answer.status == 409 and "You have no password" in answer.json["detail"]
    assert start(visitor).status == 409  # linked already
    admin = person(d, "admin")
    assert remove(admin).status == 409  # not linked
    fake.claims = {"sub": "passwords-off"}
    assert link(admin, fake).status == 200
    write_file(file, {**fake.entry, **STAFF, "Passwords": False})
    reload(d)
    answer = remove(admin)
    assert answer.status == 409 and "Passwords are off" in answer.json["detail"]
    assert identity(admin)


def test_another_person_unlinks_it(served, fake):
    d = served[0]
    p, fake.claims = partner(d), {"sub": "helped", "email": "helped@example.test"}
    helped, admin = signed_in(d, fake), person(d, "admin")
    user_id = helped.session()["User"]["UserId"]
    unlink = "/api/v1/users/%s/identity"
    assert person(d, "owner", p).delete(unlink % user_id).status == 404
    assert person(d, "support").delete(unlink % user_id).status == 403
    assert admin.delete(unlink % admin.user_id).status == 409  # oneself: with the password
    assert is_described(admin.delete(unlink % user_id), "unlinkUserIdentity").status == 204
    assert admin.delete(unlink % user_id).status == 204  # again: nothing is left to do
    assert not helped.session()["SignedIn"]
    user = d.api().get("/api/v1/users/" + user_id).json
    assert (user["Issuer"], user["Invited"]) == (None, True)
    assert_refused(d, fake, "address")
    token = d.api().post("/api/v1/users/%s/link" % user_id).json["Link"].split("#")[1]
    back = Browser(d)
    assert back.post("/api/v1/links/use", {"Token": token, "Password": PASSWORD}).status == 200
    assert link(back, fake).status == 200
    entries = audit(d, object=user_id, action="user.identity_unlinked")
    assert [e["Actor"]["Id"] for e in entries] == [admin.user_id]


# --- the way there and back --------------------------------------------------------------------

def test_a_link_is_ended_by_the_session_that_began_it(served, fake):
    d = served[0]
    admin, other = person(d, "admin"), person(d, "admin")
    fake.claims = {"sub": "bound"}
    url = start(admin).json["Url"]
    asked = parse_qs(urlsplit(url).query)
    assert asked["max_age"] == ["0"] and asked["code_challenge_method"] == ["S256"] and asked["nonce"]
    found = come_back(admin, fake.visit(url))
    flow = admin.flow
    same = Browser(d)
    assert same.sign_in(admin.email).status == 200
    for thief in (other, same):  # even with the browser's cookie of the flow
        thief.flow = flow
        assert finish(thief, found).status == 409
        assert identity(thief) is None
    assert admin.post(MINE, {"AuthorizationCode": found["code"], "State": found["state"]}, csrf=False).status == 403
    for wrong in ({**found, "state": "x" * 43}, {**found, "state": "x"}):
        assert finish(admin, wrong).status == 409
    admin.flow = None
    assert finish(admin, found).status == 409
    admin.flow = flow
    assert finish(admin, found).status == 200
    admin.flow = flow
    assert finish(admin, found).status == 409  # a replay: the session has another token now


def test_who_was_signed_in_there_before_is_not_linked(served, fake):
    d = served[0]
    admin = person(d, "admin")
    again, wrong = "did not have you sign in again", "did not say who you are"  # signing in again helps against one
    for said, why in ((int(time.time()) - 3600, again), (int(time.time()) + 3600, wrong), ("yesterday", wrong)):
        fake.claims = {"sub": "before", "auth_time": said}
        begin = len(d.log_text())
        answer = link(admin, fake)
        assert answer.status == 409 and why in answer.json["detail"], (said, answer)
        assert "auth_time" in d.log_text()[begin:] and identity(admin) is None
    fake.claims["auth_time"] = int(time.time()) - 30  # clocks may differ by a minute
    assert link(admin, fake).status == 200
    fake.claims["auth_time"] = int(time.time()) - 3600  # to sign in it does not matter
    assert signed_in(d, fake).session()["User"]["UserId"] == admin.user_id


def test_a_code_of_another_sign_in_is_not_taken(served, fake):
    """Whoever has a code of his own cannot have it linked to another user, nor signs in by the code of a link."""
    d = served[0]
    fake.claims = {"sub": "mixed", "email": "mixed@example.test"}
    admin, attacker = person(d, "admin"), Visitor(d)
    callback = fake.visit(attacker.leave())
    url = start(admin).json["Url"]
    code = parse_qs(urlsplit(callback).query)["code"][0]
    state = parse_qs(urlsplit(url).query)["state"][0]
    answer = finish(admin, {"code": code, "state": state})  # another nonce
    assert answer.status == 409 and "did not say who you are" in answer.json["detail"]
    assert identity(admin) is None
    found = come_back(admin, fake.visit(url))
    attacker.flow = admin.flow
    back = attacker.get(CALLBACK + "?" + urlencode(found))
    assert back.headers["Location"].startswith("/account#") and attacker.cookie is None
    admin.flow = attacker.flow
    cancelled = CALLBACK + "?" + urlencode({"state": found["state"], "error": "access_denied"})
    assert come_back(admin, cancelled) == {"problem": "refused"}


@pytest.mark.parametrize("ended", ["signed out", "password changed", "disabled"])
def test_a_session_that_ends_meanwhile_links_nothing(served, fake, ended):
    d = served[0]
    admin = person(d, "admin")
    fake.claims = {"sub": ended.replace(" ", "-")}
    found = come_back(admin, fake.visit(start(admin).json["Url"]))
    if ended == "signed out":
        admin.delete("/api/v1/session")
        admin.sign_in(admin.email)
    elif ended == "password changed":
        admin.post("/api/v1/session/password", {"Password": PASSWORD, "NewPassword": PASSWORD + "!"})
    else:
        assert d.api().patch("/api/v1/users/" + admin.user_id, {"Enabled": False}).status == 200
    assert finish(admin, found).status == (401 if ended == "disabled" else 409)
    assert d.api().get("/api/v1/users/" + admin.user_id).json["Issuer"] is None


def test_two_who_link_the_same_identity_at_once(served, fake):
    d = served[0]
    fake.claims = {"sub": "wanted"}
    both = [person(d, "admin") for _ in range(2)]
    found = [come_back(b, fake.visit(start(b).json["Url"])) for b in both]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda pair: finish(*pair).status, zip(both, found)))
    assert sorted(said) == [200, 409]


def test_who_has_no_role_there_is_not_linked(served, fake):
    admin = person(served[0], "admin")
    fake.claims = {"sub": "no-role", "groups": ["others"]}
    answer = link(admin, fake)
    assert answer.status == 409 and "groups" in answer.json["detail"] and identity(admin) is None


def test_a_provider_that_is_down_says_when_to_try_again(served, fake):
    admin = person(served[0], "admin")
    fake.says = {"/.well-known/openid-configuration": None}
    answer = start(admin)
    assert answer.status == 503 and int(answer.headers["Retry-After"]) >= 1
    fake.says, fake.claims = {}, {"sub": "down"}
    eventually(lambda: start(admin).status == 200, 60)
    assert link(admin, fake).status == 200


def test_a_link_outlives_a_restart_and_a_kill(served, fake):
    d = served[0]
    fake.claims = {"sub": "kept"}
    admin = person(d, "admin")
    url = start(admin).json["Url"]
    d.restart()
    assert finish(admin, come_back(admin, fake.visit(url))).status == 200
    d.kill()
    d.start()
    assert identity(admin)["Subject"] == "kept"
    assert signed_in(d, fake).session()["User"]["UserId"] == admin.user_id

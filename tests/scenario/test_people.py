"""People: signing in, second factor, links, sessions, roles, and what an attacker tries with them."""
import json
import os
import re
import select
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from harness import BINARY, OPERATOR_KEY, Daemon
from inside import rows
from people import PASSWORD, Browser, codes, enrol, invite, partner, person, totp

NEW = "another password entirely"


# --- signing in ------------------------------------------------------------------------------

def test_nobody_is_signed_in_at_first(daemon):
    found = Browser(daemon).get("/api/v1/session")
    assert found.status == 200 and found.json["SignedIn"] is False and "User" not in found.json


def test_invited_signs_in_and_out(daemon):
    p = partner(daemon)
    user_id, email, token = invite(daemon, "owner", p)
    b = Browser(daemon)
    link = b.post("/api/v1/links/check", {"Token": token})
    assert link.status == 200
    assert link.json["Kind"] == "invitation" and link.json["Email"] == email
    assert link.json["Partner"]["PartnerId"] == p and link.json["Role"] == "owner"
    used = b.post("/api/v1/links/use", {"Token": token, "Password": PASSWORD, "Name": "Ada"})
    assert used.status == 200 and used.json["SignedIn"] and used.json["User"]["Name"] == "Ada"
    found = b.session()
    assert found["User"]["UserId"] == user_id and found["Side"] == "partner"
    assert found["Partner"]["PartnerId"] == p and found["ActingAs"] is False
    assert "people:write" in found["Scopes"] and "admin" not in found["Scopes"]
    assert b.get("/api/v1/partners/" + p).status == 200
    assert b.delete("/api/v1/session").status == 204
    assert b.session()["SignedIn"] is False
    assert b.get("/api/v1/partners/" + p).status == 401
    assert b.sign_in(email.upper()).status == 200
    assert b.session()["User"]["LastSignInAt"]


def test_the_cookie_is_kept_from_scripts_and_other_sites(daemon):
    user_id, email, token = invite(daemon, "support")
    answer = Browser(daemon).post("/api/v1/links/use", {"Token": token, "Password": PASSWORD})
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("postbackd_session=") and "Secure" not in cookie
    assert "; HttpOnly" in cookie and "; SameSite=Strict" in cookie and "; Path=/" in cookie
    assert answer.headers["Cache-Control"] == "no-store"


def test_over_tls_the_cookie_is_secure_and_of_this_host(tmp_path):
    d = Daemon(tmp_path, "--public-url", "https://callbacks.example/base/").start()
    try:
        made = d.api().post("/api/v1/users", {"Email": "a@b.example", "Role": "admin"})
        assert made.json["Link"].startswith("https://callbacks.example/base/link#")
        b = Browser(d)
        answer = b.post("/api/v1/links/use", {"Token": made.json["Link"].split("#")[1], "Password": PASSWORD},
                        headers={"Origin": "https://callbacks.example"})
        assert answer.status == 200
        assert answer.headers["Set-Cookie"].startswith("__Host-postbackd_session=")
        assert "; Secure" in answer.headers["Set-Cookie"]
        assert b.session()["SignedIn"]
        plain = b.cookie.replace("__Host-", "")
        assert b.get("/api/v1/session", headers={"Cookie": plain}).json["SignedIn"] is False
        assert b.get("/api/v1/users", headers={"Origin": "http://callbacks.example"}).status == 403
    finally:
        assert d.stop() == 0


def test_wrong_words_do_not_sign_in_and_say_nothing(daemon):
    b = person(daemon, "admin")
    for email, password in ((b.email, "wrong wrong wrong"), ("nobody@example.test", PASSWORD)):
        answer = Browser(daemon).sign_in(email, password)
        assert answer.status == 401 and "Set-Cookie" not in answer.headers
        assert "errors" not in answer.json and "wrong" in answer.json["detail"]
    bad = Browser(daemon).post("/api/v1/session", {"Email": "x", "Password": "", "Extra": 1})
    assert bad.status == 400
    assert codes(bad) == {("Email", "out_of_range"), ("Password", "out_of_range"), ("Extra", "unknown_field")}
    assert Browser(daemon).post("/api/v1/session", b"{").status == 400


def test_passwords_that_are_too_easy(daemon):
    user_id, email, token = invite(daemon, "admin")
    b = Browser(daemon)
    for bad in ("short", "aaaaaaaaaaaaaaaa", email, "x" * 129):
        answer = b.post("/api/v1/links/use", {"Token": token, "Password": bad})
        assert answer.status == 400 and codes(answer) == {("Password", "invalid")}, bad
    assert b.post("/api/v1/links/use", {"Token": token, "Password": "пароль из слов"}).status == 200


# --- links -----------------------------------------------------------------------------------

def test_a_link_is_good_once(daemon):
    user_id, email, token = invite(daemon, "developer", partner(daemon))
    b = Browser(daemon)
    assert b.post("/api/v1/links/use", {"Token": token, "Password": PASSWORD}).status == 200
    for path, body in (("check", {"Token": token}), ("use", {"Token": token, "Password": NEW})):
        assert Browser(daemon).post("/api/v1/links/" + path, body).status == 404
    assert Browser(daemon).sign_in(email, NEW).status == 401


def test_a_new_link_ends_the_old_one(daemon):
    user_id, email, token = invite(daemon, "developer", partner(daemon))
    again = daemon.api().post("/api/v1/users/%s/link" % user_id)
    assert again.status == 200 and again.json["Kind"] == "invitation"
    assert Browser(daemon).post("/api/v1/links/check", {"Token": token}).status == 404
    fresh = again.json["Link"].split("#")[1]
    assert Browser(daemon).post("/api/v1/links/check", {"Token": fresh}).status == 200


def test_a_forgotten_password(daemon):
    b = person(daemon, "analyst", partner(daemon))
    made = daemon.api().post("/api/v1/users/%s/link" % b.user_id)
    assert made.json["Kind"] == "reset"
    assert b.session()["SignedIn"]  # until the link is used
    other = Browser(daemon)
    token = made.json["Link"].split("#")[1]
    assert other.post("/api/v1/links/use", {"Token": token, "Password": NEW}).status == 200
    assert b.session()["SignedIn"] is False
    assert Browser(daemon).sign_in(b.email, PASSWORD).status == 401
    assert Browser(daemon).sign_in(b.email, NEW).status == 200


def test_a_reset_does_not_pass_the_second_factor(daemon):
    b = person(daemon, "developer", partner(daemon))
    secret, _ = enrol(b)
    token = daemon.api().post("/api/v1/users/%s/link" % b.user_id).json["Link"].split("#")[1]
    other = Browser(daemon)
    assert other.post("/api/v1/links/check", {"Token": token}).json["SecondFactor"] is True
    use = {"Token": token, "Password": NEW}
    assert codes(other.post("/api/v1/links/use", use)) == {("Code", "required")}
    assert codes(other.post("/api/v1/links/use", dict(use, Code="000000"))) == {("Code", "invalid")}
    assert other.post("/api/v1/links/use", dict(use, Code=totp(secret, step=1))).status == 200


# --- the second factor -----------------------------------------------------------------------

def test_the_second_factor(daemon):
    b = person(daemon, "owner", partner(daemon))
    begun = b.post("/api/v1/session/second-factor", {"Password": PASSWORD}).json
    assert begun["OtpauthUri"].startswith("otpauth://totp/postbackd:owner-")
    assert "secret=" + begun["Secret"] in begun["OtpauthUri"]
    at = time.time()  # of all codes: the time may pass from one into the next meanwhile
    wrong = b.post("/api/v1/session/second-factor/confirm", {"Code": "123"})
    assert wrong.status == 400 and b.session()["User"]["SecondFactor"] is False
    done = b.post("/api/v1/session/second-factor/confirm", {"Code": totp(begun["Secret"], at)})
    assert done.status == 200 and len(set(done.json["RecoveryCodes"])) == 10
    assert b.session()["User"]["SecondFactor"] is True
    assert b.post("/api/v1/session/second-factor", {"Password": PASSWORD}).status == 409

    other = Browser(daemon)
    asked = other.sign_in(b.email)
    assert asked.status == 401 and codes(asked) == {("Code", "required")}
    assert "errors" not in other.sign_in(b.email, "not the password at all").json
    assert other.sign_in(b.email, code=totp(begun["Secret"], at)).status == 401  # it confirmed: used up
    later = totp(begun["Secret"], at, step=1)
    assert other.sign_in(b.email, code=later).status == 200
    assert Browser(daemon).sign_in(b.email, code=later).status == 401  # a replay
    assert Browser(daemon).sign_in(b.email, code=totp(begun["Secret"], at, step=-1)).status == 401  # older
    assert Browser(daemon).sign_in(b.email, code=totp(begun["Secret"], at, step=9)).status == 401


def test_recovery_codes_are_good_once(daemon):
    b = person(daemon, "owner", partner(daemon))
    secret, recovery = enrol(b)
    assert Browser(daemon).sign_in(b.email, code=recovery[0].upper().replace("-", " ")).status == 200
    assert Browser(daemon).sign_in(b.email, code=recovery[0]).status == 401
    fresh = b.post("/api/v1/session/second-factor/recovery-codes", {"Password": PASSWORD, "Code": recovery[1]})
    assert fresh.status == 200 and len(fresh.json["RecoveryCodes"]) == 10
    assert Browser(daemon).sign_in(b.email, code=recovery[2]).status == 401
    off = b.post("/api/v1/session/second-factor/remove",
                 {"Password": PASSWORD, "Code": fresh.json["RecoveryCodes"][3]})
    assert off.status == 200 and off.json["User"]["SecondFactor"] is False
    assert Browser(daemon).sign_in(b.email).status == 200


def test_somebody_who_lost_the_second_factor(daemon):
    p = partner(daemon)
    owner, lost = person(daemon, "owner", p), person(daemon, "developer", p)
    enrol(lost)
    assert owner.delete("/api/v1/users/%s/second-factor" % lost.user_id).status == 204
    assert Browser(daemon).sign_in(lost.email).status == 200


# --- sessions --------------------------------------------------------------------------------

def test_a_fixed_session_is_not_taken_over(daemon):
    """Who plants a cookie before the sign-in knows nothing after it."""
    attacker, victim = person(daemon, "analyst", partner(daemon)), person(daemon, "owner", partner(daemon))
    planted = Browser(daemon)
    planted.cookie = attacker.cookie
    assert planted.sign_in(victim.email).status == 200
    assert planted.cookie != attacker.cookie
    assert attacker.session()["User"]["Email"] == attacker.email
    made_up = Browser(daemon)
    made_up.cookie = "postbackd_session=" + "A" * 43
    assert made_up.session()["SignedIn"] is False
    assert made_up.sign_in(victim.email).status == 200 and "A" * 43 not in made_up.cookie


def test_two_cookies_of_one_name_are_none(daemon):
    a, b = person(daemon, "owner", partner(daemon)), person(daemon, "owner", partner(daemon))
    both = Browser(daemon)
    both.cookie = a.cookie + "; " + b.cookie
    assert both.session()["SignedIn"] is False
    assert both.get("/api/v1/users").status == 401


def test_the_token_changes_with_what_it_may(daemon):
    p = partner(daemon)
    b = person(daemon, "admin")
    seen = {b.cookie}
    assert b.post("/api/v1/session/password", {"Password": PASSWORD, "NewPassword": NEW}).status == 200
    seen.add(b.cookie)
    begun = b.post("/api/v1/session/second-factor", {"Password": NEW}).json
    assert b.post("/api/v1/session/second-factor/confirm", {"Code": totp(begun["Secret"])}).status == 200
    seen.add(b.cookie)
    assert b.post("/api/v1/session/act-as", {"PartnerId": p}).status == 200
    seen.add(b.cookie)
    assert b.delete("/api/v1/session/act-as").status == 200
    seen.add(b.cookie)
    assert len(seen) == 5
    old = Browser(daemon)
    for cookie in seen - {b.cookie}:
        old.cookie = cookie
        assert old.session()["SignedIn"] is False
    assert b.session()["SignedIn"]


def test_a_new_password_ends_the_other_sessions(daemon):
    b = person(daemon, "developer", partner(daemon))
    other = Browser(daemon)
    assert other.sign_in(b.email).status == 200
    wrong = b.post("/api/v1/session/password", {"Password": "not that one, no", "NewPassword": NEW})
    assert wrong.status == 400 and codes(wrong) == {("Password", "invalid")}
    assert other.session()["SignedIn"]
    assert b.post("/api/v1/session/password", {"Password": PASSWORD, "NewPassword": NEW}).status == 200
    assert b.session()["SignedIn"] and not other.session()["SignedIn"]
    assert Browser(daemon).sign_in(b.email, NEW).status == 200


def test_a_second_factor_ends_the_sessions_that_did_without_it(daemon):
    b = person(daemon, "developer", partner(daemon))
    other = Browser(daemon)
    assert other.sign_in(b.email).status == 200
    enrol(b)
    assert b.session()["SignedIn"] and not other.session()["SignedIn"]


def test_sessions_are_listed_and_ended(daemon):
    p = partner(daemon)
    b, owner = person(daemon, "developer", p), person(daemon, "owner", p)
    other = Browser(daemon, **{"User-Agent": "Phone"})
    assert other.sign_in(b.email).status == 200
    listed = b.get("/api/v1/sessions").json["Items"]
    assert len(listed) == 2 and [s["Current"] for s in listed].count(True) == 1
    phone = next(s for s in listed if not s["Current"])
    assert phone["UserAgent"] == "Phone" and phone["Address"] == "127.0.0.1"
    assert owner.delete("/api/v1/sessions/" + phone["SessionId"]).status == 404  # not his own
    assert b.delete("/api/v1/sessions/" + phone["SessionId"]).status == 204
    assert other.session()["SignedIn"] is False and b.session()["SignedIn"]
    assert len(owner.get("/api/v1/users/%s/sessions" % b.user_id).json["Items"]) == 1
    assert owner.delete("/api/v1/users/%s/sessions" % b.user_id).status == 204
    assert b.session()["SignedIn"] is False


def test_there_are_at_most_twenty_sessions(daemon):
    b = person(daemon, "developer", partner(daemon))
    more = []
    for _ in range(20):
        more.append(Browser(daemon))
        assert more[-1].sign_in(b.email).status == 200
    assert not b.session()["SignedIn"]  # used longest ago
    assert all(m.session()["SignedIn"] for m in more)


def test_sessions_survive_a_restart_and_a_crash(own_daemon):
    own_daemon.start()
    b, gone = person(own_daemon, "admin"), person(own_daemon, "admin")
    assert gone.delete("/api/v1/session").status == 204
    own_daemon.restart()
    assert b.session()["SignedIn"] and not gone.session()["SignedIn"]
    at = time.time()
    secret, _ = enrol(b, at)
    own_daemon.kill()
    own_daemon.start()
    assert b.session()["User"]["SecondFactor"] is True
    assert Browser(own_daemon).sign_in(b.email, code=totp(secret, at)).status == 401  # used before the crash
    assert Browser(own_daemon).sign_in(b.email, code=totp(secret, at, step=1)).status == 200


# --- other sites -----------------------------------------------------------------------------

def test_without_the_csrf_token_nothing_changes(daemon):
    p = partner(daemon)
    b, other = person(daemon, "owner", p), person(daemon, "owner", p)
    path = "/api/v1/partners/" + p
    for headers in ({}, {"X-Csrf-Token": other.csrf}, {"X-Csrf-Token": "x" * 43}, {"X-Csrf-Token": ""}):
        for answer in (b.patch(path, {"Name": "Stolen"}, csrf=False, headers=headers),
                       b.post(path + "/apps", {"CurrencyValue": 1}, csrf=False, headers=headers),
                       b.delete("/api/v1/session", csrf=False, headers=headers)):
            assert answer.status == 403 and "X-Csrf-Token" in answer.json["detail"], answer
    assert b.get(path).json["Name"] == "P"
    assert b.patch(path, {"Name": "Mine"}).status == 200


def test_what_other_sites_send_is_refused(daemon):
    p = partner(daemon)
    b = person(daemon, "owner", p)
    here = "http://127.0.0.1:%d" % daemon.port
    path = "/api/v1/partners/" + p
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                    {"Sec-Fetch-Site": "same-site"}, {"Origin": here + "0"}, {"Origin": "http://"}):
        refused = b.patch(path, {"Name": "Stolen"}, headers=headers)
        assert refused.status == 403 and "another site" in refused.json["detail"], headers
        assert b.get(path, headers=headers).status == 403, headers
        sign_in = {"Email": b.email, "Password": PASSWORD}
        assert Browser(daemon).post("/api/v1/session", sign_in, headers=headers).status == 403, headers
        assert b.get("/api/v1/session", headers=headers).json["SignedIn"] is False
    good = {"Origin": here, "Sec-Fetch-Site": "same-origin"}
    assert b.patch(path, {"Name": "Mine"}, headers=good).status == 200
    form = b.request("POST", "/api/v1/session", b"Email=x", headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert form.status == 415


def test_a_key_beats_the_cookie(daemon):
    p = partner(daemon)
    b = person(daemon, "owner", p)
    key = daemon.api().post("/api/v1/partners/%s/keys" % p, {"Scopes": ["reports:read"]}).json["Key"]
    assert b.get("/api/v1/partners/" + p, headers={"X-Api-Key": key}).status == 403
    assert b.get("/api/v1/partners/" + p, headers={"X-Api-Key": "wrong"}).status == 401
    assert b.delete("/api/v1/session", headers={"X-Api-Key": key}).status == 403


# --- the command line and the first start ------------------------------------------------------

def user(daemon, *words, key=OPERATOR_KEY):
    env = {k: v for k, v in os.environ.items() if not k.startswith("POSTBACKD_")}
    if key:
        env["POSTBACKD_OPERATOR_KEY"] = key
    line = [BINARY, "user", *words, "--url", "http://127.0.0.1:%d" % daemon.port]
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=60)


def test_people_from_the_command_line(daemon):
    p = partner(daemon)
    email = "cli-%s@example.test" % p.lower()
    made = user(daemon, "add", email, "--role", "owner", "--partner", p, "--name", "Cleo")
    assert made.returncode == 0, made
    token = made.stdout.strip().split("/link#")[1]
    b = Browser(daemon)
    assert b.post("/api/v1/links/use", {"Token": token, "Password": PASSWORD}).json["User"]["Name"] == "Cleo"
    enrol(b)
    of = (email, "--partner", p)
    assert user(daemon, "reset-second-factor", *of).returncode == 0
    assert user(daemon, "unlink", *of).returncode == 0  # not linked: nothing to do
    assert Browser(daemon).sign_in(email).status == 200
    reset = user(daemon, "reset", email.title(), "--partner", p)  # letter case counts as little as at signing in
    assert Browser(daemon).post("/api/v1/links/use", {"Token": reset.stdout.strip().split("#")[1],
                                                      "Password": NEW}).status == 200
    last = user(daemon, "disable", *of)
    assert last.returncode == 1 and "last one" in last.stderr
    person(daemon, "owner", p)
    assert user(daemon, "disable", *of).returncode == 0
    assert Browser(daemon).sign_in(email, NEW).status == 401
    listed = user(daemon, "list", "--partner", p)
    assert re.search(r"^%s +owner +disabled +passkeys 0 " % re.escape(email), listed.stdout, re.M)
    assert listed.stderr == "2 of the partner %s\n" % p
    operators = user(daemon, "list")
    assert p not in operators.stdout
    assert re.fullmatch(r"\d+ of the operator; --partner PARTNERID lists a partner's\n", operators.stderr)
    assert user(daemon, "enable", *of).returncode == 0
    assert Browser(daemon).sign_in(email, NEW).status == 200
    assert user(daemon, "remove", *of).returncode == 0
    assert user(daemon, "remove", *of).returncode == 1
    assert email not in user(daemon, "list", "--partner", p).stdout


def test_wrong_words_of_the_user_command(daemon):
    for words, key in ((("add", "a@b.example"), OPERATOR_KEY), (("add",), OPERATOR_KEY), ((), OPERATOR_KEY),
                       (("list", "x"), OPERATOR_KEY), (("list",), None), (("fly", "a@b"), OPERATOR_KEY)):
        found = user(daemon, *words, key=key)
        assert found.returncode == 2 and found.stderr.startswith("postbackd: "), words
    assert user(daemon, "list", key="wrong-key-of-the-operator").returncode == 1
    bad = user(daemon, "add", "no-address", "--role", "admin")
    assert bad.returncode == 1 and "Email" in bad.stderr


class Terminal(Daemon):
    """Its standard output is a terminal."""

    def spawn(self):
        self.store()  # made before Popen is another
        self.master, slave = os.openpty()
        before = subprocess.Popen

        def popen(*args, **kw):
            return before(*args, **dict(kw, stdout=slave))
        subprocess.Popen = popen
        try:
            return super().spawn()
        finally:
            subprocess.Popen = before
            os.close(slave)

    def said(self):
        ready = select.select([self.master], [], [], 10)[0]
        return os.read(self.master, 65536).decode() if ready else ""


def test_the_first_start_leads_to_the_first_admin(tmp_path):
    d = Terminal(tmp_path).start()
    try:
        assert Browser(d).session()["SetUpNeeded"] is True
        link = re.search(r"http://127.0.0.1:%d/link#(\S+)" % d.port, d.said())
        token = link.group(1)
        assert token not in d.log_text() and "/link" not in d.log_text()
        b = Browser(d)
        check = b.post("/api/v1/links/check", {"Token": token})
        assert check.json["Kind"] == "set_up" and check.json["Role"] == "admin" and check.json["Email"] is None
        assert codes(b.post("/api/v1/links/use", {"Token": token, "Password": PASSWORD})) == {("Email", "required")}
        use = {"Token": token, "Password": PASSWORD, "Email": "Root@Example.test", "Name": "Root"}
        made = b.post("/api/v1/links/use", use)
        assert made.status == 200 and made.json["User"]["Email"] == "root@example.test"
        assert made.json["SetUpNeeded"] is False and made.json["Side"] == "operator"
        assert b.post("/api/v1/partners", {"Name": "First"}).status == 201
        assert Browser(d).post("/api/v1/links/use", dict(use, Email="me-too@example.test")).status == 404
        d.restart()
        assert not select.select([d.master], [], [], 0.5)[0]  # nothing is offered any more
        assert Browser(d).sign_in("root@example.test").status == 200
    finally:
        assert d.stop() == 0


def test_without_a_terminal_no_link_is_anywhere(own_daemon):
    own_daemon.start()
    assert '"event":"no_users"' in own_daemon.log_text() and "link#" not in own_daemon.log_text()


# --- guessing ----------------------------------------------------------------------------------

def test_guessing_is_slowed_down(own_daemon):
    own_daemon.start()
    victim, other = person(own_daemon, "admin"), person(own_daemon, "admin")
    for i in range(10):
        assert Browser(own_daemon).sign_in(victim.email, "guess number %d of it" % i).status == 401
    blocked = Browser(own_daemon).sign_in(victim.email)  # the right one, too
    assert blocked.status == 429 and 1 <= int(blocked.headers["Retry-After"]) <= 60
    assert victim.session()["SignedIn"]  # who is in stays in
    assert Browser(own_daemon).sign_in(other.email).status == 200
    wrong = {"Password": "not the password", "NewPassword": NEW}
    found = [other.post("/api/v1/session/password", wrong).status for _ in range(11)]
    assert found == [400] * 10 + [429]
    for i in range(200):  # nobody in particular: what counts is the client
        last = Browser(own_daemon).sign_in("nobody-%d@example.test" % i, PASSWORD).status
        if last == 429:
            break
    assert last == 429 and i >= 20


def test_more_than_can_wait_for_a_password_are_put_off(own_daemon):
    """A password takes long on purpose: one at a time, a short queue, and nobody else waits for it."""
    own_daemon.start()
    b = person(own_daemon, "admin")
    with ThreadPoolExecutor(40) as people:
        found = list(people.map(lambda _: Browser(own_daemon).sign_in(b.email), range(40)))
    assert {a.status for a in found} == {200, 429}
    assert all(int(a.headers["Retry-After"]) >= 1 for a in found if a.status == 429)
    assert Browser(own_daemon).sign_in(b.email).status == 200


def test_codes_are_not_guessed_either(own_daemon):
    own_daemon.start()
    b = person(own_daemon, "admin")
    secret, _ = enrol(b)
    for i in range(10):
        assert Browser(own_daemon).sign_in(b.email, code="%06d" % i).status == 401
    assert Browser(own_daemon).sign_in(b.email, code=totp(secret, step=1)).status == 429


def test_links_are_not_guessed(own_daemon):
    own_daemon.start()
    found = [Browser(own_daemon).post("/api/v1/links/check", {"Token": "guess-%d" % i}).status for i in range(60)]
    assert found[:50] == [404] * 50 and found[-1] == 429


def test_how_many_accounts_an_email_has_is_not_heard(own_daemon):
    """A wrong password is stretched once for each salt: all users of an Email have the same, whenever theirs was set."""
    own_daemon.start()
    email, b = "of-many@example.test", [Browser(own_daemon) for _ in range(4)]
    accounts = [partner(own_daemon) for _ in range(4)]
    for i, p in enumerate(accounts):
        token = invite(own_daemon, "owner", p, email)[2]
        assert b[i].post("/api/v1/links/use", {"Token": token, "Password": PASSWORD + str(i)}).status == 200
    changed = {"Password": PASSWORD + "2", "NewPassword": NEW}
    assert b[2].post("/api/v1/session/password", changed).status == 200
    stranger = person(own_daemon, "owner", accounts[0])
    own_daemon.stop()
    documents = [json.loads(row[0]) for row in rows(own_daemon, "SELECT document FROM object WHERE document LIKE '%argon2id%'")]
    salts = [(d["Email"], d["Password"].split("$")[-2]) for d in documents]
    assert len(salts) == 5 and len(set(salts)) == len({salt for _, salt in salts}) == 2, salts
    assert stranger.email in dict(salts)
    own_daemon.start()  # not before: a sign-in shares the salt anew
    for password, place in ((PASSWORD + "0", 0), (PASSWORD + "1", 1), (NEW, 2), (PASSWORD + "3", 3)):
        assert b[0].sign_in(email, password).json["Partner"]["PartnerId"] == accounts[place]
    assert Browser(own_daemon).sign_in(email, PASSWORD + "2").status == 401


def switch(daemon, partner_id, enabled):
    assert daemon.api().patch("/api/v1/partners/" + partner_id, {"Enabled": enabled}).status == 200


def test_of_a_disabled_partner_nobody_signs_in(daemon):
    p = partner(daemon)
    owner = person(daemon, "owner", p)
    _, invited, token = invite(daemon, "analyst", p)
    switch(daemon, p, False)
    elsewhere = owner.get("/api/v1/users")
    b = Browser(daemon)
    for answer in (b.sign_in(owner.email), b.post("/api/v1/links/check", {"Token": token}),
                   b.post("/api/v1/links/use", {"Token": token, "Password": NEW})):
        assert answer.status == elsewhere.status == 403 and answer.json["detail"] == elsewhere.json["detail"]
        assert not answer.headers["Set-Cookie"]
    assert b.sign_in(owner.email, "not the password").status == 401  # whoever has no password does not hear of it
    noted = daemon.api().get("/api/v1/audit", query={"partnerId": p, "action": "session.refused"}).json["Items"]
    assert [e["After"].get("Reason") for e in noted] == [None, "the account is disabled"]
    switch(daemon, p, True)
    assert b.sign_in(owner.email).status == 200
    assert b.post("/api/v1/links/check", {"Token": token}).status == 200
    assert Browser(daemon).post("/api/v1/links/use", {"Token": token, "Password": NEW}).json["User"]["Email"] == invited


def test_who_is_of_several_accounts_gets_into_one_that_is_enabled(daemon):
    mine, theirs = partner(daemon), partner(daemon)
    first = person(daemon, "owner", mine)
    token = invite(daemon, "owner", theirs, first.email)[2]
    b = Browser(daemon)
    assert b.post("/api/v1/links/use", {"Token": token, "Password": PASSWORD}).status == 200
    switch(daemon, theirs, False)
    assert b.sign_in(first.email).json["Partner"]["PartnerId"] == mine
    named = {"Email": first.email, "Password": PASSWORD, "PartnerId": theirs}
    assert Browser(daemon).post("/api/v1/session", named).status == 403


def test_an_email_belongs_to_no_account(daemon):
    """Inviting somebody neither tells nor hinders whom another partner invites."""
    mine, theirs = partner(daemon), partner(daemon)
    first = person(daemon, "owner", mine)
    invited = daemon.api().post("/api/v1/users", {"Email": first.email, "Role": "owner"}, query={"partnerId": theirs})
    assert invited.status == 201, invited
    again = daemon.api().post("/api/v1/users", {"Email": first.email, "Role": "analyst"}, query={"partnerId": mine})
    assert again.status == 409
    used = Browser(daemon).post("/api/v1/links/use", {
        "Token": invited.json["Link"].split("#")[1], "Password": NEW})
    assert used.status == 200 and used.json["Partner"]["PartnerId"] == theirs
    for password, account in ((PASSWORD, mine), (NEW, theirs)):
        b = Browser(daemon)
        assert b.sign_in(first.email, password).status == 200
        assert b.session()["Partner"]["PartnerId"] == account
    wrong_account = {"Email": first.email, "Password": PASSWORD, "PartnerId": theirs}
    assert Browser(daemon).post("/api/v1/session", wrong_account).status == 401
    right_account = dict(wrong_account, Password=NEW)
    assert Browser(daemon).post("/api/v1/session", right_account).status == 200

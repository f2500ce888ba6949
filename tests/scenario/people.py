"""A browser's share of the protocol: cookies, CSRF header, codes; for tests of people and pages."""
import base64
import hashlib
import hmac
import itertools
import struct
import time

from harness import OPERATOR_KEY, Api

PASSWORD = "correct horse battery staple"
ids = itertools.count(1)


def totp(secret, at=None, step=0):
    """RFC 6238, written anew here."""
    raw = base64.b32decode(secret + "=" * (-len(secret) % 8))
    counter = struct.pack(">Q", int((time.time() if at is None else at) // 30) + step)
    mac = hmac.new(raw, counter, hashlib.sha1).digest()
    at = mac[-1] & 15
    return "%06d" % ((struct.unpack(">I", mac[at:at + 4])[0] & 0x7FFFFFFF) % 1000000)


class Browser:
    """Keeps the cookie and the CSRF token as the page does."""

    def __init__(self, daemon, **headers):
        self.daemon, self.headers = daemon, headers
        self.cookie = self.device = self.flow = self.csrf = None  # cookie: the session's

    def request(self, method, path, body=None, query=None, headers=None, csrf=True):
        own = dict(self.headers)
        cookies = [c for c in (self.cookie, self.device, self.flow) if c]
        if cookies:
            own["Cookie"] = "; ".join(cookies)
        if csrf and self.csrf:
            own["X-Csrf-Token"] = self.csrf
        own.update(headers or {})
        answer = Api(self.daemon.port, None).request(method, path, body, query=query, headers=own)
        self.keep(answer)
        return answer

    def keep(self, answer):
        for name, value in answer.headers.items():
            if name.lower() == "set-cookie":
                pair = value.split(";")[0]
                if "postbackd_device=" in pair:
                    self.device = pair
                elif "postbackd_sign_in=" in pair:
                    self.flow = pair
                else:
                    self.cookie = pair if pair.split("=", 1)[1] else None
        if answer.status == 200 and answer.body.startswith(b"{"):
            said = answer.json.get("Session", answer.json)
            self.csrf = said.get("CsrfToken", self.csrf)

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, {} if body is None else body, **more)

    def delete(self, path, **more):
        return self.request("DELETE", path, **more)

    def patch(self, path, body, **more):
        return self.request("PATCH", path, body, **more)

    def sign_in(self, email, password=PASSWORD, code=None):
        body = {"Email": email, "Password": password}
        if code:
            body["Code"] = code
        return self.post("/api/v1/session", body)

    def session(self):
        return self.get("/api/v1/session").json


def invite(daemon, role, partner_id=None, email=None):
    """(UserId, Email, token of the link), made with the operator's key."""
    email = email or "%s-%d@example.test" % (role, next(ids))
    query = {"partnerId": partner_id} if partner_id else {}
    made = daemon.api().request("POST", "/api/v1/users", {"Email": email, "Role": role}, query=query)
    assert made.status == 201, made
    return made.json["User"]["UserId"], email, made.json["Link"].split("#")[1]


def person(daemon, role, partner_id=None):
    """Somebody of that role, signed in: a Browser with user_id and email."""
    user_id, email, token = invite(daemon, role, partner_id)
    browser = Browser(daemon)
    answer = browser.post("/api/v1/links/use", {"Token": token, "Password": PASSWORD})
    assert answer.status == 200, answer
    browser.user_id, browser.email = user_id, email
    return browser


def enrol(browser, at=None):
    """Turns the second factor on with the code of that time; its secret and the recovery codes."""
    begun = browser.post("/api/v1/session/second-factor", {"Password": PASSWORD})
    assert begun.status == 200, begun
    secret = begun.json["Secret"]
    done = browser.post("/api/v1/session/second-factor/confirm", {"Code": totp(secret, at)})
    assert done.status == 200, done
    return secret, done.json["RecoveryCodes"]


def partner(daemon, name=None):
    made = daemon.api().post("/api/v1/partners", {"Name": name or "P"})
    assert made.status == 201
    return made.json["PartnerId"]


def codes(answer):
    return {(e.get("Field") or e.get("Parameter"), e["Code"]) for e in answer.json.get("errors", [])}

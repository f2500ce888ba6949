"""Identity providers for tests: npm's oidc-provider, and one of our own that says whatever it is told; and a
browser's way to them and back."""
import base64
import hashlib
import hmac
import http.client
import json
import os
import subprocess
import sys
import time
from urllib.parse import parse_qs, urlencode, urlsplit

from harness import ROOT, Receiver, leave_nothing_behind
from people import Browser, ids

CLIENT_ID = "postbackd"
CALLBACK = "/api/v1/sign-in/callback"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def write_file(path, *providers, **more):
    path.write_text(json.dumps({"Providers": list(providers), **more}))
    return path


def redirected(answer, status=303):
    assert answer.status == status, answer
    return answer.headers["Location"]


class Visitor(Browser):
    """Somebody at the page of who is not signed in, each at another address: behind a proxy, if it is trusted."""

    def __init__(self, daemon):
        super().__init__(daemon, **{"X-Forwarded-For": "198.51.%d.%d" % divmod(next(ids), 256)})

    def leave(self, place=1):
        """Where the daemon sends the browser."""
        return redirected(self.get("/api/v1/sign-in/%s" % place))

    def come_back(self, url):
        """Where the daemon sends it at the end."""
        parts = urlsplit(url)
        assert parts.path == CALLBACK
        return redirected(self.get(CALLBACK + "?" + parts.query))

    def sign_in_at(self, provider, place=1, **who):
        return self.come_back(provider.visit(self.leave(place), **who))


class RealProvider:
    """npm's oidc-provider, a certified one."""

    def __init__(self, directory):
        subprocess.run([sys.executable, ROOT / "tools/dashboard.py", "packages", "provider"], check=True)
        self.process = subprocess.Popen(["node", ROOT / "tests/provider/provider.mjs"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        leave_nothing_behind(self.process)
        told = json.loads(self.process.stdout.readline())
        self.issuer, self.people, self.algorithm = told["Issuer"], {}, "RS256"
        secret = directory / "secret"
        secret.write_text(told["Secret"] + "\n")
        self.entry = {"Name": "Example staff", "Issuer": self.issuer, "ClientId": told["ClientId"],
                      "ClientSecretFile": str(secret)}

    def control(self, daemon, rotate=False):
        wish = {"redirectUri": "http://127.0.0.1:%d%s" % (daemon.port, CALLBACK), "people": self.people,
                "algorithm": self.algorithm, "rotate": rotate}
        assert self.ask(self.issuer + "/control", json.dumps(wish))[0] == 200

    @staticmethod
    def ask(url, body=None, cookies=None):
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        headers = {"Cookie": "; ".join("%s=%s" % pair for pair in cookies.items())} if cookies else {}
        path = parts.path + ("?" + parts.query if parts.query else "")
        connection.request("POST" if body else "GET", path, body=body, headers=headers)
        answer = connection.getresponse()
        for value in answer.headers.get_all("Set-Cookie") or []:
            name, text = value.split(";")[0].split("=", 1)
            cookies[name] = text
        answer.read()
        connection.close()
        return answer.status, answer.headers.get("Location")

    def visit(self, url, login):
        """The callback that the provider sends the browser to."""
        cookies = {}
        while not urlsplit(url).path == CALLBACK:
            if "/interaction/" in url:
                url += "?login=" + login
            status, location = self.ask(url, cookies=cookies)
            assert location, (status, url)
            url = location if location.startswith("http") else self.issuer + location
        return url

    def close(self):
        self.process.kill()
        self.process.wait()


class Key:
    """An RSA key, by openssl."""

    def __init__(self, directory, name="1"):
        self.path, self.kid = directory / ("key-%s.pem" % name), name
        subprocess.run(["openssl", "genrsa", "-out", self.path, "2048"], check=True, capture_output=True)
        said = subprocess.run(["openssl", "rsa", "-in", self.path, "-noout", "-modulus"], check=True,
                              capture_output=True, text=True).stdout
        self.jwk = {"kty": "RSA", "use": "sig", "kid": name, "e": "AQAB",
                    "n": base64url(bytes.fromhex(said.strip().split("=")[1]))}

    def sign(self, text):
        return subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.path], input=text, check=True,
                              capture_output=True).stdout


class FakeProvider:
    """Says what it is told: `document`, `keys`, `header` and `claims` of the token are taken as they are when it
    is asked; `says` replaces the answer of a path."""

    def __init__(self, directory):
        self.key = Key(directory)
        self.server = Receiver(answer=self.answer)
        self.issuer = "http://127.0.0.1:%d" % self.server.port
        self.entry = {"Name": "Example staff", "Issuer": self.issuer, "ClientId": CLIENT_ID}
        self.reset()

    def reset(self):
        self.says, self.nonces, self.asked, self.padding = {}, {}, [], ""
        self.header, self.claims, self.signer, self.extra = {"alg": "RS256", "kid": "1"}, {}, self.key.sign, {}
        self.keys = [self.key.jwk]
        self.document = {"issuer": self.issuer, "authorization_endpoint": self.issuer + "/authorize",
                         "token_endpoint": self.issuer + "/token", "jwks_uri": self.issuer + "/keys"}

    def answer(self, request):
        self.asked.append(request)
        path = urlsplit(request.path).path
        if path in self.says:
            return self.says[path]
        if path == "/token":
            form = parse_qs(request.body.decode())
            return self.json({"token_type": "Bearer", "id_token": self.token(form["code"][0]), "x": self.padding})
        return self.json(self.document if path.endswith("openid-configuration") else {"keys": self.keys})

    @staticmethod
    def json(value):
        return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()

    def token(self, code):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "sub": "ada", "exp": now + 300, "iat": now,
                  "nonce": self.nonces[code], "email": "Ada@Example.test", "groups": ["staff"], **self.claims}
        parts = [base64url(json.dumps(p).encode())
                 for p in (self.header, {k: v for k, v in claims.items() if v is not None})]
        signed = ".".join(parts)
        return signed + "." + base64url(self.signer(signed.encode()))

    def visit(self, url):
        parts = urlsplit(url)
        asked = {k: v[0] for k, v in parse_qs(parts.query).items()}
        assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256"
        assert len(asked["code_challenge"]) == 43 and asked["client_id"] == CLIENT_ID
        code = os.urandom(8).hex()
        self.nonces[code] = asked["nonce"]
        return asked["redirect_uri"] + "?" + urlencode({"code": code, "state": asked["state"], **self.extra})

    def hmac_by(self, secret):
        return lambda text: hmac.new(secret, text, hashlib.sha256).digest()

    def close(self):
        self.server.close()

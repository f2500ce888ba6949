"""A passkey's authenticator and its browser, for tests: keys by openssl, one for each relying party and user."""
import base64
import hashlib
import itertools
import json
import struct
import subprocess

KINDS = {"ES256": ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"], "EdDSA": ["ED25519"],
         "RS256": ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]}
PRESENT, VERIFIED, NEW_CREDENTIAL = 1, 4, 64
numbers = itertools.count(1)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def openssl(*arguments, text=None):
    return subprocess.run(["openssl", *arguments], input=text, check=True, capture_output=True).stdout


class Authenticator:
    """`count` is what it says next of how often it has signed; None: it does not count."""

    def __init__(self, directory, origin, kind="ES256", count=1):
        self.origin, self.kind, self.count = origin, kind, count
        self.path = directory / ("passkey-%d.pem" % next(numbers))
        openssl("genpkey", "-algorithm", *(KINDS[kind] if kind in list(KINDS) else kind), "-out", self.path)
        self.id = hashlib.sha256(self.path.read_bytes()).digest()
        self.user = None

    def sign(self, data):
        if self.kind != "EdDSA":
            return openssl("dgst", "-sha256", "-sign", self.path, text=data)
        file = self.path.with_suffix(".data")  # what is signed in one go is no stream
        file.write_bytes(data)
        return openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.path, "-in", file)

    def said(self, kind, options, rp_id, flags, behind=b"", **client):
        data = {"type": "webauthn." + kind, "challenge": options["challenge"], "origin": self.origin,
                "crossOrigin": False, **client}
        count = self.count
        if count is not None:
            self.count += 1
        return (json.dumps({k: v for k, v in data.items() if v is not None}).encode(),
                hashlib.sha256(rp_id.encode()).digest() + struct.pack(">BI", flags, count or 0) + behind)

    def create(self, options, rp_id=None, flags=PRESENT | VERIFIED | NEW_CREDENTIAL, key=None, **client):
        """What PublicKeyCredential.toJSON() gives of a new passkey."""
        behind = bytes(16) + struct.pack(">H", len(self.id)) + self.id + b"a key in CBOR"
        self.user = from_base64url(options["user"]["id"])
        client, data = self.said("create", options, rp_id or options["rp"]["id"], flags, behind, **client)
        key = key or openssl("pkey", "-in", self.path, "-pubout", "-outform", "DER")
        return self.credential(clientDataJSON=client, authenticatorData=data, publicKey=key, attestationObject=b"none")

    def get(self, options, rp_id=None, flags=PRESENT | VERIFIED, user=None, **client):
        client, data = self.said("get", options, rp_id or options["rpId"], flags, **client)
        signature = self.sign(data + hashlib.sha256(client).digest())
        return self.credential(clientDataJSON=client, authenticatorData=data, signature=signature,
                               userHandle=user or self.user)

    def credential(self, **response):
        text = base64url(self.id)
        return {"id": text, "rawId": text, "type": "public-key", "clientExtensionResults": {},
                "authenticatorAttachment": "platform",
                "response": {name: base64url(value) for name, value in response.items()}}

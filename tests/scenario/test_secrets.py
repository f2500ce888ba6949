"""No secret is ever seen where it does not belong: in what is sent, logged, answered, measured or
kept on disk. Everything the daemon lets out is collected and searched, in every spelling."""
import base64
import urllib.parse

import pytest

from harness import OPERATOR_KEY, Account, Daemon, eventually
from inside import everything
from people import Browser, enrol, person, totp
from raw import RawServer, answer

MASTER_KEY = bytes(range(100, 132))
GIVEN_SECRET = "given-secret-Zq8!x~by-the-operator"
PASSWORD = "pa55w0rd-Qx"


def spellings(secret):
    raw = secret if isinstance(secret, bytes) else secret.encode()
    found = {raw, base64.b64encode(raw).rstrip(b"="), raw.hex().encode(), raw.hex().upper().encode(),
             urllib.parse.quote(raw, safe="").encode()}
    if raw.startswith(b"whsec_"):
        key = base64.b64decode(raw[6:])
        found |= {raw[6:], key, key.hex().encode()}
    return found


class Leaks:
    def __init__(self):
        self.secrets = {}  # name: spellings

    def add(self, name, secret):
        self.secrets.setdefault(name, set()).update(spellings(secret))

    def assert_none(self, where, data, but=()):
        data = data.encode() if isinstance(data, str) else data
        for name, all_spellings in self.secrets.items():
            if name not in but:
                assert not any(s in data for s in all_spellings), "%s in %s" % (name, where)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A daemon that has been through it all: rotations, failures, wrong keys, a revoked key."""
    leaks = Leaks()
    leaks.add("operator key", OPERATOR_KEY)
    leaks.add("master key", MASTER_KEY)
    d = Daemon(tmp_path_factory.mktemp("secrets"), "--log-level", "debug", "--reads-per-minute", "100000",
               schedule="1s", env={"POSTBACKD_MASTER_KEY": MASTER_KEY.hex()}).start()
    servers, accounts, bodies = [], [], []

    def behave(text):
        def behave(server, s, request):
            s.sendall(text)
            return bool(text)
        return behave

    said = {"ok": answer(200, b"ok"), "fails": answer(500, b"no"), "gone": answer(410),
            "redirects": answer(302, b"", "Location: https://partner:%s@new.example/\r\n" % PASSWORD),
            "garbage": b"SSH-2.0-x\r\n", "closes": b""}
    leaks.add("password", PASSWORD)
    leaks.add("userinfo", "partner:" + PASSWORD)
    api = d.api()
    for i, (name, text) in enumerate(said.items()):
        server = RawServer(behave(text))
        servers.append(server)
        settings = {"CallbackSecret": GIVEN_SECRET + name} if i % 2 else {}
        account = Account(d, server.url(userinfo="partner:%s@" % PASSWORD), LegacyFields=True,
                          ExtendedFields=True, **settings)
        leaks.add("secret of " + name, account.secret)
        accounts.append(account)
        account.name = name
        account.keys = [account.key("reports:read", "callbacks:read"), account.key("apps:read", "apps:write")]
        for key in account.keys:
            leaks.add("key of " + name, key)
        api.events([account.event(name + "-1"), account.event(name + "-2", "survey_disqualified"),
                    account.event(name + "-3", "offer_completed")])
    for account in accounts:
        for i in (1, 2, 3):
            assert eventually(lambda: final(api, account, i), what="%s-%d is final" % (account.name, i))
        for body in ({"OverlapSeconds": 3600, "SigSwitch": "end"}, {"OverlapSeconds": 60, "SigSwitch": "now"}, None):
            rotated = api.post("/api/v1/apps/%s/secret/rotate" % account.app_id, body)
            assert rotated.status == 200, rotated
            leaks.add("secret of " + account.app_id, rotated.json["CallbackSecret"])
        shown = api.get("/api/v1/apps/%s/secret" % account.app_id)
        assert shown.json["CallbackSecret"] == rotated.json["CallbackSecret"]
        api.events(account.event(account.app_id + "-rotated"))
        bodies += wrong_requests(d, account)
    yield d, leaks, accounts, servers, bodies
    d.stop()
    for server in servers:
        server.close()


def final(api, account, i):
    found = api.callback("%s-%d" % (account.name, i), account.partner_id)
    return found if found["State"] in ("delivered", "dead", "skipped") else None


def wrong_requests(d, account):
    """What is answered to requests that name a secret in the wrong place, or a wrong one."""
    api, key = d.api(), account.keys[0]
    masked = "http://partner:%s@" % PASSWORD
    answers = [
        api.get("/api/v1/reports/earnings", key=key + "x"),
        api.get("/api/v1/reports/earnings", key=key, headers={"X-Api-Key": key + "y"}),
        api.get("/api/v1/reports/earnings", key=None, query={"apiKey": key}),
        api.get("/api/v1/reports/earnings", key=key, query={"key": OPERATOR_KEY}),
        api.get("/api/v1/callbacks/" + account.secret.replace("!", ""), key=key),
        api.get("/api/v1/apps/" + account.app_id, key=account.keys[0]),
        api.patch("/api/v1/apps/" + account.app_id, {"SuccessCallbackUrl": masked + "127.1/x"}),
        api.patch("/api/v1/apps/" + account.app_id, {"SuccessCallbackUrl": masked + "example.com/#f"}),
        api.patch("/api/v1/apps/" + account.app_id, {"CallbackSecret": account.secret}),
        api.post("/api/v1/partners/%s/apps" % account.partner_id, {
            "Name": "x", "CurrencyValue": "1", "CallbackSecret": account.secret, "Wrong": 1}),
        api.post("/api/v1/apps/%s/test-callback" % account.app_id, {
            "RewardType": "survey_completed", "PanelistId": "p"}),
    ]
    revoked = api.get("/api/v1/partners/%s/keys" % account.partner_id).json["Items"][0]["KeyId"]
    assert api.delete("/api/v1/partners/%s/keys/%s" % (account.partner_id, revoked)).status == 204
    answers.append(api.get("/api/v1/reports/earnings", key=account.keys[-1]))
    assert [a.status for a in answers[:3]] == [401, 401, 401] or answers[1].status in (200, 400)
    return answers


def test_no_secret_in_what_receivers_get(world):
    d, leaks, accounts, servers, _ = world
    requests = [r for server in servers for r in server.requests]
    assert len(requests) >= 20
    for r in requests:
        head, _, body = r.partition(b"\r\n\r\n")
        leaks.assert_none("a callback's body", body)
        # Basic auth is what userinfo is for: in that one header and nowhere else.
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"authorization:")]
        assert len(lines) == head.count(b"\r\n")
        leaks.assert_none("a callback's head", b"\r\n".join(lines))


def test_no_secret_in_any_answer(world):
    d, leaks, accounts, servers, wrong = world
    api = d.api()
    for a in wrong:
        leaks.assert_none("an error", str(a.headers) + a.text)
    paths = ["/metrics", "/openapi.json", "/readyz", "/api/v1/partners"]
    for account in accounts:
        partner = "?partnerId=" + account.partner_id
        paths += ["/api/v1/partners/" + account.partner_id, "/api/v1/partners/%s/apps" % account.partner_id,
                  "/api/v1/partners/%s/keys" % account.partner_id, "/api/v1/apps/" + account.app_id,
                  "/api/v1/apps/%s/endpoints" % account.app_id, "/api/v1/apps/%s/clients" % account.app_id,
                  "/api/v1/callbacks" + partner, "/api/v1/rewards" + partner, "/api/v1/reports/earnings" + partner]
        items = api.get("/api/v1/callbacks" + partner).json["Items"]
        assert len(items) >= 4
        paths += ["/api/v1/callbacks/%s%s" % (item["RewardId"], partner) for item in items]
    attempts = 0
    for path in paths:
        found = api.get(path)
        assert found.status == 200, (path, found)
        attempts += found.text.count('"RequestHeaders"')
        leaks.assert_none("the answer to GET " + path, str(found.headers) + found.text)
    assert attempts > 20  # the log of attempts was among them, with headers and details


def test_no_secret_in_the_log(world):
    d, leaks, *_ = world
    text = d.log_text()
    assert "secret_rotated" in text and "secret_shown" in text
    leaks.assert_none("the log", text)


def test_no_secret_on_disk(world):
    """While it runs, after kill -9 and after an orderly stop: database, WAL and journal, raw."""
    d, leaks, accounts, *_ = world

    def look(when):
        files = everything(d)
        assert sum(map(len, files.values())) > 20000 and "master.key" not in files
        # What must be there proves that looking finds things.
        assert any(accounts[0].app_id.encode() in data for data in files.values())
        for name, data in files.items():
            leaks.assert_none("%s %s" % (name, when), data)

    look("while running")
    d.kill()
    look("after kill -9")
    d.start()
    assert d.stop() == 0
    look("after a stop")
    d.start()


def test_another_master_key_is_refused_in_one_line(world):
    d, leaks, accounts, *_ = world
    assert d.stop() == 0
    right = d.env["POSTBACKD_MASTER_KEY"]
    d.env["POSTBACKD_MASTER_KEY"] = bytes(32).hex()
    begin = d.spawn()
    try:
        assert d.process.wait(20) == 1
    finally:
        d.env["POSTBACKD_MASTER_KEY"] = right
    text = d.log_text(begin)
    # A node of many has taken shards by then, and says so.
    said = [line for line in text.splitlines() if '"event":"shards"' not in line]
    assert len(said) == 1 and "key" in said[0], text
    leaks.assert_none("the refusal", text)
    d.start()
    assert d.api().get("/api/v1/apps/%s/secret" % accounts[0].app_id).status == 200


@pytest.mark.sqlite("the files of its directory")
def test_files_are_the_daemons_alone(world):
    d, *_ = world
    for path in [d.directory / "store", *(d.directory / "store").rglob("*")]:
        if path != d.directory / "store":  # the directory may be the operator's own
            assert path.stat().st_mode & 0o077 == 0, path


def test_no_secret_in_the_processs_environment_and_no_core(world):
    d, leaks, _, _, _ = world
    with open("/proc/%d/environ" % d.process.pid, "rb") as f:
        environment = f.read()
    assert b"POSTBACKD_MASTER_KEY=" in environment
    leaks.assert_none("the environment", environment)
    with open("/proc/%d/limits" % d.process.pid) as f:
        core = next(line for line in f if line.startswith("Max core file size"))
    assert core.split()[4] == "0", core


def test_the_master_key_is_changed_while_it_runs(tmp_path):
    """First key, then a second one beside it, then the second alone: nothing that it sealed is lost."""
    first, second = bytes(range(32)).hex(), bytes(range(32, 64)).hex()
    d = Daemon(tmp_path, schedule="1s", env={"POSTBACKD_MASTER_KEY": first}).start()
    account = Account(d)
    assert d.api().patch("/api/v1/apps/" + account.app_id, {
        "SuccessCallbackUrl": "http://u:%s@127.0.0.1:9/cb" % PASSWORD}).status == 200
    operations = "/api/v1/partners/%s/operations-secret" % account.partner_id
    told = d.api().get(operations).json["OperationsSecret"]
    owner = person(d, "owner", account.partner_id)
    factor, _ = enrol(owner)
    assert d.stop() == 0

    d.env = {"POSTBACKD_MASTER_KEY": second, "POSTBACKD_SECOND_MASTER_KEY": first}
    d.start()
    eventually(lambda: "master_key_changed" in d.log_text(), what="everything under the new key")
    assert d.stop() == 0
    d.env = {"POSTBACKD_MASTER_KEY": second}
    d.start()
    try:
        app = "/api/v1/apps/" + account.app_id
        assert d.api().get(app + "/secret").json["CallbackSecret"] == account.secret
        assert d.api().get(app).json["SuccessCallbackUrl"].endswith("@127.0.0.1:9/cb")
        assert d.api().get(operations).json["OperationsSecret"] == told
        assert Browser(d).sign_in(owner.email, code=totp(factor, step=1)).status == 200
    finally:
        assert d.stop() == 0

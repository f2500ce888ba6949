"""Partners, apps, clients and keys: their shapes, what may be changed, and by whom."""
import base64
import itertools
import json
import re
import threading
import time

import pytest

from checks import DEAD_URL, Raw, all_pages, assert_problem, encode
from harness import LIVE, Account, eventually
from inside import everything

serial = itertools.count(1)
SCOPES = ["reports:read", "callbacks:read", "callbacks:write", "panelists:erase", "apps:read", "apps:write", "keys:write"]
APP_FIELDS = ["AppId", "Name", "Enabled", "CurrencyValue", "RewardDecimals", "DisqualificationReward",
              "DisqualificationCap", "SuccessCallbackUrl", "FailureCallbackUrl", "OfferCallbackUrl",
              "TestCallbackUrl", "TimeoutSeconds", "MaxConcurrency", "RatePerSecond", "LegacyFields", "ExtendedFields",
              "NegativeAdHoc", "FinalStatuses", "SuccessAnswer", "RewardTypes", "RequestFormat",
              "TrimDecimals", "NumericOfferGoalId", "WithholdTests"]


def fresh(prefix):
    return "%s-%d" % (prefix, next(serial))


@pytest.fixture(scope="module")
def api(daemon):
    return daemon.api()


@pytest.fixture(scope="module")
def account(daemon):
    return Account(daemon)


def created(answer, prefix):
    """A 201 with the Location of what was made."""
    assert answer.status == 201, answer
    location = answer.headers["Location"]
    assert location.startswith(prefix), location
    return answer.json, location


# --- shapes ----------------------------------------------------------------------------------

def test_partners(api):
    partner_id = fresh("partner")
    body, location = created(api.post("/api/v1/partners", {"PartnerId": partner_id, "Name": "Pärtner"}),
                             "/api/v1/partners/" + partner_id)
    assert body == {"PartnerId": partner_id, "Name": "Pärtner", "Enabled": True, "OperationsUrl": None}
    assert list(body) == ["PartnerId", "Name", "Enabled", "OperationsUrl"]
    assert api.get(location).json == body
    assert api.get("/api/v1/partners", query={"limit": 1}).json["Items"] == [body]
    answer = api.patch(location, {"Name": "N", "OperationsUrl": "https://ops.example/hook", "Enabled": False})
    assert answer.status == 200
    assert answer.json == {"PartnerId": partner_id, "Name": "N", "Enabled": False,
                           "OperationsUrl": "https://ops.example/hook"}
    assert api.patch(location, {"OperationsUrl": None}).json["OperationsUrl"] is None
    made, location = created(api.post("/api/v1/partners", {"Name": "No id"}), "/api/v1/partners/")
    assert location == "/api/v1/partners/" + made["PartnerId"]


def test_apps(api, account):
    app_id = fresh("app")
    path = "/api/v1/partners/%s/apps" % account.partner_id
    body, location = created(api.post(path, {"AppId": app_id, "Name": "A", "CurrencyValue": "72.50"}),
                             "/api/v1/apps/" + app_id)
    assert list(body) == APP_FIELDS + ["CallbackSecret"]
    secret = body.pop("CallbackSecret")
    assert secret.startswith("whsec_") and 24 <= len(base64.b64decode(secret[6:], validate=True)) <= 32
    assert body == {
        "AppId": app_id, "Name": "A", "Enabled": True, "CurrencyValue": 72.5, "RewardDecimals": 2,
        "DisqualificationReward": 0, "DisqualificationCap": 6, "SuccessCallbackUrl": None,
        "FailureCallbackUrl": None, "OfferCallbackUrl": None, "TestCallbackUrl": None, "TimeoutSeconds": 10,
        "MaxConcurrency": body["MaxConcurrency"], "RatePerSecond": body["RatePerSecond"],
        "LegacyFields": False, "ExtendedFields": False, "NegativeAdHoc": False,
        "FinalStatuses": [], "RewardTypes": None, "SuccessAnswer": None, "RequestFormat": "json",
        "TrimDecimals": False, "NumericOfferGoalId": False, "WithholdTests": False}
    assert api.get(location).json == body
    assert api.get(path, query={"limit": 1}).json["Items"] == [body]
    assert '"CurrencyValue":72.50,' in api.get(location).text  # as it was given
    assert secret not in api.get(location).text + api.get(path).text


@pytest.mark.parametrize("given", ["1", "0.000001", "1000000", "72.500000", "1.0"])
def test_currency_prints_as_given(api, account, given):
    app_id = fresh("app")
    path = "/api/v1/partners/%s/apps" % account.partner_id
    created(api.post(path, encode({"AppId": app_id, "CurrencyValue": Raw(given)})), "/api/v1/apps/")
    assert '"CurrencyValue":%s,' % given in api.get("/api/v1/apps/" + app_id).text
    assert '"CurrencyValue":%s,' % given in api.patch("/api/v1/apps/" + app_id, {"Name": "n"}).text


def test_clients(api, account):
    path = "/api/v1/apps/%s/clients" % account.app_id
    for integration in ("sdk", "iframe", "monetization_api"):
        client_id = fresh("client")
        body, location = created(api.post(path, {"ClientId": client_id, "Name": "C", "Integration": integration}),
                                 "/api/v1/clients/" + client_id)
        assert list(body) == ["ClientId", "Name", "Integration", "Enabled"]
        assert body == {"ClientId": client_id, "Name": "C", "Integration": integration, "Enabled": True}
        assert api.get(location).json == body
        assert api.get(path, query={"limit": 1}).json["Items"] == [body]
        assert api.patch(location, {"Enabled": False, "Name": "D"}).json == dict(body, Enabled=False, Name="D")


def test_keys(daemon, api, account):
    path = "/api/v1/partners/%s/keys" % account.partner_id
    scopes = ["reports:read", "apps:read"]
    body, location = created(api.post(path, {"Name": "K", "Scopes": scopes}), path + "/")
    assert list(body) == ["KeyId", "Name", "Scopes", "Key"]
    key = body.pop("Key")
    assert body["Name"] == "K" and sorted(body["Scopes"]) == sorted(scopes)
    assert location == path + "/" + body["KeyId"]
    assert api.get(path, query={"limit": 1}).json["Items"] == [body]
    assert key not in api.get(path, query={"limit": 500}).text
    mine = daemon.api(key)
    assert mine.get("/api/v1/apps/" + account.app_id).status == 200
    assert mine.get("/api/v1/apps/" + account.app_id, key=None, headers={"X-Api-Key": key}).status == 200
    answer = api.delete(location)
    assert (answer.status, answer.body) == (204, b"")
    assert_problem(mine.get("/api/v1/apps/" + account.app_id), 401)
    assert_problem(api.delete(location), 404)
    assert body["KeyId"] not in api.get(path, query={"limit": 500}).text


def test_keys_are_not_on_disk_or_in_the_log(daemon, account):
    """Keys are hashed and secrets encrypted at rest: neither stands in any file as it is."""
    key = account.key("reports:read")
    daemon.api().events(account.event(fresh("ev")))
    secrets = [key.encode(), account.secret.encode(), base64.b64decode(account.secret[6:])]
    files = dict(everything(daemon), log=daemon.log_text().encode())
    assert any(account.app_id.encode() in data for data in files.values())
    for name, data in files.items():
        assert not any(secret in data for secret in secrets), name


# --- what is refused -------------------------------------------------------------------------

def test_taken_ids_are_409(api, daemon, account):
    other = Account(daemon)
    apps, keys = "/api/v1/partners/%s/apps" % other.partner_id, "/api/v1/partners/%s/keys" % other.partner_id
    key_id = fresh("key")
    created(api.post("/api/v1/partners/%s/keys" % account.partner_id, {"KeyId": key_id, "Scopes": ["apps:read"]}),
            "/api/v1/partners/")
    # unique in the whole installation, whoever asks
    assert_problem(api.post("/api/v1/partners", {"PartnerId": account.partner_id}), 409)
    assert_problem(api.post(apps, {"AppId": account.app_id, "CurrencyValue": 1}), 409)
    assert_problem(api.post("/api/v1/apps/%s/clients" % other.app_id,
                            {"ClientId": account.client, "Integration": "sdk"}), 409)
    assert_problem(api.post(keys, {"KeyId": key_id, "Scopes": ["apps:read"]}), 409)
    assert api.get("/api/v1/apps/" + account.app_id).json["CurrencyValue"] == 100


@pytest.mark.parametrize("bad", ["", "a b", "a/b", "ä", "x" * 65, "a.b", "a:b", 5, None])
def test_ids_that_are_none(api, account, bad):
    assert_problem(api.post("/api/v1/partners", {"PartnerId": bad}), 400, "PartnerId")
    assert_problem(api.post("/api/v1/partners/%s/apps" % account.partner_id,
                            {"AppId": bad, "CurrencyValue": 1}), 400, "AppId")
    assert_problem(api.post("/api/v1/apps/%s/clients" % account.app_id,
                            {"ClientId": bad, "Integration": "sdk"}), 400, "ClientId")


BAD_APP = [
    ("CurrencyValue", 0), ("CurrencyValue", -1), ("CurrencyValue", "1000000.000001"), ("CurrencyValue", "x"),
    ("CurrencyValue", "0.0000001"), ("CurrencyValue", None), ("CurrencyValue", True),
    ("RewardDecimals", 7), ("RewardDecimals", -1), ("RewardDecimals", 1.5), ("RewardDecimals", "2"),
    ("DisqualificationReward", -1), ("DisqualificationReward", "1000000000.000001"),
    ("DisqualificationReward", "0.1234567"), ("DisqualificationCap", -1), ("DisqualificationCap", "6"),
    ("TimeoutSeconds", 2), ("TimeoutSeconds", 31), ("TimeoutSeconds", None), ("TimeoutSeconds", "10"),
    ("MaxConcurrency", 0), ("MaxConcurrency", -1), ("RatePerSecond", -1), ("RatePerSecond", "x"),
    ("LegacyFields", "true"), ("ExtendedFields", 1), ("NegativeAdHoc", None), ("Enabled", None), ("TrimDecimals", 1),
    ("NumericOfferGoalId", "true"), ("WithholdTests", 1),
    ("Name", 5), ("Name", None),
    ("SuccessCallbackUrl", "ftp://example.com/"), ("SuccessCallbackUrl", "example.com/x"),
    ("SuccessCallbackUrl", "https://example.com/#x"), ("SuccessCallbackUrl", "https://"),
    ("SuccessCallbackUrl", ""), ("SuccessCallbackUrl", 5), ("SuccessCallbackUrl", "https://example.com/\r\nX: y"),
    ("SuccessCallbackUrl", "https://example.com/ x"), ("SuccessCallbackUrl", "https://example.com:0/"),
    ("SuccessCallbackUrl", "https://example.com:65536/"), ("SuccessCallbackUrl", "https://" + "a" * 2048 + ".com/"),
    ("FailureCallbackUrl", "http://2130706433/"), ("FailureCallbackUrl", "http://127.1/"),
    ("FailureCallbackUrl", "http://0x7f000001/"), ("FailureCallbackUrl", "http://0177.0.0.1/"),
    ("FailureCallbackUrl", "http://10.0.0.1/"), ("FailureCallbackUrl", "http://192.168.1.1:8080/x"),
    ("FailureCallbackUrl", "http://169.254.169.254/latest/meta-data"), ("FailureCallbackUrl", "http://[::1]/"),
    ("OfferCallbackUrl", "http://[fe80::1]/"), ("OfferCallbackUrl", "http://[fc00::1]/"),
    ("OfferCallbackUrl", "http://[::ffff:10.0.0.1]/"), ("OfferCallbackUrl", "http://0.0.0.0/"),
    ("OfferCallbackUrl", "http://100.64.0.1/"), ("OfferCallbackUrl", "http://[64:ff9b::a00:1]/"),
    ("OfferCallbackUrl", "http://user@10.0.0.1/"), ("TestCallbackUrl", "http://10.0.0.1/"),
    ("TestCallbackUrl", "ftp://example.com/"), ("TestCallbackUrl", "https://example.com/{Nothing}"), ("TestCallbackUrl", 1),
]


@pytest.mark.parametrize("name,value", BAD_APP, ids=["%s=%.40r" % row for row in BAD_APP])
def test_wrong_app_fields(api, account, name, value):
    """Refused at creation and by PATCH, which then changes nothing else either."""
    path, before = "/api/v1/apps/" + account.app_id, api.get("/api/v1/apps/" + account.app_id)
    assert_problem(api.patch(path, {"Name": "changed", name: value}), 400, name)
    after = api.get(path)
    assert (after.json, after.headers["ETag"]) == (before.json, before.headers["ETag"])
    app_id = fresh("app")
    assert_problem(api.post("/api/v1/partners/%s/apps" % account.partner_id,
                            dict({"AppId": app_id, "CurrencyValue": 1}, **{name: value})), 400, name)
    assert_problem(api.get("/api/v1/apps/" + app_id), 404)


GOOD_URLS = ["https://example.com", "http://example.com:8080/a?b=c&d", "https://u:p@example.com/",
             "https://1.1.1.1/", "http://127.0.0.1:1/", "https://[2606:4700::1111]/x", "https://example.com/?" + "a" * 2020]


@pytest.mark.parametrize("url", GOOD_URLS, ids=[u[:40] for u in GOOD_URLS])
def test_urls_that_are_taken(api, daemon, url):
    a = Account(daemon)
    answer = api.patch("/api/v1/apps/" + a.app_id, {"OfferCallbackUrl": url})
    assert answer.status == 200, answer
    shown = answer.json["OfferCallbackUrl"]
    assert shown == url or ("@" in url and "u:p" not in shown)


def test_a_url_without_tls_is_logged_when_it_is_set(own_daemon):
    a = Account(own_daemon.start(), "http://127.0.0.1:9/a")
    for changes in ({"Name": "another"}, {"OfferCallbackUrl": "http://127.0.0.1:9/b"}, {"RequestFormat": "form"}):
        a.patch(**changes)
    logged = [json.loads(line) for line in own_daemon.log_text().splitlines() if "callback_url_not_encrypted" in line]
    assert [e["endpoint"] for e in logged] == ["success", "failure", "offer", "offer"], logged


@pytest.mark.parametrize("name,value", [
    ("AppId", "other"), ("CallbackSecret", "another-secret"), ("PartnerId", "p"), ("currencyValue", 5),
    ("Bonus", 1), ("", 1), ("CreatedAt", "x")])
def test_unknown_and_read_only_fields_change_nothing(api, account, name, value):
    path = "/api/v1/apps/" + account.app_id
    before = api.get(path)
    assert_problem(api.patch(path, {"Name": "changed", name: value}), 400, name)
    assert api.get(path).json == before.json


def test_read_only_fields_of_partner_and_client(api, account):
    for path, bad in (("/api/v1/partners/" + account.partner_id, {"PartnerId": "q"}),
                      ("/api/v1/partners/" + account.partner_id, {"Name": None}),
                      ("/api/v1/partners/" + account.partner_id, {"OperationsUrl": "nowhere"}),
                      ("/api/v1/clients/" + account.client, {"ClientId": "q"}),
                      ("/api/v1/clients/" + account.client, {"Integration": "web"}),
                      ("/api/v1/clients/" + account.client, {"Enabled": "yes"})):
        before = api.get(path)
        name, = bad
        assert_problem(api.patch(path, dict(bad)), 400, name)
        assert api.get(path).body == before.body
    assert_problem(api.post("/api/v1/partners/%s/apps" % account.partner_id, {"Name": "x"}), 400, "CurrencyValue")
    assert_problem(api.post("/api/v1/partners/%s/keys" % account.partner_id, {"Name": "x"}), 400, "Scopes")
    for scopes in ([], ["everything"], "apps:read", [5], ["admin"], None):
        assert_problem(api.post("/api/v1/partners/%s/keys" % account.partner_id, {"Scopes": scopes}), 400, "Scopes")
    for body in (b"", b"{", b"[]", b"5", b'{"Name":"a","Name":"b"}'):
        assert_problem(api.patch("/api/v1/apps/" + account.app_id, body), 400)


def test_a_key_expires_and_says_when_it_was_used(own_daemon):
    d = own_daemon.start()
    account = Account(d)
    keys, own = "/api/v1/partners/%s/keys" % account.partner_id, "/api/v1/apps/" + account.app_id
    for bad in ("tomorrow", 5, "2027-01-01", "2001-01-01T00:00:00Z"):
        assert_problem(d.api().post(keys, {"Scopes": ["apps:read"], "ExpiresAt": bad}), 400, "ExpiresAt")
    until = time.time() + 3
    made = d.api().post(keys, {"KeyId": "short-lived", "Scopes": ["apps:read"], "ExpiresAt": "%s.%03dZ" % (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(until)), until % 1 * 1000)}).json
    lasting = d.api().post(keys, {"KeyId": "lasting", "Scopes": ["apps:read"], "ExpiresAt": None}).json
    assert "ExpiresAt" in made and "LastUsedAt" not in made and "ExpiresAt" not in lasting
    eventually(lambda: d.api().get(own, key=made["Key"]).status == 401, what="the key's end")
    assert d.api().get(own, key=lasting["Key"]).status == 200
    assert d.stop() == 0
    d.start()
    assert d.api().get(own, key=made["Key"]).status == 401

    def used():
        return {k["KeyId"]: k.get("LastUsedAt") for k in d.api().get(keys).json["Items"]}["lasting"]
    assert used(), "its first use is durable"


def test_what_only_operators_set_is_refused_from_a_partner(api, account):
    key = account.key("apps:read", "apps:write")
    partner = "/api/v1/partners/" + account.partner_id
    for enabled in (False, True):
        refused = api.patch(partner, {"Name": "n", "Enabled": enabled}, key=key)
        assert_problem(refused, 400, "Enabled")
        assert "operator" in refused.text
    assert_problem(api.post(partner + "/apps", {"CurrencyValue": 1, "CallbackSecret": "given-by-a-partner"}, key=key),
                   400, "CallbackSecret")
    assert api.patch(partner, {"Name": "n"}, key=key).status == 200
    assert api.get(partner).json["Enabled"] is True


@pytest.mark.parametrize("secret", ["7 chars", "short", "x" * 257, "with space in it", "ümlautsecret", "tab\tsecret", 5])
def test_secrets_that_are_none(api, account, secret):
    assert_problem(api.post("/api/v1/partners/%s/apps" % account.partner_id,
                            {"CurrencyValue": 1, "CallbackSecret": secret}), 400, "CallbackSecret")


# --- PATCH -----------------------------------------------------------------------------------

def test_patch_changes_only_what_is_given(api, daemon):
    a = Account(daemon, DEAD_URL)
    path = "/api/v1/apps/" + a.app_id
    before = api.get(path).json
    changes = {"Name": "N", "CurrencyValue": 7, "RewardDecimals": 0, "DisqualificationReward": 3,
               "DisqualificationCap": 1, "TimeoutSeconds": 30, "MaxConcurrency": 2, "RatePerSecond": 5,
               "LegacyFields": True, "ExtendedFields": True, "NegativeAdHoc": True, "Enabled": False,
               "FinalStatuses": [404, 422], "RewardTypes": ["ad_hoc", "offer_clicked"],
               "SuccessAnswer": {"Field": "status", "Value": "ok"}, "RequestFormat": "get",
               "TrimDecimals": True, "NumericOfferGoalId": True, "WithholdTests": True,
               "TestCallbackUrl": "http://127.0.0.1:9/tests"}
    wanted = dict(before)
    for name, value in changes.items():
        wanted[name] = value
        answer = api.patch(path, {name: value})
        assert answer.status == 200 and answer.json == wanted
        assert api.get(path).json == wanted
    for name in ("SuccessCallbackUrl", "FailureCallbackUrl", "OfferCallbackUrl", "TestCallbackUrl"):
        wanted[name] = None
        assert api.patch(path, {name: None}).json == wanted
    assert api.patch(path, {}).json == wanted
    merge = api.patch(path, {"Name": "merged"}, headers={"Content-Type": "application/merge-patch+json"})
    assert merge.status == 200 and merge.json["Name"] == "merged"
    assert_problem(api.patch(path, {"Name": "x"}, headers={"Content-Type": "text/plain"}), 415)


def test_etag_and_if_match(api, account):
    for path, change in (("/api/v1/partners/" + account.partner_id, {"Name": "one"}),
                         ("/api/v1/apps/" + account.app_id, {"Name": "one"}),
                         ("/api/v1/clients/" + account.client, {"Name": "one"})):
        tag = api.get(path).headers["ETag"]
        assert tag.startswith('"') and tag.endswith('"') and len(tag) > 2
        assert api.get(path).headers["ETag"] == tag
        answer = api.patch(path, change, headers={"If-Match": tag})
        assert answer.status == 200
        newer = api.get(path).headers["ETag"]
        assert newer != tag
        assert answer.headers["ETag"] == newer
        before = api.get(path).body
        assert_problem(api.patch(path, {"Name": "two"}, headers={"If-Match": tag}), 412)
        assert_problem(api.patch(path, {"Name": "two"}, headers={"If-Match": '"other"'}), 412)
        assert api.get(path).body == before
        assert api.patch(path, {"Name": "three"}, headers={"If-Match": '"x", %s' % newer}).status == 200
        assert api.patch(path, {"Name": "four"}, headers={"If-Match": "*"}).status == 200
        lines = {"If-Match": '"x,y", W/"z"', "if-match": api.get(path).headers["ETag"]}  # a list on two lines
        assert api.patch(path, {"Name": "five"}, headers=lines).status == 200


def test_if_none_match_gives_304_until_something_changed(api, account):
    for path in ("/api/v1/partners/" + account.partner_id, "/api/v1/apps/" + account.app_id,
                 "/api/v1/clients/" + account.client):
        tag = api.get(path).headers["ETag"]
        for same in (tag, "W/" + tag, '"x,y", ' + tag, "*"):
            answer = api.get(path, headers={"If-None-Match": same})
            assert (answer.status, answer.body, answer.headers["ETag"]) == (304, b"", tag), same
            assert "Content-Type" not in answer.headers
        assert api.get(path, headers={"If-None-Match": '"other"'}).status == 200
        assert api.patch(path, {"Name": "changed"}).status == 200
        answer = api.get(path, headers={"If-None-Match": tag})
        assert (answer.status, answer.json["Name"]) == (200, "changed")


def test_one_of_two_racing_patches_wins(api, account):
    path = "/api/v1/apps/" + account.app_id
    tag = api.get(path).headers["ETag"]
    found = []

    def patch(i):
        found.append(api.patch(path, {"Name": "racer %d" % i}, headers={"If-Match": tag}).status)

    threads = [threading.Thread(target=patch, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == [200] + [412] * 7


def test_what_was_set_survives_a_restart(own_daemon):
    d = own_daemon.start()
    a = Account(d, DEAD_URL, CurrencyValue="12.30", RewardDecimals=4, LegacyFields=True)
    key = a.key("apps:read", "apps:write")
    path = "/api/v1/apps/" + a.app_id
    d.api().patch(path, {"OfferCallbackUrl": None, "RatePerSecond": 3})
    d.api().patch("/api/v1/clients/" + a.client, {"Enabled": False})
    before = [d.api(key).get(p).body for p in (path, path + "/secret", path + "/clients")]
    tag = d.api().get(path).headers["ETag"]
    d.restart()
    assert [d.api(key).get(p).body for p in (path, path + "/secret", path + "/clients")] == before
    assert d.api().get(path).headers["ETag"] == tag
    d.kill()
    d.start()
    assert d.api(key).get(path).body == before[0]


# --- lists -----------------------------------------------------------------------------------

def test_lists_are_newest_first_and_stable_under_inserts(api, daemon):
    a = Account(daemon)
    kinds = [("/api/v1/partners/%s/apps" % a.partner_id, "AppId", {"CurrencyValue": 1}),
             ("/api/v1/apps/%s/clients" % a.app_id, "ClientId", {"Integration": "sdk"}),
             ("/api/v1/partners/%s/keys" % a.partner_id, "KeyId", {"Scopes": ["apps:read"]})]
    for path, name, body in kinds:
        made = [fresh("list") for _ in range(7)]
        for one in made:
            assert api.post(path, dict(body, **{name: one})).status == 201
        items, pages = all_pages(api, path, 3)
        assert pages >= 3
        ids = [item[name] for item in items]
        assert [i for i in ids if i in made] == made[::-1]
        assert len(ids) == len(set(ids))
        first = api.get(path, query={"limit": 4}).json
        late = fresh("late")
        assert api.post(path, dict(body, **{name: late})).status == 201
        rest = api.get(path, query={"limit": 500, "after": first["Next"]}).json
        assert [item[name] for item in first["Items"] + rest["Items"]] == ids
        assert rest["Next"] is None
        assert api.get(path, query={"limit": 1}).json["Items"][0][name] == late


def test_wrong_list_parameters(api, account):
    path = "/api/v1/partners/%s/apps" % account.partner_id
    for query, name in (("limit=0", "limit"), ("limit=501", "limit"), ("limit=x", "limit"), ("limit=", "limit"),
                        ("limit=1&limit=1", "limit"), ("after=x", "after"), ("after=", "after"), ("page=2", "page"),
                        ("limit=-1", "limit"), ("limit=1.5", "limit")):
        assert_problem(api.get(path + "?" + query), 400, name)
    assert len(api.get("/api/v1/partners", query={"limit": 500}).json["Items"]) <= 500


def test_the_default_limit_is_50(api, daemon):
    a = Account(daemon)
    path = "/api/v1/partners/%s/apps" % a.partner_id
    for _ in range(50):
        assert api.post(path, {"CurrencyValue": 1}).status == 201
    page = api.get(path).json
    assert len(page["Items"]) == 50 and page["Next"]
    assert [i["AppId"] for i in api.get(path, query={"after": page["Next"]}).json["Items"]] == [a.app_id]


# --- scopes and keys -------------------------------------------------------------------------

def routes(a):
    """Every route of a partner: (method, path, body, the scope it takes)."""
    p, app, client = "/api/v1/partners/" + a.partner_id, "/api/v1/apps/" + a.app_id, "/api/v1/clients/" + a.client
    reports = ["earnings", "arpdau", "survey-attempts", "conversions", "active-panelist"]
    return [("GET", "/api/v1/reports/" + r, None, "reports:read") for r in reports] + [
        ("GET", p, None, "apps:read"), ("PATCH", p, {}, "apps:write"),
        ("GET", p + "/apps", None, "apps:read"), ("POST", p + "/apps", {}, "apps:write"),
        ("GET", p + "/operations-secret", None, "apps:write"),
        ("POST", p + "/operations-secret/rotate", None, "apps:write"),
        ("GET", app, None, "apps:read"), ("PATCH", app, {}, "apps:write"),
        ("GET", app + "/clients", None, "apps:read"), ("POST", app + "/clients", {}, "apps:write"),
        ("GET", client, None, "apps:read"), ("PATCH", client, {}, "apps:write"),
        ("GET", app + "/secret", None, "apps:write"), ("POST", app + "/secret/rotate", {}, "apps:write"),
        ("GET", p + "/keys", None, "keys:write"), ("POST", p + "/keys", {}, "keys:write"),
        ("DELETE", p + "/keys/nokey", None, "keys:write"),
        ("GET", "/api/v1/callbacks", None, "callbacks:read"), ("GET", "/api/v1/callbacks/x", None, "callbacks:read"),
        ("GET", "/api/v1/rewards", None, "callbacks:read"), ("GET", app + "/endpoints", None, "callbacks:read"),
        ("GET", app + "/delivery-statistics", None, "callbacks:read"),
        ("GET", "/api/v1/delivery-statistics", None, "callbacks:read"),
        ("POST", "/api/v1/callbacks/x/resend", None, "callbacks:write"),
        ("POST", app + "/test-callback", {}, "callbacks:write"),
        ("POST", app + "/verify-callback", {}, "callbacks:read"),
        ("POST", "/api/v1/panelists/erase", {}, "panelists:erase"),
        ("GET", "/api/v1/statements", None, "reports:read"),
        ("GET", "/api/v1/intraday", None, "reports:read"),
        ("POST", "/api/v1/events", [], "events:write"), ("GET", "/api/v1/events", None, "callbacks:read"),
        ("POST", "/api/v1/partners", {}, "admin"), ("GET", "/api/v1/partners", None, "admin"),
        ("GET", "/api/v1/operations-secret", None, "admin"),
        ("POST", "/api/v1/events?deliver=false", [], "admin"),
    ]


def test_each_route_with_each_scope(daemon):
    a = Account(daemon)
    keys = {scope: daemon.api(a.key(scope)) for scope in SCOPES}
    for method, path, body, needed in routes(a):
        for scope, api in keys.items():
            answer = api.request(method, path, body)
            if scope == needed:
                assert answer.status in (200, 201, 202, 400, 404), (method, path, scope, answer)
            else:
                assert_problem(answer, 403)


def test_every_documented_route_takes_one_scope(daemon):
    """Also the routes that the table above does not name yet: of six narrow keys one at most gets in."""
    a = Account(daemon)
    keys = [daemon.api(a.key(scope)) for scope in SCOPES]
    ids = {"PartnerId": a.partner_id, "AppId": a.app_id, "ClientId": a.client}
    for path, item in daemon.api().get("/openapi.json", key=None).json["paths"].items():
        real = re.sub(r"\{(\w+)\}", lambda m: ids.get(m.group(1), "nothing"), path)
        for method, operation in item.items():
            if operation["security"] != [] and path != LIVE:
                body = {} if method in ("post", "patch") else None
                let_in = [k for k in keys if k.request(method.upper(), real, body).status != 403]
                assert len(let_in) <= 1, (method, path)


def test_a_key_grants_no_more_than_its_maker_has(daemon, api):
    a = Account(daemon)
    path = "/api/v1/partners/%s/keys" % a.partner_id
    maker = daemon.api(a.key("keys:write", "apps:read"))
    for scopes in (["keys:write"], ["apps:read"], ["apps:read", "keys:write"]):
        assert maker.post(path, {"Scopes": scopes}).status == 201
    for scopes in (["apps:write"], ["apps:read", "reports:read"], ["events:write"]):
        assert_problem(maker.post(path, {"Scopes": scopes}), 403)
    assert maker.post(path, {"Scopes": ["admin"]}).status in (400, 403)
    assert len(api.get(path).json["Items"]) == 4


def test_a_key_lasts_no_longer_than_its_maker(daemon, api):
    """Whoever has a key for a day must not be able to make one for ever of it."""
    path = "/api/v1/partners/%s/keys" % Account(daemon).partner_id
    ends = ["2098-01-01T00:00:00.000Z", "2099-01-01T00:00:00.000Z", "2099-01-01T00:00:00.001Z"]
    maker = daemon.api(api.post(path, {"Scopes": ["keys:write"], "ExpiresAt": ends[1]}).json["Key"])
    for asked, got in (({}, ends[1]), ({"ExpiresAt": None}, ends[1]), ({"ExpiresAt": ends[0]}, ends[0]), ({"ExpiresAt": ends[1]}, ends[1])):
        made = maker.post(path, dict(asked, Scopes=["keys:write"]))
        assert (made.status, made.json["ExpiresAt"]) == (201, got)
    refused = maker.post(path, {"Scopes": ["keys:write"], "ExpiresAt": ends[2]})
    assert_problem(refused, 403, "ExpiresAt")
    assert "a later end" in refused.json["detail"]
    grandchild = daemon.api(made.json["Key"]).post(path, {"Scopes": ["keys:write"]})
    assert grandchild.json["ExpiresAt"] == ends[1]
    assert "ExpiresAt" not in api.post(path, {"Scopes": ["keys:write"], "ExpiresAt": None}).json


def test_authorization_headers(daemon, account):
    api, key, path = daemon.api(None), account.key("apps:read"), "/api/v1/apps/" + account.app_id
    for headers in ({"Authorization": "Bearer " + key}, {"authorization": "bearer " + key}, {"X-Api-Key": key},
                    {"x-api-key": key}):
        assert api.get(path, headers=headers).status == 200
    for headers in ({}, {"Authorization": key}, {"Authorization": "Basic " + key}, {"Authorization": "Bearer "},
                    {"Authorization": "Bearer " + key[:-1]}, {"Authorization": "Bearer " + key + "x"},
                    {"X-Api-Key": ""}, {"X-Api-Key": "x"}, {"Cookie": "key=" + key}):
        assert_problem(api.get(path, headers=headers), 401)
    assert_problem(api.get(path + "?key=" + key), 401)
    assert_problem(api.get(path + "?apiKey=" + key), 401)

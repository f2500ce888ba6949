"""Content-Encoding gzip and zstd of the interface's answers: asked for, said, whole, and never of secrets."""
import gzip
import subprocess
import zlib

import pytest

from checks import DEAD_URL, assert_problem
from harness import Account

COUNT = 1100
REPORT = "/api/v1/reports/conversions"


@pytest.fixture(scope="module")
def many(daemon):
    a = Account(daemon, DEAD_URL)
    for at in range(0, COUNT, 550):
        daemon.api().events([a.event("z-%d" % n) for n in range(at, at + 550)])
    return a, daemon.api(a.key("callbacks:read", "reports:read", "apps:read", "apps:write"))


def both(api, path, coding="gzip", **query):
    """The answer as it is, and as it is sent to who takes that coding; the same content."""
    plain = api.get(path, query=query)
    packed = api.get(path, query=query, headers={"Accept-Encoding": coding})
    assert plain.status == packed.status == 200, (plain, packed)
    assert plain.headers["Content-Encoding"] is None and packed.headers["Content-Encoding"] == "gzip", path
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept, Accept-Encoding"
    return plain, packed


@pytest.mark.parametrize("path, query", [
    ("/api/v1/callbacks", {"bodies": "false", "state": "skipped"}), ("/api/v1/rewards", {"limit": 500}),
    ("/api/v1/rewards", {"format": "csv"}), ("/api/v1/rewards", {"limit": 7})])
def test_what_comes_compressed_is_what_came_before(many, path, query):
    _, api = many
    coding = "gzip, identity;q=0" if "bodies" in query else "br;q=1, gzip;q=0.5"
    plain, packed = both(api, path, coding, **query)
    assert gzip.decompress(packed.body) == plain.body
    assert "bodies" in query or len(packed.body) < len(plain.body) / 2


@pytest.mark.parametrize("path", ["/metrics", "/openapi.json"])
def test_strangers_cannot_have_anything_compressed(daemon, path):
    """It would make a request of theirs several times as dear."""
    answer = daemon.api(None).get(path, headers={"Accept-Encoding": "gzip"})
    assert answer.status == 200 and answer.headers["Content-Encoding"] is None


def test_a_report_can_be_read_as_it_comes(many):
    """Each piece ends with a flush: whoever reads has its rows before the next one."""
    _, api = many
    _, packed = both(api, "/api/v1/rewards", format="csv")
    reader = zlib.decompressobj(31)
    text = reader.decompress(packed.body)
    assert reader.eof and not reader.unused_data and text.count(b"\r\n") == COUNT + 1
    assert packed.body.count(b"\x00\x00\xff\xff") >= COUNT // 200
    assert both(api, REPORT, "gzip")[1].body


def curl(daemon, key, path, accepted):
    """By a client that decodes it."""
    done = subprocess.run(["curl", "-sS", "--compressed", "-H", "Accept-Encoding: " + accepted, "-H", "X-Api-Key: " + key,
                           "-D", "-", "http://127.0.0.1:%d%s" % (daemon.port, path)], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    return head.decode().lower(), body


@pytest.mark.parametrize("path", ["/api/v1/rewards?limit=500", "/api/v1/rewards?format=csv", "/api/v1/callbacks?bodies=false"])
def test_zstd_is_preferred_and_read_by_others(daemon, many, path):
    a, api = many
    key = a.key("callbacks:read")
    head, body = curl(daemon, key, path, "gzip, deflate, br, zstd")
    assert "content-encoding: zstd\r\n" in head and "vary: accept, accept-encoding\r\n" in head, head
    assert body == api.get(path).body
    head, body = curl(daemon, key, path, "zstd;q=0.5, gzip")
    assert "content-encoding: gzip\r\n" in head and body == api.get(path).body


def test_the_dashboard_s_files_have_no_zstd(daemon):
    """They are compressed when they are built."""
    page = daemon.api(None).get("/", headers={"Accept": "text/html", "Accept-Encoding": "zstd, gzip"})
    assert page.status == 200 and page.headers["Content-Encoding"] == "gzip"


def test_head_says_what_get_would(many):
    _, api = many
    got = both(api, "/api/v1/rewards", limit=500)[1]
    head = api.request("HEAD", "/api/v1/rewards?limit=500", headers={"Accept-Encoding": "gzip"})
    assert head.status == 200 and not head.body
    for name in ("Content-Encoding", "Vary", "Content-Length", "Content-Type"):
        assert head.headers[name] == got.headers[name], name


@pytest.mark.parametrize("accepted", [None, "", "identity", "br", "gzip;q=0", "gzip;q=0.1, identity;q=0.2", "*;q=0, identity"])
def test_who_does_not_take_it_gets_it_plain(many, accepted):
    _, api = many
    answer = api.get("/api/v1/rewards", query={"limit": 500},
                     headers={} if accepted is None else {"Accept-Encoding": accepted})
    assert answer.status == 200 and answer.headers["Content-Encoding"] is None and len(answer.json["Items"]) == 500
    assert answer.headers["Vary"] == "Accept, Accept-Encoding"


def test_who_takes_nothing_is_told(many):
    _, api = many
    answer = api.get("/api/v1/rewards", headers={"Accept-Encoding": "identity;q=0"})
    assert_problem(answer, 406)
    assert answer.headers["Vary"] == "Accept, Accept-Encoding"


def test_the_media_type_is_chosen_too(many):
    """A cache that keeps the JSON may not give it to who asks for CSV."""
    _, api = many
    answer = api.get("/api/v1/rewards", headers={"Accept": "text/csv"})
    assert answer.headers["Content-Type"].startswith("text/csv") and answer.headers["Vary"] == "Accept, Accept-Encoding"


def test_short_answers_are_not_worth_it(many):
    _, api = many
    answer = api.get("/api/v1/rewards", query={"limit": 1}, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] is None and answer.headers["Vary"] == "Accept, Accept-Encoding"


def test_nothing_is_compressed_beside_a_secret(many):
    """Who chooses a PanelistId and sees how long an answer is must learn nothing of Sig, of URLs or
    of keys in it (BREACH)."""
    a, api = many
    for path in ("/api/v1/callbacks?limit=500", "/api/v1/callbacks/z-1", "/api/v1/apps/%s/secret" % a.app_id,
                 "/api/v1/apps/" + a.app_id, "/api/v1/apps/%s/endpoints" % a.app_id, "/api/v1/partners/%s/apps" % a.partner_id):
        answer = api.get(path, headers={"Accept-Encoding": "gzip"})
        assert answer.status == 200 and answer.headers["Content-Encoding"] is None, path
    row = api.get("/api/v1/callbacks", query={"limit": 1, "bodies": "false"}).json["Items"][0]
    assert not {"Url", "Body"} & set(row)
    assert {"Url", "Body"} <= set(api.get("/api/v1/callbacks", query={"limit": 1}).json["Items"][0])


def test_errors_are_readable_by_everybody(many):
    _, api = many
    answer = api.get("/api/v1/rewards?limit=0", headers={"Accept-Encoding": "gzip"})
    assert_problem(answer, 400, "limit")
    assert answer.headers["Content-Encoding"] is None


def test_requests_are_taken_as_they_are(daemon, many):
    """Nothing here decompresses what a client sends."""
    a, api = many
    for path, method in (("/api/v1/events", "POST"), ("/api/v1/apps/" + a.app_id, "PATCH"), ("/api/v1/session", "POST")):
        answer = daemon.api().request(method, path, gzip.compress(b"{}"), headers={
            "Content-Encoding": "gzip", "Content-Type": "application/json"})
        assert_problem(answer, 415)

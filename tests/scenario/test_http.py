"""The HTTP interface as such: which error comes first, its shape, limits and probes."""
import http.client
import os
import re
import socket
import subprocess
import time
from pathlib import Path

import pytest

from checks import assert_problem, encode
from harness import BINARY, OPERATOR_KEY, Account, Receiver
from inside import by_store
from schema import check_fits, operations


@pytest.fixture(scope="module")
def document(daemon):
    return daemon.api().get("/openapi.json", key=None).json


def head_only(daemon, head):
    """Sends a request's head without its body and reads the answer's status and headers."""
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=10) as s:
        s.sendall(head.encode())
        answer = http.client.HTTPResponse(s)
        answer.begin()
        return answer.status, answer.headers, answer.read()


# --- the order of errors ---------------------------------------------------------------------

def test_unknown_paths_come_first(daemon, account):
    key = account.key("reports:read")
    for path in ("/api", "/api/v1", "/api/v1/", "/api/v2/events", "/api/v1/events/", "/api/v1/Events",
                 "/api/v1/reports/unknown", "/api/v1/apps//clients", "//api/v1/events", "/api/v1/../v1/events",
                 "/metrics/", "/api/v1/partners/x/y", "/favicon.ico", "/api/v1/apps/x/secret/rotate/x"):
        for given in (None, "wrong", key):
            for method in ("GET", "POST", "DELETE"):
                body = b"{" if method == "POST" else None
                assert_problem(daemon.api(given).request(method, path, body), 404)


def test_a_path_without_its_id_is_answered_with_the_whole_one(daemon):
    for path, whole in (("apps", "partners/{PartnerId}/apps"), ("clients", "apps/{AppId}/clients")):
        found = assert_problem(daemon.api().get("/api/v1/" + path), 404)
        assert "/api/v1/" + whole in found["detail"], found


def test_405_names_what_is_allowed(daemon, document):
    for path, item in document["paths"].items():
        allowed = {m.upper() for m in item} | ({"HEAD"} if "get" in item else set())
        real = re.sub(r"\{\w+\}", "x", path)
        for method in {"GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "HEAD"} - allowed:
            answer = daemon.api(None).request(method, real, b"{" if method in ("POST", "PUT", "PATCH") else None)
            assert answer.status == 405, (method, path, answer)
            assert {m.strip() for m in answer.headers["Allow"].split(",")} == allowed, (method, path)
            if method != "HEAD":
                assert_problem(answer, 405)


def test_401_before_all_that_follows(daemon, account, document):
    for method, path, operation in operations(document):
        if operation["security"] == []:
            continue
        real = re.sub(r"\{\w+\}", "no-such-id", path) + "?no=such"
        for key in (None, "wrong", OPERATOR_KEY[:-1]):
            answer = daemon.api(key).request(method, real, b"{" if method in ("POST", "PATCH") else None,
                                             headers={"Content-Type": "text/plain"})
            assert_problem(answer, 401)
            assert answer.headers["WWW-Authenticate"].lower().startswith("bearer")


def test_403_before_404_before_the_body(daemon, account):
    narrow, wide = daemon.api(account.key("reports:read")), daemon.api(account.key("apps:write"))
    plain = {"Content-Type": "text/plain"}
    assert_problem(narrow.patch("/api/v1/apps/nobody?x=1", b"{", headers=plain), 403)
    assert_problem(wide.patch("/api/v1/apps/nobody?x=1", b"{", headers=plain), 404)
    assert_problem(wide.patch("/api/v1/apps/%s?x=1" % account.app_id, b"{", headers=plain), 415)
    assert_problem(wide.patch("/api/v1/apps/%s?x=1" % account.app_id, b"{"), 400, "x")
    assert_problem(wide.patch("/api/v1/apps/" + account.app_id, b"{"), 400)


def test_413_before_415_before_400(daemon, account):
    api = daemon.api()
    large = b"x" * (8 * 1024 * 1024 + 1)
    plain = {"Content-Type": "text/plain"}
    assert_problem(api.post("/api/v1/events?x=1", large, headers=plain), 413)
    assert_problem(api.post("/api/v1/events?x=1", b"{", headers=plain), 415)
    assert_problem(api.post("/api/v1/events?x=1", b"{"), 400, "x")
    assert_problem(api.post("/api/v1/events", b"{"), 400)
    gzip = {"Content-Encoding": "gzip"}
    assert_problem(api.post("/api/v1/events?x=1", b"{", headers=gzip), 415)
    # the same is said of a body that is only announced
    head = ("POST /api/v1/events HTTP/1.1\r\nHost: x\r\n%sContent-Length: 99999999999\r\n"
            "Content-Type: text/plain\r\n\r\n")
    assert head_only(daemon, head % "")[0] == 401
    assert head_only(daemon, head % ("X-Api-Key: %s\r\n" % account.key("apps:read")))[0] == 403
    assert head_only(daemon, head % ("X-Api-Key: %s\r\n" % OPERATOR_KEY))[0] == 413


def test_problems_have_their_shape(daemon, account, document):
    problem = document["components"]["schemas"]["Problem"]
    api = daemon.api()
    for answer, status in ((api.get("/nowhere"), 404), (api.get("/api/v1/panelists/erase"), 405),
                           (daemon.api("x").get("/api/v1/partners"), 401),
                           (api.patch("/api/v1/apps/" + account.app_id, {"Name": 5, "X": 1}), 400),
                           (api.post("/api/v1/partners", {"PartnerId": account.partner_id}), 409),
                           (api.patch("/api/v1/apps/" + account.app_id, {}, headers={"If-Match": '"no"'}), 412)):
        body = assert_problem(answer, status)
        check_fits(body, problem, document)
        assert not {"stack", "trace"} & set(body)


TYPES = ("survey_completed, survey_disqualified, profiler_completed, ad_hoc, offer_completed, offer_clicked, "
         "offer_completion_reversed")


def test_a_wrong_name_is_answered_with_the_right_ones(daemon, account):
    api, app = daemon.api(), "/api/v1/apps/%s" % account.app_id
    log = api.get("/api/v1/callbacks", query={"partnerId": account.partner_id, "rewardType": "x", "class": "x"})
    answers = [api.post(app + "/test-callback", {"RewardType": "x", "PanelistId": "u"}), log,
               api.patch(app, {"RewardTypes": ["x"]}),
               api.post("/api/v1/partners/%s/keys" % account.partner_id, {"Scopes": ["x"]})]
    found = {e.get("Field", e.get("Parameter")): e["Detail"] for a in answers for e in assert_problem(a, 400)["errors"]}
    assert found["RewardType"] == "must be one of " + TYPES
    assert found["rewardType"] == "One of " + TYPES
    assert found["RewardTypes"] == "must hold only " + TYPES
    assert found["class"].startswith("One of dns, ") and found["class"].endswith(", unexpected_answer, any.")
    assert found["Scopes"].startswith("'x' is not a scope; there are reports:read, ") and "admin" not in found["Scopes"]
    rejected, = api.post("/api/v1/events", dict(account.event("odd"), Type="x")).json["Rejected"]
    assert {"Field": "Type", "Code": "invalid", "Detail": "must be one of survey_started, " + TYPES} in rejected["Errors"]


def test_request_ids_are_everywhere_and_differ(daemon, account):
    api = daemon.api()
    answers = [api.get(p) for p in ("/healthz", "/metrics", "/nowhere", "/openapi.json", "/api/v1/partners",
                                    "/api/v1/reports/earnings?partnerId=" + account.partner_id)]
    answers += [daemon.api(None).get("/api/v1/partners"), api.post("/api/v1/events", "[]"),
                api.get("/api/v1/reports/earnings?format=csv&partnerId=" + account.partner_id)]
    ids = [a.headers["X-Request-Id"] for a in answers]
    assert all(ids) and len(set(ids)) == len(ids)


# --- the rate limit --------------------------------------------------------------------------

def test_reads_are_limited_per_key(own_daemon):
    own_daemon.options += ["--reads-per-minute", "5"]
    d = own_daemon.start()
    a = Account(d)
    one, two = d.api(a.key("apps:read", "apps:write")), d.api(a.key("apps:read"))
    path = "/api/v1/apps/" + a.app_id
    left = []
    for _ in range(5):
        answer = one.get(path)
        assert answer.status == 200
        assert answer.headers["RateLimit-Limit"] == "5"
        assert 0 < int(answer.headers["RateLimit-Reset"]) <= 60
        left.append(int(answer.headers["RateLimit-Remaining"]))
    assert left == [4, 3, 2, 1, 0]
    answer = one.get(path)
    assert_problem(answer, 429)
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert answer.headers["RateLimit-Remaining"] == "0"
    assert one.get("/api/v1/apps/%s/clients" % a.app_id).status == 429
    # another key, writes, events, probes and metrics go on
    assert two.get(path).status == 200
    assert one.patch(path, {"Name": "n"}).status == 200
    for i in range(12):
        d.api().events(a.event("limit-%d" % i))
        for public in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
            assert d.api(None).get(public).status == 200
    # who has no key is told so, not that he was too fast
    for _ in range(7):
        assert_problem(d.api("wrong").get(path), 401)


def test_reads_come_back_evenly(own_daemon):
    """Retry-After is when one more is allowed, not when a minute is over."""
    own_daemon.options += ["--reads-per-minute", "30"]
    d = own_daemon.start()
    a = Account(d)
    api, path = d.api(a.key("apps:read")), "/api/v1/apps/" + a.app_id
    answer = next(found for found in (api.get(path) for _ in range(200)) if found.status == 429)
    assert "30 requests a minute" in answer.json["detail"]
    assert 1 <= int(answer.headers["Retry-After"]) <= 2
    assert int(answer.headers["RateLimit-Reset"]) > 50
    time.sleep(int(answer.headers["Retry-After"]))
    assert api.get(path).status == 200


def test_the_default_is_600_reads(own_daemon):
    d = own_daemon.start()
    assert "--reads-per-minute" not in d.command()
    assert d.api().get("/api/v1/partners").headers["RateLimit-Limit"] == "600"


# --- HEAD, probes, metrics -------------------------------------------------------------------

def test_head_is_get_without_a_body(daemon, account):
    api = daemon.api()
    for path in ("/healthz", "/readyz", "/openapi.json", "/api/v1/apps/" + account.app_id, "/api/v1/partners"):
        head, get = api.request("HEAD", path), api.get(path)
        assert (head.status, head.body) == (200, b"")
        assert head.headers["Content-Type"] == get.headers["Content-Type"]
        assert head.headers["Content-Length"] == get.headers["Content-Length"] == str(len(get.body))
    assert api.request("HEAD", "/nowhere").status == 404
    assert daemon.api(None).request("HEAD", "/api/v1/partners").status == 401
    # a connection goes on after a HEAD: nothing of a body is left in it
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
    for method in ("HEAD", "GET", "HEAD", "GET"):
        connection.request(method, "/healthz")
        answer = connection.getresponse()
        assert answer.status == 200 and bool(answer.read()) == (method == "GET")
    connection.close()


def test_head_of_a_report(daemon, account):
    answer = daemon.api().request("HEAD", "/api/v1/reports/earnings", query={"partnerId": account.partner_id})
    assert (answer.status, answer.body) == (200, b"")


METRICS = ["postbackd_events_accepted_total", "postbackd_callbacks_delivered_total", "postbackd_callbacks_dead_total",
           "postbackd_callbacks_pending", "postbackd_oldest_pending_seconds",
           "postbackd_events_rejected_total"]
TIMINGS = {"postbackd_store_accept_seconds": 4, "postbackd_store_record_seconds": 2,
           "postbackd_store_commit_seconds": 4, "postbackd_store_apply_seconds": by_store(1, 0),
           "postbackd_store_checkpoint_seconds": 0, "postbackd_loop_turn_seconds": 4, "postbackd_loop_wake_seconds": 1}


def check_process(daemon, text):
    """The process' own numbers, against what /proc says of it."""
    values = {k: float(v) for k, v in re.findall(r"^(process_\w+) (\S+)$", text, re.M)}
    proc = Path("/proc") / str(daemon.process.pid)
    limits = re.search(r"^Max open files +(\d+)", (proc / "limits").read_text(), re.M)
    assert values["process_max_fds"] == int(limits[1])
    stat = (proc / "stat").read_text().rsplit(")", 1)[1].split()
    booted = int(re.search(r"^btime (\d+)$", Path("/proc/stat").read_text(), re.M)[1])
    began = booted + int(stat[19]) / os.sysconf("SC_CLK_TCK")
    assert abs(values["process_start_time_seconds"] - began) < 2
    assert 0 < values["process_resident_memory_bytes"] < values["process_virtual_memory_bytes"]
    assert values["process_cpu_seconds_total"] > 0 and values["process_open_fds"] > 5
    assert values["process_threads"] == int(stat[17])
    version = subprocess.run([BINARY, "--version"], text=True, capture_output=True, check=True).stdout.split()[1]
    assert 'postbackd_build_info{version="%s",compiler="' % version in text


def test_metrics(own_daemon):
    d = own_daemon.start()
    answer = d.api(None).get("/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain")
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", answer.text, re.M))
    for name in METRICS:
        assert types[name] == ("counter" if name.endswith("_total") else "gauge")
        assert re.search(r"^%s [0-9.]+$" % name, answer.text, re.M), name
    assert types["postbackd_attempts_total"] == "counter"
    results = re.findall(r'^postbackd_attempts_total\{result="(\w+)"\} \d+$', answer.text, re.M)
    assert results and len(results) == len(set(results))
    for line in answer.text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+-]+', line), line
    check_process(d, answer.text)
    receiver = Receiver(answer=lambda r: 200 if r.json["RewardId"] == "m-1" else 404)
    try:
        a = Account(d, receiver.url)
        for e in (a.event("m-1"), a.event("m-1"), a.event("m-2"), a.event("m-3", "survey_started"),
                  [a.event("m-4"), a.event("m-5", OfferId=-1, ClientId="nobody")]):
            assert d.api().post("/api/v1/events", e).status == 202
        d.api().wait_state("m-1", a.partner_id, "delivered")
        d.api().wait_state("m-2", a.partner_id, "dead")
        d.api().wait_state("m-4", a.partner_id, "dead")
        values = d.metrics()
        assert [values[name] for name in METRICS[:4]] == [4, 1, 2, 0]
        assert values["postbackd_events_rejected_total"] == 1
        assert sum(v for k, v in values.items() if k.startswith("postbackd_attempts_total")) == 9
        # whatever was done was timed; how long it took nobody can say
        for name, least in TIMINGS.items():
            assert types[name] == "histogram"
            buckets = [v for k, v in values.items() if k.startswith(name + "_bucket{")]
            assert buckets == sorted(buckets) and buckets[-1] == values[name + "_count"] >= least, name
            assert (values[name + "_sum"] > 0) == (buckets[-1] > 0)
    finally:
        receiver.close()


def test_probes(daemon):
    for path in ("/healthz", "/readyz"):
        for key in (None, "wrong", OPERATOR_KEY):
            assert daemon.api(key).get(path).status == 200


# --- what a peer may send --------------------------------------------------------------------

@pytest.mark.parametrize("request_text", [
    "GET / HTTP/1.1\r\n\r\n", "GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", "BOGUS\r\n\r\n",
    "POST /api/v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n[]",
    "POST /api/v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n",
    "POST /api/v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + "y" * 70000 + "\r\n\r\n",
    "GET /" + "a" * 70000 + " HTTP/1.1\r\nHost: x\r\n\r\n",
], ids=lambda t: ascii(t)[:40])
def test_malformed_requests_are_refused_and_nothing_breaks(daemon, request_text):
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=10) as s:
        try:
            s.sendall(request_text.encode())
            first = s.recv(65536).decode(errors="replace")
        except ConnectionError:
            first = ""
    if first:
        assert re.match(r"HTTP/1\.1 (4\d\d|50[15]) ", first), first
    assert daemon.api(None).get("/healthz").status == 200


def test_a_body_that_never_comes_changes_and_holds_nothing(daemon, account):
    """What is held of the app meanwhile would be a leak, which the address sanitizer reports."""
    path = "/api/v1/apps/" + account.app_id
    for body in (b"", b'{"Name":"half'):
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=10) as s:
            s.sendall(("PATCH %s HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\n"
                       "Content-Length: 30\r\nExpect: 100-continue\r\n\r\n" % (path, OPERATOR_KEY)).encode() + body)
            if not body:
                assert s.recv(100).startswith(b"HTTP/1.1 100 ")
    assert daemon.api().get(path).json["Name"] == "App"
    account.patch(Name="whole")
    assert daemon.api().get(path).json["Name"] == "whole"


def test_only_utf8_is_taken(daemon, account):
    event = encode(account.event("charset-1"))
    requests = [("POST", "/api/v1/events", event), ("PATCH", "/api/v1/apps/" + account.app_id, "{}"),
                ("POST", "/api/v1/session", "{}")]
    for charset in ("iso-8859-1", '"utf-16"', "us-ascii", '""', "utf-8-x", "x; charset=utf-8"):
        for method, path, body in requests:
            answer = daemon.api().request(method, path, body, headers={
                "Content-Type": "application/json; charset=" + charset})
            assert_problem(answer, 415)
            assert "UTF-8" in answer.json["detail"], answer
    for charset in ("utf-8", '"UTF-8"', '"utf\\-8"; x=";charset=latin1"', "utf8"):
        answer = daemon.api().post("/api/v1/events", event, headers={
            "Content-Type": "application/json; version=1; Charset=" + charset})
        assert answer.status == 202, answer


def test_chunked_bodies_and_pipelines(daemon, account):
    e = encode(account.event("chunked-1")).encode()
    half = len(e) // 2
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (e[:half], e[half:], b""))
    head = ("POST /api/v1/events HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\n" % OPERATOR_KEY).encode()
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=10) as s:
        s.sendall(head + chunks + b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = b""
        while True:
            piece = s.recv(65536)
            if not piece:
                break
            received += piece
    assert received.startswith(b"HTTP/1.1 202 ") and b'{"Accepted":1,"Duplicates":0' in received
    assert received.count(b"HTTP/1.1 ") == 2 and b"HTTP/1.1 200 " in received


# --- what comes first ----------------------------------------------------------------------------

def test_an_unknown_callback_is_404_whatever_the_query(daemon):
    account = Account(daemon)
    daemon.api().events(account.event("q-1"))
    for method, path in (("GET", "/api/v1/callbacks/%s"), ("POST", "/api/v1/callbacks/%s/resend")):
        query = {"partnerId": account.partner_id, "x": "1"}
        assert daemon.api().request(method, path % "nobody", query=query).status == 404
        answer = daemon.api().request(method, path % "q-1", query=query)
        assert answer.status == 400, answer
        assert answer.json["errors"][0]["Parameter"] == "x"

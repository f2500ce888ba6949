"""The dashboard's files as the daemon serves them: what is a page and what is not, how long it may
be kept, and what the browser is told not to do."""
import gzip
import re

import pytest

from checks import assert_problem
from harness import OPERATOR_KEY

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Encoding": "gzip, br"}


def fetch(daemon, path, method="GET", **headers):
    return daemon.api(None).request(method, path, headers=headers)


@pytest.fixture(scope="module")
def page(daemon):
    answer = daemon.api(None).get("/")
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/html"), answer
    return answer


@pytest.fixture(scope="module")
def assets(page):
    found = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert len(found) >= 4 and all(path.startswith("/assets/") for path in found), found
    return found


def test_the_page_is_asked_for_again_each_time(daemon, page):
    assert page.headers["Cache-Control"] == "no-cache"
    tag = page.headers["ETag"]
    again = fetch(daemon, "/", **{"If-None-Match": tag})
    assert again.status == 304 and not again.body and again.headers["ETag"] == tag
    strong = tag.removeprefix("W/")  # the same plain and compressed: a weak tag (RFC 9110, 8.8.3.3)
    assert tag != strong
    for same in ('"x", ' + tag, '"a,b",' + strong, "*", ', "x" ,' + strong):
        assert fetch(daemon, "/", **{"If-None-Match": same}).status == 304, same
    assert fetch(daemon, "/", **{"If-None-Match": '"x"'}).status == 200


def test_assets_are_kept_for_ever(daemon, assets):
    for path in assets:
        answer = fetch(daemon, path)
        assert answer.status == 200 and answer.body, path
        assert "immutable" in answer.headers["Cache-Control"], path
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert re.search(r"-[A-Z0-9]{8}\.\w+$", path), path


def test_gzip_is_the_same_content(daemon, assets):
    for path in ["/"] + assets:
        plain, packed = fetch(daemon, path), fetch(daemon, path, **{"Accept-Encoding": "gzip"})
        assert plain.headers["Content-Encoding"] is None
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.body) == plain.body, path


@pytest.mark.parametrize("accepted, coding", [
    ("gzip;q=0", None), ("gzip;q=0.5, identity", None), ("gzip;q=0.5, identity;q=0.4", "gzip"), ("br, *", "gzip"),
    ("identity;q=0, gzip;q=0.1", "gzip"), ("gzip;q=0.0, *", None), ("gzip;q=1.5", None)])
def test_the_coding_is_the_one_that_is_wanted_most(daemon, accepted, coding):
    answer = fetch(daemon, "/", **{"Accept-Encoding": accepted})
    assert answer.status == 200 and answer.headers["Content-Encoding"] == coding
    assert "Accept-Encoding" in answer.headers["Vary"]


def test_who_takes_no_coding_is_told(daemon):
    for accepted in ("identity;q=0", "br, *;q=0"):
        assert fetch(daemon, "/", **{"Accept-Encoding": accepted}).status == 406


def test_all_files_together_are_small(daemon, assets):
    """Those that scripts fetch later, too: what a page of the docs is made of."""
    sizes, unread = {}, ["/", *assets]
    while unread:
        path = unread.pop()
        if path in sizes:
            continue
        answer = fetch(daemon, path, **{"Accept-Encoding": "gzip"})
        assert answer.status == 200, path
        sizes[path] = len(answer.body)
        if path.endswith((".js", ".css")):
            text = gzip.decompress(answer.body).decode()
            unread += ["/assets/" + name for name in re.findall(r"[\w-]+-[A-Z0-9]{8}\.(?:js|css|woff2)", text)]
    assert {path.rsplit(".")[-1] for path in sizes} >= {"js", "css", "svg", "woff2"}
    assert any("/docs-" in path for path in sizes)
    assert sum(sizes.values()) <= 130_000, sizes


def test_browsers_get_the_page_for_its_own_addresses(daemon, page):
    for path in ("/callbacks", "/callbacks/r-1", "/apps/x/postback", "/callbacks?state=dead", "/no/such"):
        answer = daemon.api(None).request("GET", path, headers=BROWSER)
        assert answer.status == 200 and gzip.decompress(answer.body) == page.body, path
        head = daemon.api(None).request("HEAD", path, headers=BROWSER)
        assert head.status == 200 and not head.body


def test_what_is_no_page_stays_a_problem(daemon):
    for path in ("/api", "/api/v1/nothing", "/assets/none-ABCDEFGH.js", "/assets/", "/assets/../"):
        assert_problem(daemon.api(OPERATOR_KEY).request("GET", path, headers=BROWSER), 404)
    for accepted in ({}, {"Accept": "*/*"}, {"Accept": "application/json, text/html;q=0"}):
        assert_problem(fetch(daemon, "/callbacks", **accepted), 404)  # programs do not ask for text/html
    assert_problem(daemon.api(None).request("POST", "/callbacks", "{}", headers=BROWSER), 404)
    assert_problem(daemon.api(None).request("GET", "/api/v1/apps/x", headers=BROWSER), 401)


def test_the_browser_is_told_to_be_strict(page):
    policy = dict(part.strip().split(" ", 1)
                  for part in page.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'" and policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    # Nothing stands in the page itself that the policy would have to allow.
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page.text)

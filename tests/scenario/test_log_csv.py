"""The log and the rewards as CSV: all that matches, streamed, and safe to open in a spreadsheet."""
import csv
import io
import socket

import pytest

from checks import DEAD_URL, all_pages, assert_problem
from harness import Account, eventually

COUNT = 1234  # several pieces


def read(answer):
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/csv; charset=utf-8", answer
    lines = answer.body.decode().split("\r\n")
    assert lines[-1] == ""
    return list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))


@pytest.fixture(scope="module")
def many(daemon):
    a = Account(daemon, DEAD_URL)
    events = [a.event("e-%d" % n, PanelistId="p-%d" % (n % 7), kind="ad_hoc" if n % 5 == 0 else "survey_completed",
                      **({"Reward": "1.5"} if n % 5 == 0 else {})) for n in range(COUNT)]
    for at in range(0, COUNT, 500):
        daemon.api().events(events[at:at + 500])
    return a, daemon.api(a.key("callbacks:read", "panelists:erase"))


SAME = ["RewardId", "AppId", "ClientId", "PanelistId", "RewardType", "Timestamp", "CreatedAt"]


@pytest.mark.parametrize("query", [
    {}, {"panelistId": "p-3"}, {"rewardType": "ad_hoc"}, {"rewardId": "e-7"}, {"state": "dead"},
    {"from": "2020-01-01T00:00:00Z"}, {"to": "2020-01-01T00:00:00Z"}])
def test_csv_has_the_rows_of_the_json_list(many, query):
    _, api = many
    rows = read(api.get("/api/v1/callbacks", query=dict(query, format="csv")))
    items, _ = all_pages(api, "/api/v1/callbacks", 500, **query)
    assert [[row[name] for name in SAME] for row in rows] == [[item[name] for name in SAME] for item in items]
    assert [float(row["Reward"]) for row in rows] == [item["Reward"] for item in items]
    assert len(rows) == COUNT or query


def test_the_feed_is_oldest_first_and_of_one_day_where_asked(many):
    _, api = many
    rows = read(api.get("/api/v1/rewards", query={"format": "csv"}))
    assert [row["RewardId"] for row in rows] == ["e-%d" % n for n in range(COUNT)]
    day = rows[0]["Timestamp"][:10]
    assert len(read(api.get("/api/v1/rewards", query={"format": "csv", "day": day}))) == COUNT
    assert read(api.get("/api/v1/rewards", query={"format": "csv", "day": "2020-01-01"})) == []


def test_accept_asks_for_it_too_and_head_has_no_rows(many):
    _, api = many
    for accept, kind in (("text/csv", "text/csv"), ("application/json, text/csv;q=0.9", "application/json")):
        answer = api.get("/api/v1/callbacks", query={"rewardId": "e-7"}, headers={"Accept": accept})
        assert answer.headers["Content-Type"].startswith(kind)
    head = api.request("HEAD", "/api/v1/callbacks?format=csv")
    assert head.status == 200 and head.headers["Content-Type"].startswith("text/csv") and not head.body
    for query in ("format=xml", "format=csv&limit=5"):
        assert_problem(api.get("/api/v1/callbacks?" + query), 400, query.split("=")[0] if "xml" in query else "limit")


def test_a_text_that_looks_like_a_formula_stays_text(daemon):
    a = Account(daemon, DEAD_URL)
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\n=1", 'a,"b"\r\nc', "ü", "a=b"]
    daemon.api().events([a.event("f-%d" % n, PanelistId=name) for n, name in enumerate(names)])
    rows = read(daemon.api(a.key("callbacks:read")).get("/api/v1/rewards", query={"format": "csv"}))
    shown = [row["PanelistId"] for row in rows]
    assert shown == ["'" + name if name[0] in "=+-@\t\n" else name for name in names]


def test_no_url_body_or_sig_leaves_with_it(many):
    a, api = many
    text = api.get("/api/v1/callbacks", query={"format": "csv"}).text
    assert DEAD_URL not in text and "Sig" not in text.split("\r\n")[0] and a.secret not in text


def test_a_refused_connection_is_in_its_row(many):
    _, api = many

    def failed():
        rows = read(api.get("/api/v1/callbacks", query={"format": "csv", "class": "refused"}))
        return rows if rows and rows[0]["LastAttemptAt"] else None

    row = eventually(failed)[0]
    assert row["LastClass"] == "refused" and row["LastDetail"] and row["Endpoint"] == "success" and int(row["AttemptCount"]) >= 1


def test_who_reads_nothing_holds_up_nobody(many, daemon):
    """Others are answered meanwhile, and all rows come once it reads on."""
    a, api = many
    asked = ("GET /api/v1/rewards?format=csv HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nConnection: close\r\n\r\n" % api.key).encode()
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", daemon.port))
    slow.sendall(asked)
    begun = slow.recv(64)
    daemon.api().events(a.event("later"))
    assert api.get("/api/v1/callbacks/later").status == 200
    assert read(api.get("/api/v1/callbacks", query={"format": "csv", "rewardId": "later"}))
    rest = b"".join(iter(lambda: slow.recv(65536), b""))
    slow.close()
    text = (begun + rest).decode()
    assert text.startswith("HTTP/1.1 200 ") and text.endswith("\r\n0\r\n\r\n") and "e-%d," % (COUNT - 1) in text


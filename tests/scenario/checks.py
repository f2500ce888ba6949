"""What several of the scenario files need: JSON written with numbers as spelled, times, and the
shape of refusals."""
import json
from datetime import datetime, timedelta, timezone

UTC = timezone.utc
DEAD_URL = "http://127.0.0.1:9/closed"  # nothing listens on the discard port


class Raw(str):
    """A JSON token that is written as it is spelled here."""


def encode(value):
    """JSON with members in the given order and Raw tokens untouched."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{%s}" % ",".join("%s:%s" % (json.dumps(k), encode(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return "[%s]" % ",".join(encode(v) for v in value)
    return json.dumps(value, ensure_ascii=False)


def now():
    return datetime.now(UTC)


def ago(**delta):
    """An RFC 3339 time in UTC, so long ago."""
    return spell(now() - timedelta(**delta))


def spell(moment, minutes=0):
    """A moment to the millisecond, written with an offset of so many minutes."""
    local = moment.astimezone(timezone(timedelta(minutes=minutes)))
    return local.strftime("%Y-%m-%dT%H:%M:%S.") + "%03d" % (local.microsecond // 1000) + (
        "Z" if minutes == 0 else "%s%02d:%02d" % ("-" if minutes < 0 else "+", abs(minutes) // 60,
                                                  abs(minutes) % 60))


def assert_problem(answer, status, *names):
    """An RFC 9457 answer; names: each Field or Parameter that it must name, and no other."""
    assert answer.status == status, answer
    assert answer.headers["Content-Type"] == "application/problem+json", answer
    assert answer.headers["X-Request-Id"]
    body = answer.json
    assert body["status"] == status
    assert all(isinstance(body[k], str) and body[k] for k in ("type", "title", "detail")), body
    if names:
        found = {e.get("Field", e.get("Parameter")) for e in body["errors"]}
        assert found == set(names), body
        assert all(e["Code"] and e["Detail"] for e in body["errors"])
    return body


def refusals(answer):
    """{Index: {(Field, Code), ...}} of an answer to POST /api/v1/events."""
    assert answer.status == 202, answer
    found = {}
    for item in answer.json["Rejected"]:
        assert set(item) == {"Index", "EventId", "Errors"} and item["Errors"], item
        for e in item["Errors"]:
            assert set(e) == {"Field", "Code", "Detail"} and e["Detail"], item
        assert item["Index"] not in found
        found[item["Index"]] = {(e["Field"], e["Code"]) for e in item["Errors"]}
    return found


def counts(answer):
    """(Accepted, Duplicates, number of Rejected)."""
    assert answer.status == 202, answer
    return answer.json["Accepted"], answer.json["Duplicates"], len(answer.json["Rejected"])


def all_pages(api, path, limit, **query):
    """The Items of every page of a list, and how many pages there were."""
    items, pages, after = [], 0, None
    while True:
        page = dict(query, limit=limit, **({"after": after} if after else {}))
        answer = api.get(path, query=page)
        assert answer.status == 200, answer
        assert set(answer.json) == {"Items", "Next"}
        assert len(answer.json["Items"]) <= limit
        items += answer.json["Items"]
        pages += 1
        after = answer.json["Next"]
        if after is None:
            return items, pages
        assert pages < 1000

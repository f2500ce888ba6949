"""Reporting events one by one or in batches, and reading back what became of them."""
import itertools
import json

from checks import counts, encode, refusals

serial = itertools.count(1)


def fresh():
    return "ev-%d" % next(serial)


def post(account, events, **kw):
    body = events if isinstance(events, (str, bytes)) else encode(events)
    return account.daemon.api().post("/api/v1/events", body, **kw)


def amounts(account, event_id):
    """Reward and RevenueAmount of a stored event, as printed."""
    answer = account.daemon.api().get("/api/v1/callbacks/" + event_id, query={"partnerId": account.partner_id})
    assert answer.status == 200, answer
    body = json.loads(answer.body, parse_float=str, parse_int=str)
    return body["Reward"], body["RevenueAmount"]


def take(account, e, **kw):
    """Posts one event that must be accepted; its Reward and RevenueAmount as printed."""
    assert counts(post(account, e, **kw)) == (1, 0, 0), e
    return amounts(account, e["EventId"])


def refused(account, e, **kw):
    """Posts one event that must be refused and leave nothing; {(Field, Code)}."""
    answer = post(account, e, **kw)
    assert counts(answer) == (0, 0, 1), (e, answer)
    if isinstance(e.get("EventId"), str) and e["EventId"].startswith("ev-"):
        assert answer.json["Rejected"][0]["EventId"] == e["EventId"]
        gone = account.daemon.api().get("/api/v1/callbacks/" + e["EventId"],
                                        query={"partnerId": account.partner_id})
        assert gone.status == 404
    return refusals(answer)[0]


def without(e, *names):
    return {k: v for k, v in e.items() if k not in names}

"""The events of /openapi.json, a schema for each type: what a schema allows is accepted, in each of the three
ways to send it; each field, bound and requirement is the server's own."""
import json
import random
from datetime import timedelta

import pytest

from checks import now, spell
from drawn import draw
from harness import Account
from schema import check_fits, faults, look_up
from test_openapi import bounds_of

EVENT = {"$ref": "#/components/schemas/Event"}
EVENTS = {"$ref": "#/components/schemas/Events"}
OF_THE_ORIGINAL = ("PanelistId", "OfferId", "OfferTitle", "OfferGoalId", "SessionId", "IsTest")
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def document(daemon):
    return daemon.api(None).get("/openapi.json").json


@pytest.fixture(scope="module")
def types(document):
    """The schema of each Type."""
    mapping = look_up(EVENT, document)["discriminator"]["mapping"]
    return {name: look_up({"$ref": to}, document) for name, to in mapping.items()}


class Reporter:
    """Somebody who sends events of an app that takes negative amounts, each with an EventId of its own."""

    def __init__(self, daemon):
        self.api, self.number = daemon.api(), 0
        self.account = Account(daemon)
        self.account.patch(NegativeAdHoc=True)

    def next_id(self):
        self.number += 1
        return "described-%d" % self.number

    def original(self, **fields):
        """An offer_completed, and its EventId."""
        event = {"EventId": self.next_id(), "Type": "offer_completed", "ClientId": self.account.client,
                 "PanelistId": "u", "RevenueAmount": 1, "OfferId": 1, "OfferTitle": "t"}
        answer = self.api.post("/api/v1/events", dict(event, **fields))
        assert answer.json["Accepted"] == 1, answer
        return event["EventId"]

    def own(self, event):
        """The same with ids that exist, and what no schema can say: one field depends on another."""
        event = dict(event, EventId=self.next_id(), ClientId=self.account.client)
        if event["Type"] == "offer_completion_reversed":
            event["OriginalRewardId"] = self.original(**{f: event[f] for f in OF_THE_ORIGINAL if f in event})
        return event

    def rejected(self, event):
        """The fields that are rejected, with their codes."""
        answer = self.api.post("/api/v1/events", event)
        assert answer.status == 202, answer
        return {(e["Field"], e["Code"]) for r in answer.json["Rejected"] for e in r["Errors"]}


@pytest.fixture(scope="module")
def reporter(daemon):
    return Reporter(daemon)


def example(schema):
    return dict(schema["examples"][0])


def test_examples_are_accepted(reporter, types):
    for schema in types.values():
        assert reporter.rejected(reporter.own(example(schema))) == set()


def test_each_type_has_the_fields_of_the_server(reporter, types):
    every = {field: inner for schema in types.values() for field, inner in schema["properties"].items()}
    values = {"PanelistId": "u", "Mid": "m", "OfferId": 1, "OfferTitle": "t", "OfferGoalId": "g", "OriginalRewardId": "o",
              "Reason": "r"}
    assert {f for f in every if any(f not in s["properties"] for s in types.values())} <= set(values)
    for name, schema in types.items():
        whole = reporter.own(example(schema))
        for field in every:
            if field not in schema["properties"]:
                assert reporter.rejected(dict(whole, **{field: values[field]})) == {(field, "invalid")}, (name, field)
        assert reporter.rejected(dict(whole, More=1)) == {("More", "unknown_field")}
        for field in schema["properties"]:
            event = {f: value for f, value in reporter.own(whole).items() if f != field}
            found = reporter.rejected(event)
            if field == "Type":
                assert ("Type", "required") in found
            else:
                assert found == ({(field, "required")} if field in schema["required"] else set()), (name, field, found)


def with_field(reporter, name, schema, field, value):
    event = dict(example(schema), **{field: value})
    if name == "ad_hoc" and field in ("Reward", "RevenueAmount"):
        sign = -1 if isinstance(value, (int, float)) and value < 0 else 1
        event = dict(event, **{f: sign for f in ("Reward", "RevenueAmount") if f != field})
    if name == "offer_completion_reversed" and field in OF_THE_ORIGINAL:
        event = {f: v for f, v in event.items() if f not in OF_THE_ORIGINAL or f == field}
    return event


def test_bounds_of_events_are_the_servers(document, reporter, types):
    tried = 0
    for name, schema in types.items():
        for field, inner in schema["properties"].items():
            for good, bad in bounds_of(inner, document):
                if field in ("Type", "Timestamp", "ClientId"):
                    continue
                taken = reporter.own(with_field(reporter, name, schema, field, good))
                check_fits(taken, EVENT, document)
                assert reporter.rejected(taken) == set(), (name, field, good)
                event = dict(reporter.own(example(schema)), **with_field(reporter, name, schema, field, bad))
                event = dict(event, EventId=reporter.next_id(), ClientId=reporter.account.client)
                if name == "offer_completion_reversed":
                    event["OriginalRewardId"] = reporter.original()
                assert faults(event, EVENT, document) != []
                assert {f for f, _ in reporter.rejected(event)} == {field}, (name, field, bad)
                tried += 1
    assert tried > 80
    whole = example(types["survey_started"])
    for event_id, taken in (("a" * 128, True), ("a" * 129, False), ("-a", False), ("a:_-9", True), ("test_a", False)):
        found = reporter.rejected(dict(reporter.own(whole), EventId=event_id))
        assert found == (set() if taken else {("EventId", "invalid")}), event_id


def drawn_event(dice, reporter, document):
    event = reporter.own(draw(dice, EVENT, document))
    if "Timestamp" in event:
        event["Timestamp"] = spell(now() - timedelta(seconds=dice.randrange(86400 * 80)))
    if event["Type"] == "ad_hoc":
        event.pop("RevenueAmount", None)  # of the other sign
        event["Reason"] = "Support"
    elif float(event.get("RevenueAmount", 0)) > 1000:
        event["Reward"] = 1  # the app's ratio would make more than there can be
    check_fits(event, EVENT, document)
    return event


def test_what_is_drawn_by_lot_is_accepted_in_each_way(document, reporter):
    dice = random.Random(1)
    for _ in range(20):
        events = [drawn_event(dice, reporter, document) for _ in range(12)]
        one, lines, array = events[0], events[1:5], events[5:]
        check_fits(array, EVENTS, document)
        for body, headers, count in ((one, None, 1), ("\n".join(map(json.dumps, lines)), NDJSON, 4), (array, None, 7)):
            answer = reporter.api.post("/api/v1/events", body, headers=headers)
            assert answer.status == 202 and answer.json["Accepted"] == count, (body, answer)


def test_what_is_no_event_is_none_of_the_schema(document):
    for value in (None, 1, "a", {}, {"Type": "survey_finished"}, []):
        assert faults(value, EVENT, document) != [] and faults([value], EVENTS, document) != []

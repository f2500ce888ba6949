"""Events from Kafka (docs/operators/kafka.md): taken as POST takes them, once, whatever happens in between."""
import json
import time

import pytest

import kafka
from harness import Account, Daemon, Receiver, eventually
from kafka import Kafka
from test_check import check
from test_cli import assert_one_line, run

TOPIC, LARGE = "events", "large-events"  # one of its own: the mock cluster keeps 5 MB of a topic


@pytest.fixture(scope="module")
def broker():
    k = Kafka()
    yield k
    k.close()


@pytest.fixture
def own_broker():
    k = Kafka()
    yield k
    k.close()


@pytest.fixture(scope="module")
def taking(tmp_path_factory, broker):
    """A daemon that takes events, an account, and its receiver."""
    directory = tmp_path_factory.mktemp("kafka")
    r = Receiver()
    d = Daemon(directory, "--reads-per-minute", "1000000", *kafka.options(directory, broker.bootstrap, TOPIC, LARGE)).start()
    yield d, Account(d, r.url), r
    assert d.stop() == 0
    r.close()


def wait_done(d, messages):
    eventually(lambda: d.metrics()["postbackd_kafka_messages_total"] >= messages, 60, 0.1, what="%d messages" % messages)


def accepted(d):
    return d.metrics()["postbackd_events_accepted_total"]


def number(d, name):
    return d.metrics()["postbackd_kafka_" + name]


def has_taken(d, account, *event_ids):
    return all(d.api().get("/api/v1/callbacks/" + e, query={"partnerId": account.partner_id}).status == 200
               for e in event_ids)


def wait_taken(d, account, *event_ids):
    eventually(lambda: has_taken(d, account, *event_ids), 60, 0.1, what="taken: %r" % (event_ids,))


def earned(d, account):
    """What all of its events have earned: each once."""
    found = d.api(account.key("reports:read")).get("/api/v1/reports/earnings").json["Rows"]
    return sum(row["Earnings"] for row in found)


def the_walk(broker, d, account, receiver, topic, first=0, **group):
    """On a mock or a real broker, from that offset on: what a message may hold, what is rejected, what is committed."""
    broker.produce(topic, json.dumps(account.event("one")))
    broker.produce(topic, json.dumps([account.event("two"), account.event("three")]))
    broker.produce(topic, "\n".join(json.dumps(account.event(e)) for e in ("four", "five")),
                   content_type="application/x-ndjson")
    wait_taken(d, account, "one", "two", "three", "four", "five")
    receiver.wait_for("five")
    broker.produce(topic, json.dumps([account.event("one"), account.event("two", RevenueAmount="2.00")]))
    letter, = eventually(lambda: [m for m in broker.read(kafka.DEAD) if m.headers["Postbackd-Source-Topic"] == topic])
    assert json.loads(letter.value)["RevenueAmount"] == "2.00"
    assert letter.headers["Postbackd-Code"] == "conflict"
    assert letter.headers["Postbackd-Source-Offset"] == str(first + 3)
    eventually(lambda: broker.committed(topic, **group) == first + 4, 30, 0.1)


def survive_a_kill(broker, d, account, topic, first=0, **group):
    """In the middle of 60 messages from that offset on: nothing is lost and nothing counts twice."""
    before = earned(d, account)
    for i in range(60):
        broker.produce(topic, json.dumps([account.event("k-%d-%d" % (i, j)) for j in range(20)]))
        if i == 30:
            eventually(lambda: earned(d, account) > before, 60)
            d.kill()
            d.start()
    eventually(lambda: broker.committed(topic, **group) == first + 60, 60, 0.2)
    assert earned(d, account) == before + 1200


def test_a_message_holds_what_a_body_may(taking, broker):
    d, account, receiver = taking
    the_walk(broker, d, account, receiver, TOPIC)
    eventually(lambda: number(d, "lag_messages") == 0 and number(d, "brokers_connected") == 1)
    assert number(d, "paused") == 0 and number(d, "partitions") > 0


def test_a_callback_carries_the_traceparent_of_its_message(taking, broker):
    d, account, receiver = taking
    traced = {"traced-%d" % i: "00-0af7651916cd43dd8448eb211c80319%d-b7ad6b7169203331-01" % i for i in range(2)}
    for event_id, traceparent in traced.items():
        broker.produce(TOPIC, json.dumps(account.event(event_id)), traceparent=traceparent)
    broker.produce(TOPIC, json.dumps(account.event("untraced")))
    for event_id in (*traced, "untraced"):
        assert receiver.wait_for(event_id)[0].header("traceparent") == traced.get(event_id)


def bodies(account):
    """Each with what it is sent as, and how many letters become of it."""
    yield "nothing", None, {}, 1
    yield "an empty one", "", {}, 1
    yield "not JSON", "{", {}, 1
    yield "not UTF-8", b"\"\xff\"", {}, 1
    yield "no object", "7", {}, 1
    yield "another type", "<a/>", {"content_type": "text/xml"}, 1
    yield "too many", json.dumps([7] * 10001), {}, 1
    yield "items", json.dumps([7, None, "x", [1], account.event("good"), {"EventId": "bad"}]), {}, 5
    yield "lines", "7\n{\n" + json.dumps(account.event("also-good")), {"content_type": "application/x-ndjson"}, 2
    yield "a stranger", json.dumps(dict(account.event("s"), ClientId="nobody")), {}, 1
    yield "an old one", json.dumps(account.event("o", Timestamp="2001-01-01T00:00:00Z")), {}, 1
    yield "no original", json.dumps(account.event("r", "offer_completion_reversed", OriginalRewardId="none")), {}, 1
    yield "none at all", "[]", {}, 0


def test_what_http_rejects_is_a_dead_letter_in_the_same_words(taking, broker):
    d, account, _ = taking
    before, at = len(broker.read(kafka.DEAD)), len(broker.read(TOPIC)) - 1
    for what, body, headers, count in bodies(account):
        wanted = d.api().post("/api/v1/events", body or b"", headers={
            "Content-Type": headers.get("content_type", "application/json")})
        at += 1
        broker.produce(TOPIC, body, **headers)
        letters = broker.dead(before + count)[before:]
        before += count
        assert len(letters) == count, what
        said = wanted.json["Rejected"] if wanted.status == 202 else [None]
        assert len(said) == count, what
        for letter, rejected in zip(letters, said):
            assert letter.headers["Postbackd-Source-Topic"] == TOPIC
            assert letter.headers["Postbackd-Source-Partition"] == "0"
            assert letter.headers["Postbackd-Source-Offset"] == str(at)
            if wanted.status == 202:
                assert json.loads(letter.headers["Postbackd-Rejection"]) == rejected, what
                assert letter.headers["Postbackd-Reason"] == rejected["Errors"][0]["Detail"]
                assert letter.headers["Postbackd-Field"] == rejected["Errors"][0]["Field"]
                assert letter.headers["Postbackd-Code"] == rejected["Errors"][0]["Code"]
            else:
                assert letter.headers["Postbackd-Reason"] == wanted.json["detail"], what
                assert letter.value == (body if isinstance(body, (bytes, type(None))) else body.encode()), what
        if what == "items":
            assert [x.value for x in letters[:4]] == [b"7", b"null", b"x", b"[1]"]
            assert json.loads(letters[4].value) == {"EventId": "bad"}
    eventually(lambda: broker.committed(TOPIC) == at + 1, 30, 0.1)


def test_a_message_that_is_too_large_is_named_without_its_value(taking, broker):
    d, account, _ = taking
    before = len(broker.read(kafka.DEAD))
    broker.ask("fill", LARGE, 0, 50 << 20)
    letter = broker.dead(before + 1)[before]
    eventually(lambda: broker.committed(LARGE) == 1, 30, 0.1)
    broker.produce(TOPIC, json.dumps(account.event("behind-it")))
    assert letter.value is None and letter.headers["Postbackd-Value-Bytes"] == str(50 << 20)
    assert "too large" in letter.headers["Postbackd-Reason"]
    wait_taken(d, account, "behind-it")


def test_a_kill_loses_nothing_and_counts_nothing_twice(tmp_path, own_broker):
    broker = own_broker
    d = Daemon(tmp_path, *kafka.options(tmp_path, broker.bootstrap, TOPIC)).start()
    try:
        account = Account(d)
        survive_a_kill(broker, d, account, TOPIC)
        assert accepted(d) == 1200
        assert broker.read(kafka.DEAD) == []
        assert d.stop() == 0
        assert broker.committed(TOPIC) == 60
        d.start()
        broker.produce(TOPIC, json.dumps(account.event("after")))
        wait_taken(d, account, "after")
        assert number(d, "messages_total") == 1  # nothing was read again
    finally:
        d.stop()


def test_nothing_is_committed_while_the_dead_letter_topic_refuses(tmp_path, own_broker):
    broker = own_broker
    d = Daemon(tmp_path).start()
    try:
        account = Account(d)
        broker.ask("topic", TOPIC, 1)
        broker.produce(TOPIC, json.dumps([account.event("beside"), {"EventId": "bad"}]))
        broker.produce(TOPIC, json.dumps(account.event("behind")))
        broker.ask("refuse", 29)  # TOPIC_AUTHORIZATION_FAILED, and only the daemon produces from here on
        assert d.stop() == 0
        d.options += kafka.options(tmp_path, broker.bootstrap, TOPIC)
        d.start()
        eventually(lambda: number(d, "paused") == 1, 60)
        assert has_taken(d, account, "beside")
        eventually(lambda: '"event":"kafka_paused"' in d.log_text())
        assert broker.committed(TOPIC) < 1 and number(d, "messages_total") == 0
        eventually(lambda: number(d, "lag_messages") == 2)
        d.restart()  # it stops in time all the same
        eventually(lambda: number(d, "paused") == 1, 60)
        assert broker.committed(TOPIC) < 1
        broker.ask("refuse", 0)
        assert json.loads(broker.dead(1)[0].value) == {"EventId": "bad"}
        wait_taken(d, account, "behind")
        eventually(lambda: broker.committed(TOPIC) == 2 and number(d, "paused") == 0, 30, 0.1)
        eventually(lambda: number(d, "lag_messages") == 0)
    finally:
        d.stop()


def test_a_letter_that_is_too_large_without_its_value_is_sent_bare(tmp_path, own_broker):
    """Its key and headers come from whoever wrote the message: they must not stop what is behind it."""
    broker = own_broker
    d = Daemon(tmp_path, *kafka.options(tmp_path, broker.bootstrap, TOPIC, message_max_bytes=4000)).start()
    try:
        account = Account(d)
        broker.produce(TOPIC, "no event", Trace="x" * 10000)
        broker.produce(TOPIC, json.dumps(account.event("behind")))
        wait_taken(d, account, "behind")
        letter, = broker.dead(1)
        assert letter.value is None and "Trace" not in letter.headers
        assert letter.headers["Postbackd-Value-Bytes"] == "8" and letter.headers["Postbackd-Reason"]
    finally:
        d.stop()


def test_letters_that_are_too_large_together_are_sent_one_by_one(tmp_path, own_broker):
    """A broker judges a batch: none of its letters is cut before it is refused by itself."""
    broker = own_broker
    d = Daemon(tmp_path).start()
    try:
        broker.ask("topic", TOPIC, 1)
        broker.produce(TOPIC, json.dumps([7, 8, 9]))
        broker.ask("refuse", 10, 1)  # MSG_SIZE_TOO_LARGE: the first batch that the daemon produces
        d.options += kafka.options(tmp_path, broker.bootstrap, TOPIC)
        d.restart()
        assert sorted(m.value for m in broker.dead(3)) == [b"7", b"8", b"9"]
    finally:
        d.stop()


def test_a_pause_does_not_outlive_a_rebalance(tmp_path, own_broker):
    """Partitions that were paused when they were given up are read when they are given again."""
    broker = own_broker
    one, two = tmp_path / "one", tmp_path / "two"
    first = Daemon(one).start()
    account = Account(first)
    second = Daemon(two, *kafka.options(two, broker.bootstrap, TOPIC))
    try:
        broker.ask("topic", TOPIC, 1)
        broker.produce(TOPIC, "no event")
        broker.ask("refuse", 29)
        assert first.stop() == 0
        first.options += kafka.options(one, broker.bootstrap, TOPIC)
        first.start()
        eventually(lambda: number(first, "paused") == 1, 60)
        begin = len(first.log_text())
        second.start()  # a rebalance, whoever has the partition then
        eventually(lambda: '"event":"kafka_partitions"' in first.log_text()[begin:], 60)
        second.stop()
        broker.ask("refuse", 0)
        assert len(broker.dead(1)) >= 1
        broker.produce(TOPIC, json.dumps(account.event("behind")))
        wait_taken(first, account, "behind")
    finally:
        first.stop()
        second.stop()


def test_a_full_store_pauses(tmp_path, own_broker):
    broker, says = own_broker, {"status": 503}
    receiver = Receiver(answer=lambda request: says["status"])
    d = Daemon(tmp_path, "--waiting-most", "5", *kafka.options(tmp_path, broker.bootstrap, TOPIC),
               schedule="1s," * 30 + "1s").start()
    try:
        account = Account(d, receiver.url)
        # A batch is judged before its own events wait; what comes behind it is not taken.
        broker.produce(TOPIC, json.dumps([account.event("w-%d" % i) for i in range(21)]))
        wait_taken(d, account, "w-0", "w-20")
        for i in range(21, 40):
            broker.produce(TOPIC, json.dumps(account.event("w-%d" % i)))
        eventually(lambda: number(d, "paused") == 1, 60)
        assert d.api().post("/api/v1/events", account.event("x")).status == 429
        assert "bounds" in d.log_text() or "waiting" in d.log_text()
        says["status"] = 200
        wait_taken(d, account, *("w-%d" % i for i in range(40)))
        eventually(lambda: broker.committed(TOPIC) == 20 and number(d, "paused") == 0, 30, 0.1)
        assert broker.read(kafka.DEAD) == []
    finally:
        d.stop()
        receiver.close()


def test_a_broker_that_is_away_is_said_once_and_waited_for(tmp_path, own_broker):
    broker = own_broker
    broker.ask("topic", TOPIC, 1)
    broker.ask("down")
    d = Daemon(tmp_path, *kafka.options(tmp_path, broker.bootstrap, TOPIC)).start()
    try:
        account = Account(d)
        d.api().events([account.event("by-http")])
        eventually(lambda: '"event":"kafka_away"' in d.log_text(), 30)
        assert number(d, "brokers_connected") == 0
        broker.ask("up")
        broker.produce(TOPIC, json.dumps(account.event("first")))
        wait_taken(d, account, "first")
        assert d.log_text().count('"event":"kafka_away"') == 1
        broker.ask("down")
        eventually(lambda: d.log_text().count('"event":"kafka_away"') == 2, 30)
        assert d.stop() == 0
        d.start()
        broker.ask("up")
        broker.produce(TOPIC, json.dumps(account.event("second")))
        wait_taken(d, account, "second")
        assert accepted(d) == 3
    finally:
        d.stop()


@pytest.mark.parametrize("settings,words", [
    ("", ["bootstrap.servers is missing"]),
    ("bootstrap.servers=a:1\nno.such.thing=1\n", ["line 2", 'No such configuration property: "no.such.thing"']),
    ("bootstrap.servers=a:1\nsocket.timeout.ms=x\n", ["line 2", 'Invalid value', '"socket.timeout.ms"']),
    ("# by us\nenable.auto.commit=true\n", ["line 2", "enable.auto.commit cannot be set", "once the events are stored"]),
    ("auto.offset.reset=latest\n", ["line 1", "auto.offset.reset cannot be set"]),
    ("acks=0\n", ["acks cannot be set"]),
    ("partition.assignment.strategy=cooperative-sticky\n", ["cannot be set"]),
    ("bootstrap.servers\n", ["line 1", "name=value"]),
    ("\nbootstrap.servers=a:1\0.example\n", ["line 2", "has a NUL byte: save the file as UTF-8"]),
    ("bootstrap.servers=a:1\nerrors.deadletterqueue.topic.name=events\n", ["events is the topic of dead letters"]),
])
def test_settings_that_cannot_be_are_said(tmp_path, settings, words):
    (tmp_path / "kafka").write_text(settings)
    for command in ("serve", "check"):
        assert_one_line(run(command, "--store", "sqlite:%s" % (tmp_path / "store"), "--intake", "kafka:events",
                            "--kafka-config", str(tmp_path / "kafka")), 2, *words)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("options,words", [
    (["--intake", "events"], ["kafka:TOPIC"]),
    (["--intake", "kafka:events"], ["--kafka-config"]),
    (["--kafka-config", "/nowhere"], ["--intake"]),
    (["--intake", "kafka:events", "--kafka-config", "/nowhere"], ["/nowhere", "No such file"]),
])
def test_options_that_cannot_be_are_said(tmp_path, options, words):
    assert_one_line(run("serve", "--store", "sqlite:%s" % (tmp_path / "store"), *options), 2, *words)


@pytest.mark.parametrize("topics", ["", "a,,b", "a b", "^a.*"])
def test_names_that_no_topic_has_are_said(tmp_path, topics):
    (tmp_path / "kafka").write_text("bootstrap.servers=a:1\n")
    assert_one_line(run("serve", "--store", "sqlite:%s" % (tmp_path / "store"), "--intake", "kafka:" + topics,
                        "--kafka-config", str(tmp_path / "kafka")), 2, "not the name of a topic")


def test_check_says_what_is_set(tmp_path):
    found = check("--listen", "127.0.0.1:0", "--store", "sqlite:%s" % (tmp_path / "store"),
                  *kafka.options(tmp_path, "127.0.0.1:1", "a", "b"))
    assert found["intake"][0] == "ok" and "kafka:a,b" in found["intake"][1]


@pytest.mark.skipif(not kafka.BOOTSTRAP, reason="no KAFKA_BOOTSTRAP: a real broker that makes topics by itself")
def test_a_real_broker(tmp_path):
    """Topics and a group of its own each time, as a broker keeps what was there."""
    name = "postbackd-test-%d" % time.time_ns()
    broker, receiver = Kafka(kafka.BOOTSTRAP), Receiver()
    broker.produce(name, "[]")
    d = Daemon(tmp_path, *kafka.options(tmp_path, kafka.BOOTSTRAP, name, group_id=name)).start()
    try:
        account = Account(d, receiver.url)
        the_walk(broker, d, account, receiver, name, first=1, group=name)
        survive_a_kill(broker, d, account, name, first=5, group=name)
        eventually(lambda: number(d, "lag_messages") == 0 and number(d, "brokers_connected") == 1)
    finally:
        d.stop()
        receiver.close()
        broker.close()

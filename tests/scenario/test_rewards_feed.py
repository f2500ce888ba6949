"""The rewards feed as a topic of Kafka (docs/operators/kafka.md): each reward once, in the order of the feed."""
import json
import re
import shutil
import time

import pytest

import kafka
from harness import Account, Daemon, Receiver, eventually
from kafka import Kafka
from test_cli import assert_one_line, run

TOPIC, CURSORS = "rewards", "postbackd-rewards-cursors"
GIVEN_UP = re.compile(r"kafka_aborted\b.*rewards")


@pytest.fixture
def broker():
    k = Kafka()
    k.ask("topic", TOPIC, 2)
    k.ask("topic", CURSORS, 1)
    yield k
    k.close()


def written(broker, partner_id, topic=TOPIC, partitions=2):
    """A partner's rewards as the topic has them: of one partition, as all have its key."""
    found = [[json.loads(m.value) for m in broker.read(topic, p) if m.key.decode() == partner_id]
             for p in range(partitions)]
    assert sum(1 for of_partition in found if of_partition) <= 1
    return sum(found, [])


def feed(d, account, after=None):
    items = []
    while True:
        query = {"limit": "500", "partnerId": account.partner_id, **({"after": after} if after else {})}
        page = d.api().get("/api/v1/rewards", query=query).json
        if not page["Items"]:
            return items
        items, after = items + page["Items"], page["Next"]


def ids(rewards):
    return [r["RewardId"] for r in rewards]


def committed(broker, d, account, **of):
    """Those written, without what an aborted transaction left, as the daemon has said then: the mock
    broker shows that, too."""
    found = written(broker, account.partner_id, **of)
    if GIVEN_UP.search(d.log_text()):
        found = list({r["RewardId"]: r for r in found}.values())
    return found


def wait_written(broker, d, account, **of):
    """Until the topic has what the feed has; in its order, each once."""
    wanted = ids(feed(d, account))
    eventually(lambda: len(committed(broker, d, account, **of)) >= len(wanted), 90, 0.2, what="%d rewards" % len(wanted))
    assert ids(committed(broker, d, account, **of)) == wanted


def cursor(broker, account, topic=CURSORS):
    """The one that holds; None: no reward of it was ever written."""
    found = [m.value for m in broker.read(topic) if m.key and m.key.decode() == account.partner_id]
    return found[-1].decode() if found else None


def number(d, name):
    return d.metrics()["postbackd_kafka_rewards_" + name]


def options(directory, broker, **more):
    return kafka.options(directory, broker.bootstrap, rewards=TOPIC, **more)


def report(d, account, name, count, **fields):
    d.api().events([account.event("%s-%d" % (name, i), **fields) for i in range(count)])


def the_walk(broker, d, options, receiver, **of):
    """On a mock or a real broker: a backlog, what comes after it, and what a reward holds."""
    one, two, none = Account(d, receiver.url), Account(d), Account(d)
    report(d, one, "old", 1200)
    report(d, two, "old", 3, IsTest=True)
    d.options += options
    d.restart()
    wait_written(broker, d, one, **of)
    wait_written(broker, d, two, **of)
    d.api().events([one.event("new", "offer_completed"), one.event("started", "survey_started"),
                    one.event("back", "offer_completion_reversed", OriginalRewardId="new")])
    wait_written(broker, d, one, **of)
    assert written(broker, none.partner_id, **of) == []
    for account in one, two:
        for reward, item in zip(committed(broker, d, account, **of), feed(d, account)):
            assert reward.pop("PartnerId") == account.partner_id
            assert {**reward, "State": 0, "Reason": 0} == {**item, "State": 0, "Reason": 0}
    return one, two


def test_every_reward_is_written_once_in_its_order(tmp_path, broker):
    receiver = Receiver()
    d = Daemon(tmp_path, "--reads-per-minute", "1000000").start()
    try:
        one, two = the_walk(broker, d, options(tmp_path, broker), receiver)
        assert feed(d, one, cursor(broker, one)) == [] == feed(d, two, cursor(broker, two))
        eventually(lambda: number(d, "total") == 1205)
        assert number(d, "writing") == 1
        d.restart()
        report(d, two, "after", 1)
        wait_written(broker, d, two)
        wait_written(broker, d, one)
        assert number(d, "total") == 1
        assert d.stop() == 0
        broker.produce(CURSORS, None, key=two.partner_id)  # whoever wants a partner's feed again
        d.start()
        eventually(lambda: len(written(broker, two.partner_id)) == 8, 60, 0.2)
        assert ids(written(broker, two.partner_id)) == 2 * ids(feed(d, two))
        wait_written(broker, d, one)
    finally:
        d.stop()
        receiver.close()


@pytest.mark.sqlite("its directory")
def test_after_a_restore_a_partner_s_rewards_are_written_again(tmp_path, broker):
    d = Daemon(tmp_path, "--reads-per-minute", "1000000", *options(tmp_path, broker)).start()
    try:
        account, other = Account(d), Account(d)
        report(d, account, "kept", 5)
        report(d, other, "kept", 2)
        wait_written(broker, d, account)
        wait_written(broker, d, other)
        assert d.stop() == 0
        shutil.copytree(tmp_path / "store", tmp_path / "saved")
        d.start()
        report(d, account, "lost", 1)
        wait_written(broker, d, account)
        assert d.stop() == 0
        shutil.rmtree(tmp_path / "store")
        (tmp_path / "saved").rename(tmp_path / "store")
        d.start()
        report(d, account, "after", 2)
        wanted = ids(feed(d, account))
        assert len(wanted) == 7
        eventually(lambda: len(committed_behind(broker, account, 6)) >= 7, 60, 0.2)
        assert ids(committed_behind(broker, account, 6)) == wanted
        assert re.search(r'"rewards_feed_begins_again".*"%s"' % account.partner_id, d.log_text())
        assert len(written(broker, other.partner_id)) == 2 and number(d, "total") == 7
    finally:
        d.stop()


def committed_behind(broker, account, count):
    return written(broker, account.partner_id)[count:]


def test_a_kill_goes_on_behind_the_last_cursor(tmp_path, broker):
    """The mock cluster shows what was not committed, too: what is behind the cursors at the time of the kill.
    Where a broker hides that, each reward is there once: test_a_real_broker."""
    d = Daemon(tmp_path, "--reads-per-minute", "1000000", *options(tmp_path, broker)).start()
    try:
        account = Account(d)
        eventually(lambda: number(d, "writing") == 1, 60)
        for round_no in range(2):
            before = len(written(broker, account.partner_id))
            report(d, account, "k-%d" % round_no, 4000)
            eventually(lambda: len(written(broker, account.partner_id)) > before, 60, 0.01)
            d.kill()
            left, at = cursor(broker, account), len(written(broker, account.partner_id))
            d.start()
            wanted = ids(feed(d, account, left))
            eventually(lambda: len(written(broker, account.partner_id)) >= at + len(wanted), 60, 0.1)
            assert ids(written(broker, account.partner_id))[at:] == wanted
    finally:
        d.stop()


def test_what_the_broker_refuses_is_written_later(tmp_path, broker):
    d = Daemon(tmp_path, "--reads-per-minute", "1000000").start()
    try:
        account = Account(d)
        report(d, account, "r", 30)
        broker.ask("refuse", 10)  # MSG_SIZE_TOO_LARGE
        d.options += options(tmp_path, broker)
        d.restart()
        eventually(lambda: '"event":"kafka_error"' in d.log_text(), 60)
        eventually(lambda: number(d, "behind_seconds") >= 3, 60)
        assert number(d, "total") == 0 and d.log_text().count("Message size too large") == 1
        assert d.api().get("/readyz").status == 200
        broker.ask("refuse", 0)
        wait_written(broker, d, account)
    finally:
        d.stop()


def test_a_broker_that_is_away_is_waited_for(tmp_path, broker):
    broker.ask("down")
    d = Daemon(tmp_path, "--reads-per-minute", "1000000", *options(tmp_path, broker)).start()
    try:
        account = Account(d)
        report(d, account, "a", 3)
        eventually(lambda: '"event":"kafka_away"' in d.log_text(), 60)
        assert number(d, "writing") == 0
        broker.ask("up")
        wait_written(broker, d, account)
        broker.ask("down")
        eventually(lambda: d.log_text().count('"event":"kafka_away"') == 2, 60)
        report(d, account, "b", 3)
        assert d.stop() == 0  # in time
        broker.ask("up")
        d.start()
        wait_written(broker, d, account)
        assert d.log_text().count('"event":"kafka_away"') == 2
    finally:
        d.stop()


@pytest.mark.parametrize("option,words", [
    ("kafka:", ["not the name of a topic"]),
    ("kafka:a b", ["not the name of a topic"]),
    ("rewards", ["kafka:TOPIC"]),
    ("kafka:events", ["`events` is a topic for something else"]),
    ("kafka:postbackd-dead-letters", ["is a topic for something else"]),
    ("kafka:" + CURSORS, ["is a topic for something else"]),
])
def test_topics_that_cannot_be_are_said(tmp_path, option, words):
    settings = tmp_path / "kafka"
    settings.write_text("bootstrap.servers=a:1\n")
    assert_one_line(run("serve", "--store", "sqlite:%s" % (tmp_path / "store"), "--intake", "kafka:events",
                        "--rewards-feed", option, "--kafka-config", str(settings)), 2, *words)


@pytest.mark.parametrize("settings,words", [
    ("transactional.id=\n", ["transactional.id has no value"]),
    ("offset.storage.topic=events\n", ["`events` is a topic for something else"]),
])
def test_settings_that_cannot_be_are_said(tmp_path, settings, words):
    (tmp_path / "kafka").write_text("bootstrap.servers=a:1\n" + settings)
    assert_one_line(run("serve", "--store", "sqlite:%s" % (tmp_path / "store"), "--intake", "kafka:events", "--rewards-feed",
                        "kafka:rewards", "--kafka-config", str(tmp_path / "kafka"), "--listen", "127.0.0.1:0"), 2, *words)


@pytest.mark.skipif(not kafka.BOOTSTRAP, reason="no KAFKA_BOOTSTRAP: a real broker that makes topics by itself")
def test_a_real_broker(tmp_path):
    """As above; then kills. A node that sleeps while another one writes: tests/postgresql/test_kafka_nodes.py."""
    name = "postbackd-test-%d" % time.time_ns()
    broker, receiver, of = Kafka(kafka.BOOTSTRAP), Receiver(), {"topic": name, "partitions": 1}
    broker.produce(name + "-cursors", "made")
    d = Daemon(tmp_path, "--reads-per-minute", "1000000").start()
    try:
        more = kafka.options(tmp_path, kafka.BOOTSTRAP, rewards=name, offset_storage_topic=name + "-cursors",
                             transactional_id=name)
        one, two = the_walk(broker, d, more, receiver, **of)
        for round_no in range(10):
            report(d, one, "kill-%d" % round_no, 4000)
            eventually(lambda: number(d, "total") > 1500, 60, 0.005)
            d.kill()
            d.start()
        wait_written(broker, d, one, **of)
        wait_written(broker, d, two, **of)
    finally:
        d.stop()
        receiver.close()
        broker.close()

"""Kafka under a clock that is set back: librdkafka waits as long as it was told to, and not until its clock is there."""
import json
import os

import pytest

import kafka
from harness import Account, Daemon, eventually
from kafka import Kafka
from shim import Clock, shimmed
from test_kafka import wait_taken
from test_rewards_feed import CURSORS, wait_written

EVENTS, REWARDS = "events", "rewards"
HOUR = 3600

pytestmark = pytest.mark.skipif("TSAN_OPTIONS" in os.environ, reason="src/bus/kafka_client.c changes nothing there")


@pytest.fixture
def broker():
    k = Kafka()
    for topic, partitions in ((EVENTS, 1), (REWARDS, 2), (CURSORS, 1)):
        k.ask("topic", topic, partitions)
    yield k
    k.close()


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path / "clock")


def daemon(tmp_path, broker, **more):
    return Daemon(tmp_path / "d", env=shimmed(SHIM_CLOCK=tmp_path / "clock"),
                  *kafka.options(tmp_path / "d", broker.bootstrap, EVENTS, **more)).start()


def go_round(broker, d, account, number):
    """An event that is taken, whose reward is written, and a message that becomes a dead letter."""
    broker.produce(EVENTS, json.dumps(account.event("e-%d" % number)))
    broker.produce(EVENTS, "no event")
    wait_taken(d, account, "e-%d" % number)
    wait_written(broker, d, account)
    broker.dead(number + 1)


def test_rewards_and_dead_letters_are_written_after_the_clock_is_set_back(tmp_path, broker, clock):
    d = daemon(tmp_path, broker, rewards=REWARDS)
    try:
        account = Account(d)
        go_round(broker, d, account, 0)
        for number, seconds in enumerate((-HOUR, -30 * 24 * HOUR, 2 * HOUR), 1):
            clock.jump(seconds)
            go_round(broker, d, account, number)
        clock.jump(-HOUR)
        assert d.stop() == 0
    finally:
        d.stop()


def test_a_stop_ends_after_the_clock_is_set_back(tmp_path, broker, clock):
    """Nothing comes that would wake anybody."""
    d = daemon(tmp_path, broker)
    try:
        eventually(lambda: d.metrics()["postbackd_kafka_partitions"] == 1, 30)
        clock.jump(-HOUR)
        assert d.stop() == 0
    finally:
        d.stop()


def test_a_stop_ends_while_the_broker_is_away(tmp_path, broker, clock):
    d = daemon(tmp_path, broker, rewards=REWARDS)
    try:
        account = Account(d)
        go_round(broker, d, account, 0)
        broker.ask("down")
        d.api().events([account.event("waits")])
        eventually(lambda: '"event":"kafka_away"' in d.log_text(), 30)
        clock.jump(-HOUR)
        assert d.stop() == 0
        broker.ask("up")
        d.start()
        wait_written(broker, d, account)
    finally:
        d.stop()

"""Events from Kafka at two nodes on one database: one group, and any event at any node."""
import json
import os
import signal
import time

import pytest

import kafka
import nodes
from harness import Account, eventually


def partitions(d):
    return d.metrics()["postbackd_kafka_partitions"]


def test_two_nodes_share_the_partitions_and_lose_nothing(tmp_path, database):
    broker, cluster = kafka.Kafka(), nodes.Cluster(tmp_path, database)
    broker.ask("topic", "events", 4)
    _, topics, _, path = kafka.options(tmp_path, broker.bootstrap, "events")
    env = {"POSTBACKD_INTAKE": topics, "POSTBACKD_KAFKA_CONFIG": path}
    try:
        a = cluster.start("a", env=env)
        account, sent = Account(a), 0
        key = account.key("reports:read")

        def produce(count):
            nonlocal sent
            for _ in range(count):
                broker.produce("events", json.dumps(account.event("n-%d" % sent)), partition=sent % 4)
                sent += 1
        produce(20)
        b = cluster.start("b", env=env)
        produce(20)  # while partitions move
        eventually(lambda: partitions(a) == 2 and partitions(b) == 2, 60)
        produce(20)
        a.kill()
        produce(20)
        eventually(lambda: partitions(b) == 4, 60)
        eventually(lambda: sum(broker.committed("events", p) for p in range(4)) == sent, 60, 0.2)
        rows = b.api(key).get("/api/v1/reports/earnings").json["Rows"]
        assert sum(row["Earnings"] for row in rows) == sent
        assert broker.read(kafka.DEAD) == []
    finally:
        cluster.stop()
        broker.close()


def writing(d):
    return d.metrics()["postbackd_kafka_rewards_writing"] == 1


def test_one_of_two_nodes_writes_rewards_and_the_other_goes_on(tmp_path, database):
    broker, cluster = kafka.Kafka(), nodes.Cluster(tmp_path, database)
    broker.ask("topic", "rewards", 1)
    broker.ask("topic", "postbackd-rewards-cursors", 1)
    _, topic, _, path = kafka.options(tmp_path, broker.bootstrap, rewards="rewards")
    env = {"POSTBACKD_REWARDS_FEED": topic, "POSTBACKD_KAFKA_CONFIG": path}
    try:
        two = [cluster.start("a", env=env), cluster.start("b", env=env)]
        account, sent = Account(two[0]), []

        def report(d, count):
            events = [account.event("n-%d" % (len(sent) + i)) for i in range(count)]
            d.api().events(events)
            sent.extend(e["EventId"] for e in events)
            eventually(lambda: len(broker.read("rewards")) >= len(sent), 60, 0.2)
        report(two[0], 20)
        report(two[1], 20)
        eventually(lambda: sorted(map(writing, two)) == [False, True], 60)
        first, second = sorted(two, key=writing, reverse=True)
        first.kill()
        report(second, 20)
        assert writing(second)
        assert [json.loads(m.value)["RewardId"] for m in broker.read("rewards")] == sent
    finally:
        cluster.stop()
        broker.close()


@pytest.mark.skipif(not kafka.BOOTSTRAP, reason="no KAFKA_BOOTSTRAP: a real broker (tools/kafka.sh)")
def test_a_node_that_slept_while_another_one_wrote_is_shut_out(tmp_path, database):
    """It wakes in the middle of a transaction: the mock cluster would show what it wrote of that."""
    name = "postbackd-test-%d" % time.time_ns()
    broker, cluster = kafka.Kafka(kafka.BOOTSTRAP), nodes.Cluster(tmp_path, database)
    broker.produce(name + "-cursors", "made")
    _, topic, _, path = kafka.options(tmp_path, kafka.BOOTSTRAP, rewards=name, transactional_id=name,
                                      offset_storage_topic=name + "-cursors")
    env = {"POSTBACKD_REWARDS_FEED": topic, "POSTBACKD_KAFKA_CONFIG": path}
    try:
        two = [cluster.start("a", env=env), cluster.start("b", env=env)]
        account, sent = Account(two[0]), 0

        def report(d, count):
            nonlocal sent
            d.api().events([account.event("n-%d" % (sent + i)) for i in range(count)])
            sent += count
        eventually(lambda: sorted(map(writing, two)) == [False, True], 60)
        first, second = sorted(two, key=writing, reverse=True)
        for _ in range(3):
            begun = first.metrics()["postbackd_kafka_rewards_total"]
            report(second, 4000)
            eventually(lambda f=first, b=begun: f.metrics()["postbackd_kafka_rewards_total"] > b, 60, 0.005)
            os.kill(first.process.pid, signal.SIGSTOP)
            try:
                eventually(lambda s=second: writing(s), 60)
                report(second, 20)
                eventually(lambda: len(broker.read(name)) == sent, 60, 0.2)
            finally:
                os.kill(first.process.pid, signal.SIGCONT)
            report(second, 20)
            eventually(lambda: len(broker.read(name)) == sent and sorted(map(writing, two)) == [False, True], 60, 0.2)
            first, second = sorted(two, key=writing, reverse=True)
        assert [json.loads(m.value)["RewardId"] for m in broker.read(name)] == ["n-%d" % i for i in range(sent)]
    finally:
        cluster.stop()
        broker.close()

"""A Kafka that tests may have: librdkafka's mock cluster on loopback, or a real broker (tests/kafka/peer.c)."""
import os
import subprocess
from pathlib import Path

import pytest

from harness import BINARY, eventually, leave_nothing_behind

PEER = Path(BINARY).resolve().parent / "tests" / "kafka" / "peer"
BOOTSTRAP = os.environ.get("KAFKA_BOOTSTRAP", "")
DEAD = "postbackd-dead-letters"
# So that a test need not wait: how often numbers are told, a dead letter is given up, a member is missed.
QUICK = {"statistics.interval.ms": 200, "message.timeout.ms": 1000, "session.timeout.ms": 6000,
         "heartbeat.interval.ms": 200, "reconnect.backoff.max.ms": 500, "topic.metadata.refresh.interval.ms": 1000,
         "topic.metadata.refresh.fast.interval.ms": 100, "topic.metadata.propagation.max.ms": 500}


class Message:
    def __init__(self, words):
        self.offset = int(words[0])
        self.key, self.value = (None if word == "-" else bytes.fromhex(word[1:]) for word in words[1:3])
        self.headers = {name: bytes.fromhex(value[1:]).decode() for name, value in (w.split("=") for w in words[3:])}

    def __repr__(self):
        return "<%d %r %r>" % (self.offset, self.value and self.value[:200], self.headers)


class Kafka:
    def __init__(self, bootstrap=None):
        if not PEER.exists():
            pytest.skip("no %s beside %s" % (PEER, BINARY))
        self.process = subprocess.Popen([PEER] + ([bootstrap] if bootstrap else []), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        leave_nothing_behind(self.process)
        self.bootstrap = self.process.stdout.readline().strip()
        self.ask("topic", DEAD, 1)

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)

    def ask(self, *words):
        """The words behind ok, and the lines before."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        lines = []
        while True:
            line = self.process.stdout.readline()
            assert line, "the peer has ended"
            verb, *rest = line.split()
            if verb == "ok":
                return rest, lines
            lines.append(rest)

    def produce(self, topic, value, partition=0, key=None, **headers):
        key, value = (text.encode() if isinstance(text, str) else text for text in (key, value))
        self.ask("produce", topic, partition, *("-" if text is None else "x" + text.hex() for text in (key, value)),
                 *("%s=x%s" % (name.replace("_", "-"), text.encode().hex()) for name, text in headers.items()))

    def read(self, topic, partition=0):
        return [Message(words) for words in self.ask("read", topic, partition)[1]]

    def dead(self, count, topic=DEAD, timeout_s=30):
        """The dead letters, once there are so many."""
        return eventually(lambda: (lambda found: found if len(found) >= count else None)(
            self.read(topic)), timeout_s, 0.1, what="%d dead letters" % count)

    def committed(self, topic, partition=0, group="postbackd"):
        return int(self.ask("committed", group, topic, partition)[0][0])


def options(directory, bootstrap, *topics, rewards=None, **more):
    """Of a daemon that takes events from there, and writes rewards."""
    directory.mkdir(parents=True, exist_ok=True)
    settings = {"bootstrap.servers": bootstrap, **QUICK, **{n.replace("_", "."): v for n, v in more.items()}}
    path = directory / "kafka.properties"
    path.write_text("# Kafka\n" + "".join("%s=%s\n" % item for item in settings.items()))
    return ((["--intake", "kafka:" + ",".join(topics)] if topics else []) +
            (["--rewards-feed", "kafka:" + rewards] if rewards else []) + ["--kafka-config", str(path)])

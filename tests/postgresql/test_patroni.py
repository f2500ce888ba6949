"""Patroni, with the file of docs/operators/failover.md, fails over. What the daemon does when a primary
is lost is tested without it, in test_failover.py."""
import signal

import pytest
from harness import Account, eventually
from nodes import DatabaseDaemon
from outbox import Operator, check_all

import patroni

pytestmark = pytest.mark.skipif(patroni.missing() is not None, reason=str(patroni.missing()))


@pytest.fixture
def servers():
    p = patroni.Patroni()
    yield p
    p.remove()


def test_nothing_is_lost_when_patroni_fails_over(servers, tmp_path, receiver):
    daemon = DatabaseDaemon(tmp_path, servers.start().uri())
    try:
        account = Account(daemon.start(), receiver.url)
        operator = Operator(daemon, account)
        operator.start()
        eventually(lambda: len(operator.acknowledged) > 200, 60)
        servers.wait_whole()
        before = servers.leader()
        before.signal_postgresql(signal.SIGKILL)
        eventually(lambda: servers.leader_is_not(before), 120, what="there is a new primary")
        count = len(operator.acknowledged)
        eventually(lambda: len(operator.acknowledged) > count + 200, 120, what="events are taken")
        operator.end()
        check_all(daemon, account, receiver, operator.acknowledged)
    finally:
        daemon.stop()

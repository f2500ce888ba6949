"""Names of statements that the server refuses after all: nothing is lost or done twice, and each
thread that writes goes without names from then on."""
import itertools

import nodes
import pytest
from harness import Account, eventually
from names import NamesProxy
from outbox import Operator, check_all
from postgresql import sql

WRITERS = 3  # threads that give names: changes, outcomes, and the keeper


@pytest.fixture
def direct(database):
    p = NamesProxy(database)
    yield p
    p.close()


def refusals(daemon):
    return daemon.log_text().count('"event":"statement_names_refused"')


class Taken:
    """Events that were taken at the first go, each request a group or so."""

    def __init__(self, daemon, account):
        self.daemon, self.account, self.ids = daemon, account, []

    def more(self, count=5):
        ids = ["e-%d" % (len(self.ids) + i) for i in range(count)]
        answer = self.daemon.api().events([self.account.event(event_id) for event_id in ids])
        assert (answer["Accepted"], answer["Duplicates"]) == (count, 0)
        self.ids += ids
        return True

    def check(self, receiver, database):
        check_all(self.daemon, self.account, receiver, self.ids)
        assert sorted(receiver.ids()) == sorted(self.ids)  # none was sent twice
        assert sql(database, "SELECT state,attempts,count(*) FROM event GROUP BY 1,2") == \
            "-1||%d" % len(self.ids)  # presumed delivered, at the first attempt,
        assert sql(database, "SELECT count(*) FROM waiting") == "0"  # if none waits
        assert int(sql(database, "SELECT count(*) FROM attempt")) == len(self.ids)
        # It was refused, and not away; nor in doubt, as then it would be done until it is done.
        assert "database_away" not in self.daemon.log_text()


def test_a_pooler_that_looks_like_a_server_gets_no_names_in_the_end(pooler, database, database_daemon, receiver):
    proxy = NamesProxy(pooler, pretends=True)
    try:
        database_daemon.uri = proxy.uri
        daemon = database_daemon.start()
        taken = Taken(daemon, Account(daemon, receiver.url))
        eventually(lambda: taken.more() and refusals(daemon) == WRITERS, 30, step_s=0.05)
        taken.check(receiver, database)

        def settled():
            """Of what was under way nothing is left."""
            used = sum(proxy.used.values())
            taken.more()
            return sum(proxy.used.values()) == used
        eventually(settled, 30)
        used, before = sum(proxy.used.values()), len(taken.ids)
        assert used > 0
        while len(taken.ids) < before + 100:
            taken.more()
        taken.check(receiver, database)
        assert sum(proxy.used.values()) == used
        assert refusals(daemon) == len(proxy.refusals) == WRITERS
        assert {state for _, state in proxy.refusals} <= {"26000", "42P05"}
    finally:
        proxy.close()


REFUSED = {
    "begin": "SELECT set_config(", "accounts": "INSERT INTO account ", "events": "INSERT INTO event(",
    "totals": "INSERT INTO total ", "fences": "FOR KEY SHARE", "outcomes": "DELETE FROM waiting",
    "attempts": "INSERT INTO attempt ", "heard": "DELETE FROM handover",
}


@pytest.mark.parametrize("which,ends", [(which, False) for which in REFUSED] +
                         [("begin", True), ("events", True), ("outcomes", True)])
def test_a_name_that_is_gone_costs_its_thread_the_others(direct, database, database_daemon, receiver,
                                                         which, ends):
    """In the first trip of a transaction, or with its commit; or the connection, and no partner a 503."""
    database_daemon.uri = direct.uri
    daemon = database_daemon.start()
    taken = Taken(daemon, Account(daemon, receiver.url))
    taken.more()
    direct.spoil(REFUSED[which], ends)
    eventually(lambda: taken.more() and direct.to_spoil is None, 20, step_s=0.05)
    eventually(lambda: refusals(daemon) == 1, 30)
    taken.check(receiver, database)
    (refused, state), = direct.refusals
    assert state == ("08P01" if ends else "26000")
    before = direct.used.copy()
    for _ in range(5):
        taken.more()
    taken.check(receiver, database)
    more = direct.used - before
    assert refused not in more and len(more) == WRITERS - 1
    assert refusals(daemon) == 1


def test_a_plan_that_is_outdated_is_refused_by_the_server(direct, database, database_daemon, receiver):
    """A column becomes another type while its rows are fetched by a kept statement, as those of
    callbacks that failed are; again where its plan was just to be made anew."""
    failed = set()

    def fail_first(request):
        number = request.json["RewardId"]
        if number in failed or not number.endswith("-0"):
            return 200
        failed.add(number)
        return 500
    receiver.answer = fail_first
    database_daemon.uri, database_daemon.schedule = direct.uri, "1s,1s,1s"
    daemon = database_daemon.start()
    account = Account(daemon, receiver.url)
    operator = Operator(daemon, account, size=5)
    operator.start()
    eventually(lambda: len(operator.acknowledged) > 50, 30)
    types = itertools.cycle(("varchar", "text"))

    def refused():
        sql(database, "ALTER TABLE event ALTER COLUMN offer_title TYPE " + next(types))
        more = len(operator.acknowledged) + 20
        eventually(lambda: refusals(daemon) > 0 or len(operator.acknowledged) > more, 30)
        return refusals(daemon) > 0
    eventually(refused, 60)
    before = len(operator.acknowledged)
    eventually(lambda: len(operator.acknowledged) > before + 50, 30)
    operator.end()
    check_all(daemon, account, receiver, operator.acknowledged)
    assert len(receiver.ids()) == len(operator.acknowledged) + len(failed)
    assert {state for _, state in direct.refusals} == {"0A000"}
    assert len(direct.refusals) == refusals(daemon) <= WRITERS


def test_what_is_handed_over_is_heard_once(direct, database, tmp_path, receiver):
    """Its rows are deleted by the statement that reads them: refused, it has not deleted any."""
    cluster = nodes.Cluster(tmp_path, database)
    try:
        a, b = cluster.start("a", uri=direct.uri), cluster.start("b")
        cluster.wait_even("a", "b")
        accounts = cluster.accounts(8, receiver.url, b)
        outbox = nodes.Outbox(cluster, accounts, pause_s=0)
        outbox.start()
        outbox.wait_more()
        direct.spoil("DELETE FROM handover")
        eventually(lambda: refusals(a) == 1, 30)
        outbox.wait_more()
        outbox.end()
        assert nodes.check_all(b, accounts, receiver, outbox.acknowledged) == 0
        assert refusals(a) == 1 and refusals(b) == 0
    finally:
        cluster.stop()

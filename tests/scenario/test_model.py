"""Random histories against the model of the contract in model/: events, reports, statements, the
rewards feed and each callback's state, attempts and body; with kill -9 and restarts in the middle.

POSTBACKD_SEED        the first seed; a history that failed says its own
POSTBACKD_HISTORIES   how many, all on one daemon, each with a partner and a receiver of its own (default 4)
POSTBACKD_ROUNDS      how many daemons, one after the other, each with so many new seeds (default 1)
"""
import os
import random
import threading
import time

import pytest

from checks import now
from harness import Daemon, eventually
from model.history import PHASES, SCHEDULE, History

SEED = int(os.environ.get("POSTBACKD_SEED", str(random.SystemRandom().randrange(1 << 32))))
HISTORIES = int(os.environ.get("POSTBACKD_HISTORIES", "4"))
ROUNDS = int(os.environ.get("POSTBACKD_ROUNDS", "1"))
INTERRUPTIONS = ("nothing", "kill", "stop", "kill", "two kills", "nothing")


class Threads:
    """One for each history; all of them go through the same steps together."""

    def __init__(self, histories):
        self.histories = histories
        self.failures = []

    def begin(self, step):
        def run(history):
            try:
                step(history)
            except BaseException as e:  # said by the test's thread
                e.add_note("POSTBACKD_SEED=%d POSTBACKD_HISTORIES=1 repeats this history" % history.seed)
                self.failures.append(e)
        self.running = [threading.Thread(target=run, args=(h,), daemon=True) for h in self.histories]
        for t in self.running:
            t.start()

    def end(self):
        for t in self.running:
            t.join()
        if self.failures:
            raise self.failures[0]

    def all(self, step):
        self.begin(step)
        self.end()


def interrupt(daemon, how, r, kills):
    """What is done to the daemon while events come in and callbacks go out."""
    if how == "nothing":
        return
    time.sleep(r.uniform(0.02, 0.5))
    kills.append(time.time())
    if how == "stop":
        assert daemon.stop() == 0
        daemon.start()
        return
    daemon.kill()
    if how == "two kills":
        daemon.spawn()
        time.sleep(r.uniform(0, 0.2))
        daemon.kill()
        kills.append(time.time())
    daemon.start()


def assert_totals(daemon, histories):
    """The daemon's own sums over all accounts."""
    waiting = sum(c.state == "pending" for h in histories for c in h.account.callbacks())
    eventually(lambda: daemon.metrics()["postbackd_callbacks_pending"] == waiting, what="%d wait" % waiting)
    assert daemon.metrics()["postbackd_books_wrong"] == 0
    assert daemon.api().get("/healthz", key=None).json["Status"] == "ok"


def one_round(directory, seed):
    daemon = Daemon(directory, "--reads-per-minute", "1000000", schedule=SCHEDULE).start()
    today = now().date()
    histories = [History(daemon, seed + i, today) for i in range(HISTORIES)]
    kills, threads, r = [], Threads(histories), random.Random(seed)
    try:
        for phase in range(PHASES):
            threads.all(History.change)
            threads.begin(History.send_events)
            interrupt(daemon, INTERRUPTIONS[phase], r, kills)
            threads.end()
            threads.all(History.compare)
        threads.all(lambda h: h.finish(kills))
        assert_totals(daemon, histories)
        assert daemon.restart()
        threads.all(History.compare)
    finally:
        for history in histories:
            history.close()
        daemon.stop()
    events = sum(len(h.account.events) for h in histories)
    print("seeds %d to %d: %d events" % (seed, seed + HISTORIES - 1, events))


@pytest.mark.timeout(60 * ROUNDS + 600)
def test_histories_are_what_the_contract_says(tmp_path, capfd):
    for number in range(ROUNDS):
        seed = SEED + number * HISTORIES
        print("POSTBACKD_SEED=%d POSTBACKD_HISTORIES=%d" % (seed, HISTORIES))  # what a failure shows
        with capfd.disabled():
            one_round(tmp_path / str(number), seed)

"""kill -9 under load, again and again, on one store: what was acknowledged is there, once.

POSTBACKD_SEED       repeats a run (threads still race: the same batches, other moments)
POSTBACKD_KILLS      kills in one round (default 32)
POSTBACKD_KILL_SECONDS  more rounds, each on a new store, until this time is over
"""
import os
import random
import time

import pytest

from load import World, assert_feed, assert_reports, check

KILLS = int(os.environ.get("POSTBACKD_KILLS", "32"))
SECONDS = float(os.environ.get("POSTBACKD_KILL_SECONDS", "0"))
SEED = int(os.environ.get("POSTBACKD_SEED", str(random.SystemRandom().randrange(1 << 32))))
THREADS = 6


def one_life(world, r):
    """Starts the daemon with one delivery thread or three, and kills it at some moment."""
    d = world.daemon
    d.options = ["--reads-per-minute", "100000", "--loops", r.choice(("1", "3"))]
    if r.randrange(6) == 0:
        d.spawn()  # killed while it starts, or recovers
        time.sleep(r.uniform(0, 0.12))
    else:
        d.start(wait_ready=False)
        time.sleep(r.uniform(0, 0.3) if r.randrange(2) else r.uniform(0.2, 0.8))
    assert d.process.poll() is None, d.log_text()[-2000:]
    assert world.failure is None, repr(world.failure)
    world.kills.append(time.time())
    d.kill()


def one_round(directory, seed):
    r = random.Random(seed)
    world = World(directory, seed, THREADS, schedule="1s,1s,1s")
    try:
        time.sleep(0.3)
        world.kills.append(time.time())
        world.daemon.kill()
        for _ in range(KILLS - 1):
            one_life(world, r)
        world.daemon.start()
        world.finish()
        stored, duplicates, widest = check(world)
        # An orderly stop and one more start change nothing of it.
        assert world.daemon.stop() == 0
        world.daemon.start()
        originals = {**world.acknowledged, **world.unanswered}
        assert assert_feed(world, originals).keys() == stored.keys()
        assert_reports(world, stored, originals)
        assert world.daemon.stop() == 0
        sent = sum(len(log) for log in world.recorder.log.values())
        print("seed %d: %d kills, %d events acknowledged, %d answers lost, %d of %d unanswered ones "
              "stored, %d callbacks sent, %d duplicates (%.2f %%), at most %.0f ms before a kill" % (
                  seed, len(world.kills), len(world.acknowledged), world.lost_answers,
                  len(stored.keys() & world.unanswered.keys()), len(world.unanswered), sent,
                  duplicates, 100.0 * duplicates / max(sent, 1), widest * 1000))
    finally:
        world.close()


@pytest.mark.timeout(SECONDS + 600)
def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path, capfd):
    until = time.monotonic() + SECONDS
    number = 0
    while True:
        print("POSTBACKD_SEED=%d" % (SEED + number))  # what a failure shows
        with capfd.disabled():
            print("\nkill -9: POSTBACKD_SEED=%d" % (SEED + number), flush=True)
            one_round(tmp_path / str(number), SEED + number)
        number += 1
        if time.monotonic() >= until:
            return

"""Power cuts of the real binary under load: whatever was not synced is taken back after a kill, and
what was acknowledged is there, once, with exact books.

POSTBACKD_SEED  the first seed of a run
POSTBACKD_CUTS  so many cuts, CUTS_PER_SEED to a store (default: one store)
"""
import os
import random
import time
from collections import Counter

import pytest

from harness import eventually
from load import World, assert_feed, assert_reports, check
from power import PowerSupply

CUTS_PER_SEED = 20
CUTS = int(os.environ.get("POSTBACKD_CUTS", str(CUTS_PER_SEED)))
SEED = int(os.environ.get("POSTBACKD_SEED", str(random.SystemRandom().randrange(1 << 32))))
# Journal segments of 128 KiB, a checkpoint every 64 pages and a scrub every 200 ms: all of it happens
# in each life.
SIZES = {"POSTBACKD_TEST_SIZES": "131072,64,200"}
THREADS = 4
pytestmark = pytest.mark.sqlite("its files on a disk that loses power")


def read_something(world, r):
    """A read makes the store apply what it has: with each comes a run of keys, and in time a merge."""
    account = r.choice(list(world.accounts.values()))
    try:
        world.daemon.api().get("/api/v1/callbacks", query={"partnerId": account.partner_id, "limit": 1})
    except (OSError, ValueError):
        pass  # it does not listen yet


def one_life(world, supply, r):
    """Starts the daemon, kills it at some moment, and mostly takes the power away with it."""
    d = world.daemon
    if r.randrange(6) == 0:
        d.spawn()  # while it starts, or recovers
        time.sleep(r.uniform(0, 0.15))
    else:
        d.start(wait_ready=False)
        until = time.monotonic() + r.uniform(0, 0.6)
        while time.monotonic() < until:
            time.sleep(r.uniform(0, 0.1))
            read_something(world, r)
    assert d.process.poll() is None, d.log_text()[-2000:]
    assert world.failure is None, repr(world.failure)
    return end_life(world, supply, r)


def end_life(world, supply, r, style=None):
    world.kills.append(time.time())
    world.daemon.kill()
    if style or r.randrange(5):
        end = supply.cut(r, style)
    else:
        supply.stays()
        end = 0, "none"
    world.kills.append(time.time())  # a receiver may read what the killed one sent only now
    return end


def assert_undamaged(d):
    """What a cut has torn is not what the scrub calls damage."""
    eventually(lambda: d.metrics()["postbackd_scrub_passes_total"] > 0, 60, what="a pass")
    assert d.metrics()["postbackd_scrub_damaged"] == 0, d.api().get("/healthz").text


def one_store(directory, seed):
    r = random.Random(seed)
    supply = PowerSupply(directory)
    world = World(directory, seed, THREADS, schedule="1s,1s,1s",
                  env={**supply.environment(), **SIZES})
    try:
        time.sleep(r.uniform(0, 0.5))
        cuts = [end_life(world, supply, r, "all lost")]  # names of what is new too
        while sum(style != "none" for _, style in cuts) < CUTS_PER_SEED:
            cuts.append(one_life(world, supply, r))
        world.daemon.start()
        world.finish()
        assert_undamaged(world.daemon)
        stored, duplicates, _ = check(world)
        assert world.daemon.stop() == 0
        supply.cut(r)  # what an orderly stop leaves is durable
        world.daemon.start()
        originals = {**world.acknowledged, **world.unanswered}
        assert assert_feed(world, originals).keys() == stored.keys()
        assert_reports(world, stored, originals)
        assert world.daemon.stop() == 0
        styles = Counter(style for _, style in cuts)
        print("seed %d: %s; %d changes not durable, %d events acknowledged, %d answers lost, "
              "%d duplicates" % (seed, dict(styles), sum(n for n, _ in cuts),
                                 len(world.acknowledged), world.lost_answers, duplicates))
        return sum(styles.values()) - styles["none"], len(world.acknowledged)
    finally:
        world.close()


@pytest.mark.timeout(600 + CUTS * 60)
def test_nothing_acknowledged_is_lost_by_power_cuts(tmp_path, capfd):
    seed, cuts, acknowledged = SEED, 0, 0
    while cuts < CUTS:
        print("POSTBACKD_SEED=%d" % seed)  # what a failure shows
        with capfd.disabled():
            print("\npower cuts: POSTBACKD_SEED=%d" % seed, flush=True)
            made, events = one_store(tmp_path / str(seed), seed)
        cuts, acknowledged, seed = cuts + made, acknowledged + events, seed + 1
    with capfd.disabled():
        print("%d power cuts, %d events acknowledged, none lost" % (cuts, acknowledged))

"""postbackd move is killed or held up: the next command finishes what is left, and both databases are
never open at once."""
import signal

import pytest
from harness import Account, eventually
from moving import (Load, begin, check_same, is_fenced, make_switch_slow, move, move_killed_at,
                    pair, shown)  # noqa: F401  (pair is a fixture)
from postgresql import sql

STEPS = ["making the tables", "beginning to copy", "copying", "switching", "switched", "nodes use"]


@pytest.mark.parametrize("steps", (STEPS, ["switched"]), ids=("each", "switched"))
def test_a_killed_move_goes_on(pair, receiver, steps):  # noqa: F811
    """Killed at one step, then the next command at the next one."""
    load = Load(pair, receiver)
    for step in steps:
        move_killed_at(step, pair.old, pair.new)
    move(pair.old, pair.new)
    load.wait_more()
    load.end()
    check_same(pair, pair.new, pair.old)


def test_a_move_back_that_is_killed_goes_on(pair, receiver):  # noqa: F811
    load = Load(pair, receiver)
    move(pair.old, pair.new)
    for step in STEPS[2:]:
        move_killed_at(step, pair.new, pair.old)
    move(pair.new, pair.old)
    load.wait_more()
    load.end()
    check_same(pair, pair.old, pair.new)


def test_a_move_that_is_killed_between_the_two_goes_on(pair, receiver):  # noqa: F811
    """Neither can be written; the next command opens the source again, and ends the switch."""
    load = Load(pair, receiver)
    make_switch_slow(pair)
    process = begin(pair.old, pair.new)
    eventually(lambda: is_fenced(pair.old), 60, what="the source is fenced")
    process.kill()
    process.communicate(timeout=60)
    assert is_fenced(pair.old) and is_fenced(pair.new)
    assert "interrupted: run that command again" in move(pair.new, pair.old, status=1)
    assert "switch is not complete" in move(pair.old, pair.new, "--finish", status=1)
    move(pair.old, pair.new)
    assert is_fenced(pair.old) and not is_fenced(pair.new)
    load.wait_more()
    load.end()
    check_same(pair, pair.new, pair.old)


def end_sessions_of(process, uri):
    """Of that command, at that server."""
    assert sql(uri, "SELECT count(pg_terminate_backend(l.pid)) FROM pg_locks l WHERE locktype='advisory'"
                    " AND database=(SELECT oid FROM pg_database WHERE datname=current_database())") == "1"
    assert process.poll() is None


def test_a_move_that_is_held_up_in_the_switch_keeps_others_away(pair, receiver):  # noqa: F811
    """It has lost one of its connections, and does not know. Whatever step it takes next, no other
    command may have taken one meanwhile: both sides could be open."""
    load = Load(pair, receiver)
    make_switch_slow(pair)
    process = begin(pair.old, pair.new)
    eventually(lambda: is_fenced(pair.old), 60, what="the source is fenced")
    process.send_signal(signal.SIGSTOP)
    try:
        end_sessions_of(process, pair.new)
        said = move(pair.old, pair.new, status=1)
        assert "--store: another move of this database is running" in said
        assert is_fenced(pair.old) and is_fenced(pair.new)
    finally:
        process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert not is_fenced(pair.old) and is_fenced(pair.new)
    move(pair.old, pair.new)
    assert is_fenced(pair.old) and not is_fenced(pair.new)
    load.wait_more()
    load.end(may_come_twice=True)  # leases end while no database can be written
    check_same(pair, pair.new, pair.old)


def test_a_switch_that_would_take_too_long_is_taken_back(pair, receiver):  # noqa: F811
    load = Load(pair, receiver)
    make_switch_slow(pair)
    said = move(pair.old, pair.new)
    assert said.count("switching") >= 2
    assert said.index("--store is in use again") < said.index("2 of 2 nodes use --to")
    load.wait_more()
    load.end()
    check_same(pair, pair.new, pair.old)


def test_a_switch_that_was_killed_is_shown(pair, receiver):  # noqa: F811
    node = pair.cluster.start("a")
    Account(node, receiver.url)
    make_switch_slow(pair)
    process = begin(pair.old, pair.new)
    eventually(lambda: is_fenced(pair.old), 60, what="the source is fenced")
    process.send_signal(signal.SIGSTOP)
    assert shown(pair.uri, status=1)[0] == ["away: a move switches"]
    process.kill()
    process.communicate(timeout=60)
    eventually(lambda: shown(pair.uri, status=1)[0] ==
               ["away: a move was stopped in the switch: run the same postbackd move again"], 30)
    move(pair.old, pair.new)
    assert shown(pair.uri)[0][0].startswith("moved, kept up to date at ")

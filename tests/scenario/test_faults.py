"""What the machine does to the daemon: a disk that fails or is full, a clock that jumps, no
descriptors left, SIGTERM, a second daemon, a backup in the middle of it all."""
import contextlib
import datetime
import http.client
import json
import os
import resource
import socket
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

import pytest

import inside
from harness import BINARY, OPERATOR_KEY, Account, Daemon, Receiver, eventually
from load import World, assert_feed, assert_reports, check, feed
from private import private_disk
from shim import Clock, shimmed

SEED = 20261121


def cpu_seconds(process):
    fields = Path("/proc/%d/stat" % process.pid).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def assert_rests(process, seconds=0.8):
    """Once it has applied what it took the daemon uses next to no time: a loop that spins never
    rests."""

    def rests():
        before = cpu_seconds(process)
        time.sleep(seconds)
        return cpu_seconds(process) - before < seconds / 3

    eventually(rests, what="the daemon rests")


def posted(d, event):
    """The status of the answer, or None where there was none."""
    try:
        answer = d.api().post("/api/v1/events", event, timeout=30)
    except (OSError, http.client.HTTPException):
        return None
    if answer.status in (429, 503):
        assert int(answer.headers["Retry-After"]) > 0
    return answer.status


# --- the disk -----------------------------------------------------------------------------------

@pytest.mark.sqlite("its journal on a failing disk")
@pytest.mark.parametrize("fault", ["sync", "write", "full"])
def test_a_failing_journal_ends_the_process_and_loses_nothing(tmp_path, fault):
    control = tmp_path / "fault"
    world = World(tmp_path / "d", SEED, env=shimmed(SHIM_DISK=control))
    try:
        d = world.daemon
        eventually(lambda: len(world.acknowledged) > 100, 60)
        before = len(world.acknowledged)
        control.write_text(fault)
        world.kills.append(time.time())
        account = world.accounts["ok"]
        assert posted(d, account.event("after-the-fault")) in (None, 503, 429)
        eventually(lambda: d.process.poll() is not None, 30, what="the process ends")
        assert d.process.returncode not in (0, None)
        assert "store_failed" in d.log_text()
        control.unlink()
        world.kills.append(time.time())
        d.start()
        eventually(lambda: len(world.acknowledged) > before + 100, 30, what="work goes on")
        world.finish()
        api = d.api()
        found = api.events(account.event("after-the-fault"))
        # It was never acknowledged; whether it is there is for the store to say, not for us.
        assert found["Accepted"] + found["Duplicates"] == 1
        world.acknowledged["after-the-fault"] = dict(
            account.event("after-the-fault"), Timestamp=stamp_of(feed(world, account), "after-the-fault"))
        check(world)
        assert d.stop() == 0
    finally:
        world.close()


@pytest.mark.sqlite("its journal")
def test_a_torn_last_group_is_dropped_and_told(own_daemon):
    """What was written last cannot be told from what was being written: whoever restores wants to know of it."""
    d = own_daemon.start()
    a = Account(d)
    locker = sqlite3.connect(d.directory / "store" / "postbackd.db", timeout=30, isolation_level=None)
    locker.execute("BEGIN IMMEDIATE")  # what comes stays in the journal alone
    for event_id in ("whole", "torn"):
        d.api().events([a.event(event_id)])
    d.kill()
    locker.close()
    at, segment = next((data.index(b"torn"), path) for path in sorted((d.directory / "store" / "journal").iterdir())
                       if b"torn" in (data := path.read_bytes()))
    with open(segment, "r+b") as f:
        f.seek(at)
        f.write(b"TORN")
    d.start()
    said = [json.loads(line) for line in d.log_text().splitlines() if '"journal_tail_dropped"' in line]
    assert [(s["level"], s["offset"], s["bytes"]) for s in said] == [("warning", at // 4096 * 4096, 4096)]
    assert [d.api().get("/api/v1/callbacks/" + e, query={"partnerId": a.partner_id}).status for e in ("whole", "torn")] == [200, 404]
    d.api().events([a.event("over-it")])
    d.restart()
    assert d.log_text().count("journal_tail_dropped") == 1


def stamp_of(rows, event_id):
    return next(row["Timestamp"] for row in rows if row["RewardId"] == event_id)


@pytest.mark.sqlite("its directory on a full disk")
def test_a_full_disk_refuses_clearly_and_recovers(tmp_path):
    """80 MB are room for one journal segment and little more; then somebody gives it 500."""
    with private_disk(tmp_path / "small", 80 << 20) as resize:
        d = Daemon(tmp_path / "small", "--reads-per-minute", "100000").start()
        account = Account(d)  # nothing to send: this is about the disk
        acknowledged, status = [], 202

        def batch():
            n = len(acknowledged)
            return [account.event("f%d" % i, SessionId="s" * 1000) for i in range(n, n + 3000)]

        while status == 202:
            assert len(acknowledged) < 100000, "80 MB took 100,000 events of 1 KB"
            events = batch()
            status = posted(d, events)
            if status == 202:
                acknowledged += [e["EventId"] for e in events]
        assert status in (None, 429, 503) and acknowledged

        def unready():
            return d.process.poll() is not None or d.api().get("/readyz", key=None).status == 503

        eventually(unready, 30, what="not ready, or ended")
        if d.process.poll() is None:
            assert_rests(d.process)
            assert d.api().get("/healthz", key=None).status == 200
        resize(500 << 20)
        eventually(lambda: d.process.poll() is not None or d.api().get("/readyz", key=None).status == 200, 60)
        if d.process.poll() is not None:
            assert d.process.returncode != 0
            d.start()
        eventually(lambda: d.api().get("/readyz", key=None).status == 200, 30, what="ready again")
        events = batch()
        eventually(lambda: posted(d, events) == 202, 30, 0.2, what="takes events again")
        acknowledged += [e["EventId"] for e in events]
        d.kill()
        d.start()
        yesterday = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86400))
        rows = d.api().get("/api/v1/reports/conversions", query={
            "partnerId": account.partner_id, "startDate": yesterday}).json["Rows"]
        assert sum(row["Conversions"] for row in rows) == len(acknowledged)
        for event_id in acknowledged[::997]:
            assert d.api().callback(event_id, account.partner_id)["State"] == "skipped"
        assert d.stop() == 0


def fill_up(file):
    with open(file, "ab", buffering=0) as f:
        for size in (1 << 16, 1 << 12):
            with contextlib.suppress(OSError):
                while True:
                    f.write(b"x" * size)


@pytest.mark.sqlite("its directory on a full disk")
def test_on_a_full_disk_callbacks_go_on_and_are_sent_once(tmp_path, receiver):
    """So does a process that begins there, behind one that was killed."""
    receiver.answer = lambda request: 404
    with private_disk(tmp_path / "full", 160 << 20):
        d = Daemon(tmp_path / "full", schedule=",".join(["2s"] * 8 + ["10s"] * 23)).start()
        account = Account(d, receiver.url)
        ids = ["f%d" % i for i in range(50)]
        ballast = tmp_path / "full" / "ballast"

        def refused():
            fill_up(ballast)  # segments of the journal may have been made, or given back
            return posted(d, account.event("refused")) == 503

        d.api().events([account.event(i) for i in ids])
        eventually(lambda: set(receiver.ids()) == set(ids))
        eventually(refused, 30, 0.3)
        assert d.api().get("/readyz", key=None).status == 503
        taken = []
        receiver.answer = lambda request: taken.append(request.json["RewardId"]) or 200
        eventually(lambda: set(taken) >= set(ids))  # "refused" may have been early
        # What they are now can be read once there is room. A setting is durable behind their outcomes.
        eventually(lambda: d.metrics()["postbackd_attempts_in_flight"] == 0)
        account.patch(Name="A full disk takes settings")
        d.kill()
        d.start(wait_ready=False)
        eventually(refused, 30, 0.3)
        ballast.unlink()
        eventually(lambda: d.api().get("/readyz", key=None).status == 200, 60)
        assert posted(d, account.event("taken")) == 202
        receiver.wait_for("taken")
        for i in ids:
            found = d.api().wait_state(i, account.partner_id, "delivered")
            assert [a["Status"] for a in found["Attempts"]][-2:] == [404, 200], found
        assert sorted(i for i in taken if i != "refused") == sorted([*ids, "taken"])
        assert d.stop() == 0


@pytest.mark.sqlite("its directory on a full disk")
def test_an_erasure_that_waits_for_room_keeps_no_daemon_from_starting(tmp_path, receiver):
    """Callbacks of others go on. Nothing is sent with an id whose erasure waits, nor afterwards."""
    hidden = {"erase-me", "me-too"}
    receiver.answer = lambda request: 404
    (tmp_path / "d").mkdir()
    with private_disk(tmp_path / "d" / "store", 160 << 20):
        d = Daemon(tmp_path / "d", schedule=",".join(["5s"] * 20)).start()
        account = Account(d, receiver.url)
        query = {"partnerId": account.partner_id}
        ballast = tmp_path / "d" / "store" / "ballast"

        def some(kind):
            return [account.event("%s-%s" % (kind, who), kind + "_completed", PanelistId=who)
                    for who in ("erase-me", "me-too", "a", "b", "c")]

        def sent(begin=0):
            return {request.json["RewardId"] for request in receiver.requests[begin:]}

        def ask_to_erase(who, number):
            def ask():
                with contextlib.suppress(OSError, http.client.HTTPException):
                    d.api().post("/api/v1/panelists/erase", {"PanelistId": who}, query=query)

            asking = threading.Thread(target=ask)
            asking.start()
            journal = tmp_path / "d" / "store" / "journal"  # has the name that takes the id's place
            eventually(lambda: sum(path.read_bytes().count(b"erased-") for path in journal.iterdir()) == number, 10, 0.2,
                       what="the erasure is recorded")
            return asking

        def killed_and_started(answer):
            fill_up(ballast)
            d.kill()
            asking.join()
            begin = len(receiver.requests)
            receiver.answer = answer
            due = max(request.at for request in receiver.requests) + 6  # 5 s, a tenth more, and the answer
            eventually(lambda: time.time() > due, what="all are due")
            fill_up(ballast)
            d.start(wait_ready=False)
            return begin

        d.api().events(some("survey"))
        eventually(lambda: len(sent()) == 5 and d.metrics()["postbackd_store_memtable_events"] == 0)
        eventually(lambda: inside.rows(d, "SELECT count(*) FROM event WHERE failed_attempts>0") == [("5",)],
                   what="the outcomes of the surveys are in the database, too")
        d.api().events(some("offer"))
        fill_up(ballast)  # the offers are in the journal only
        eventually(lambda: len(sent()) == 10)
        asking = ask_to_erase("erase-me", 1)
        begin = killed_and_started(lambda request: 404 if request.json["PanelistId"] in hidden else 200)
        others = {"%s-%s" % (kind, who) for kind in ("survey", "offer") for who in ("me-too", "a", "b", "c")}
        eventually(lambda: sent(begin) == others)
        asking = ask_to_erase("me-too", 2)
        begin = killed_and_started(lambda request: 200)
        eventually(lambda: d.metrics()["postbackd_store_accepting"] == 0, what="it runs, and has no room")
        assert d.process.poll() is None and sent(begin) <= {i for i in others if "me-too" not in i}
        ballast.unlink()
        eventually(lambda: d.api().get("/readyz", key=None).status == 200, 60)
        for kind in ("survey", "offer"):
            for who in ("erase-me", "me-too"):
                found = d.api().wait_state("%s-%s" % (kind, who), account.partner_id, "skipped")
                assert found["PanelistId"] not in hidden and found["Body"] is None
            for who in ("a", "b", "c"):
                d.api().wait_state("%s-%s" % (kind, who), account.partner_id, "delivered")
        d.api().events([account.event("again", PanelistId="erase-me")])
        receiver.wait_for("again")
        assert sent(begin) <= {i for i in others if "me-too" not in i} | {"again"}
        assert d.stop() == 0


@pytest.mark.sqlite("its directory on a full disk")
@pytest.mark.parametrize("kib,meets", [(100, "SQLite: database or disk is full (13) at: COMMIT"), (160, "postbackd.db: disk full")])
def test_a_start_on_a_full_disk_says_what_to_do(tmp_path, kib, meets):
    with private_disk(tmp_path / "tiny", kib << 10):
        done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--store", "sqlite:%s/store" % (tmp_path / "tiny")],
                              env={**os.environ, "POSTBACKD_OPERATOR_KEY": OPERATOR_KEY}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "tiny/store is full: free some space on it, then start again (" in done.stderr and meets in done.stderr


# --- the clock ----------------------------------------------------------------------------------

@pytest.mark.parametrize("jumps", [(3 * 86400, -3 * 86400), (-86400, 86400), (5400, -7200)])
def test_a_clock_that_jumps_neither_stalls_nor_spins(tmp_path, jumps):
    clock = Clock(tmp_path / "clock")
    seen = {}

    def refuse_first(request):
        reward_id = request.json["RewardId"]
        seen[reward_id] = seen.get(reward_id, 0) + 1
        return 404 if reward_id.startswith("waits") and seen[reward_id] == 1 else 200

    receiver = Receiver(refuse_first)
    d = Daemon(tmp_path / "d", "--loops", "2", schedule="1s,1s,1s,1s,1s,1s",
               env=shimmed(SHIM_CLOCK=tmp_path / "clock")).start()
    account, api = Account(d, receiver.url), d.api()
    days = {}
    for i, jump in enumerate(jumps):
        waits, fresh = "waits-%d" % i, "fresh-%d" % i
        api.events(account.event(waits))
        days[waits] = clock.now()
        eventually(lambda: api.callback(waits, account.partner_id)["Attempts"])
        clock.jump(jump)
        api.events(account.event(fresh, Timestamp=clock.now().isoformat()))
        days[fresh] = clock.now()
        api.wait_state(fresh, account.partner_id, "delivered")
        found = api.wait_state(waits, account.partner_id, "delivered", 30)
        assert len(found["Attempts"]) == 2, found
        assert_rests(d.process)
    for event_id, at in days.items():
        found = api.callback(event_id, account.partner_id)
        stamp = datetime.datetime.fromisoformat(found["Timestamp"].replace("Z", "+00:00"))
        assert abs((stamp - at).total_seconds()) < 30
    rows = api.get("/api/v1/reports/conversions", query={
        "partnerId": account.partner_id, "endDate": (clock.now() + datetime.timedelta(4)).strftime("%Y-%m-%d"),
        "startDate": (clock.now() - datetime.timedelta(5)).strftime("%Y-%m-%d")}).json["Rows"]
    wanted = {}
    for event_id in days:
        day = api.callback(event_id, account.partner_id)["Timestamp"][:10]
        wanted[day] = wanted.get(day, 0) + 1
    assert {row["Day"]: row["Conversions"] for row in rows} == wanted
    assert d.stop() == 0
    receiver.close()


def test_a_recovery_up_to_now_has_what_is_dated_a_little_ahead(tmp_path):
    """The clock is put back by less than what takes times of acceptance with it."""
    clock = Clock(tmp_path / "clock")
    d = Daemon(tmp_path / "d", env=shimmed(SHIM_CLOCK=tmp_path / "clock")).start()
    account, api = Account(d), d.api()
    api.events(account.event("before"))
    clock.jump(-4)
    api.events(account.event("held"))
    hour = datetime.timedelta(hours=1)
    answer = api.post("/api/v1/callbacks/recover", query={"partnerId": account.partner_id}, body={
        "From": (clock.now() - hour).isoformat(), "To": (clock.now() + hour).isoformat(), "States": ["skipped"]})
    assert answer.status == 202 and answer.json["Matched"] == 2, answer
    assert d.stop() == 0


def test_a_clock_put_right_again_is_believed(tmp_path):
    """What came while it was days ahead does not date or delay what comes afterwards."""
    clock, receiver = Clock(tmp_path / "clock"), Receiver()
    d = Daemon(tmp_path / "d", env=shimmed(SHIM_CLOCK=tmp_path / "clock")).start()
    account, api = Account(d, receiver.url), d.api()

    def created(event_id):
        found = api.callback(event_id, account.partner_id)["CreatedAt"]
        return datetime.datetime.fromisoformat(found.replace("Z", "+00:00"))

    def listed(begin, end):
        answer = api.get("/api/v1/callbacks", query={"partnerId": account.partner_id, "from": begin.isoformat(),
                                                     "to": end.isoformat()})
        return [item["RewardId"] for item in answer.json["Items"]]

    hour = datetime.timedelta(hours=1)
    api.events(account.event("before"))
    clock.jump(3 * 86400)
    api.events(account.event("ahead", Timestamp=clock.now().isoformat()))
    api.wait_state("ahead", account.partner_id, "delivered")
    clock.jump(-3 * 86400)
    account.patch(Enabled=False)
    api.events([account.event("after-%d" % i) for i in range(3)])
    right = clock.now()
    for _ in range(2):
        assert abs(created("after-0") - right) < hour and created("ahead") - right > 70 * hour
        assert listed(right - hour, right + hour) == ["after-2", "after-1", "after-0", "before"]
        assert listed(right + hour, right + 100 * hour) == ["ahead"]
        d.kill()
        d.start()
        api = d.api()
    assert "acceptance_goes_back" in d.log_text()
    account.patch(Enabled=True)
    for i in range(3):
        api.wait_state("after-%d" % i, account.partner_id, "delivered", 30)
    feed = api.get("/api/v1/rewards", query={"partnerId": account.partner_id}).json["Items"]
    assert [row["RewardId"] for row in feed] == ["before", "ahead", "after-0", "after-1", "after-2"]
    assert d.stop() == 0
    receiver.close()


# --- descriptors --------------------------------------------------------------------------------

def test_without_descriptors_it_waits_and_recovers(own_daemon, receiver):
    d = own_daemon.start()
    account, api = Account(d, receiver.url), d.api()
    kept = http.client.HTTPConnection("127.0.0.1", d.port, timeout=10)
    kept.request("GET", "/healthz")
    kept.getresponse().read()
    open_now = len(os.listdir("/proc/%d/fd" % d.process.pid))
    hard = resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (open_now + 8, hard))
    crowd = [socket.create_connection(("127.0.0.1", d.port)) for _ in range(40)]
    eventually(lambda: set(map(str, range(open_now + 8))) <= set(os.listdir("/proc/%d/fd" % d.process.pid)),
               what="no descriptor is left")
    # Who is connected is served; an event is stored, its callback waits for a descriptor.
    kept.request("POST", "/api/v1/events", json.dumps(account.event("no-descriptor")),
                 {"Authorization": "Bearer " + OPERATOR_KEY, "Content-Type": "application/json"})
    assert kept.getresponse().read().startswith(b'{"Accepted":1')
    assert_rests(d.process)
    assert d.process.poll() is None
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (hard, hard))
    for s in crowd:
        s.close()
    kept.close()
    eventually(lambda: posted(d, account.event("descriptors-again")) == 202, what="accepts again")
    for event_id in ("no-descriptor", "descriptors-again"):
        api.wait_state(event_id, account.partner_id, "delivered", 30)


# --- life ---------------------------------------------------------------------------------------

def test_sigterm_under_load_loses_and_repeats_nothing(tmp_path):
    world = World(tmp_path / "d", SEED + 1)
    try:
        for loops in ("1", "3"):
            time.sleep(1)
            assert world.daemon.stop() == 0
            world.daemon.options = ["--reads-per-minute", "100000", "--loops", loops]
            world.daemon.start()
        time.sleep(0.5)
        world.finish()
        _, duplicates, _ = check(world)  # no kill: any duplicate at all fails it
        assert duplicates == 0
        assert world.daemon.stop() == 0
    finally:
        world.close()


@pytest.mark.sqlite("one daemon to a directory")
def test_a_second_daemon_on_the_store_is_refused_in_one_line(own_daemon):
    d = own_daemon.start()
    env = dict(os.environ, POSTBACKD_OPERATOR_KEY=OPERATOR_KEY)
    second = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--store", d.store()],
                            env=env, capture_output=True, text=True, timeout=60)
    assert second.returncode == 1 and second.stdout == ""
    lines = [line for line in second.stderr.splitlines() if "master_key_from_file" not in line]
    assert len(lines) == 1 and str(d.directory / "store") in lines[0], second.stderr
    assert d.api().get("/readyz", key=None).status == 200


def backup(d, file):
    return subprocess.run([BINARY, "backup", "--store", "sqlite:%s" % (d.directory / "store"), str(file)],
                          capture_output=True, text=True, timeout=60)


def restored(world, directory, file):
    """A daemon on the copy; it may send nothing, the first one does that."""
    (directory / "store").mkdir(parents=True)
    os.rename(file, directory / "store" / "postbackd.db")
    key = world.daemon.directory / "store" / "master.key"
    (directory / "store" / "master.key").write_bytes(key.read_bytes())
    os.chmod(directory / "store" / "master.key", 0o600)
    return Daemon(directory, "--reads-per-minute", "100000", allow=()).start()


@pytest.mark.sqlite("postbackd backup")
def test_a_backup_holds_what_was_acknowledged_when_it_began(tmp_path):
    world = World(tmp_path / "d", SEED + 2)
    running = world.daemon
    try:
        eventually(lambda: len(world.acknowledged) > 300)
        before = dict(world.acknowledged)
        done = backup(running, tmp_path / "under-load.db")
        assert done.returncode == 0, done
        assert (tmp_path / "under-load.db").stat().st_mode & 0o077 == 0
        again = backup(running, tmp_path / "under-load.db")
        assert again.returncode == 1 and len(again.stderr.splitlines()) == 1, again
        time.sleep(0.3)
        world.finish()
        stored, _, _ = check(world)
        originals = {**world.acknowledged, **world.unanswered}
        done = backup(running, tmp_path / "settled.db")
        assert done.returncode == 0, done

        copy = world.daemon = restored(world, tmp_path / "c1", tmp_path / "under-load.db")
        rows = [row for account in world.accounts.values() for row in feed(world, account)]
        ids = {row["RewardId"] for row in rows}
        assert len(ids) == len(rows) and ids <= originals.keys()
        owed = {i for i, e in before.items() if e["Type"] != "survey_started"}
        assert len(owed) > 100 and owed <= ids
        assert copy.stop() == 0

        world.daemon = running
        copy = restored(world, tmp_path / "c2", tmp_path / "settled.db")
        world.daemon = copy
        assert assert_feed(world, originals).keys() == stored.keys()
        assert_reports(world, stored, originals)
        answer = copy.api().events(list(world.acknowledged.values())[:500])
        assert answer["Duplicates"] == len(list(world.acknowledged.values())[:500])
        assert copy.stop() == 0
        world.daemon = running
        assert running.stop() == 0
    finally:
        for d in {running, world.daemon}:
            if d.process.poll() is None:
                d.kill()
        world.close()

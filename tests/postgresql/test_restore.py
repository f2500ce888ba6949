"""The server's own backup: a base backup taken under load, its log archived, and the database as it
was at a point of time, on another server, when the first one is gone. docs/operators/backup.md says
how; this does it."""
import shutil
import tempfile
from pathlib import Path

import pytest
from harness import Account, eventually
from postgresql import Cluster, new_database, sql
from test_database import Operator


class Archived(Cluster):
    """Each finished piece of its log is copied to `archive`."""

    def __init__(self, archive):
        super().__init__(archive_mode="on", archive_command="test ! -f {0}/%f && cp %p {0}/%f".format(archive))


class Restored(Cluster):
    """A base backup and an archive, brought up to a point of time."""

    def __init__(self, backup, archive, until):
        self.backup = backup
        super().__init__(restore_command="cp %s/%%f %%p" % archive, recovery_target_time=until,
                         recovery_target_action="promote")

    def make(self):
        shutil.copytree(self.backup, self.data)
        Path(self.data, "recovery.signal").touch()
        for path in [Path(self.data), *Path(self.data).rglob("*")]:
            if self.user:
                shutil.chown(path, self.user, self.user)


@pytest.fixture
def store():
    """A folder that both servers may use, as an archive on another machine would be."""
    folder = Path(tempfile.mkdtemp(prefix="postbackd-archive-"))
    folder.chmod(0o777)
    (folder / "wal").mkdir()
    (folder / "wal").chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def database():
    """Said later: of one server, and then of another."""


def log_archived(uri):
    """All of the log until now is in the archive."""
    last = sql(uri, "SELECT pg_walfile_name(pg_switch_wal())")
    eventually(lambda: sql(uri, "SELECT last_archived_wal >= '%s' FROM pg_stat_archiver" % last) == "t", 60)


def reports(daemon, account):
    return [daemon.api().get("/api/v1/reports/" + name, query={"partnerId": account.partner_id}).json["Rows"]
            for name in ("earnings", "arpdau", "survey-attempts", "conversions", "active-panelist")]


def test_nothing_acknowledged_up_to_the_point_is_lost(store, database_daemon, receiver):
    first, restored = Archived(store / "wal").start(), None
    daemon = database_daemon
    try:
        daemon.uri = new_database(first.uri(), "postbackd")
        daemon.start()
        account = Account(daemon, receiver.url)
        operator = Operator(daemon, account)
        operator.start()
        eventually(lambda: len(operator.acknowledged) > 200, 60)
        first.run("pg_basebackup", "-D", str(store / "base"), "-d", "host=%s user=postgres" % first.folder,
                  "-X", "none", "-c", "fast", "--no-sync")
        taken = len(operator.acknowledged)
        eventually(lambda: len(operator.acknowledged) > taken + 200, 60)
        operator.end()
        wanted = reports(daemon, account)
        point = sql(first.uri(), "SELECT clock_timestamp()")
        late = [account.event("late-%d" % i) for i in range(50)]
        daemon.api().events(late)
        assert reports(daemon, account) != wanted
        log_archived(first.uri())
        daemon.kill()
        first.kill()
        shutil.rmtree(first.data)

        restored = Restored(store / "base", store / "wal", point).start()
        eventually(lambda: sql(restored.uri(), "SELECT pg_is_in_recovery()") == "f", 60)
        daemon.uri = restored.uri("postbackd")
        daemon.start()
        assert reports(daemon, account) == wanted
        ids = operator.acknowledged
        assert int(sql(restored.uri("postbackd"), "SELECT count(*) FROM event")) == len(ids)
        # What came later is not known: its senders repeat it, and it is taken once.
        answer = daemon.api().events(late + late)
        assert (answer["Accepted"], answer["Duplicates"]) == (len(late), len(late))
        wanted_ids = set(ids) | {event["EventId"] for event in late}

        def all_delivered():
            n = daemon.metrics()
            return (n["postbackd_callbacks_pending"], n["postbackd_callbacks_delivered_total"]) == (0, len(wanted_ids))

        eventually(all_delivered, 60)
        assert wanted_ids <= set(receiver.ids())
    finally:
        daemon.stop()
        first.remove()
        if restored:
            restored.remove()

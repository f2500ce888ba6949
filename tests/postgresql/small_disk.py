"""A PostgreSQL server that has its files, or some of them, on a small disk which a test can fill."""
import contextlib
import os
import shutil

import postgresql
from private import private_disk

ROOMY = 1 << 30
# Small segments: when the disk is full, the log is at its end soon.
SETTINGS = {"min_wal_size": "2MB", "max_wal_size": "16MB"}


class SmallDiskServer(postgresql.Cluster):
    """on: what is on the disk: `data` (all but the log), `log` (pg_wal alone), or `all`.

    Made, used and removed by one thread, whose mount namespace has the disk."""

    def __init__(self, on):
        self.on = on
        self.mounted = contextlib.ExitStack()
        super().__init__(**SETTINGS)

    def make(self):
        self.disk = self.folder / "disk"
        self.resize = self.mounted.enter_context(private_disk(self.disk, ROOMY))
        shutil.chown(self.disk, self.user, self.user)
        self.data = str((self.folder if self.on == "log" else self.disk) / "data")
        log = (self.folder if self.on == "data" else self.disk) / "log_segments"
        self.run("initdb", "-D", self.data, "-X", str(log), "-U", "postgres", "-A", "trust",
                 "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--wal-segsize=1")

    def fill(self):
        """No byte more fits. Called again it takes what the server has given back meanwhile."""
        while True:
            found = os.statvfs(self.disk)
            try:
                return self.resize((found.f_blocks - found.f_bfree) * found.f_frsize)
            except OSError:  # something was written in between
                continue

    def runs(self):
        return self.process.poll() is None

    def make_room(self):
        """And starts the server where it has ended, as its service would: one that cannot write its
        log does."""
        self.resize(ROOMY)
        self.process.poll()
        if not self.answers():
            with contextlib.suppress(Exception):
                self.process.wait(10)  # or it is about to come back by itself
            if not self.runs():
                self.start()

    def remove(self):
        super().remove()
        self.mounted.close()

#!/usr/bin/env python3
"""A PostgreSQL of the test's own: Debian's, in a temporary folder, on a Unix socket, gone afterwards.

    postgresql.py run COMMAND...    runs COMMAND with SCENARIO_POSTGRESQL set to the server's URI; where
                                    it is set already, on that server: in its database `postgres` or
                                    whichever the URI names, and in databases made beside it
    postgresql.py new NAME          inside of it: makes a database, and prints its URI
"""
import atexit
import glob
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

# What a daemon keeps open is about ten connections; tests run some daemons one after the other.
SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "128MB",
    "max_connections": "100",
    "log_min_messages": "warning",
}


def tools():
    """The folder of the newest server that is installed."""
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    if not found:
        raise RuntimeError("no PostgreSQL server is installed (Debian's package postgresql)")
    return Path(max(found, key=lambda path: int(path.split("/")[4]))).parent


class Cluster:
    """One server. PostgreSQL refuses to run as root: then it runs as the user its package made."""

    def __init__(self, where=None, **settings):
        self.settings = dict(SETTINGS, **settings)
        # In memory where that can be had: a sync then costs nothing, and is made all the same.
        shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="postbackd-pg-", dir=where or shm))
        self.user = "postgres" if os.getuid() == 0 else None
        self.process = None
        atexit.register(self.remove)
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        self.folder.chmod(0o755)
        self.data = str(self.folder / "data")
        self.make()

    def make(self):
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust",
                 "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")

    def run(self, tool, *words):
        done = subprocess.run([str(tools() / tool), *words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, cwd="/", user=self.user, group=self.user,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError("%s: %s" % (tool, done.stdout.decode(errors="replace")))
        return done.stdout.decode()

    def start(self):
        words = [str(tools() / "postgres"), "-D", self.data,
                 "-c", "unix_socket_directories=%s" % self.folder]
        for name, value in self.settings.items():
            words += ["-c", "%s=%s" % (name, value)]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, cwd="/", user=self.user,
                                            group=self.user)
        deadline = time.monotonic() + 60
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("PostgreSQL does not start: " +
                                   (self.folder / "log").read_text(errors="replace")[-2000:])
            time.sleep(0.05)
        return self

    def answers(self):
        return subprocess.run([str(tools() / "pg_isready"), "-q", "-h", str(self.folder)],
                              check=False).returncode == 0

    def signal(self, number):
        """To the whole server: the postmaster, and all that it has forked."""
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], stdout=subprocess.PIPE,
                                  check=False).stdout.split()
        self.process.send_signal(number)
        for child in children:
            try:
                os.kill(int(child), number)
            except ProcessLookupError:
                pass

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # ends its clients' connections
            self.process.wait(60)

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def uri(self, database="postgres"):
        return "postgresql://postgres@/%s?host=%s" % (database, quote(str(self.folder), safe=""))


class Replica(Cluster):
    """Follows another one, which knows it as `replica`, until it is promoted."""

    def __init__(self, primary, **settings):
        self.primary = primary
        super().__init__(primary_conninfo="host=%s user=postgres application_name=replica" % primary.folder,
                         **settings)

    def make(self):
        self.run("pg_basebackup", "-D", self.data, "-d", "host=%s user=postgres" % self.primary.folder,
                 "-X", "stream", "-c", "fast", "--no-sync")
        Path(self.data, "standby.signal").touch()

    def promote(self):
        sql(self.uri(), "SELECT pg_promote()")


# Met by a statement that is right, because of what a daemon or a server process does at that moment: a
# deadlock, a database whose last connection is just being closed, a row of the catalog two change, a
# switch of `postbackd move`, which ends all sessions.
AGAIN = re.compile(rb"ERROR:  (40001|40P01|55006|XX000: tuple concurrently updated)|FATAL:  57P01"
                   rb"|FATAL:  terminating connection")  # before it has connected


def sql(uri, text):
    """What psql prints, without decoration. `text` is one transaction: one that was refused for what
    others do meanwhile has done nothing, and is done again."""
    for _ in range(20):
        done = subprocess.run([str(tools() / "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose",
                               "-c", text, uri], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode == 0:
            return done.stdout.decode().strip()
        if not AGAIN.search(done.stdout):
            break
    raise RuntimeError("psql: " + done.stdout.decode(errors="replace"))


class Session:
    """A psql that stays, so that a transaction of the test's may."""

    def __init__(self, uri):
        self.process = subprocess.Popen(
            [str(tools() / "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", uri], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def say(self, text):
        """The first line of the answer, which there must be."""
        self.begin_to_say(text)
        return self.hear()

    def begin_to_say(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def hear(self):
        return self.process.stdout.readline().rstrip("\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()


def beside(uri, name):
    """Another database of that server."""
    start, query = (uri.split("?", 1) + [""])[:2]
    scheme, rest = start.split("://", 1)
    return "%s://%s/%s%s" % (scheme, rest.split("/", 1)[0], name, "?" + query if query else "")


def new_database(uri, name):
    """Makes an empty database beside the one of `uri`; its URI."""
    sql(uri, 'CREATE DATABASE "%s"' % name)
    return beside(uri, name)


def drop_database(uri):
    """Whoever still uses it."""
    sql(beside(uri, "postgres"), 'DROP DATABASE "%s" WITH (FORCE)' % urlsplit(uri).path[1:])


def dump(uri):
    """Every value of every table, as pg_dump prints them, bytes as they are."""
    done = subprocess.run([str(tools() / "pg_dump"), "--data-only", "--inserts", uri],
                          stdout=subprocess.PIPE, check=True)
    return re.sub(rb"'\\x([0-9a-f]*)'", lambda found: bytes.fromhex(found[1].decode()), done.stdout)


def main(words):
    if words[:1] == ["new"] and len(words) == 2:
        print(new_database(os.environ["SCENARIO_POSTGRESQL"], words[1]))
        return 0
    if len(words) < 2 or words[0] != "run":
        sys.exit(__doc__)
    if os.environ.get("SCENARIO_POSTGRESQL"):
        return subprocess.run(words[1:], check=False).returncode
    cluster = Cluster().start()
    try:
        return subprocess.run(words[1:], env=dict(os.environ, SCENARIO_POSTGRESQL=cluster.uri()),
                              check=False).returncode
    finally:
        cluster.remove()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

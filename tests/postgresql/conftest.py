"""A PostgreSQL server for the tests of this folder: one that they may stop, kill and start again."""
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scenario"))

import postgresql  # noqa: E402  (of the folder above)
from harness import Receiver, eventually  # noqa: E402
from nodes import Cluster, DatabaseDaemon  # noqa: E402  (of this folder)


numbers = itertools.count(1)  # a database's name is short: the tests' may begin alike


@pytest.fixture(scope="module")
def server():
    cluster = postgresql.Cluster().start()
    yield cluster
    cluster.remove()


@pytest.fixture
def database(server, request):
    return postgresql.new_database(server.uri(), "%.50s_%d" % (request.node.name, next(numbers)))


@pytest.fixture
def database_daemon(tmp_path, database):
    d = DatabaseDaemon(tmp_path, database)
    yield d
    d.stop()


@pytest.fixture
def cluster(tmp_path, database):
    """Daemons on one database."""
    found = Cluster(tmp_path, database)
    yield found
    found.stop()


@pytest.fixture
def receiver():
    r = Receiver()
    yield r
    r.close()


@pytest.fixture
def pooler(server, database, tmp_path):
    """PgBouncer in transaction mode before the server, each transaction on another of its connections;
    the URI of `database` through it."""
    folder = server.folder / "pooler"
    folder.mkdir()
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "ini").write_text("\n".join((
        "[databases]",
        "* = host=%s" % server.folder,
        "[pgbouncer]",
        "listen_addr =",
        "unix_socket_dir = %s" % folder,
        "auth_type = trust",
        "auth_file = %s/users" % folder,
        "pool_mode = transaction",
        "default_pool_size = 3",
        "server_round_robin = 1",
        "query_wait_timeout = 2",  # as the page says, and sooner
        "ignore_startup_parameters = extra_float_digits",
        "logfile = %s/log" % folder,
        "")))
    if server.user:
        subprocess.run(["chown", "-R", server.user, str(folder)], check=True)
    with open(tmp_path / "pooler.log", "ab") as log:
        process = subprocess.Popen(["/usr/sbin/pgbouncer", str(folder / "ini")], stdout=log,
                                   stderr=log, user=server.user, group=server.user)
    eventually(lambda: os.path.exists(folder / ".s.PGSQL.6432"), 30)
    name = database.split("@/")[1].split("?")[0]
    yield "postgresql:///%s?host=%s&port=6432&user=%s" % (
        name, str(folder).replace("/", "%2F"), "postgres")
    process.terminate()
    process.wait(60)
    shutil.rmtree(folder)

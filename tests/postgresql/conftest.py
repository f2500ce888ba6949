"""A PostgreSQL server for the tests of this folder: one that they may stop, kill and start again."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scenario"))

import postgresql  # noqa: E402  (of the folder above)
from harness import MASTER_KEY, Daemon, Receiver  # noqa: E402


@pytest.fixture(scope="module")
def server():
    cluster = postgresql.Cluster().start()
    yield cluster
    cluster.remove()


class DatabaseDaemon(Daemon):
    """A daemon on a database of that server, whatever the other tests keep their events in."""

    def __init__(self, directory, uri, *options, **kw):
        super().__init__(directory, *options, **kw)
        self.env["POSTBACKD_MASTER_KEY"] = MASTER_KEY
        self.uri = uri

    def store(self):
        return self.uri


@pytest.fixture
def database(server, request):
    return postgresql.new_database(server.uri(), request.node.name[:60])


@pytest.fixture
def database_daemon(tmp_path, database):
    d = DatabaseDaemon(tmp_path, database)
    yield d
    d.stop()


@pytest.fixture
def other_daemon(tmp_path, database):
    """A second one on the same database."""
    d = DatabaseDaemon(tmp_path / "other", database)
    yield d
    d.stop()


@pytest.fixture
def receiver():
    r = Receiver()
    yield r
    r.close()

"""A PostgreSQL server for the tests of this folder: one that they may stop, kill and start again."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scenario"))

import postgresql  # noqa: E402  (of the folder above)
from harness import Receiver  # noqa: E402
from nodes import DatabaseDaemon  # noqa: E402  (of this folder)


@pytest.fixture(scope="module")
def server():
    cluster = postgresql.Cluster().start()
    yield cluster
    cluster.remove()


@pytest.fixture
def database(server, request):
    return postgresql.new_database(server.uri(), request.node.name[:60])


@pytest.fixture
def database_daemon(tmp_path, database):
    d = DatabaseDaemon(tmp_path, database)
    yield d
    d.stop()


@pytest.fixture
def receiver():
    r = Receiver()
    yield r
    r.close()

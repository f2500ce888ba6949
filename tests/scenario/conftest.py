"""Fixtures: a daemon of its own for the tests that need one, one shared by those that do not."""
import pytest

from harness import Daemon, Receiver


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """One daemon for a module's tests; each makes accounts of its own."""
    d = Daemon(tmp_path_factory.mktemp("daemon"), "--reads-per-minute", "1000000").start()
    yield d
    assert d.stop() == 0


@pytest.fixture
def own_daemon(tmp_path):
    """A daemon that the test may kill, restart and configure: not started yet."""
    d = Daemon(tmp_path)
    yield d
    d.stop()


@pytest.fixture
def receiver():
    r = Receiver()
    yield r
    r.close()

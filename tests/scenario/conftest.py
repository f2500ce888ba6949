"""Fixtures: a daemon of its own for the tests that need one, one shared by those that do not.

A store is some 10 MiB before the first event, and there are more than a thousand: those of tests
that passed are removed at once. What failed stays where pytest keeps it.
"""
import shutil
import zlib

import pytest

from harness import POSTGRESQL, Account, Daemon, Receiver, forget_stores
from smtp import MailServer


# The files that take longest, here and in tests/postgresql, begin first: one that began last would run on
# alone.
LONGEST = ("test_clusters", "test_move", "test_move_killed", "test_copy", "test_nodes", "test_full_disk", "test_kafka",
           "test_rewards_feed", "test_backpressure", "test_operations", "test_faults", "test_mail", "test_recoveries",
           "test_snippets", "test_mail_preferences", "test_listen", "test_cuts", "test_database", "test_names",
           "test_failover", "test_sqlstates", "test_other_servers", "test_nodes_leases", "test_snippet_handlers",
           "test_people", "test_typed_blocks", "test_stop", "test_nodes_mail", "test_replica", "test_kill",
           "test_model", "test_power_cuts", "test_reload", "test_benches", "test_postfix")


def pytest_configure(config):
    config.addinivalue_line("markers", "sqlite(why): about the SQLite store alone; skipped on PostgreSQL")


def pytest_collection_modifyitems(items):
    order = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
    for item in items:
        mark = item.get_closest_marker("sqlite")
        if mark and POSTGRESQL:
            item.add_marker(pytest.mark.skip(reason="SQLite alone: " + mark.args[0]))


def pytest_make_parametrize_id(val):
    """pytest puts a test's name into the environment, and no program starts with one of 128 KiB."""
    if isinstance(val, (bytes, str)) and len(val) > 200:
        return "%d-%08x" % (len(val), zlib.crc32(val if isinstance(val, bytes) else val.encode()))
    return None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    result = yield
    item.has_failed = getattr(item, "has_failed", False) or result.get_result().failed


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item):
    yield
    if "tmp_path" in item.funcargs and not item.has_failed:
        forget_stores(item.funcargs["tmp_path"])
        shutil.rmtree(item.funcargs["tmp_path"], ignore_errors=True)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory, request):
    """One daemon for a module's tests; each makes accounts of its own."""
    directory = tmp_path_factory.mktemp("daemon")
    d = Daemon(directory, "--reads-per-minute", "1000000").start()
    yield d
    assert d.stop() == 0
    if not request.session.testsfailed:
        forget_stores(directory)
        shutil.rmtree(directory)


@pytest.fixture(scope="module")
def account(daemon):
    return Account(daemon)


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


@pytest.fixture
def server():
    """A mail server."""
    s = MailServer()
    yield s
    s.close()

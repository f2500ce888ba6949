"""`postbackd check` of a database: beside a server, and before there is any."""
import os
import re
import subprocess

from harness import BINARY
from nodes import DatabaseDaemon
from postgresql import new_database, sql


def check(uri, *arguments, status=0):
    result = subprocess.run([BINARY, "check", "--listen", "127.0.0.1:0", "--store", uri, *arguments], timeout=60,
                            env={**os.environ, "POSTBACKD_MASTER_KEY": "ab" * 32}, capture_output=True, text=True)
    assert result.returncode == status, result
    return result.stdout


def test_a_database_before_and_after_the_first_start(database, database_daemon):
    assert re.search(r"^ok +store .*: \d+ steps? of its schema to make", check(database), re.M)
    database_daemon.start()
    found = check(database, "--read-replica", database)
    assert "of its schema" not in found
    assert len(re.findall(r"^ok +(?:store|read-replica) ", found, re.M)) == 2
    assert "failed" in check(database + "_is_not_there", status=1)


def test_what_a_start_would_refuse_is_said(server, database, database_daemon, tmp_path):
    second = new_database(server.uri(), "second_of_check")
    both = DatabaseDaemon(tmp_path / "both", database, "--store-cluster", second).start()
    both.stop()
    assert "failed" not in check(database, "--store-cluster", second)
    exchanged = check(second, "--store-cluster", database, status=1)
    assert exchanged.count("name the clusters in their order") == 2, exchanged
    assert len(re.findall(r"^\w+ +store(?:-cluster)? ", exchanged, re.M)) == 2, exchanged  # one line for each
    sql(database, "INSERT INTO meta VALUES('copy_position','x')")
    found = check(database, "--store-cluster", second, status=1)
    assert re.search(r"^failed +store +postgresql:.*: a copy into this database is not finished", found, re.M), found

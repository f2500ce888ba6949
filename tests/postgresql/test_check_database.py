"""`postbackd check` of a database: beside a server, and before there is any."""
import os
import re
import subprocess

from harness import BINARY


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

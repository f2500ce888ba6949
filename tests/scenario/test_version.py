"""The smallest scenario: the binary says who it is, and refuses what it does not know."""

import os
import subprocess

BINARY = os.environ.get("POSTBACKD_BIN", "build/postbackd")


def run(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60)


def test_version_names_the_program():
    result = run("--version")
    assert result.returncode == 0
    name, version = result.stdout.split()
    assert name == "postbackd"
    assert version.count(".") == 2


def test_unknown_command_is_refused_on_stderr():
    result = run("no-such-command")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr != ""

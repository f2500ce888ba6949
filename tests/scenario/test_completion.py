"""What bash and zsh complete: every command, option and word of the binary's own tables."""
import re
import shutil
import subprocess

import pytest

from test_cli import assert_one_line, commands, offered, run


def completed(*words):
    """What bash offers for the last of these words."""
    script = """
source /dev/stdin
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_postbackd
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(["bash", "-uc", script, "bash", "postbackd", *words], input=run("--completion", "bash").stdout,
                          capture_output=True, timeout=60, check=True)
    assert done.stderr == b""
    return done.stdout.decode().split()


def test_bash_completes_every_command_and_option():
    assert set(completed("")) == set(commands()) | {"--help", "--version", "--completion", "--manual"}
    assert completed("rece") == ["receive"]
    for command in commands():
        assert set(completed(command, "--")) == set(offered(command)) | {"--help"}, command
    assert completed("serve", "--log-l") == ["--log-level"]
    assert completed("serve", "--config", "") == completed("import", "people", "") == []  # file names, as by default
    assert completed("user", "rese") == ["reset", "reset-second-factor"] and completed("user", "add", "") == []
    assert completed("export", "") == ["events", "rewards", "attempts", "statements"]
    assert completed("import", "") == ["events", "people", "apps"] and completed("backup", "") == []
    for command in ("user", "export", "import"):
        told = " ".join(run(command, "--help").stdout.decode().split())
        assert all(re.search(r"\b%s\b" % word, told) for word in completed(command, "")), command
    assert_one_line(run("--completion", "fish"), 2, "bash or zsh")


def test_zsh_knows_every_command_and_option(tmp_path):
    text = run("--completion", "zsh").stdout.decode()
    assert text.startswith("#compdef postbackd\n")
    for command in commands():
        of_command = re.search(r"^        %s\)\n(.*?)^            ;;$" % command, text, re.M | re.S)[1]
        assert re.findall(r"'\*?(--[a-z0-9-]+)\[", of_command) == ["--help"] + offered(command), command
    if shutil.which("zsh") is None:
        pytest.skip("no zsh on this machine")
    (tmp_path / "_postbackd").write_text(text)
    subprocess.run(["zsh", "-n", str(tmp_path / "_postbackd")], check=True, timeout=60)

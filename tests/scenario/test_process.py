"""What surrounds the process: signals in the first moments of a start, and the limits of its shell (ulimit)."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
from datetime import datetime, timezone

import pytest

from harness import BINARY, MASTER_KEY, OPERATOR_KEY, Account, eventually
from shim import preloaded

SMALL_FILES = "--fsize=%d" % (64 << 20)
SMALL_STACK = 64 << 10


def limited(limit, *command):
    """The same process, with the limit: prlimit of util-linux executes the command."""
    return ["prlimit", limit, *map(str, command)]


def run(limit, *arguments, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith("POSTBACKD_")}
    env.update(variables)
    return subprocess.run(limited(limit, BINARY, *arguments), env=env, text=True, capture_output=True, timeout=120)


# --- signals --------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["SIGHUP", "SIGUSR1", "SIGUSR2"])
def test_a_signal_at_the_beginning_of_a_start_ends_nothing(own_daemon, name):
    own_daemon.env = preloaded("shim.so", SHIM_EARLY=int(getattr(signal, name)))
    own_daemon.start()
    if name == "SIGHUP":
        eventually(lambda: '"event":"reloaded"' in own_daemon.log_text(), what="it is taken after the start")
    assert own_daemon.stop() == 0


# --- the stack ------------------------------------------------------------------------------------

def test_a_small_stack_of_the_shell_does_not_matter(own_daemon, receiver):
    command = own_daemon.command
    own_daemon.command = lambda: limited("--stack=%d:" % SMALL_STACK, *command())
    own_daemon.start()
    account = Account(own_daemon, receiver.url)
    own_daemon.api().events(account.event("small-stack"))
    own_daemon.api().wait_state("small-stack", account.partner_id, "delivered")
    assert own_daemon.stop() == 0


@pytest.mark.parametrize("command", [["serve", "--listen", "127.0.0.1:0"], ["export", "events"], ["--version"]])
def test_a_stack_that_may_not_grow_is_said(command):
    found = run("--stack=%d:%d" % (SMALL_STACK, SMALL_STACK), *command)
    assert (found.returncode, found.stdout) == (1, ""), found
    assert found.stderr == "postbackd: the hard limit of the stack (`ulimit -H -s`) is below 1024 KiB.\n"


# --- the size of files ----------------------------------------------------------------------------

@pytest.mark.sqlite("its files")
def test_files_that_may_not_grow_end_the_daemon_with_a_sentence(own_daemon):
    """And nothing acknowledged is lost."""
    command = own_daemon.command
    own_daemon.command = lambda: limited(SMALL_FILES, *command())
    own_daemon.start()
    account, api, taken = Account(own_daemon), own_daemon.api(), 0
    while own_daemon.process.poll() is None:
        try:
            answer = api.post("/api/v1/events", [account.event("big-%d-%d" % (taken, i), "survey_started", SessionId="s" * 1000)
                                                 for i in range(4000)])
        except OSError:
            break
        if answer.status != 202:
            break
        taken += 1
    assert own_daemon.process.wait(60) == 1
    said = [json.loads(line) for line in own_daemon.log_text().splitlines() if line.startswith("{")]
    assert [line["bytes"] for line in said if line["event"] == "file_size_limited"] == [64 << 20], said
    assert [line for line in said if line["event"] == "store_failed"], said
    own_daemon.command = command
    own_daemon.start()
    rows = own_daemon.api().get("/api/v1/reports/survey-attempts", query={"partnerId": account.partner_id}).json["Rows"]
    assert taken * 4000 <= sum(row["SurveyAttempts"] for row in rows) <= (taken + 1) * 4000


@pytest.mark.sqlite("postbackd backup")
def test_commands_that_write_files_say_that_these_may_not_grow(own_daemon, tmp_path):
    d = own_daemon.start()
    account = Account(d)
    d.api().events([account.event("e-%d" % i, SessionId="s" * 1000) for i in range(2000)])
    url = "http://127.0.0.1:%d" % d.port
    small, today = "--fsize=%d" % (64 << 10), datetime.now(timezone.utc).strftime("%Y-%m-%d")
    found = run(small, "export", "rewards", tmp_path / "rewards", "--url", url, "--partner", account.partner_id,
                "--start-date", today, "--end-date", today, POSTBACKD_OPERATOR_KEY=OPERATOR_KEY)
    assert found.returncode == 1 and "File too large" in found.stderr, found
    found = run(small, "backup", "--store", d.store(), tmp_path / "backup")
    assert found.returncode == 1 and "cannot be written" in found.stderr, found
    assert not (tmp_path / "backup").exists() and not (tmp_path / "backup.part").exists()


# --- the folder -----------------------------------------------------------------------------------

@pytest.fixture
def folder():
    """Which another user can reach, unlike pytest's own."""
    path = tempfile.mkdtemp(prefix="postbackd-test-", dir="/tmp")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("owner, mode, command", [
    (65534, 0o555, "chmod u+rwx %s"), (65534, 0o000, "chmod u+rwx %s"), (0, 0o755, "chown -R 65534:65534 %s")])
def test_a_folder_that_may_not_be_written_says_which_command_helps(folder, owner, mode, command):
    store = os.path.join(folder, "store")
    os.mkdir(store)
    os.chown(store, owner, owner)
    os.chmod(store, mode)
    env = {"POSTBACKD_OPERATOR_KEY": OPERATOR_KEY, "POSTBACKD_MASTER_KEY": MASTER_KEY}
    program = shutil.copy(BINARY, folder)
    found = subprocess.run([program, "serve", "--listen", "127.0.0.1:0", "--store", "sqlite:" + store], env=env,
                           user=65534, group=65534, extra_groups=[], text=True, capture_output=True, timeout=60)
    assert found.returncode == 1 and "`%s`" % (command % store) in found.stderr, found

"""The systemd units: systemd finds nothing wrong with them, and little that they leave open."""
import re
import shutil
import subprocess

import pytest

from harness import BINARY, ROOT

PACKAGING = ROOT / "packaging"
# Of 100, as `systemd-analyze security` counts; what is left is the network, PostgreSQL's questions
# to /proc, priorities of threads, and asking for the clock's state. The unit says which and why.
EXPOSURE_MOST = 20

needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"),
                                   reason="no systemd-analyze here (Debian's package systemd)")


def units(folder):
    """Copies whose binary is there, as verify wants it."""
    for name in ("postbackd.service", "postbackd.socket"):
        text = (PACKAGING / name).read_text().replace("/usr/bin/postbackd", BINARY)
        (folder / name).write_text(text)
    return folder


def analyze(*words):
    return subprocess.run(["systemd-analyze", "--no-pager", *map(str, words)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60, check=False)


@needs_systemd
def test_systemd_finds_nothing_wrong(tmp_path):
    folder = units(tmp_path)
    done = analyze("verify", "--man=no", folder / "postbackd.service", folder / "postbackd.socket")
    # It also reads what the units refer to: the machine's own may have flaws.
    said = [line for line in done.stdout.splitlines() if "postbackd" in line]
    assert done.returncode == 0 and said == [], done.stdout


@needs_systemd
def test_systemd_would_find_something_wrong(tmp_path):
    folder = units(tmp_path)
    unit = folder / "postbackd.service"
    unit.write_text(unit.read_text().replace("NoNewPrivileges=yes", "NoNewPriviledges=yes"))
    assert "NoNewPriviledges" in analyze("verify", "--man=no", unit).stdout


@needs_systemd
def test_it_leaves_little_open(tmp_path):
    unit = units(tmp_path) / "postbackd.service"
    done = analyze("security", "--offline=yes", "--threshold=%d" % EXPOSURE_MOST, unit)
    assert done.returncode == 0, done.stdout
    unit.write_text(unit.read_text().replace("ProtectSystem=strict\n", "").replace("PrivateUsers=yes\n", "")
                    .replace("MemoryDenyWriteExecute=yes\n", ""))
    assert analyze("security", "--offline=yes", "--threshold=%d" % EXPOSURE_MOST, unit).returncode != 0


def test_no_core_is_kept():
    """Before main, too, where the daemon forbids it itself."""
    assert "LimitCORE=0" in (PACKAGING / "postbackd.service").read_text().splitlines()


def test_systemd_makes_every_directory_that_the_configuration_names():
    """Owned by the service's user, and the only ones that ProtectSystem=strict leaves writable."""
    unit = (PACKAGING / "postbackd.service").read_text()
    made = {kind: "/%s/%s" % (place, re.search("^%sDirectory=(.+)$" % kind, unit, re.M).group(1))
            for kind, place in (("State", "var/lib"), ("Logs", "var/log"), ("Configuration", "etc"))}
    text = (PACKAGING / "postbackd.conf").read_text()
    named = dict(re.findall(r"^#?(store|access-log|tls-cert) = (?:sqlite:)?(/\S+)$", text, re.M))
    assert named["store"] == made["State"]
    assert named["access-log"].startswith(made["Logs"] + "/") and named["tls-cert"].startswith(made["Configuration"] + "/")


def test_it_says_what_the_daemon_knows():
    """The options of its command line, and that it speaks to systemd."""
    unit = (PACKAGING / "postbackd.service").read_text()
    command = re.search(r"^ExecStart=/usr/bin/postbackd (\w+) (.*)$", unit, re.M)
    said = subprocess.run([BINARY, command.group(1), "--help"], text=True, stdout=subprocess.PIPE, check=True).stdout
    options = re.findall(r"--[a-z-]+", command.group(2))
    assert options
    for option in options:
        assert option in said, option
    assert re.search(r"^Type=notify$", unit, re.M) and re.search(r"^WatchdogSec=", unit, re.M)
    assert re.search(r"^RestartPreventExitStatus=2$", unit, re.M)  # EXIT_USAGE

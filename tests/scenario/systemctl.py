#!/usr/bin/env python3
"""A stand-in for systemctl where no systemd runs: starts what packaging/postbackd.service says, with
its file of keys, and hands over the socket where postbackd.socket is enabled. See typed.py."""
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PACKAGING = Path(os.environ["ROOT"]) / "packaging"
PID = Path("/var/lib/postbackd.pid")
SOCKET = Path("/var/lib/postbackd.socket-enabled")
DROP_IN = Path("/etc/systemd/system/postbackd.socket.d/port.conf")
LOG = Path(os.environ["HOME"]) / "service.log"


def listened():
    """What the socket's unit listens on."""
    ports = re.findall(r"^ListenStream=(\d+)$", DROP_IN.read_text(), re.M)
    server = socket.socket(socket.AF_INET6)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind(("::", int(ports[-1])))
    server.listen(64)
    return server


def start():
    unit = (PACKAGING / "postbackd.service").read_text()
    words = re.search(r"^ExecStart=(.*)$", unit, re.M).group(1).split()
    keys = Path(re.search(r"^EnvironmentFile=-(.*)$", unit, re.M).group(1)).read_text()
    env = {"PATH": "/usr/bin:/bin", **dict(re.findall(r"^(POSTBACKD_\w+)=(.*)$", keys, re.M))}
    words[0] = os.environ["BINARY"]
    if SOCKET.exists():
        os.dup2(listened().detach(), 3)
        words = ["sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"", "sh", *words]
    with open(LOG, "wb") as log:
        process = subprocess.Popen(words, env=env, stdout=log, stderr=log, cwd="/var/lib/postbackd",
                                   pass_fds=[3] if SOCKET.exists() else [])
    while b"listening" not in LOG.read_bytes():
        if process.poll() is not None:
            sys.exit(LOG.read_text())
        time.sleep(0.05)
    PID.write_text(str(process.pid))


def stop():
    pid = int(PID.read_text())
    os.kill(pid, signal.SIGTERM)
    while Path("/proc/%d/root" % pid).exists() and os.path.islink("/proc/%d/exe" % pid):
        try:
            os.readlink("/proc/%d/exe" % pid)
        except OSError:
            break  # it has ended and waits for its parent
        time.sleep(0.05)
    PID.unlink()


COMMANDS = {
    ("start", "postbackd"): start,
    ("stop", "postbackd"): stop,
    ("daemon-reload",): lambda: None,
    ("enable", "--now", "postbackd.socket"): SOCKET.touch,
}
COMMANDS[tuple(sys.argv[1:])]()

"""Under a service manager: a socket that is handed over, and what it is told, as systemd's own
protocol has it (sd_listen_fds(3), sd_notify(3)). The tests play the manager."""
import contextlib
import ctypes
import fcntl
import os
import re
import select
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from harness import BINARY, PATIENCE, Account, Daemon, Receiver, eventually

PTRACE_ATTACH, PTRACE_DETACH, WALL = 16, 17, 0x40000000


def as_manager(command, fds):
    """The command as a service manager starts it: the sockets from 3 on, and LISTEN_PID its own."""
    moved = "".join(" %d<&%d" % (3 + i, fd) for i, fd in enumerate(fds))
    return ["bash", "-c", 'LISTEN_PID=$$ LISTEN_FDS=%d exec "$@"%s' % (len(fds), moved), "bash", *command]


class ActivatedDaemon(Daemon):
    """Started with a socket that listens already."""

    def __init__(self, directory, listener, **kw):
        super().__init__(directory, **kw)
        self.fds = (listener.fileno(),)

    def command(self):
        self.port = 1  # --listen is not heard: nobody may bind that one here
        return as_manager(super().command(), self.fds)


def high(s):
    """The socket, too, high above 3, so that the shell can move it there. A free number: another thread
    of the tests may have any."""
    return fcntl.fcntl(s.fileno(), fcntl.F_DUPFD, 60)


@pytest.fixture
def listener():
    with socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        first.listen(16)
        fd = high(first)
    with socket.socket(fileno=fd) as s:
        yield s


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + path[1:] if path.startswith("@") else path)
        self.heard, self.all = [], []

    def wait_for(self, line, timeout_s=30):
        """Everything heard until one of the messages holds this line, which is taken."""
        deadline = time.monotonic() + timeout_s * PATIENCE
        while True:
            for at, message in enumerate(self.heard):
                if line in message.split("\n"):
                    del self.heard[:at + 1]
                    return message
            left = deadline - time.monotonic()
            assert left > 0, (line, self.all)
            self.heard += self.listen(left)

    def listen(self, timeout_s):
        """The next message within that time, or none."""
        found = []
        if select.select([self.socket], [], [], timeout_s)[0]:
            found.append(self.socket.recv(4096).decode())
        self.all += found
        return found

    def close(self):
        self.socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    path = "@postbackd-test-%d" % os.getpid() if request.param == "abstract" else str(tmp_path / "notify")
    m = Manager(path)
    m.path = path
    yield m
    m.close()


def test_a_socket_is_taken_over_with_who_waits_in_it(tmp_path, listener):
    daemon = ActivatedDaemon(tmp_path, listener)
    port = listener.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port), 30 * PATIENCE) as early:
        early.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        daemon.start()
        assert daemon.port == port
        assert early.recv(4096).startswith(b"HTTP/1.1 200 ")
    assert daemon.stop() == 0


def test_nobody_is_turned_away_during_a_restart(tmp_path, listener):
    receiver = Receiver()
    daemon = ActivatedDaemon(tmp_path, listener).start()
    try:
        account = Account(daemon, receiver.url)
        port = daemon.port
        assert daemon.stop() == 0
        with socket.create_connection(("127.0.0.1", port), 30 * PATIENCE) as early:  # no "connection refused"
            early.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            daemon.start()
            assert early.recv(4096).startswith(b"HTTP/1.1 200 ")
        daemon.api().events([account.event("e1")])
        receiver.wait_for("e1")
    finally:
        daemon.stop()
        receiver.close()


def test_the_socket_of_another_process_is_left_alone(own_daemon, listener):
    """Variables that were meant for a parent: the descriptors are not ours."""
    own_daemon.env.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
    own_daemon.start()
    assert own_daemon.port != listener.getsockname()[1]


@pytest.mark.parametrize("count", [1, 2])
def test_what_will_not_do_is_refused_in_one_line(tmp_path, count):
    """A socket that does not listen; more than one."""
    with socket.socket() as s:
        fd = high(s)
    try:
        done = subprocess.run(as_manager([BINARY, "serve", "--store", "sqlite:%s" % (tmp_path / "store")], [fd] * count),
                              pass_fds=(fd,), capture_output=True, timeout=30 * PATIENCE, check=False)
    finally:
        os.close(fd)
    said = done.stderr.decode().splitlines()
    assert done.returncode == 2 and len(said) == 1 and "service manager" in said[0], done
    assert not (tmp_path / "store").exists()


def test_ready_reloading_stopping(own_daemon, manager):
    own_daemon.env["NOTIFY_SOCKET"] = manager.path
    own_daemon.start(wait_ready=False)
    manager.wait_for("READY=1")
    assert own_daemon.api().get("/readyz", key=None).status == 200
    asked_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    own_daemon.process.send_signal(signal.SIGHUP)
    told = manager.wait_for("RELOADING=1")
    assert int(re.search(r"^MONOTONIC_USEC=(\d+)$", told, re.M).group(1)) >= asked_us
    manager.wait_for("READY=1")
    own_daemon.process.terminate()
    manager.wait_for("STOPPING=1")
    assert own_daemon.process.wait(60 * PATIENCE) == 0
    assert not any("WATCHDOG" in message for message in manager.all)  # nobody asked


@contextlib.contextmanager
def stopped_thread(pid, name):
    """One thread of a child stands still, as if it hung; the others go on (ptrace(2))."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    tid = next(int(task.name) for task in Path("/proc/%d/task" % pid).iterdir()
               if (task / "comm").read_text().strip() == name)
    if libc.ptrace(PTRACE_ATTACH, tid, None, None) != 0:
        pytest.skip("no ptrace here: " + os.strerror(ctypes.get_errno()))
    assert os.waitpid(tid, WALL)[0] == tid
    try:
        yield
    finally:
        assert libc.ptrace(PTRACE_DETACH, tid, None, None) == 0


@pytest.mark.parametrize("loops", [1, 3])
def test_a_watchdog_is_fed_while_every_loop_turns(tmp_path, loops):
    manager = Manager(str(tmp_path / "notify"))
    daemon = Daemon(tmp_path, "--loops", str(loops), env={
        "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "300000"})
    try:
        daemon.start()
        for _ in range(3):
            manager.wait_for("WATCHDOG=1")
        with stopped_thread(daemon.process.pid, "loop-%d" % (loops - 1)):
            while manager.listen(0):
                pass
            late = manager.listen(1) + manager.listen(1)
            assert len(late) <= 1, late  # a round that was past that loop already
        for _ in range(3):
            manager.wait_for("WATCHDOG=1")
        assert daemon.stop() == 0
        manager.wait_for("STOPPING=1")
    finally:
        daemon.stop()
        manager.close()


def test_a_watchdog_for_another_process_is_not_fed(own_daemon, manager):
    own_daemon.env.update(NOTIFY_SOCKET=manager.path, WATCHDOG_USEC="100000", WATCHDOG_PID="1")
    own_daemon.start()
    assert own_daemon.stop() == 0
    manager.wait_for("STOPPING=1")
    assert not any("WATCHDOG" in message for message in manager.all)


def test_nobody_listens(own_daemon):
    own_daemon.env.update(NOTIFY_SOCKET="/nowhere/at/all", WATCHDOG_USEC="100000")
    own_daemon.start()
    eventually(lambda: own_daemon.metrics()["postbackd_store_accepting"] == 1)
    assert own_daemon.stop() == 0

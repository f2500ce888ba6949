"""Podman and Docker for the tests, without a trace on this machine: their images, volumes and containers
are in a folder of the test's own, their bridges and rules in a network of its own."""
import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from harness import OPERATOR_KEY, ROOT, Api, eventually

IMAGE = ROOT / "build-package" / "postbackd-image.tar"
NEW_NETWORK = 0x40000000  # CLONE_NEWNET
# Of the test's receivers: containers reach it over their bridge. RFC 5737 keeps it free.
RECEIVER = "192.0.2.1"
NODE = ["--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges"]  # as docs/operators/containers.md says
ENGINE_FAILED = (125, 126)  # exit statuses of `run` when the engine itself, or its runtime, could not


def system_call(name, *words):
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*words) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)


def file_limit():
    """Raising it would need a capability."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@contextlib.contextmanager
def own_network():
    """This thread, and what it starts, in a new network without a way out, with RECEIVER on its loopback."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        system_call("unshare", NEW_NETWORK)
    except OSError as e:
        os.close(before)
        pytest.skip("no network namespace here (root is needed): %s" % e)
    try:
        for words in (["link", "set", "lo", "up"], ["address", "add", RECEIVER + "/32", "dev", "lo"]):
            subprocess.run(["ip", *words], check=True)
        yield
    finally:
        system_call("setns", before, NEW_NETWORK)
        os.close(before)


class Engine:
    """One engine's command line, which both have in common."""

    def __init__(self, folder):
        self.folder = folder
        self.env = dict(os.environ)

    def call(self, *words, check=True, timeout=120):
        """A file takes what it says: what it leaves running would hold a pipe open."""
        with open(self.folder / "said", "w+", encoding="utf-8") as said:
            done = subprocess.run([*self.command, *map(str, words)], env=self.env, stdin=subprocess.DEVNULL, stdout=said,
                                  stderr=subprocess.STDOUT, timeout=timeout, check=False)
            said.seek(0)
            done.stdout = said.read()
        assert not check or done.returncode == 0, (words, done.returncode, done.stdout)
        return done

    def inspect(self, name):
        return json.loads(self.out("inspect", name))[0]

    def out(self, *words):
        return subprocess.run([*self.command, *map(str, words)], env=self.env, text=True, capture_output=True, timeout=120,
                              check=True).stdout

    def load(self):
        """And a first container: an engine that can keep or run none here is no fault of the image."""
        with tarfile.open(self.folder / "empty.tar", "w"):
            pass
        done = self.call("import", self.folder / "empty.tar", "empty", check=False)
        if done.returncode != 0:
            pytest.skip("%s keeps no image here: %s" % (self.name, done.stdout.strip().splitlines()[-1]))
        self.call("load", "-i", IMAGE)
        done = self.call("run", "--rm", *NODE, "postbackd:0.1.0", "--version", check=False)
        if done.returncode in ENGINE_FAILED:
            pytest.skip("%s runs no container here: %s" % (self.name, done.stdout.strip().splitlines()[-1]))
        assert done.returncode == 0 and "postbackd 0.1.0" in done.stdout, done.stdout
        return self

    def log(self, name):
        return self.call("logs", name).stdout


class Podman(Engine):
    name = "podman"

    def __init__(self, folder):
        super().__init__(folder)
        # runc where both kinds of control groups are mounted: crun refuses that. Limits that nobody has to raise.
        hybrid = os.path.exists("/sys/fs/cgroup/unified") and shutil.which("runc")
        limits = {"nofile": file_limit(), "nproc": 1024}
        (folder / "containers.conf").write_text("""
[containers]
default_ulimits = [%s]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
%s""" % (", ".join('"%s=%d:%d"' % (k, v, v) for k, v in limits.items()), 'runtime = "runc"\n' * bool(hybrid)))
        self.env.update(CONTAINERS_CONF=str(folder / "containers.conf"), PODMAN_IGNORE_CGROUPSV1_WARNING="1")
        self.command = ["podman", *("--%s=%s" % (place, folder / place) for place in ("root", "runroot", "tmpdir"))]

    def close(self):
        for words in (["pod", "rm", "-fa"], ["rm", "-fa"], ["volume", "rm", "-fa"], ["rmi", "-fa"]):
            self.call(*words, check=False)

    def is_healthy(self, name):
        """Podman's timers are systemd's; where it is not, somebody has to ask."""
        return self.call("healthcheck", "run", name, check=False).returncode == 0


class Docker(Engine):
    name = "docker"

    def __init__(self, folder):
        super().__init__(folder)
        self.env["DOCKER_HOST"] = "unix://%s/socket" % folder
        self.command = ["/usr/bin/docker" if os.access("/usr/bin/docker", os.X_OK) else "docker"]
        limit = file_limit()
        words = ["dockerd", "--data-root", folder / "data", "--exec-root", folder / "exec", "--pidfile", folder / "pid",
                 "-H", self.env["DOCKER_HOST"], "--default-ulimit", "nofile=%d:%d" % (limit, limit)]
        with open(folder / "log", "wb") as log:
            self.server = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                           start_new_session=True)
        eventually(lambda: self.server.poll() is not None or self.call("info", check=False).returncode == 0, 60)
        if self.server.poll() is not None:
            pytest.skip("dockerd does not start here: " + (folder / "log").read_text().strip().splitlines()[-1])

    def close(self):
        if self.server.poll() is None:
            names = self.out("ps", "-aq").split()
            if names:
                self.call("rm", "-fv", *names, check=False)
            self.server.terminate()
            self.server.wait(60)

    def is_healthy(self, name):
        return self.inspect(name)["State"]["Health"]["Status"] == "healthy"


KINDS = {"podman": (Podman, "podman"), "docker": (Docker, "dockerd")}


@contextlib.contextmanager
def engine(kind):
    """That engine with the image in it, in a network of its own; or the test is skipped, with the reason."""
    make, program = KINDS[kind]
    if not IMAGE.exists():
        pytest.skip("no build-package/postbackd-image.tar (./dev image)")
    if not shutil.which(program):
        pytest.skip("no %s here (Debian's package)" % program)
    # Podman takes no longer name than 50 bytes.
    with tempfile.TemporaryDirectory(prefix="engine-", ignore_cleanup_errors=True) as folder, own_network():
        made = make(Path(folder))
        try:
            yield made.load()
        finally:
            made.close()


class Node:
    """A container that serves at a port of this network's loopback; what Account wants of a daemon."""

    def __init__(self, engine, name, port=8080):
        self.engine, self.name, self.port = engine, name, port

    def api(self, key=OPERATOR_KEY):
        return Api(self.port, key)

    def wait_ready(self):
        def ready():
            with contextlib.suppress(OSError):
                return self.api().get("/readyz", key=None).status == 200
            return False
        eventually(ready, 60, what="%s is ready: %s" % (self.name, self.engine.log(self.name)))
        return self

    def inside(self, *words, check=True):
        return self.engine.call("exec", self.name, "/usr/bin/postbackd", *words, check=check).stdout

    def pid(self):
        return self.engine.inspect(self.name)["State"]["Pid"]

    def kill(self):
        """By the kernel, as when memory is out."""
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not self.engine.inspect(self.name)["State"]["Running"], 30)

    def stop(self):
        """Its exit status: 137 would be the engine's SIGKILL after two minutes."""
        self.engine.call("stop", "-t", "120", self.name, timeout=200)
        return self.engine.inspect(self.name)["State"]["ExitCode"]


def rights_of(pid):
    """(user ids, effective capabilities, whether more can be had, whether / may be written) of a process."""
    status = dict(line.split(":\t", 1) for line in Path("/proc/%d/status" % pid).read_text().splitlines())
    (root,) = [line.split() for line in Path("/proc/%d/mountinfo" % pid).read_text().splitlines() if line.split()[4] == "/"]
    return (set(status["Uid"].split() + status["Gid"].split()), int(status["CapEff"], 16), status["NoNewPrivs"] == "0",
            "rw" in root[5].split(","))


NOT_ROOT = ({"65532"}, 0, False, False)


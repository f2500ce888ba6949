"""Three PostgreSQL servers under Debian's Patroni, with an etcd, on loopback: each has the file of
docs/operators/failover.md, with other addresses and folders."""
import atexit
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import postgresql

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators" / "failover.md"
SERVERS = 3


def missing():
    """What is not installed of it, for people; None: nothing."""
    programs = [name for name in ("patroni", "patronictl", "etcd") if not shutil.which(name)]
    return "not installed: " + ", ".join(programs) if programs else None


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def block(language):
    """The page's only one."""
    found, = re.findall("^```%s\n(.*?)^```" % language, PAGE.read_text(encoding="utf-8"), re.S | re.M)
    return found


def family(pid):
    """A process and what it has forked."""
    try:
        children = Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [pid] + [p for child in children for p in family(int(child))]


class Server:
    """One machine: Patroni, and the PostgreSQL that it starts."""

    def __init__(self, whole, number, text):
        self.whole, self.name = whole, "db%d" % number
        self.folder = whole.folder / self.name
        self.folder.mkdir()
        self.file = self.folder / "config.yml"
        self.file.write_text(text)
        self.port = int(re.search(r"listen: 127.0.0.1:(\d+)\n  connect_address: \S+\n  data_dir", text)[1])
        self.rest = int(re.search(r"restapi:\n  listen: 127.0.0.1:(\d+)", text)[1])
        whole.own(self.folder)

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(["patroni", str(self.file)], stdout=log, stderr=log, cwd="/",
                                            **self.whole.as_user)
        return self

    def postmaster(self):
        try:
            return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        except (FileNotFoundError, IndexError):
            return None

    def signal_postgresql(self, number):
        pid = self.postmaster()
        for process in family(pid) if pid else ():  # the postmaster first, or it would notice
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def signal(self, number):
        """The whole machine."""
        self.process.send_signal(number)
        self.signal_postgresql(number)
        if number == signal.SIGKILL:
            self.process.wait()

    def ask(self, path="patroni"):
        """What its Patroni says; nothing: it does not."""
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/%s" % (self.rest, path), timeout=2) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as answer:
            return json.load(answer)
        except (OSError, ValueError):
            return {}

    def uri(self, database="postgres"):
        return "postgresql://postgres@127.0.0.1:%d/%s?connect_timeout=3" % (self.port, database)

    def log_text(self):
        return (self.folder / "log").read_text(errors="replace")


class Patroni:
    def __init__(self, where=None):
        self.user = "postgres" if os.getuid() == 0 else None
        self.as_user = dict(user=self.user, group=self.user) if self.user else {}
        shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="postbackd-patroni-", dir=where or shm))
        self.servers, self.etcd = [], None
        atexit.register(self.remove)
        self.folder.chmod(0o755)
        self.own(self.folder)
        self.passwords = {
            "postgres": "the superuser's password",
            "replicator": "the replication's password",
            "postbackd": "the daemon's password"}
        self.passfile = self.folder / "pgpass"
        self.passfile.write_text("".join("*:*:*:%s:%s\n" % pair for pair in self.passwords.items()))
        self.passfile.chmod(0o600)
        os.environ["PGPASSFILE"] = str(self.passfile)  # of psql, too

    def own(self, path):
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(path, account.pw_uid, account.pw_gid)

    def start(self):
        ports = free_ports(2 + 2 * SERVERS)
        self.etcd_port, self.etcd_peer = ports[:2]
        self.start_etcd()
        postgresql_ports, rest = ports[2:2 + SERVERS], ports[2 + SERVERS:]
        for i in range(SERVERS):
            self.servers.append(Server(self, i + 1, self.text(i, postgresql_ports[i], rest[i])).start())
        self.wait_whole(120)
        for statement in block("sql").split(";\n"):
            if statement:
                postgresql.sql(self.leader().uri(), statement)
        return self

    def text(self, i, port, rest):
        folder = self.folder / ("db%d" % (i + 1))
        text = block("yaml")
        for before, after in (
                ("name: db1", "name: db%d" % (i + 1)),
                ("10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379", "127.0.0.1:%d" % self.etcd_port),
                ("10.0.0.1:8008", "127.0.0.1:%d" % rest),
                ("10.0.0.1:5432", "127.0.0.1:%d" % port),
                ("10.0.0.0/24", "127.0.0.1/32"),
                ("/var/run/postgresql", str(folder)),
                ("/var/lib/postgresql/15/postbackd", str(folder / "data")),
                ("/usr/lib/postgresql/15/bin", str(postgresql.tools())),
                ("/var/lib/postgresql/patroni.pgpass", str(folder / "pgpass"))):
            assert before in text, before
            text = text.replace(before, after)
        return text

    def start_etcd(self):
        client, peer = ("http://127.0.0.1:%d" % port for port in (self.etcd_port, self.etcd_peer))
        with open(self.folder / "etcd.log", "ab") as log:
            self.etcd = subprocess.Popen(
                ["etcd", "--data-dir", str(self.folder / "etcd"), "--listen-client-urls", client,
                 "--advertise-client-urls", client, "--listen-peer-urls", peer, "--unsafe-no-fsync",
                 "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer],
                stdout=log, stderr=log, cwd="/", **self.as_user)

    def uri(self):
        """The daemons', as on the page."""
        line = block("ini").strip().removeprefix("POSTBACKD_STORE=")
        for i, server in enumerate(self.servers):
            line = line.replace("10.0.0.%d:5432" % (i + 1), "127.0.0.1:%d" % server.port)
        return line.replace("/etc/postbackd/pgpass", str(self.passfile))

    def leader(self):
        """The server that says that it is the primary; None: none does."""
        for server in self.servers:
            state = server.ask()
            if state.get("role") in ("master", "primary") and state.get("state") == "running":
                return server
        return None

    def leader_is_not(self, server):
        found = self.leader()
        return found is not None and found is not server

    def is_whole(self):
        """A primary, every other server follows it, and Patroni has noted one to promote."""
        leader = self.leader()
        members = leader.ask("cluster")["members"] if leader else []
        roles = sorted(m["role"] for m in members if m["state"] in ("running", "streaming"))
        if roles != ["leader"] + ["replica"] * (SERVERS - 2) + ["sync_standby"]:
            return False
        found = postgresql.sql(leader.uri(), "SELECT count(*) FROM pg_stat_replication WHERE state='streaming'")
        return found == str(SERVERS - 1)

    def seems_whole(self):
        try:
            return self.is_whole()
        except (KeyError, RuntimeError):
            return False  # it changes right now

    def wait_whole(self, timeout_s=180):
        end = time.monotonic() + timeout_s
        while not self.seems_whole():
            if time.monotonic() > end:
                raise RuntimeError("the servers do not come together: " +
                                   "\n".join(s.log_text()[-1500:] for s in self.servers))
            time.sleep(0.3)

    def switch_over(self):
        """By hand, to whichever replica is synchronous."""
        done = subprocess.run(["patronictl", "-c", str(self.servers[0].file), "switchover", "--leader",
                               self.leader().name, "--force"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise RuntimeError("patronictl: " + done.stdout.decode(errors="replace"))

    def remove(self):
        for server in self.servers:
            server.signal_postgresql(signal.SIGCONT)
            server.process.send_signal(signal.SIGCONT)
            server.signal(signal.SIGKILL)
        if self.etcd:
            self.etcd.kill()
            self.etcd.wait()
        self.servers, self.etcd = [], None
        shutil.rmtree(self.folder, ignore_errors=True)

"""packaging/compose/compose.yaml, brought up: PostgreSQL and nodes by Docker Compose 2, as the page says. Skipped by
name where dockerd or Compose 2 is not. PostgreSQL's own image comes from a registry that tests do not ask: its stand-in
is made of this machine's PostgreSQL, begins as root, gives its folder away and reads the same variables."""
import glob
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from engines import NOT_ROOT, RECEIVER, Node, engine, rights_of
from harness import MASTER_KEY, OPERATOR_KEY, ROOT, Account, Receiver, assert_signed, eventually

COMPOSE = ROOT / "packaging" / "compose" / "compose.yaml"
PASSWORD = "a-password-of-the-test"
PROGRAMS = ["sh", "setpriv", "mkdir", "chown", "chmod", "cat", "rm"]
ENTRY = r"""#!/bin/sh
# As root: gives the data's folder to the user postgres, and becomes that user.
set -eu
if [ "$1" = postgres ]; then
    mkdir -p "$PGDATA" /run/postgresql
    chown postgres "$PGDATA" /run/postgresql && chmod 0700 "$PGDATA" && chmod 3775 /run/postgresql
    POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
    export POSTGRES_PASSWORD
    exec setpriv --reuid=postgres --regid=postgres --clear-groups "$0" begin
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    umask 077
    echo "$POSTGRES_PASSWORD" >/tmp/password
    initdb -D "$PGDATA" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --locale=C $POSTGRES_INITDB_ARGS
    rm /tmp/password
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    echo "CREATE DATABASE $POSTGRES_DB" | postgres --single -D "$PGDATA" postgres
fi
unset POSTGRES_PASSWORD
exec postgres -c listen_addresses='*' -c unix_socket_directories=/run/postgresql
"""


def compose_command():
    """Of version 2: the plug-in, or the program by itself."""
    for words in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(words[0]):
            done = subprocess.run([*words, "version", "--short"], text=True, capture_output=True, check=False)
            if done.returncode == 0 and re.match(r"v?[2-9]", done.stdout):
                return words
    return None


def postgresql_image():
    """A tar of this machine's PostgreSQL and what it is linked with."""
    where = max(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda p: int(p.split("/")[4]), default=None)
    if not where:
        pytest.skip("no PostgreSQL server here (Debian's package postgresql)")
    major = where.split("/")[4]
    programs = [shutil.which(p) for p in PROGRAMS] + glob.glob("/usr/lib/postgresql/%s/bin/p*" % major) + [
        "/usr/lib/postgresql/%s/bin/initdb" % major]
    plugins = glob.glob("/usr/lib/postgresql/%s/lib/*.so" % major)
    said = subprocess.run(["ldd", *programs, *plugins], text=True, capture_output=True, check=False).stdout
    libraries = set(re.findall(r"(/\S+) \(0x", said))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", dereference=True) as archive:
        for name, target in (("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64"), ("var/run", "/run")):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        for path in sorted({*programs, *plugins, *libraries, "/usr/share/postgresql/%s" % major, "/usr/share/zoneinfo"}):
            archive.add(path, arcname=re.sub("^/(bin|lib|lib64)/", r"usr/\1/", path).lstrip("/"))
        for name, text, mode in (("usr/bin/entry", ENTRY, 0o755), ("etc/group", "root:x:0:\npostgres:x:999:\n", 0o644),
                                 ("etc/passwd", "root:x:0:0::/:/bin/sh\npostgres:x:999:999::/:/bin/sh\n", 0o644)):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), mode
            archive.addfile(member, io.BytesIO(text.encode()))
    path = "PATH=/usr/bin:/usr/lib/postgresql/%s/bin" % major
    return out.getvalue(), ["ENV " + path, "ENV PGDATA=/var/lib/postgresql/data", "VOLUME /var/lib/postgresql/data",
                            'ENTRYPOINT ["/usr/bin/entry"]', 'CMD ["postgres"]']


class Project:
    """A folder as the page makes it, and what Compose does there."""

    def __init__(self, docker, command, folder):
        self.docker, self.command, self.folder = docker, command, folder
        shutil.copy(COMPOSE, folder / "compose.yaml")
        (folder / "secrets").mkdir(mode=0o700)
        (folder / "secrets/postgresql-password").write_text(PASSWORD)
        secret = folder / "secrets/postbackd.conf"
        secret.write_text("operator-key = %s\nmaster-key = %s\nstore = postgresql://postbackd:%s@postgresql/postbackd\n"
                          "allow-destination = %s/32\n" % (OPERATOR_KEY, MASTER_KEY, PASSWORD, RECEIVER))
        os.chown(secret, 65532, 65532)
        secret.chmod(0o400)
        # This machine may allow fewer open files than the file asks for.
        (folder / "compose.override.yaml").write_text("services: {postbackd: {ulimits: {nofile: 4096}}}\n")

    def __call__(self, *words, check=True, **variables):
        done = subprocess.run([*self.command, *words], cwd=self.folder, env={**self.docker.env, **variables}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
        assert not check or done.returncode == 0, done
        return done.stdout

    def nodes(self):
        """By number: each is at a port of its own."""
        found = {}
        for name in self.docker.out("ps", "--format", "{{.Names}}").split():
            if "-postbackd-" in name[len("postbackd"):]:
                (port,) = self.docker.inspect(name)["NetworkSettings"]["Ports"]["8080/tcp"]
                assert port["HostIp"] == "127.0.0.1"
                found[name] = Node(self.docker, name, int(port["HostPort"]))
        return [found[name].wait_ready() for name in sorted(found)]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    command = compose_command()
    if not command:
        pytest.skip("no Docker Compose 2 here (Debian 13's package docker-compose)")
    folder = tmp_path_factory.mktemp("compose")
    with engine("docker") as docker:
        content, changes = postgresql_image()
        subprocess.run([*docker.command, "import", *(w for c in changes for w in ("-c", c)), "-", "postgres:17"], input=content,
                       env=docker.env, stdout=subprocess.DEVNULL, check=True, timeout=200)
        (folder / "project").mkdir()
        made = Project(docker, command, folder / "project")
        yield made
        made("down", "--volumes", check=False)


@pytest.fixture
def receiver():
    made = Receiver(address=RECEIVER)
    yield made
    made.close()


def test_up_down_and_up_again(project, receiver):
    project("up", "-d", "--wait")
    (node,) = project.nodes()
    assert node.port == 8080
    account = Account(node, receiver.url)
    node.api().events(account.event("compose-1"))
    assert_signed(receiver.wait_for("compose-1")[0], account.secret)
    node.api().wait_state("compose-1", account.partner_id, "delivered")
    receiver.answer = lambda request: 503
    node.api().events(account.event("compose-2"))
    receiver.wait_for("compose-2")
    assert rights_of(node.pid()) == NOT_ROOT
    (database,) = [n for n in project.docker.out("ps", "--format", "{{.Names}}").split() if "postgresql" in n]
    assert rights_of(project.docker.inspect(database)["State"]["Pid"])[1:] == (0, False, False)
    project("down")
    assert project.docker.out("ps", "-aq") == ""
    receiver.answer = lambda request: 200
    project("up", "-d", "--wait")
    (node,) = project.nodes()
    assert node.api().callback("compose-1", account.partner_id)["State"] == "delivered"
    node.api().post("/api/v1/callbacks/compose-2/resend", {"PartnerId": account.partner_id})
    node.api().wait_state("compose-2", account.partner_id, "delivered", 60)
    assert node.api().post("/api/v1/events", account.event("compose-1")).json["Duplicates"] == 1


def test_commands_inside(project):
    project("up", "-d", "--wait")
    (node,) = project.nodes()
    said = node.inside("check")
    assert "postgresql://***:***@postgresql/postbackd" in said, said
    assert "/link#" in project("exec", "-T", "-e", "POSTBACKD_OPERATOR_KEY=" + OPERATOR_KEY, "postbackd", "/usr/bin/postbackd",
                               "user", "add", "ada@example.com", "--role", "admin")


def test_further_nodes_and_one_that_is_killed(project, receiver):
    project("up", "-d", "--wait", "--scale", "postbackd=2", POSTBACKD_PORTS="8080-8081")
    nodes = project.nodes()
    assert {n.port for n in nodes} == {8080, 8081}
    account = Account(nodes[0], receiver.url)
    for node in nodes:
        node.api().events([account.event("%s-%d" % (node.name, j)) for j in range(20)])
    names = {n.name: json.dumps(project.docker.inspect(n.name)["HostConfig"]["RestartPolicy"]) for n in nodes}
    assert all("unless-stopped" in text for text in names.values()), names
    killed, other = nodes
    before = killed.pid()
    os.kill(before, 9)
    other.api().events([account.event("after-%d" % j) for j in range(20)])
    for event in [*("%s-%d" % (n.name, j) for n in nodes for j in range(20)), *("after-%d" % j for j in range(20))]:
        other.api().wait_state(event, account.partner_id, "delivered", 60)
    eventually(lambda: killed.pid() not in (0, before), 60, what="Docker has started it again")
    killed.wait_ready()
    assert killed.api().callback("after-1", account.partner_id)["State"] == "delivered"


def test_its_folder_is_the_servers_only(project):
    """What the stand-in shows of the file: PostgreSQL can begin with the capabilities that are left to it."""
    project("up", "-d", "--wait")
    (volume,) = project.docker.out("volume", "ls", "-q", "--filter", "name=database").split()
    place = Path(project.docker.inspect(volume)["Mountpoint"])
    assert (place.stat().st_uid, place.stat().st_mode & 0o777) == (999, 0o700)

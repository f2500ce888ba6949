"""Every block of docs/ that is meant to be typed, typed: see typed.py."""
import contextlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import Account, Api, Daemon
from postgresql import Cluster
from test_snippets import GO
from typed import DOCS, GIVEN, SHOWN, blocks, machine, type_all, typed

PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.name not in GIVEN]
INDENTED = re.compile(r"^\n {4,}(?![-*0-9]|\.\.\.)\S.*$", re.M)  # a block without a fence
KEYS = "POSTBACKD_OPERATOR_KEY=%s\nPOSTBACKD_MASTER_KEY=%s\n" % ("11" * 32, "22" * 32)
DATABASE = "postgresql://postbackd@db.internal/postbackd"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_block_says_whether_it_is_typed(page):
    unknown = [(line, language) for line, language, _ in blocks(page) if language not in SHOWN | {"sh"}]
    unfenced = INDENTED.findall(re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S))
    assert (unknown, unfenced) == ([], [])


@contextlib.contextmanager
def servers(env, *hosts, made=True):
    """A PostgreSQL on each of these hosts' addresses; with the role and the database of the pages."""
    clusters = [Cluster(listen_addresses=host, port="5432").start() for host in hosts]
    try:
        for host in hosts if made else ():
            for words in (["createuser", "-s", "postbackd"], ["createdb", "-O", "postbackd", "postbackd"]):
                subprocess.run([*words, "-h", host, "-U", "postgres"], check=True, timeout=60)
        yield {**env, "PGHOST": hosts[0], "PGUSER": "postgres"}
    finally:
        for cluster in clusters:
            cluster.remove()


def with_keys(env, folder=None):
    """As the first page makes them."""
    folder = folder or Path(env["HOME"]) / "postbackd"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "keys").write_text(KEYS)
    return {**env, **dict(line.split("=") for line in KEYS.splitlines())}


def as_it_is(page, env):
    return type_all(page, with_keys(env))


def beside_the_service(page, env):
    """Where the package is installed, and its service runs."""
    env = with_keys(env, Path("/etc/postbackd"))
    (Path(env["HOME"]) / "package").touch()
    subprocess.run(["apt", "install", "package"], cwd=env["HOME"], env=env, check=True, timeout=60)
    partner = Api(8080, env["POSTBACKD_OPERATOR_KEY"]).post("/api/v1/partners", {"PartnerId": "acme", "Name": "Acme"})
    assert partner.status == 201, partner
    invited = '{"Email":"eve@acme.example","Role":"developer","PartnerId":"acme"}\n'
    (Path(env["HOME"]) / "people.ndjson").write_text(invited)
    return type_all(page, env)


def on_a_database(page, env):
    with servers(env, "db.internal", made=False) as env:
        return as_it_is(page, env)


def on_a_store_there(page, env):
    with servers(env, "db.internal") as env:
        env = with_keys(env)
        script = "postbackd serve --store %s && kill $(cat $HOME/serve.pid)" % DATABASE
        subprocess.run(["bash", "-ec", script], env=env, check=True, timeout=60)
        return type_all(page, env)


def on_three(page, env):
    with servers(env, "db0", "db1", "db2") as env:
        return as_it_is(page, env)


def moved(page, env):
    with servers(env, "db.internal") as env:
        return beside_the_service(page, env)


def in_the_store(page, env):
    daemon = Daemon(env["HOME"]).start()
    daemon.stop()
    return type_all(page, env, cwd=Path(env["HOME"]) / "store")


def with_a_key(page, env):
    """A partner's, with an app and a client; a day without any reward, and the records of it."""
    daemon = Daemon(env["HOME"])
    daemon.port = 8080
    daemon.start()
    try:
        account = Account(daemon, AppId="app_1")
        answer = daemon.api().post("/api/v1/apps/app_1/clients",
                                   {"ClientId": "game-sdk", "Name": "SDK", "Integration": "sdk"})
        assert answer.status == 201, answer
        key = account.key("reports:read", "callbacks:read", "callbacks:write")
        if page.name == "events.md":
            key = daemon.api().key
        (Path(env["HOME"]) / "records.csv").write_text("RewardId,Reward\n")
        return type_all(page, {**env, "URL": "http://127.0.0.1:8080", "KEY": key})
    finally:
        daemon.stop()


def verifying(page, env):
    """In the folder of the programs; those of a language that is not here are left out by name."""
    folder = Path(env["HOME"]) / "verify"
    shutil.copytree(DOCS / "partners/verify", folder)
    for command in ("php", "go", "java"):
        if shutil.which(command) is None:
            stand_in = Path(env["PATH"].split(":")[0]) / command
            stand_in.write_text("#!/bin/sh\necho no %s here: Sig ok\n" % command)
            stand_in.chmod(0o755)
    return type_all(page, {**env, **GO}, cwd=folder)


# page: (how it is run, what it prints)
RUN = {
    "operators/README.md": (type_all, ["200 survey_completed e1 Reward 35.00  Sig ok  webhook-signature ok",
                                       '"delivered"\n200', "copied and checked\n\"delivered\"\n"]),
    "operators/backup.md": (on_a_database, []),
    "operators/books.md": (in_the_store, []),
    "operators/clusters.md": (on_three, []),
    "operators/events.md": (with_a_key, ['{"Accepted":2,"Duplicates":0,"Rejected":[]}']),
    "operators/exporting.md": (with_a_key, ["0 rows"]),
    "operators/moving.md": (moved, ["equal"]),
    "operators/postgresql.md": (on_a_database, []),
    "operators/reference.md": (beside_the_service, ["ada@example.com"]),
    "operators/systemd.md": (as_it_is, ["ListenStream=443"]),
    "operators/upgrading.md": (on_a_store_there, []),
    "partners/README.md": (verifying, ["Sig ok\nwebhook-signature ok\n" * 2]),
    "partners/recovery.md": (with_a_key, ['"Matched":0']),
    "partners/reports.md": (with_a_key, ['"Report":"earnings"']),
    "partners/statements.md": (with_a_key, ["0 rewards, 0 records"]),
}
HOSTS = {"operators/clusters.md": ["db0", "db1", "db2"]}


def test_every_page_that_is_typed_is_run():
    assert {str(page.relative_to(DOCS)) for page in PAGES if typed(page)} == set(RUN)


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.sqlite("its file")) if run is in_the_store else name
    for name, (run, _) in RUN.items()])
def test_a_page_as_it_stands(name, tmp_path):
    run, words = RUN[name]
    with machine(tmp_path, HOSTS.get(name, ["db.internal"])) as env:
        printed = run(DOCS / name, env)
    assert all(word in printed for word in words), printed
    if name == "operators/README.md":
        assert (tmp_path / "home/postbackd/keys").stat().st_mode & 0o777 == 0o600

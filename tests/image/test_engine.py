"""The image in Podman and in Docker, as docs/operators/containers.md says: on a read-only file system, without
capabilities, with a volume and a published port. Each engine is skipped by name where it is not."""
import json
import os

import pytest

from engines import IMAGE, KINDS, NODE, NOT_ROOT, RECEIVER, Node, engine, rights_of
from harness import OPERATOR_KEY, Account, Receiver, assert_signed, eventually

CONFIGURATION = "listen = 0.0.0.0:8080\nlog-format = json\nstore = sqlite:/var/lib/postbackd\nretry-schedule = 1s,1s,1s,1s,1s,1s,1s,1s\n"


@pytest.fixture(scope="module", params=sorted(KINDS))
def runs(request):
    with engine(request.param) as found:
        yield found


@pytest.fixture
def receiver():
    made = Receiver(address=RECEIVER)
    yield made
    made.close()


@pytest.fixture
def node(runs, tmp_path):
    """A node with a volume and a file of settings."""
    settings = tmp_path / "postbackd.conf"
    settings.write_text(CONFIGURATION + "allow-destination = %s/32\n" % RECEIVER)
    runs.call("run", "-d", "--name", "node", *NODE, "-v", "store:/var/lib/postbackd", "-v",
              "%s:/etc/postbackd/postbackd.conf:ro" % settings, "-e", "POSTBACKD_OPERATOR_KEY=" + OPERATOR_KEY,
              "-p", "127.0.0.1:8080:8080", *health(runs), "postbackd:0.1.0")
    made = Node(runs, "node").wait_ready()
    made.settings = settings
    yield made
    runs.call("rm", "-f", "node")
    runs.call("volume", "rm", "store")


def health(runs):
    """Podman loads the image as OCI, whose format has no health check: as the page says."""
    return ["--health-cmd", '["/usr/bin/postbackd","health"]'] if runs.name == "podman" else []


def test_events_go_in_and_callbacks_out(node, receiver):
    account = Account(node, receiver.url)
    node.api().events(account.event("engine-1"))
    assert_signed(receiver.wait_for("engine-1")[0], account.secret)
    node.api().wait_state("engine-1", account.partner_id, "delivered")
    eventually(lambda: node.engine.is_healthy("node"), 60, what="healthy")
    assert rights_of(node.pid()) == NOT_ROOT
    mounts = {m["Destination"]: m["Source"] for m in node.engine.inspect("node")["Mounts"]}
    owners = {(s.st_uid, s.st_mode & 0o077) for p, _, names in os.walk(mounts["/var/lib/postbackd"])
              for s in [os.stat(p), *(os.lstat(os.path.join(p, n)) for n in names)]}
    assert owners == {(65532, 0)}


def test_its_commands_inside(node):
    said = node.inside("check")
    assert "sqlite:/var/lib/postbackd" in said and all(line.startswith("ok") for line in said.splitlines()), said
    assert "/link#" in node.inside("user", "add", "ada@example.com", "--role", "admin")
    assert "ada@example.com" in node.inside("user", "list")
    assert "ready" in node.inside("health")


def test_sighup_reads_the_settings_again(node):
    with open(node.settings, "a", encoding="utf-8") as settings:  # the same file: the engine has mounted that
        settings.write("access-log = on\n")
    node.engine.call("kill", "-s", "HUP", "node")

    def reloaded():
        return [e for e in map(json.loads, node.engine.log("node").splitlines()) if e["event"] == "reloaded"]
    assert eventually(reloaded, 30)[0]["settings_reloaded"] == 1
    assert node.api().get("/readyz", key=None).status == 200


def test_a_stop_or_a_kill_loses_nothing(node, receiver):
    receiver.answer = lambda request: 503
    account = Account(node, receiver.url)
    for i, end in enumerate((node.stop, node.kill)):
        node.api().events([account.event("lost-%d-%d" % (i, j)) for j in range(50)])
        if end == node.stop:
            receiver.wait_for("lost-0-0")
        assert end() in (0, None), node.engine.log("node")
        node.engine.call("start", "node")
        node.wait_ready()
    receiver.answer = lambda request: 200
    for i in range(2):
        for j in range(50):
            node.api().wait_state("lost-%d-%d" % (i, j), account.partner_id, "delivered", 60)
    assert node.stop() == 0


def test_a_container_made_anew_finds_the_volume(node, receiver):
    account = Account(node, receiver.url)
    node.api().events(account.event("volume-1"))
    node.api().wait_state("volume-1", account.partner_id, "delivered")
    assert node.stop() == 0
    node.engine.call("rm", "node")
    node.engine.call("run", "-d", "--name", "node", *NODE, "-v", "store:/var/lib/postbackd", "-e",
                     "POSTBACKD_OPERATOR_KEY=" + OPERATOR_KEY, "-p", "127.0.0.1:8080:8080", "postbackd:0.1.0")
    node.wait_ready()
    assert node.api().callback("volume-1", account.partner_id)["State"] == "delivered"
    said = node.api().post("/api/v1/events", account.event("volume-1")).json
    assert said["Duplicates"] == 1, said


def test_a_folder_that_belongs_to_root_is_refused_with_the_way_out(runs, tmp_path):
    (tmp_path / "store").mkdir()
    done = runs.call("run", "--rm", *NODE, "-v", "%s:/var/lib/postbackd" % (tmp_path / "store"), "postbackd:0.1.0", check=False)
    assert done.returncode == 1 and "Permission denied" in done.stdout and "chown -R 65532:65532" in done.stdout, done
    os.chown(tmp_path / "store", 65532, 65532)
    done = runs.call("run", "--rm", *NODE, "-v", "%s:/var/lib/postbackd" % (tmp_path / "store"), "postbackd:0.1.0", "check")
    assert "is empty" in done.stdout


def test_the_health_check_comes_with_the_older_format(runs):
    """Docker loads that one; Podman where it is told to."""
    if runs.name == "podman":
        found = runs.inspect(runs.out("pull", "-q", "docker-archive:%s" % IMAGE).strip())["Healthcheck"]
    else:
        found = runs.inspect("postbackd:0.1.0")["Config"]["Healthcheck"]
    assert found["Test"] == ["CMD", "/usr/bin/postbackd", "health"]

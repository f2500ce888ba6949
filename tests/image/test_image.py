"""The image that ./dev image has made: what is in it, that it is made the same twice, and that it runs as its
configuration says, read-only and as process 1 of namespaces of its own, on this machine's loopback."""
import json
import os
import shutil
import signal
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from harness import OPERATOR_KEY, ROOT, Account, Daemon, Receiver, assert_signed

IMAGE = ROOT / "build-package" / "postbackd-image.tar"
needs_image = pytest.mark.skipif(not IMAGE.exists(), reason="no build-package/postbackd-image.tar (./dev image)")


needs_namespaces = pytest.mark.skipif(
    subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False).returncode != 0,
    reason="namespaces are not allowed here (root is needed)")


class Image:
    """The archive, unpacked: its manifest, configuration and files."""

    def __init__(self, folder):
        with tarfile.open(IMAGE) as archive:
            archive.extractall(folder)
        self.folder, self.root = folder, folder / "root"
        self.digest = json.loads((folder / "index.json").read_text())["manifests"][0]["digest"]
        self.manifest = self.blob(self.digest)
        self.config = self.blob(self.manifest["config"]["digest"])["config"]
        for layer in self.manifest["layers"]:
            with tarfile.open(self.place(layer["digest"])) as archive:
                archive.extractall(self.root, numeric_owner=True)

    def place(self, digest):
        return self.folder / "blobs" / digest.replace(":", "/")

    def blob(self, digest):
        return json.loads(self.place(digest).read_text())


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image")
    yield Image(folder)
    shutil.rmtree(folder)


# What a container engine would do. $1: the image's files, $2: the volume, $3: its place.
ENGINE = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount --bind "$2" "$1$3" && mount -t proc proc "$1/proc" || exit 1
root=$1 home=$3 user=$4 group=$5
shift 5
exec env -i "$@" unshare --root="$root" --wd="$home" --setuid="$user" --setgid="$group" $ARGUMENTS
"""


class Container(Daemon):
    """The image's program with its own configuration; only what a compose file would set is set."""

    def __init__(self, image, directory):
        super().__init__(directory, schedule=None)
        self.image, self.data = image, directory / "data"
        self.user, self.group = image.config["User"].split(":")
        (self.home,) = image.config["Volumes"]
        place = image.root / self.home[1:]
        shutil.copytree(place, self.data)
        os.chown(self.data, place.stat().st_uid, place.stat().st_gid)

    def command(self):
        config = self.image.config
        arguments = [*config["Entrypoint"], *config["Cmd"], "--allow-destination", "127.0.0.0/8"]
        variables = [*config["Env"], "POSTBACKD_LISTEN=127.0.0.1:%d" % self.port, "POSTBACKD_OPERATOR_KEY=" + OPERATOR_KEY]
        return ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--propagation", "private",
                "sh", "-c", ENGINE.replace("$ARGUMENTS", " ".join(arguments)), "sh", str(self.image.root), str(self.data),
                self.home, self.user, self.group, *variables]

    def first(self):
        """The program, which is process 1 in there, as this machine numbers it."""
        return int(Path("/proc/{0}/task/{0}/children".format(self.process.pid)).read_text())

    def stop(self, timeout_s=40):
        if self.process.poll() is None:
            os.kill(self.first(), signal.SIGTERM)
        return self.process.wait(timeout_s)

    def inside(self, *words):
        return subprocess.run(["nsenter", "--target", str(self.first()), "--mount", "--root", "--setuid", self.user,
                               "--setgid", self.group, *words], text=True, capture_output=True, timeout=60, check=False)


def files_of(root):
    """Each file's name, owner, mode, size and time."""
    return {str(p): (s.st_uid, s.st_mode, s.st_size, s.st_mtime_ns) for p in sorted(root.rglob("*")) for s in [p.lstat()]}


@needs_image
def test_its_configuration(image):
    config = image.config
    assert config["User"] == "65532:65532" and config["StopSignal"] == "SIGTERM"
    assert (config["Entrypoint"], config["Cmd"]) == (["/usr/bin/postbackd"], ["serve"])
    assert config["ExposedPorts"] == {"8080/tcp": {}} and config["Volumes"] == {"/var/lib/postbackd": {}}
    assert {"title", "version", "created", "revision", "licenses"} <= {k.split(".")[-1] for k in config["Labels"]}


@needs_image
def test_it_has_one_program_and_what_that_needs(image):
    programs = [p for p in image.root.rglob("*") if p.is_file() and os.access(p, os.X_OK) and ".so" not in p.name]
    assert [p.relative_to(image.root) for p in programs] == [Path("usr/bin/postbackd")]
    assert not [p for p in image.root.rglob("*") if p.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)]
    assert (image.root / "etc/ssl/certs/ca-certificates.crt").read_text().count("BEGIN CERTIFICATE") > 100
    assert "Package: libssl3" in (next((image.root / "var/lib/dpkg/status.d").glob("libssl3*"))).read_text()
    assert sum(p.lstat().st_size for p in image.root.rglob("*") if p.is_file() and not p.is_symlink()) < 60e6


@needs_image
def test_the_same_packages_give_the_same_digest(image, tmp_path):
    for name in ("postbackd", *(p.name for p in (ROOT / "build-package").glob("postbackd_*.deb"))):
        shutil.copy2(ROOT / "build-package" / name, tmp_path / name)
    said = subprocess.run([ROOT / "tools" / "image.py", tmp_path], check=True, text=True, stdout=subprocess.PIPE, timeout=280).stdout
    assert said.split()[-1] == image.digest
    assert (tmp_path / "postbackd-image.tar").read_bytes() == IMAGE.read_bytes()


@needs_image
@pytest.mark.skipif(not shutil.which("skopeo"), reason="no skopeo here (Debian's package)")
@pytest.mark.parametrize("kind", ["oci-archive", "docker-archive"])
def test_others_take_it(kind, tmp_path):
    subprocess.run(["skopeo", "--insecure-policy", "copy", "-q", "%s:%s" % (kind, IMAGE), "oci:%s:copy" % (tmp_path / "copy")],
                   check=True, timeout=200)
    assert (tmp_path / "copy" / "index.json").exists()


@needs_image
@needs_namespaces
def test_it_runs_read_only_and_not_as_root(image, tmp_path):
    container, receiver, before = Container(image, tmp_path), Receiver(), files_of(image.root)
    try:
        container.start()
        health = image.config["Healthcheck"]["Test"][1:] + ["--url", "http://127.0.0.1:%d" % container.port]
        healthy = container.inside(*health)
        assert healthy.returncode == 0, healthy
        assert container.inside("/usr/bin/postbackd", "health", "--url", "http://127.0.0.1:9").returncode == 1
        account = Account(container, receiver.url)
        container.api().events(account.event("image-1"))
        assert_signed(receiver.wait_for("image-1")[0], account.secret)
        container.api().wait_state("image-1", account.partner_id, "delivered")
        status = dict(line.split(":\t") for line in Path("/proc/%d/status" % container.first()).read_text().splitlines())
        assert set(status["Uid"].split() + status["Gid"].split()) == {"65532"}
        assert int(status["CapPrm"], 16) == int(status["CapEff"], 16) == 0
    finally:
        ended = container.stop()
        receiver.close()
    assert ended == 0, container.log_text()
    assert files_of(image.root) == before
    written = {p.relative_to(container.data).parts[0] for p in container.data.rglob("*")}
    assert {"postbackd.db", "journal", "master.key"} <= written
    assert {p.lstat().st_uid for p in container.data.rglob("*")} == {65532}

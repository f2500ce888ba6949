"""How tools/image.py writes an image, on files of the test's own. The image itself: ./dev test image."""
import gzip
import hashlib
import io
import json
import sys
import tarfile

from harness import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import image as tool

ENTRIES = {"usr/bin/postbackd": (b"program", 0o755), "etc/passwd": (b"root", 0o644), "lib": "usr/lib", tool.HOME: tool.USER}


def made(layers, epoch=1_700_000_000):
    archive, digest = tool.image(layers, "0.1.0", "abc", epoch, "amd64")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}, digest, archive


def blob(files, descriptor):
    content = files["blobs/" + descriptor["digest"].replace(":", "/")]
    assert len(content) == descriptor["size"] and hashlib.sha256(content).hexdigest() == descriptor["digest"][7:]
    return content


def test_the_order_of_files_is_not_seen():
    one, other = made([ENTRIES]), made([dict(reversed(ENTRIES.items()))])
    assert one[1:] == other[1:]
    assert made([ENTRIES], 1_700_000_001)[1] != one[1]
    assert made([{**ENTRIES, "etc/passwd": (b"toor", 0o644)}])[1] != one[1]


def test_each_digest_and_size_is_right():
    files, digest, _ = made([ENTRIES, {"etc/group": (b"root", 0o644)}])
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (described,) = json.loads(files["index.json"])["manifests"]
    assert described["digest"] == digest
    manifest = json.loads(blob(files, described))
    config = json.loads(blob(files, manifest["config"]))
    layers = [gzip.decompress(blob(files, layer)) for layer in manifest["layers"]]
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]
    assert len(config["history"]) == len(layers) == 2
    (old,) = json.loads(files["manifest.json"])
    assert all(name in files for name in [old["Config"], *old["Layers"]]) and old["RepoTags"] == ["postbackd:0.1.0"]


def test_a_layer_says_who_owns_what():
    with tarfile.open(fileobj=io.BytesIO(tool.tar(ENTRIES, 5))) as tar:
        found = {m.name: (m.type, m.uid, m.mode, m.linkname) for m in tar}
        assert {m.mtime for m in tar} == {5} and [m.name for m in tar] == sorted(found)
    assert found["usr"] == found["usr/bin"] == (tarfile.DIRTYPE, 0, 0o755, "")
    assert found["usr/bin/postbackd"] == (tarfile.REGTYPE, 0, 0o755, "")
    assert found["lib"] == (tarfile.SYMTYPE, 0, 0o777, "usr/lib")
    assert found["var/lib/postbackd"] == (tarfile.DIRTYPE, 65532, 0o700, "")


def test_which_files_of_a_package_are_taken():
    for name in ("usr/lib/x86_64-linux-gnu/libssl.so.3", "usr/lib64/ld-linux-x86-64.so.2", "usr/share/doc/libssl3/copyright",
                 "usr/lib/x86_64-linux-gnu/ossl-modules/legacy.so"):
        assert tool.is_wanted(name), name
    for name in ("usr/lib/x86_64-linux-gnu/gconv/UTF-7.so", "usr/bin/openssl", "usr/share/doc/libssl3/changelog.gz",
                 "usr/lib/systemd/system/postbackd.service", "etc/ssl/openssl.cnf"):
        assert not tool.is_wanted(name), name

#!/usr/bin/env python3
"""tools/image.py BUILD_DIR: makes BUILD_DIR/postbackd-image.tar, an OCI image, out of the package in
BUILD_DIR, and prints its name, size and digest.

Two layers, so that an upgrade moves the second only: shared libraries and certificates of authorities,
from Debian's packages as this machine's apt gets them; then the program and its user. There is no
shell and no package manager. The same packages and sources give the same bytes: files are sorted, and
every time is SOURCE_DATE_EPOCH or the last commit's.
"""
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
USER = 65532  # as in other images without a shell; Kubernetes wants a number
HOME = "var/lib/postbackd"
MEDIA = "application/vnd.oci.image."
CONFIGURATION = "etc/postbackd/postbackd.conf"  # a file, as the environment would beat another one's lines
FILES = {  # glibc reads /etc/hosts only where it is told to
    CONFIGURATION: b"listen = 0.0.0.0:8080\nlog-format = json\nstore = sqlite:/%s\n" % HOME.encode(),
    "etc/group": b"root:x:0:\npostbackd:x:%d:\n" % USER,
    "etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\n",
    "etc/passwd": b"root:x:0:0:root:/root:/sbin/nologin\n"
                  b"postbackd:x:%d:%d:postbackd daemon:/%s:/sbin/nologin\n" % (USER, USER, HOME.encode()),
}


def output(*words, **kw):
    return subprocess.run(list(map(str, words)), check=True, stdout=subprocess.PIPE, **kw).stdout


# ---- what is in it

def packages_of(binary):
    """The names of the Debian packages whose libraries it is linked with, directly or not."""
    files = re.findall(r"(/\S+) \(0x", output("ldd", binary, text=True))
    # dpkg knows each by one of these names, and complains about the others.
    places = {p for f in files for p in (f, "/usr" + f, os.path.realpath(f))}
    found = subprocess.run(["dpkg", "-S", *places], text=True, capture_output=True, check=False).stdout
    return sorted({line.split(":")[0] for line in found.splitlines()})


def download(names, folder):
    """Their newest versions into folder, verified by apt; the files."""
    try:
        output("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *names, cwd=folder)
    except subprocess.CalledProcessError:
        sys.exit("apt-get cannot download Debian's packages. Does `apt-get update` succeed?")
    return sorted(Path(folder).glob("*.deb"))


def is_wanted(name):
    library = re.match(r"usr/lib[^/]*/.*\.so(\.|$)", name) and "/gconv/" not in name
    return bool(library) or re.match(r"usr/(bin/postbackd|share/doc/[^/]+/copyright)$", name)


def add_package(entries, certificates, deb):
    """What is_wanted of it, by its place after Debian's merge of /lib into /usr/lib; and its description,
    where scanners look for it in an image without dpkg."""
    with tarfile.open(fileobj=io.BytesIO(output("dpkg-deb", "--fsys-tarfile", deb))) as archive:
        for member in archive:
            name = re.sub(r"^lib", "usr/lib", re.sub(r"^\./", "", member.name))
            if member.issym() and is_wanted(name):
                entries[name] = re.sub("^/lib", "/usr/lib", member.linkname)
            elif member.isfile() and is_wanted(name):
                entries[name] = (archive.extractfile(member).read(), member.mode)
            elif member.isfile() and name.startswith("usr/share/ca-certificates/"):
                certificates[name] = archive.extractfile(member).read()
    package = output("dpkg-deb", "-f", deb, "Package", text=True).split()[-1]
    entries["var/lib/dpkg/status.d/" + package] = (output("dpkg-deb", "-f", deb), 0o644)


def layers_of(deb, libraries):
    """The entries of the two layers: by name (content, mode), a link's target, or the owner of a directory."""
    base, own, certificates = {"lib": "usr/lib", "lib64": "usr/lib64"}, {HOME: USER}, {}
    base.update({mounted: 0 for mounted in ("dev", "proc", "sys")})
    for library in libraries:
        add_package(base, certificates, library)
    base["etc/ssl/certs/ca-certificates.crt"] = (b"".join(text for _, text in sorted(certificates.items())), 0o644)
    base["usr/lib/ssl/cert.pem"] = "/etc/ssl/certs/ca-certificates.crt"  # where OpenSSL looks by itself: for Kafka
    add_package(own, {}, deb)
    own.update({name: (text, 0o644) for name, text in FILES.items()})
    return [base, own]


# ---- how it is written

def entry(name, what, epoch):
    info = tarfile.TarInfo(name)
    info.mtime, info.mode, content = epoch, 0o755, b""
    if isinstance(what, str):
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, what, 0o777
    elif isinstance(what, tuple):
        content, info.mode = what
        info.size = len(content)
    else:
        info.type, info.uid, info.gid = tarfile.DIRTYPE, what, what
        info.mode = 0o700 if what else 0o755
    return info, io.BytesIO(content)


def tar(entries, epoch):
    """A tar of them and of the directories above them, sorted."""
    parents = {str(p): 0 for name in entries for p in list(Path(name).parents)[:-1]}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, what in sorted({**parents, **entries}.items()):
            archive.addfile(*entry(name, what, epoch))
    return out.getvalue()


def config(version, revision, epoch, architecture, layers):
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    labels = {"title": "postbackd", "description": "rewards in, signed callbacks out", "licenses": "MIT",
              "version": version, "revision": revision, "created": created}
    return {
        "created": created, "architecture": architecture, "os": "linux",
        "config": {
            "User": "%d:%d" % (USER, USER), "WorkingDir": "/" + HOME, "StopSignal": "SIGTERM",
            "Entrypoint": ["/usr/bin/postbackd"], "Cmd": ["serve"],
            "Env": ["PATH=/usr/bin", "POSTBACKD_CONFIG=/" + CONFIGURATION],
            "ExposedPorts": {"8080/tcp": {}}, "Volumes": {"/" + HOME: {}},
            "Labels": {"org.opencontainers.image." + k: v for k, v in labels.items() if v},
            # Docker's own member; others take it for nothing. Times are nanoseconds.
            "Healthcheck": {"Test": ["CMD", "/usr/bin/postbackd", "health"], "Interval": 10 * 10**9,
                            "Timeout": 5 * 10**9, "StartPeriod": 120 * 10**9, "Retries": 3},
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(t).hexdigest() for t in layers]},
        "history": [{"created": created, "created_by": "tools/image.py"} for _ in layers],
    }


def image(layers, version, revision, epoch, architecture):
    """(the archive's bytes, the digest of its manifest)."""
    files = {}

    def blob(content, kind):
        digest = hashlib.sha256(content).hexdigest()
        files["blobs/sha256/" + digest] = (content, 0o644)
        return {"mediaType": MEDIA + kind, "digest": "sha256:" + digest, "size": len(content)}

    def text(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

    tars = [tar(entries, epoch) for entries in layers]
    configuration = blob(text(config(version, revision, epoch, architecture, tars)), "config.v1+json")
    parts = [blob(gzip.compress(t, 9, mtime=0), "layer.v1.tar+gzip") for t in tars]
    manifest = blob(text({"schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json", "config": configuration,
                          "layers": parts}), "manifest.v1+json")
    name = "postbackd:" + version
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version,
                               "io.containerd.image.name": "docker.io/library/" + name}
    files["oci-layout"] = (text({"imageLayoutVersion": "1.0.0"}), 0o644)
    files["index.json"] = (text({"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": [manifest]}), 0o644)
    # What `docker load` before Docker 25 reads instead.
    place = [m["digest"].replace("sha256:", "blobs/sha256/") for m in [configuration, *parts]]
    files["manifest.json"] = (text([{"Config": place[0], "RepoTags": [name], "Layers": place[1:]}]), 0o644)
    return tar(files, epoch), manifest["digest"]


def main():
    build = Path(sys.argv[1])
    deb = max(build.glob("postbackd_*.deb"), key=lambda p: p.stat().st_mtime)
    git = ["git", "-C", ROOT, "log", "-1"]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or output(*git, "--format=%ct"))
    names = packages_of(build / "postbackd") + ["ca-certificates"]
    with tempfile.TemporaryDirectory() as folder:
        layers = layers_of(deb, download(names, folder))
    made, digest = image(layers, output(build / "postbackd", "--version", text=True).split()[1],
                         output(*git, "--format=%H", text=True).strip(), epoch,
                         output("dpkg", "--print-architecture", text=True).strip())
    path = build / "postbackd-image.tar"
    path.write_bytes(made)
    print("%s: %.1f MB, %s" % (path, len(made) / 1e6, digest))


if __name__ == "__main__":
    main()

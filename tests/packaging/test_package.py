"""The Debian package, taken apart: what is in it, and what it says of itself. That it installs, runs,
is upgraded and purged is proven on new systems: tools/fresh-package.sh."""
import gzip
import re
import shutil
import subprocess

import pytest

from harness import BINARY, ROOT

needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg-shlibdeps"),
                                reason="no dpkg-shlibdeps here (Debian's package dpkg-dev)")


def run(*words, **kw):
    return subprocess.run(list(map(str, words)), text=True, stdout=subprocess.PIPE, timeout=100, check=True, **kw).stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """It, made of the binary under test."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copy(BINARY, folder / "postbackd")
    made = run(ROOT / "tools" / "package.sh", folder, stderr=subprocess.DEVNULL).strip()
    root = folder / "root"
    run("dpkg-deb", "--raw-extract", made, root)
    yield made, root
    shutil.rmtree(folder)


def field(package, name):
    return run("dpkg-deb", "-f", package[0], name).strip()


@needs_dpkg
def test_it_says_what_it_is_and_needs(package):
    version = run(BINARY, "--version").split()[1]
    assert field(package, "Version").startswith(version + "-1~")
    assert re.search(r"\blibc6 \(>= ", field(package, "Depends"))  # found by dpkg-shlibdeps
    for library in ("libssl", "libpq5", "libsqlite3-0"):
        assert library in field(package, "Depends"), library
    assert 1000 < int(field(package, "Installed-Size")) < 50000


# docs/decisions/shared-libraries.md; the second line are those that some releases have as archives.
LIBRARIES = {"libssl", "libcrypto", "libsodium", "libsqlite3", "libpq", "libcares", "libnghttp2", "libz", "libzstd", "liblz4", "libcurl", "librdkafka",
             "libcjose", "libc", "libllhttp", "libgcc_s", "libm", "ld-linux-x86-64", "ld-linux-aarch64"}


@needs_dpkg
def test_it_links_what_it_uses_and_nothing_else(package):
    binary = package[1] / "usr/bin/postbackd"
    needed = re.findall(r"\(NEEDED\).*\[(.+?)\.so", run("readelf", "-d", binary))
    assert len(needed) > 5 and set(needed) <= LIBRARIES, set(needed) - LIBRARIES
    assert run("ldd", "-u", binary) == ""  # none that it does not call


def test_its_libraries_see_one_function_of_it():
    """src/bus/kafka_client.c says why this one. Any other that a library defines, too, would be taken for the library's."""
    names = re.findall(r" T (\w+)$", run("nm", "-D", "--defined-only", BINARY), re.M)
    assert names == ["cnd_timedwait"]


@needs_dpkg
def test_it_has_what_is_promised(package):
    root = package[1]
    assert run(root / "usr/bin/postbackd", "--version") == run(BINARY, "--version")
    for page in ("postbackd.1", "postbackd.conf.5", "postbackd.8"):
        section = page[-1]
        manual = gzip.decompress((root / "usr/share/man" / ("man" + section) / (page + ".gz")).read_bytes()).decode()
        assert manual == run(BINARY, "--manual", section)
    for shell, name in (("bash", "bash-completion/completions/postbackd"), ("zsh", "zsh/vendor-completions/_postbackd")):
        assert (root / "usr/share" / name).read_text() == run(BINARY, "--completion", shell)
    for name in ("postbackd.service", "postbackd.socket"):
        assert (root / "usr/lib/systemd/system" / name).read_text() == (ROOT / "packaging" / name).read_text()
    doc = root / "usr/share/doc/postbackd"
    copyright_text = (doc / "copyright").read_text()
    assert "Permission is hereby granted" in copyright_text and "SIL OPEN FONT LICENSE" in copyright_text
    for name in ("operators/README.md", "partners/README.md", "changelog.gz", "changelog.Debian.gz"):
        assert (doc / name).is_file(), name


@needs_dpkg
def test_nobody_but_root_may_write_and_everybody_read(package):
    for line in run("dpkg-deb", "-c", package[0]).splitlines():
        assert re.match(r"(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--) root/root ", line), line


@needs_dpkg
def test_the_same_sources_give_the_same_bytes(package, tmp_path):
    shutil.copy(BINARY, tmp_path / "postbackd")
    again = run(ROOT / "tools" / "package.sh", tmp_path, stderr=subprocess.DEVNULL).strip()
    assert run("sha256sum", again).split()[0] == run("sha256sum", package[0]).split()[0]


def test_each_line_of_the_configuration_is_an_option():
    said = run(BINARY, "serve", "--help")
    names = re.findall(r"^#?([a-z-]+) = \S", (ROOT / "packaging/postbackd.conf").read_text(), re.M)
    assert len(names) > 5
    for name in names:
        assert re.search(r"^  --%s " % name, said, re.M), name


def test_the_configuration_is_taken(tmp_path):
    """As it is installed, but for the place: nothing is wrong with it before the store is looked at."""
    text = (ROOT / "packaging/postbackd.conf").read_text()
    text = text.replace("127.0.0.1:8080", "127.0.0.1:0").replace("/var/lib/postbackd", str(tmp_path / "no" / "such"))
    (tmp_path / "conf").write_text(text)
    done = subprocess.run([BINARY, "serve", "--config", str(tmp_path / "conf")], text=True, stderr=subprocess.PIPE,
                          timeout=60, check=False)
    assert done.returncode == 2 and "store" in done.stderr and len(done.stderr.splitlines()) == 1, done


@pytest.mark.parametrize("script", ["postinst", "prerm", "postrm"])
def test_its_scripts_are_shell(script):
    run("sh", "-n", ROOT / "packaging" / "debian" / script)

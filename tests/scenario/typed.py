"""The pages of docs/, and a machine of one's own to type their blocks into.

A block that is meant to be typed is a fence ```sh; every other fence says what it shows. What a page
types is one shell's: its blocks in their order, each of which must end well. The shell has a network
of its own, /etc, /var and /srv that nobody else sees, and a root's rights there. Only what takes a
whole machine is a stand-in: sudo, apt, systemctl and ./dev, which say below what they do instead.
"""
import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import BINARY, PATIENCE, ROOT
from private import private_mounts, private_network

DOCS = ROOT / "docs"
GIVEN = {"contract.md", "specification.md"}  # whose words are not ours
SHOWN = {"shell", "json", "sql", "ini", "nginx", "properties", "yaml", "http", "text", "js", "typescript", "python", "php", "go",
         "java", "csharp"}
SERVICE = Path("/var/lib/postbackd.pid")
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.M | re.S)

SUDO = """#!/bin/sh
# Everybody is root here, and there is no user postbackd.
[ "$1" != -u ] || shift 2
[ "$1" != chown ] || exit 0
exec "$@"
"""
DEV = """#!/bin/sh
# The binary is built; `tests/packaging` takes the package apart, and a fresh Debian installs it.
mkdir -p build build-package
case $1 in
    build) ln -sf "$BINARY" build/postbackd ;;
    package) : > build-package/postbackd_0.1.0-1_amd64.deb ;;
    *) exit 2 ;;
esac
"""
APT = """#!/bin/sh
# What the package's postinst does: keys where there are none, and a start.
[ "$1" = install ] && [ -f "$2" ] || exit 2
mkdir -p /etc/postbackd /var/lib/postbackd
cp "$ROOT/packaging/postbackd.conf" /etc/postbackd
key() { openssl rand -hex 32; }
[ -e /etc/postbackd/keys ] ||
    printf 'POSTBACKD_OPERATOR_KEY=%s\\nPOSTBACKD_MASTER_KEY=%s\\n' "$(key)" "$(key)" > /etc/postbackd/keys
systemctl start postbackd
"""
# A `serve` that its page leaves in the foreground has a terminal of its own.
TERMINAL = """#!/bin/sh
[ "$1" = serve ] || exec "$BINARY" "$@"
"$BINARY" "$@" > "$HOME/serve.log" 2>&1 &
echo $! > "$HOME/serve.pid"
until grep -q listening "$HOME/serve.log"; do kill -0 $! || { cat "$HOME/serve.log"; exit 1; }; sleep 0.1; done
"""


def blocks(page):
    """Of a page: (line, language, text) of each fence."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        indent, language, body = found.groups()
        yield (text.count("\n", 0, found.start()) + 1, language, re.sub("^" + indent, "", body, flags=re.M))


def typed(page):
    return [(line, text) for line, language, text in blocks(page) if language == "sh"]


def script_of(page):
    lines = ["set -eu"]
    for line, text in typed(page):
        lines += ["trap 'echo \"the block at line %d ended with $?\" >&2' ERR" % line, text]
    return "\n".join(lines)


@contextlib.contextmanager
def machine(folder, hosts=()):
    """Nobody else sees what happens to /etc, /var, /srv and the network of it; the shell's environment."""
    with private_network(*("127.0.0.%d" % (i + 2) for i in range(len(hosts)))), private_mounts():
        for name in ("etc", "var", "srv"):
            upper, work = folder / name / "upper", folder / name / "work"
            upper.mkdir(parents=True)
            work.mkdir()
            layers = "lowerdir=/%s,upperdir=%s,workdir=%s" % (name, upper, work)
            if subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, "/" + name]).returncode != 0:
                pytest.skip("no overlay file system over /%s here" % name)
        with open("/etc/hosts", "a") as f:
            f.writelines("127.0.0.%d %s\n" % (i + 2, name) for i, name in enumerate(hosts))
        tools = folder / "tools"
        tools.mkdir()
        systemctl = "#!/bin/sh\nexec %s %s/tests/scenario/systemctl.py \"$@\"\n" % (sys.executable, ROOT)
        for name, text in {"sudo": SUDO, "apt": APT, "systemctl": systemctl, "postbackd": TERMINAL}.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        home = folder / "home"
        home.mkdir()
        (home / "dev").write_text(DEV)
        (home / "dev").chmod(0o755)
        env = {k: v for k, v in os.environ.items() if not k.startswith("POSTBACKD_")}
        try:
            yield {**env, "HOME": str(home), "BINARY": BINARY, "ROOT": str(ROOT),
                   "PATH": "%s:%s" % (tools, env["PATH"])}
        finally:
            if SERVICE.exists():  # of systemctl.py, started outside of the page
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(SERVICE.read_text()), signal.SIGKILL)


def type_all(page, env, cwd=None):
    """Everything that the page types; what was printed."""
    printed = Path(env["HOME"]) / "terminal.log"
    with open(printed, "wb") as out:
        process = subprocess.Popen(["bash", "-c", script_of(page)], env=env, cwd=cwd or env["HOME"],
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        try:
            status = process.wait(180 * PATIENCE)
        except subprocess.TimeoutExpired:
            status = "after too long"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what it left running
            process.wait()
    logs = "".join("\n== %s\n%s" % (path.name, path.read_text(errors="replace")[-3000:])
                   for path in Path(env["HOME"]).rglob("*.log"))
    assert status == 0, "it ended %s%s" % (status, logs)
    return printed.read_text()

#!/usr/bin/env python3
"""What the build needs of the dashboard (dashboard/README.md).

dashboard.py packages [all]          npm ci, if the lock file has changed; all: the tools of tests
                                     and lint too
dashboard.py packages clients        the same for tests/clients; or provider: for tests/provider
dashboard.py bundle OUTPUT DEPFILE   bundles it and writes the C file that embeds it
dashboard.py format [--check]        lays its sources out
dashboard.py lint                    checks its types, and its tests'
dashboard.py test [WORD...]          runs the browser tests (those whose names have a word)
dashboard.py shots [WORD...]         takes pictures of every page into docs/dashboard/
dashboard.py weigh [WORD...]         sizes of its files, and how long its pages take on a slow machine
"""
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "dashboard"
TESTS = ROOT / "tests" / "dashboard"
# Of all files gzipped: the program, its letters, and the partners' pages.
MOST_BYTES = 130_000
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


def fail(why):
    sys.exit(f"tools/dashboard.py: {why}")


def packages(everything, home=HOME):
    """Installs what the lock file names; which one that was is kept beside it."""
    if not shutil.which("npm"):
        fail("there is no npm: ./dev build installs it, or set the build up with -Ddashboard=false")
    modules = home / "node_modules"
    modules.mkdir(exist_ok=True)
    lock_hash = hashlib.sha256((home / "package-lock.json").read_bytes()).hexdigest()
    with open(home / ".packages.lock", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # builds may run side by side
        mark = modules / ".installed"
        installed = mark.read_text().split() if mark.exists() else []
        if lock_hash in installed and (not everything or "all" in installed):
            return
        everything = everything or "all" in installed
        command = ["npm", "ci", "--no-audit", "--no-fund"] + ([] if everything else ["--omit=dev"])
        done = subprocess.run(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        if done.returncode != 0:
            fail(f"npm ci failed; it needs the npm registry:\n{done.stdout}")
        mark.write_text(f"{lock_hash} {'all' if everything else ''}\n")


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def blob(number, kind, path):
    """Assembly that puts a file's bytes under the names blob_<number>_<kind> and ..._end."""
    name = f"web_{kind}_{number}"
    return "\n".join([
        f'__asm__(".pushsection .rodata\\n"',
        f'        "{name}:\\n.incbin \\"{path}\\"\\n{name}_end:\\n.byte 0\\n"',
        f'        ".popsection\\n");',
        f"extern const char {name}[], {name}_end[];",
    ])


def size_of(path):
    return path.stat().st_size


def embed(made):
    """The C file; each file is embedded as it is and as the .gz beside it."""
    files = sorted(path for path in made.rglob("*") if path.is_file() and path.suffix != ".gz")
    parts, rows, total = [], [], 0
    for number, path in enumerate(files):
        data = path.read_bytes()
        packed = path.with_name(path.name + ".gz")
        total += size_of(packed)
        name = "/" + path.relative_to(made).as_posix()
        digest = hashlib.sha256(data).hexdigest()[:16]
        parts += [f"/* {name} {digest} */", blob(number, "plain", path),
                  blob(number, "gzip", packed)]
        rows.append(f"    {{STR({c_string('/' if name == '/index.html' else name)}), "
                    f"{c_string(TYPES[path.suffix])}, {c_string(chr(34) + digest + chr(34))},\n"
                    f"     {{web_plain_{number}, {len(data)}}}, "
                    f"{{web_gzip_{number}, {size_of(packed)}}}}},")
    if total > MOST_BYTES:
        fail(f"the dashboard: {total} bytes gzipped, more than {MOST_BYTES}")
    return "\n".join(["/* Made by tools/dashboard.py. */", '#include "web/web.h"', "", *parts, "",
                      "const struct web_file web_files[] = {", *rows, "};",
                      f"const size_t web_file_count = {len(rows)};", ""])


def bundle(output, depfile):
    packages(False)
    output, depfile = Path(output).resolve(), Path(depfile).resolve()
    made = output.parent / "dashboard"
    done = subprocess.run(["node", "build.mjs", "--out", str(made), "--depfile", str(depfile),
                           "--target", os.path.relpath(output)], cwd=HOME)
    if done.returncode != 0:
        fail("the dashboard does not bundle; see above")
    output.write_text(embed(made))


def run(*command):
    return subprocess.run(command, cwd=HOME).returncode


def form(*options):
    packages(True)
    how = "--check" if "--check" in options else "--write"
    return run("node_modules/.bin/prettier", how, "--log-level", "warn", "--config",
               ".prettierrc.json", ".", "../tests/dashboard", "../tests/clients", "../tests/provider")


def lint():
    packages(True)
    return run("node_modules/.bin/tsc", "-p", ".") or run("node_modules/.bin/tsc", "-p", str(TESTS))


def bundle_tests(entry):
    """Bundles a program of tests/dashboard, whose packages are the dashboard's; where it is."""
    packages(True)
    made = HOME / "node_modules" / ".made" / f"{entry}.mjs"
    plain = '{"compilerOptions":{"jsx":"react-jsx","jsxImportSource":"preact"}}'
    done = run("node_modules/.bin/esbuild", str(TESTS / f"{entry}.ts"), "--bundle",
               "--platform=node", "--format=esm", "--packages=external", "--log-level=warning",
               f"--tsconfig-raw={plain}", f"--outfile={made}")
    if done != 0:
        fail(f"tests/dashboard/{entry}.ts does not bundle; see above")
    return ["node", "--enable-source-maps", str(made)]


def shots(*words):
    return run(*bundle_tests("shots"), *words)


def weigh(*words):
    return run(*bundle_tests("weigh"), *words)


def test(*words):
    """All of them in three parts at once; one of few words is not worth a second daemon."""
    command = bundle_tests("all")
    if words:
        return run(*command, *words)
    parts = [subprocess.Popen([*command, "--part", str(part)], cwd=HOME) for part in (1, 2, 3)]
    return int(any([part.wait() != 0 for part in parts]))


def main():
    verbs = {"format": form, "lint": lint, "test": test, "shots": shots, "weigh": weigh}
    if len(sys.argv) > 1 and sys.argv[1] in verbs:
        sys.exit(verbs[sys.argv[1]](*sys.argv[2:]))
    if sys.argv[1:] in (["packages"], ["packages", "all"]):
        packages(len(sys.argv) == 3)
    elif sys.argv[1:] in (["packages", "clients"], ["packages", "provider"]):
        packages(True, ROOT / "tests" / sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == "bundle":
        bundle(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

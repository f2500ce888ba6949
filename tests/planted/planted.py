#!/usr/bin/env python3
"""Planted bugs as a gate: each mutation of mutations.py must be caught by the test named for it.

    planted.py [NAME...]    builds each mutant in a folder of its own and runs its test, which must fail
    planted.py --check      each mutation applies, its test is there, docs/planted.md has the table
    planted.py --table      writes the table into docs/planted.md
    planted.py --list       names

A base tree, build-planted/base, is built once, and every test that is named passes there first: a
test that always fails would catch everything. A mutant is a copy of that tree, build of its own
included, so that only what the mutated file touches is compiled again. Copies of mutants that were
caught are removed; the others stay, with test.log, to be looked at.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutations import MUTATIONS

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build-planted"
PAGE = ROOT / "docs" / "planted.md"
MARK = "<!-- written by `tests/planted/planted.py --table` -->\n"
SECONDS_MOST = 600
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout=300"]
ON_POSTGRESQL = ["/usr/bin/python3", "tests/scenario/postgresql.py", "run"]


class Test:
    """What catches a mutation: `unit NAME`, `program PATH [ARG...]`, `on-postgresql PATH [ARG...]`,
    `scenario FILE[::TEST]`, `postgresql FILE[::TEST]`; or `both-stores PATH [ARG...]`, which runs the
    program with `sqlite` and with `postgresql` in front of its arguments: each must catch it."""

    def __init__(self, text):
        self.text = text
        self.kind, *self.words = text.split()

    def targets(self):
        if self.kind == "unit":
            return ["tests/unit/test_" + self.words[0]]
        if self.kind in ("program", "on-postgresql", "both-stores"):
            return [self.words[0]]
        return ["postbackd", "tests/scenario/shim.so"]

    def commands(self, tree):
        build = tree / "build"
        if self.kind in ("scenario", "postgresql"):
            return [PYTEST + ["tests/%s/%s" % (self.kind, self.words[0])]]
        program, words = [str(build / self.targets()[0])], self.words[1:]
        if self.kind == "both-stores":
            return [program + ["sqlite"] + words, ON_POSTGRESQL + program + ["postgresql"] + words]
        return [ON_POSTGRESQL + program + words if self.kind == "on-postgresql" else program + words]

    def missing(self):
        """Why it cannot be run; None: it can."""
        if self.kind in ("scenario", "postgresql"):
            file, _, name = self.words[0].partition("::")
            path = ROOT / "tests" / self.kind / file
            if not path.exists():
                return "no file %s" % path.relative_to(ROOT)
            if name and not re.search(r"^def %s\(" % re.escape(name), path.read_text(), re.M):
                return "no %s in %s" % (name, file)
            return None
        if self.kind == "unit":
            there = "'%s'" % self.words[0] in (ROOT / "tests/unit/meson.build").read_text()
        else:
            path = Path(self.words[0])
            build = ROOT / path.parent / "meson.build"
            there = build.exists() and "executable('%s'" % path.name in build.read_text()
        return None if there else "no program %s" % self.words[0]


# --- looking -------------------------------------------------------------------------------------

def problem_of(mutation):
    """Why it cannot be planted; None: it can."""
    path = ROOT / mutation.file
    found = path.read_text().count(mutation.old) if path.exists() else 0
    if found != 1:
        return ("%s has its text %d times instead of once: bring `old` and `new` up to date with the"
                " code" % (mutation.file, found))
    if mutation.old == mutation.new:
        return "it changes nothing"
    return Test(mutation.test).missing()


def table():
    rows = ["| mutation | what it does | caught by |", "|---|---|---|"]
    room = None
    for m in MUTATIONS:
        if m.room != room:
            room = m.room
            rows.append("| **%s** | | |" % room)
        rows.append("| `%s` | %s | `%s` |" % (m.name, m.what, m.test))
    return "\n".join(rows) + "\n"


def page_parts():
    text = PAGE.read_text()
    before, mark, rest = text.partition(MARK)
    assert mark, "%s has lost the line %r" % (PAGE, MARK)
    _, gap, after = rest.partition("\n\n")
    return before + mark, gap + after


def check():
    failed = 0
    names = [m.name for m in MUTATIONS]
    for name in {n for n in names if names.count(n) > 1}:
        print("%s: the name is taken twice" % name)
        failed += 1
    for m in MUTATIONS:
        problem = problem_of(m)
        if problem:
            print("%s: %s" % (m.name, problem))
            failed += 1
    before, after = page_parts()
    if PAGE.read_text() != before + table() + after:
        print("docs/planted.md is not up to date: run tests/planted/planted.py --table")
        failed += 1
    print("planted_texts: %d passed, %d failed" % (len(MUTATIONS) + 1 - failed, failed))
    return failed == 0


# --- building and running ------------------------------------------------------------------------

def say(done, command):
    sys.stdout.write(done.stdout[-4000:])
    raise SystemExit("planted: %s failed" % " ".join(map(str, command)))


def run(command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          **options)


def take_over_sources(tree):
    """What differs from the checkout is copied: what is as it was need not be built again."""
    listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                 cwd=ROOT).stdout.split("\0")
    wanted = {name for name in listed if name and (ROOT / name).is_file()}
    for path in [p for p in tree.rglob("*") if p.is_file()]:
        name = str(path.relative_to(tree))
        if not name.startswith("build/") and name not in wanted:
            path.unlink()
    for name in wanted:
        to = tree / name
        if to.exists() and to.read_bytes() == (ROOT / name).read_bytes():
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to)


def make_base(targets):
    tree = WORK / "base"
    tree.mkdir(parents=True, exist_ok=True)
    take_over_sources(tree)
    setup = ["meson", "setup", tree / "build", tree, "-Dwerror=false", "-Ddashboard=false",
             "-Doptimization=1", "-Ddebug=false"]
    commands = [] if (tree / "build" / "build.ninja").exists() else [setup]
    commands.append(["ninja", "-C", tree / "build"] + sorted(targets))
    for command in commands:
        done = run(command, cwd=tree)
        if done.returncode != 0:
            say(done, command)
    return tree


def run_test(test, tree):
    """Which of its commands passed, and the seconds; None: one did not end."""
    begun = time.monotonic()
    env = dict(os.environ, POSTBACKD_BIN=str(tree / "build" / "postbackd"))
    cwd = tree / "build" if test.kind in ("unit", "program") else tree
    passed, log = [], ""
    for command in test.commands(tree):
        try:
            done = run(command, cwd=cwd, env=env, timeout=SECONDS_MOST)
        except subprocess.TimeoutExpired:
            return None, time.monotonic() - begun
        log += done.stdout
        # What was skipped proves nothing.
        passed.append(done.returncode == 0 and
                      re.search(r"\b[1-9]\d* passed", done.stdout) is not None)
    (tree / "test.log").write_text(log)
    return passed, time.monotonic() - begun


def check_base(tests, base):
    """The names of tests that fail without any mutation."""
    bad = set()
    for text in tests:
        passed, seconds = run_test(Test(text), base)
        good = passed is not None and all(passed)
        print("base    %-60s %6.1f s  %s" % (text, seconds, "passed" if good else "FAILED"),
              flush=True)
        if not good:
            bad.add(text)
            shutil.copy(base / "test.log", WORK / "base-failed.log")
    return bad


def plant(mutation, base):
    """What became of it, as one line; caught or not."""
    tree, test = WORK / mutation.name, Test(mutation.test)
    shutil.rmtree(tree, ignore_errors=True)
    run(["cp", "-a", base, tree])
    file = tree / mutation.file
    text = file.read_text()
    assert text.count(mutation.old) == 1, mutation.name
    file.write_text(text.replace(mutation.old, mutation.new))
    built = run(["ninja", "-C", tree / "build"] + test.targets())
    if built.returncode != 0:
        (tree / "test.log").write_text(built.stdout)
        return False, "does not build: see %s" % (tree / "test.log")
    passed, seconds = run_test(test, tree)
    if passed is None:
        return False, "%s did not end within %d s" % (test.text, SECONDS_MOST)
    if any(passed):
        missed = [" ".join(c) for c, p in zip(test.commands(tree), passed) if p]
        return False, "NOT caught by %s" % ", ".join(missed)
    shutil.rmtree(tree, ignore_errors=True)
    return True, "caught by %s in %.1f s" % (test.text, seconds)


def plant_all(chosen):
    bad = [(m, p) for m in chosen if (p := problem_of(m))]
    for m, problem in bad:
        print("%s: %s" % (m.name, problem))
    chosen = [m for m in chosen if m not in [b for b, _ in bad]]
    base = make_base({t for m in chosen for t in Test(m.test).targets()})
    failing = check_base(sorted({m.test for m in chosen}), base)
    failed = len(bad)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(m, pool.submit(plant, m, base)) for m in chosen if m.test not in failing]
        for m, job in jobs:
            caught, line = job.result()
            failed += not caught
            print("%-8s %s: %s" % ("caught" if caught else "MISSED", m.name, line), flush=True)
    failed += len(chosen) - len(jobs)
    print("planted: %d passed, %d failed" % (len(chosen) + len(bad) - failed, failed))
    return failed == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    if asked.list:
        print("\n".join(m.name for m in MUTATIONS))
        return True
    if asked.table:
        before, after = page_parts()
        PAGE.write_text(before + table() + after)
        return True
    if asked.check:
        return check()
    unknown = set(asked.names) - {m.name for m in MUTATIONS} - {m.room for m in MUTATIONS}
    if unknown:
        raise SystemExit("planted: no mutation or room %s; --list names them" % ", ".join(unknown))
    return plant_all([m for m in MUTATIONS
                      if not asked.names or m.name in asked.names or m.room in asked.names])


if __name__ == "__main__":
    sys.exit(0 if main() else 1)

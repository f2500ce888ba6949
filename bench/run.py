#!/usr/bin/env python3
"""./dev bench [NAME...]: runs the benchmarks one after the other, or those named.

Each is a script of its own in this folder and says at its head what it measures and how.
"""
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in ("run", "common", "database", "database_fill"))


def main():
    wanted = sys.argv[1:] or NAMES
    for name in wanted:
        if name not in NAMES:
            sys.exit("no benchmark '%s'; there are: %s" % (name, " ".join(NAMES)))
    print("%d processors, %s, kernel %s\n" % (os.cpu_count(), os.uname().machine, os.uname().release))
    failed = []
    for name in wanted:
        print("## %s\n" % name, flush=True)
        if subprocess.run([sys.executable, HERE / (name + ".py")]).returncode:
            failed.append(name)
        print(flush=True)
    if failed:
        sys.exit("failed: " + " ".join(failed))


main()

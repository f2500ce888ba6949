#!/usr/bin/env python3
"""What ./dev makes of pytest's results.

pytest_results.py again XML                  the tests that failed, a line each, if they are few
pytest_results.py count NAME XML [PLACE...]  the lines that ./dev adds up; PLACE: a folder or file all
                                             of whose tests should have run

XML.unsteady, if it is there, has the tests that failed beside others and passed twice alone. They
count as passed, and are named.
"""
import pathlib
import sys
import xml.etree.ElementTree as tree

# More than so many failures are no accident.
FEW = 3


def cases_of(xml):
    return next(tree.parse(xml).iter("testsuite")).iter("testcase")


def name_of(case):
    of = case.get("classname")
    return (of.replace(".", "/") + ".py::" if of else "") + case.get("name")


def failed(xml):
    """A test whose end fails, too, is there twice."""
    found = [name_of(case) for case in cases_of(xml)
             if case.find("failure") is not None or case.find("error") is not None]
    return list(dict.fromkeys(found))


def again(xml):
    names = failed(xml) if pathlib.Path(xml).exists() else []
    if len(names) <= FEW:
        print(*names, sep="\n", end="\n" if names else "")
    return 0


def left_out(xml, places):
    """A file that is not run is a failure: once a whole folder was left out, and nobody saw it."""
    run = {word for case in cases_of(xml)
           for word in (case.get("classname") + "." + case.get("name")).split(".")}
    files = [file for place in map(pathlib.Path, places)
             for file in (sorted(place.glob("test_*.py")) if place.is_dir() else [place])]
    return [file for file in files if file.stem not in run]


def count(name, xml, *places):
    if not pathlib.Path(xml).exists():
        return 0  # pytest has said why, and failed
    beside = pathlib.Path(xml + ".unsteady")
    unsteady = beside.read_text().splitlines() if beside.exists() else []
    bad = [test for test in failed(xml) if test not in unsteady]
    missing = left_out(xml, places)
    for test in unsteady:
        print("UNSTEADY %s: failed beside others, see above, and passed twice alone" % test)
    for test in bad:
        print("FAILED %s" % test)
    for file in missing:
        print("FAILED %s: was not run" % file)
    cases = list(cases_of(xml))
    tests = len({name_of(case) for case in cases})
    skipped = sum(case.find("skipped") is not None for case in cases)
    print("%s: %d passed, %d failed, %d skipped"
          % (name, tests - len(bad) - skipped, len(bad) + len(missing), skipped))
    return bool(missing)


if __name__ == "__main__":
    sys.exit({"again": again, "count": count}[sys.argv[1]](*sys.argv[2:]))

#!/usr/bin/env python3
"""The house rules that a machine can see: layers, sizes, banned calls, leftovers.

Prints each finding as `file:line: rule: what` and ends with `tidy: N passed, M failed`, counted in
rules. selftest.py proves that every rule catches a planted violation, so none can pass silently.
"""

import argparse
import re
import sys
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import json_layout

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 600
LINE_COLUMNS_MAX = 100
WALK_FILES_MAX = 60
WALK_HANDOVERS_MAX = {"The walk of one event": 5, "The walk of a settings change": 6}

C_SOURCE = (".c",)
C_ANY = (".c", ".h")
SKIPPED_DIRS = re.compile(r"^(build.*|node_modules|__pycache__|corpus|\..*)$")

# call: the folders of src/ where it may stand, and what to use elsewhere
BANNED_CALLS = {
    **dict.fromkeys(["strcpy", "strcat", "sprintf", "vsprintf", "gets", "strncpy"],
                    ((), "struct buf or snprintf")),
    **dict.fromkeys(["strtok", "strtok_r"], ((), "str_cut")),
    **dict.fromkeys(["atoi", "atol", "atoll", "atof"], ((), "a parser that can refuse")),
    **dict.fromkeys(["strtod", "strtof", "strtold"], ((), "exact decimals (domain/money.h)")),
    **dict.fromkeys(["rand", "srand", "random", "drand48"], ((), "struct env or struct rng")),
    **dict.fromkeys(["getrandom", "arc4random"], (("base",), "env_random")),
    **dict.fromkeys(["clock_gettime", "gettimeofday"], (("base",), "struct env or cached now")),
    **dict.fromkeys(["time"], (("base", "net"), "struct env or the cached now")),
    **dict.fromkeys(["localtime", "gmtime", "ctime", "asctime"], ((), "domain/clock.h")),
    **dict.fromkeys(["malloc", "calloc", "realloc", "reallocarray", "strdup", "strndup",
                     "asprintf", "vasprintf"], (("base",), "base/alloc.h or base/buf.h")),
    **dict.fromkeys(["assert"], ((), "ASSERT, which stays on")),
    **dict.fromkeys(["getaddrinfo", "gethostbyname"], ((), "the resolver of net/: these block")),
    **dict.fromkeys(["sleep", "usleep", "nanosleep"], (("base", "cli"), "a timer")),
    **dict.fromkeys(["printf", "puts", "putchar", "perror"], (("base", "cli"), "base/log.h")),
}

# The domain is pure: functions of their arguments. These headers are how it would cheat.
IMPURE_HEADERS = re.compile(
    r"(time|unistd|fcntl|poll|pthread|threads|signal|stdatomic|sys/.*|netdb)\.h$")

# Money never passes through binary floating point.
EXACT_FOLDERS = ("domain", "intake", "accounts", "store", "reports")

# What reads a page of the dashboard at once: it may not be ready. Inside of shows() or until(), or of
# a function of its own that is called there, it is read until it is as it should be.
PAGE_READS = re.compile(r"\.(count|isVisible|isHidden|isEnabled|isDisabled|isChecked|textContent"
                        r"|innerText|inputValue|allTextContents|rows|content|url|evaluate)\(")
WAITING = re.compile(r"(\.shows|\buntil|=>)")

# Spelled so that this file does not find itself.
LEFTOVERS = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"])
                       + r")\b")
COMMENTED_OUT = re.compile(r"^\s*(//|/\*|#)\s*((ASSERT|REQUIRE|CHECK\w*)\(|assert[ (])")


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    what: str
    word: str  # what an exception names; empty for the whole file


class Text(NamedTuple):
    path: str  # relative to the root, with slashes
    lines: list  # as written
    code: list  # C only: without comments and the insides of literals, line by line

    def room(self, rooms):
        """Of these folders below src/ the innermost that it is in."""
        return innermost(self.path.removeprefix("src/"), rooms)

    @property
    def folder(self):
        """The folder under src/, or None for a file elsewhere."""
        parts = self.path.split("/")
        return parts[1] if parts[0] == "src" and len(parts) > 2 else None


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_of(text):
    """C text with comments and literals blanked, line numbers kept. Include lines stay whole."""
    def blank(match):
        token = match.group()
        if token[0] in "\"'":
            return token[0] * 2
        return "\n" * token.count("\n") or " "
    lines = TOKEN.sub(blank, text).split("\n")
    for number, line in enumerate(text.split("\n")):
        if re.match(r"\s*#\s*include\b", line):
            lines[number] = line
    return lines


def read_tree(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if any(SKIPPED_DIRS.match(part) for part in relative.parts[:-1]) or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # not text
        code = code_of(text) if path.suffix in C_ANY else []
        yield Text(relative.as_posix(), text.splitlines(), code)


# ---- layers

def innermost(path, rooms):
    """Of these folders the innermost that the path is in; None: none."""
    folder = path.rpartition("/")[0]
    while folder and folder not in rooms:
        folder = folder.rpartition("/")[0]
    return folder or None


def read_layers(root):
    """{folder: set of folders it may include}, closed transitively; {} says what is written."""
    written = {}
    for line in (root / "tests/tidy/layers.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            folder, _, uses = line.partition(":")
            written[folder] = set(uses.split())
    closed = {}
    for folder, uses in written.items():  # in order, so the lower ones are closed already
        uses = set(written) if uses == {"*"} else uses
        closed[folder] = {folder} | uses.union(*(closed.get(use, set()) for use in uses))
    return written, closed


def check_layers(texts, root):
    written, closed = read_layers(root)
    for text in texts:
        if text.folder is None or not text.path.endswith(C_ANY):
            continue
        room = text.room(closed)
        if room is None:
            yield Finding(text.path, 1, "layers", f"src/{text.folder} is not in layers.txt", "")
            continue
        for number, line in enumerate(text.code, 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match or "/" not in match.group(1):
                continue
            target = innermost(match.group(1), closed)
            top, *below = match.group(1).split("/")[:-1]
            if target is None:
                yield Finding(text.path, number, "layers",
                              f'"{match.group(1)}" is not relative to src/', top)
            elif target not in closed[room]:
                yield Finding(text.path, number, "layers",
                              f"{room} may not include {target}", target)
            elif below and top != text.folder:
                yield Finding(text.path, number, "layers",
                              f"a folder below {top} is {top}'s own", top)


def check_layers_documented(_texts, root):
    """The table of docs/architecture.md and layers.txt say the same."""
    path = "docs/architecture.md"
    written, _ = read_layers(root)
    documented = {}
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        match = re.match(r"\| `([\w/]+)/` \|.*\| ([^|]+) \|$", line)
        if match:
            uses = {"nothing": set(), "everything": {"*"}}.get(
                match.group(2), set(re.split(r",\s*", match.group(2))))
            documented[match.group(1)] = (uses, number)
    for folder in sorted(set(written) | set(documented)):
        uses, number = documented.get(folder, (None, 1))
        if uses != written.get(folder):
            yield Finding(path, number, "layers-documented",
                          f"{folder}: the table and tests/tidy/layers.txt differ", folder)


# ---- walks

def read_walks(lines):
    """[heading, its line, hand-overs: [(line, by)], steps: [(line, file, function, by)]] of each."""
    walks = []
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            walks.append((line.lstrip("# "), number, [], []))
        leg = re.match(r"\| \*\*.*\*\* \| \| (`\w+`)? ?\|", line)
        step = re.match(r"\| `([\w/]+\.c)` \| `(\w+)` \| (?:`([\w>.-]+)` )?\|", line)
        if leg and leg.group(1):
            walks[-1][2].append((number, leg.group(1).strip("`")))
        elif step:
            walks[-1][3].append((number, *step.groups()))
    return walks


def calls(code, by):
    return any(re.search(r"(?<![\w>.])" + re.escape(by) + r"\(", line) for line in code)


def check_walks(texts, root):
    """Who is called by none before it, comes twice, or is no function of its file; and the lengths."""
    path = "docs/architecture.md"
    code = {text.path: text.code for text in texts}
    functions = {text.path: {name for name, _, _ in functions_of(text)} for text in texts}
    for heading, start, handovers, steps in read_walks((root / path).read_text().splitlines()):
        if len(steps) > WALK_FILES_MAX or len(handovers) > WALK_HANDOVERS_MAX.get(heading, 0):
            yield Finding(path, start, "walk", f"{heading}: {len(steps)} files and {len(handovers)}"
                          " hand-overs are too many", "")
        before = []
        for number, file, function, by in steps:
            file = "src/" + file
            if function not in functions.get(file, ()):
                yield Finding(path, number, "walk", f"{file} has no function {function}", function)
            elif file in before:
                yield Finding(path, number, "walk", f"{file} comes twice", file)
            elif before and not any(calls(code[name], by or function) for name in before):
                yield Finding(path, number, "walk",
                              f"no file before it calls {by or function}", function)
            before += [file] if file in code else []
        for number, by in handovers:
            if not any(calls(code[name], by) for name in before):
                yield Finding(path, number, "walk", f"no file of the walk calls {by}", by)


# ---- sizes and shape

def functions_of(text):
    """(name, first line, line count) of each function; the braces of one stand in column 0."""
    opened = []
    for number, line in enumerate(text.code, 1):
        if re.match(r"\{", line):
            head = " ".join(text.code[max(0, number - 12):number - 1])
            opened.append((number, head if head.rstrip().endswith(")") else ""))
        elif re.match(r"\S.*\)\s*\{\s*$", line):
            opened.append((number, line))
        elif re.match(r"\S.*\{\s*$", line):
            opened.append((number, ""))
        elif re.match(r"\}", line) and opened:
            first, head = opened.pop()
            names = re.findall(r"(\w+)\s*\(", re.split(r"[;}]", head)[-1])
            if names:
                yield names[0], first, number - first + 1


def check_function_length(texts, _root):
    for text in texts:
        for name, first, count in functions_of(text):
            if count > FUNCTION_LINES_MAX:
                yield Finding(text.path, first, "function-length", f"{name} has {count} lines",
                              name)


def check_file_length(texts, _root):
    for text in texts:
        program = text.path == "dev" or text.path.endswith(C_ANY + (".py", ".sh"))
        if program and len(text.lines) > FILE_LINES_MAX:
            yield Finding(text.path, FILE_LINES_MAX, "file-length", f"{len(text.lines)} lines", "")


def check_line_length(texts, _root):
    for text in texts:
        if not text.path.endswith(C_ANY):
            continue
        for number, line in enumerate(text.lines, 1):
            if len(line) > LINE_COLUMNS_MAX:
                yield Finding(text.path, number, "line-length", f"{len(line)} columns", "")


def check_opening(texts, _root):
    """A .c opens with what it is for; a header with #pragma once near its top."""
    for text in texts:
        if text.path.endswith(C_SOURCE):
            if not re.match(r"/\*|//", text.lines[0] if text.lines else ""):
                yield Finding(text.path, 1, "opening", "does not open with what it is for", "")
        elif text.path.endswith(".h") and "#pragma once" not in text.lines:
            yield Finding(text.path, 1, "opening", "has no #pragma once", "")


# ---- content

def check_banned_calls(texts, _root):
    call = re.compile(r"(?<![\w.>])(" + "|".join(BANNED_CALLS) + r")\s*\(")
    for text in texts:
        if text.folder is None:
            continue
        for number, line in enumerate(text.code, 1):
            for name in call.findall(line):
                folders, instead = BANNED_CALLS[name]
                if text.folder not in folders:
                    yield Finding(text.path, number, "banned-call", f"{name}: use {instead}", name)


def check_sets(texts, _root):
    for text in texts:
        for number, line in enumerate(text.code, 1):
            if text.folder and re.search(r'\bstrchr\s*\(\s*"', line):
                yield Finding(text.path, number, "set", "strchr finds '\\0' in every set: use char_in", "")


def check_pure(texts, _root):
    for text in texts:
        if text.folder != "domain":
            continue
        for number, line in enumerate(text.code, 1):
            match = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
            if match and IMPURE_HEADERS.match(match.group(1)):
                yield Finding(text.path, number, "pure", f"domain/ includes <{match.group(1)}>",
                              match.group(1))


def check_exact(texts, _root):
    for text in texts:
        if text.folder not in EXACT_FOLDERS:
            continue
        for number, line in enumerate(text.code, 1):
            for word in re.findall(r"\b(double|float)\b", line):
                yield Finding(text.path, number, "exact", f"{word} where money passes", word)


def check_type_once(texts, _root):
    """A type's name is used once in src/: a search for it, or a debugger, answers once."""
    first = {}
    for text in texts:
        if text.folder is None:
            continue
        for number, line in enumerate(text.code, 1):
            match = re.match(r"(?:typedef )?((?:struct|enum|union) \w+)\s*\{", line)
            if match and match.group(1) in first:
                what = f"{match.group(1)} is in {first[match.group(1)]}, too"
                yield Finding(text.path, number, "type-once", what, match.group(1).split()[1])
            elif match:
                first[match.group(1)] = text.path


def check_leftovers(texts, _root):
    for text in texts:
        for number, line in enumerate(text.lines, 1):
            match = LEFTOVERS.search(line)
            if match:
                yield Finding(text.path, number, "leftover", match.group(), match.group())
            if text.path.endswith(C_ANY + (".py",)) and COMMENTED_OUT.match(line):
                yield Finding(text.path, number, "leftover", "an assertion commented out", "")


def check_listed(texts, root):
    """Every source is in a meson.build: a file nobody compiles, or a test nobody runs, lies."""
    def lists(meson, name):
        path = root / meson
        return path.is_file() and f"'{name}'" in path.read_text()

    for text in texts:
        if not text.path.endswith(C_SOURCE):
            continue
        folder, _, name = text.path.rpartition("/")
        listed = True
        if text.folder:
            inner = text.path.split("/", 2)[2]
            listed = (lists(f"src/{text.folder}/meson.build", inner)
                      or lists("meson.build", text.path))
        elif folder in ("tests/unit", "tests/fuzz"):
            stem = re.sub(r"^(test|fuzz)_|\.c$", "", name)
            listed = lists(f"{folder}/meson.build", stem) or lists(f"{folder}/meson.build", name)
        if not listed:
            yield Finding(text.path, 1, "listed", "in no meson.build", "")


def check_links(texts, root):
    """A relative link in a page leads to a file that is there."""
    for text in texts:
        if not text.path.endswith(".md"):
            continue
        for number, line in enumerate(text.lines, 1):
            for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", line):
                here = (root / text.path).parent
                if "://" not in target and not (here / target).exists():
                    yield Finding(text.path, number, "link", f"leads nowhere: {target}", target)


def check_unwaited(texts, _root):
    """Reads of a page in a statement that waits for nothing; a statement ends at the indentation of
    its first line."""
    for text in texts:
        if not re.fullmatch(r"tests/dashboard/.*\.test\.ts", text.path):
            continue
        depth = None  # of the statement that waits
        for number, line in enumerate(text.lines, 1):
            indent = len(line) - len(line.lstrip())
            if depth is not None and (indent > depth or line.strip()[:1] in "})]"):
                continue
            # A test's own function holds statements: they are looked at one by one.
            waits = WAITING.search(line) and not re.match(r"test\(|for ", line.lstrip())
            depth = indent if waits else None
            match = PAGE_READS.search(line)
            if match and not waits:
                what = f"{match.group(1)}() outside of shows()"
                yield Finding(text.path, number, "unwaited", what, match.group(1))


def check_json_layout(texts, _root):
    for text in texts:
        if text.folder is None or not text.path.endswith(".json"):
            continue
        want = json_layout.laid_out("\n".join(text.lines)).splitlines()
        for number, (have, wanted) in enumerate(zip_longest(text.lines, want), 1):
            if have != wanted:
                yield Finding(text.path, number, "json-layout", "run tests/tidy/json_layout.py", "")
                break


RULES = {
    "layers": check_layers,
    "layers-documented": check_layers_documented,
    "walk": check_walks,
    "function-length": check_function_length,
    "file-length": check_file_length,
    "line-length": check_line_length,
    "opening": check_opening,
    "banned-call": check_banned_calls,
    "set": check_sets,
    "pure": check_pure,
    "exact": check_exact,
    "type-once": check_type_once,
    "leftover": check_leftovers,
    "listed": check_listed,
    "link": check_links,
    "unwaited": check_unwaited,
    "json-layout": check_json_layout,
}
EXCEPTIONS = "tests/tidy/exceptions.txt"


def excuse(findings, root):
    """The findings no exception covers, and one for each exception that covers nothing."""
    path = root / EXCEPTIONS
    lines = path.read_text().splitlines() if path.is_file() else []
    exceptions = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.match(r"(\S+) ([^\s:]+)(?::(\S+))? -- \S", line)
        if match:
            exceptions[(match.group(1), match.group(2), match.group(3) or "")] = number
        else:
            yield Finding(EXCEPTIONS, number, "exceptions", "not: RULE PATH[:WORD] -- reason", "")
    used = set()
    for finding in findings:
        keys = {(finding.rule, finding.path, finding.word)} & set(exceptions)
        used |= keys
        if not keys:
            yield finding
    for key, number in exceptions.items():
        if key not in used:
            yield Finding(EXCEPTIONS, number, "exceptions", "excuses nothing", "")


def findings_in(root):
    texts = list(read_tree(root))
    found = [finding for check in RULES.values() for finding in check(texts, root)]
    return list(excuse(found, root))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path,
                        default=Path(__file__).resolve().parent.parent.parent)
    findings = findings_in(parser.parse_args().root)
    for finding in findings:
        print(f"{finding.path}:{finding.line}: {finding.rule}: {finding.what}")
    rules = {*RULES, "exceptions"}
    broken = {finding.rule for finding in findings}
    for rule in sorted(broken):
        print(f"FAILED {rule}")
    print(f"tidy: {len(rules - broken)} passed, {len(broken)} failed")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

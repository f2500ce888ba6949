#!/usr/bin/env python3
"""Proves tidy.py: a small tree that keeps every rule has no finding, and each violation planted
into it is found at its very line. Every rule must have a planted violation here.
"""

import sys
import tempfile
from pathlib import Path

import tidy

LAYERS = "base:\ndomain: base\nstore: domain\nstore/journal: store\nstore/sqlite: store/journal\ncli: *\n"
TABLE = """| folder | part | may include |
|---|---|---|
| `base/` | shapes | nothing |
| `domain/` | rules | base |
| `store/` | rows | domain |
| `store/journal/` | groups | store |
| `store/sqlite/` | tables | store/journal |
| `cli/` | commands | everything |
"""

WALK = TABLE + """
## The walk of one event

| file | function | by | what it does |
|---|---|---|---|
| **1. a loop** | | | |
| `base/alloc.c` | `xmalloc` | | |
| **2. another loop** | | `malloc` | |
| `store/sqlite/db.c` | `g` | `malloc` | |
"""

# What looks like a violation and is none.
CLEAN = {
    "tests/tidy/layers.txt": LAYERS,
    "docs/architecture.md": WALK,
    "README.md": "[a](docs/architecture.md) [b](https://example.org/x) [c](#here)\n",
    "meson.build": "files('src/cli/main.c')",
    "src/base/meson.build": "sources = files('alloc.c')",
    "src/store/meson.build": "sources = files('rows.c', 'sqlite/db.c')",
    "tests/unit/meson.build": "'rows',",
    "src/base/alloc.h": "#pragma once\nstruct shape {\n    struct shape *next;\n};\nvoid *xmalloc(int n);\n",
    "src/base/alloc.c": '/* Memory. */\n#include "alloc.h"\n'
                        "void *xmalloc(int n)\n{\n    return malloc(n);\n}\n",
    "src/store/rows.c": '/* Rows; strcpy() is banned. */\n'
                        '#include "domain/x.h"\n#include "base/y.h"\n#include <unistd.h>\n'
                        '// double, getrandom()\n'
                        'static const char *a = "strcpy(x) /* \\" double";\n'
                        "int f(struct s *s)\n{\n    return s->time(1) + s.malloc(2) + xtime(3);\n}\n",
    "src/store/sqlite/db.c": '/* The file. */\n#include "store/sqlite/db.h"\n'
                             '#include "store/journal/j.h"\n#include "store/rows.h"\n' + "int g(void)\n{\n" + "    g();\n" * 68 + "}\n",
    "src/cli/main.c": '/* Entry. */\n#include "store/rows.h"\nint main(void) { printf("x"); }\n',
    "tests/unit/test_rows.c": "/* A test. */\nint main(void) { strcpy(a, b); }\n",
    "src/domain/x.h": "#pragma once\n#include <stdint.h>\n",
    "src/cli/x.json": '{\n "a": [1, {"b": 2}],\n "c": "%s"\n}\n' % ("x" * 98),
    "tests/dashboard/x.test.ts": "test('x', async () => {\n  await w.shows(async () => {\n"
                                 "    assert.ok(await w.count());\n  });\n"
                                 "  const n = () =>\n    w.count();\n});\n",
}

# (rule, file, its text, line of the finding)
ROWS = "src/store/rows.c"
PLANTED = [
    ("layers", ROWS, '/* Rows. */\n\n#include "cli/main.h"\n', 3),
    ("layers", ROWS, '/* Rows. */\n#include "nowhere/x.h"\n', 2),
    ("layers", "src/cli/main.c", '/* Entry. */\n#include "store/sqlite/db.h"\n', 2),
    ("layers", ROWS, '/* Rows. */\n#include "store/sqlite/db.h"\n', 2),
    ("layers", "src/store/journal/x.h", '#pragma once\n#include "store/sqlite/db.h"\n', 2),
    ("layers", "src/domain/x.h", '#pragma once\n#include "store/rows.h"\n', 2),
    ("layers", "src/new/x.h", "#pragma once\n", 1),
    ("layers-documented", "docs/architecture.md", TABLE.replace("| domain |", "| base |"), 5),
    ("layers-documented", "docs/architecture.md", TABLE + "| `send/` | sent | base |\n", 9),
    ("layers-documented", "tests/tidy/layers.txt",
     LAYERS.replace("store: domain", "store: domain base"), 5),
    ("walk", "docs/architecture.md", WALK.replace("`xmalloc`", "`nothing`"), 15),
    ("walk", "docs/architecture.md", WALK.replace("`g` | `malloc`", "`g` | `s->nothing`"), 17),
    ("walk", "docs/architecture.md", WALK.replace("| | `malloc`", "| | `nothing`"), 16),
    ("walk", "docs/architecture.md", WALK + "| `base/alloc.c` | `xmalloc` | | |\n", 18),
    ("walk", "docs/architecture.md", WALK + "| **3. more** | | `malloc` | |\n" * 5, 10),
    ("function-length", ROWS,
     "/* Rows. */\nint f(int a,\n      int b)\n{\n" + "    f();\n" * 69 + "}\n", 4),
    ("function-length", ROWS, "/* Rows. */\nint f(void) {\n" + "    f();\n" * 69 + "}\n", 2),
    ("function-length", ROWS,
     '/* Rows. */\nextern "C" {\nint f(void)\n{\n' + "    f();\n" * 69 + "}\n}\n", 4),
    ("file-length", ROWS, "/* Rows. */\n" + "int x;\n" * 600, 600),
    ("file-length", "tests/scenario/test_x.py", "pass\n" * 601, 600),
    ("line-length", ROWS, "/* Rows. */\nint " + "x" * 97 + ";\n", 2),
    ("opening", ROWS, "int x;\n", 1),
    ("opening", ROWS, "", 1),
    ("opening", "src/domain/x.h", "int x;\n", 1),
    *(("banned-call", ROWS, f"/* Rows. */\n\nint x = {name} (1);\n", 3)
      for name in tidy.BANNED_CALLS),
    ("banned-call", "src/domain/x.h", "#pragma once\nlong t = 1+time(NULL);\n", 2),
    ("set", ROWS, '/* Rows. */\nint x = strchr (" \\t", c);\n', 2),
    ("pure", "src/domain/x.h", "#pragma once\n#include <sys/socket.h>\n", 2),
    ("pure", "src/domain/x.h", "#pragma once\n# include <time.h>\n", 2),
    ("exact", ROWS, "/* Rows. */\nint x; double y;\n", 2),
    ("exact", "src/domain/x.h", "#pragma once\nint f(float y);\n", 2),
    ("type-once", ROWS, "/* Rows. */\n\nstruct shape {\n    int x;\n};\n", 3),
    ("leftover", ROWS, "/* Rows. */\n/* TO" + "DO: all */\n", 2),
    ("leftover", "docs/notes.md", "Notes\n\nFIX" + "ME later\n", 3),
    ("leftover", ROWS, "/* Rows. */\n    // ASSERT(x > 0);\n", 2),
    ("leftover", "tests/unit/test_rows.c", "/* A test. */\n/* CHECK_EQ_INT(1, 2); */\n", 2),
    ("leftover", "tests/scenario/test_x.py", "def test_x():\n    # assert 1 == 2\n    pass\n", 2),
    ("listed", "src/store/other.c", "/* Other. */\n", 1),
    ("listed", "src/store/sqlite/other.c", "/* Other. */\n", 1),
    ("listed", "tests/unit/test_other.c", "/* Other. */\n", 1),
    ("listed", "tests/fuzz/fuzz_other.c", "/* Other. */\n", 1),
    ("link", "docs/notes.md", "Notes\n[one](architecture.md#x) [two](nowhere.md)\n", 2),
    ("unwaited", "tests/dashboard/x.test.ts",
     "test('x', async () => {\n  assert.ok(await w.rows('x'));\n});\n", 2),
    ("unwaited", "tests/dashboard/x.test.ts",
     "test('x', async () => {\n  await w.shows(() => {\n    f();\n  });\n"
     "  const n = await w.a.count();\n});\n", 5),
    ("json-layout", "src/cli/x.json", '{"a": [1],\n "b": 2}\n', 1),
    ("json-layout", "src/cli/x.json", '{\n "a": [1,2],\n "b": "%s"\n}\n' % ("x" * 98), 2),
    ("exceptions", "tests/tidy/exceptions.txt", "# none\nbanned-call src/x.c:time -- gone\n", 2),
    ("exceptions", "tests/tidy/exceptions.txt", "line-length src/x.c\n", 1),
]


def findings_with(change):
    with tempfile.TemporaryDirectory(prefix="tidy-") as folder:
        root = Path(folder)
        for path, text in {**CLEAN, **change}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return [(found.rule, found.path, found.line) for found in tidy.findings_in(root)]


def cases():
    """(what is proven, whether it holds, what was found)."""
    found = findings_with({})
    yield "the clean tree is clean", found == [], found
    for rule, path, text, line in PLANTED:
        found = findings_with({path: text})
        # layers.txt is wrong where the table is, and an include in a header harms nobody else
        where = "docs/architecture.md" if rule == "layers-documented" else path
        yield f"{rule} in {path}:{line}", found == [(rule, where, line)], found
    found = findings_with({ROWS: "/* Rows. */\nint x = time(1);\n",
                           tidy.EXCEPTIONS: f"banned-call {ROWS}:time -- a planted excuse\n"})
    yield "an exception excuses what it names", found == [], found
    found = findings_with({ROWS: "/* Rows. */\nint x = time(1) + rand();\n",
                           tidy.EXCEPTIONS: f"banned-call {ROWS}:time -- a planted excuse\n"})
    yield "and nothing else", found == [("banned-call", ROWS, 2)], found
    unproven = {*tidy.RULES, "exceptions"} - {rule for rule, *_ in PLANTED}
    yield "every rule has a planted violation", not unproven, sorted(unproven)


def main():
    passed = failed = 0
    for name, holds, found in cases():
        passed += holds
        failed += not holds
        if not holds:
            print(f"tests/tidy/selftest.py: {name}: found {found}\nFAILED {name}")
    print(f"tidy_selftest: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

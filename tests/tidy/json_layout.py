#!/usr/bin/env python3
"""Lays out JSON files: json_layout.py FILE... An object or array that fits into one line stands on
one line; each member of a longer one begins a line. The members keep their order."""
import json
import sys
from pathlib import Path

COLUMNS = 98


def value_text(value, indent, room):
    """indent: of the line that it begins in; room: the columns left there."""
    text = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or len(text) <= room:
        return text
    if isinstance(value, dict):
        members = [(json.dumps(name, ensure_ascii=False) + ": ", one) for name, one in value.items()]
    else:
        members = [("", one) for one in value]
    room = COLUMNS - indent - len(" ,")
    rows = [" " * (indent + 1) + name + value_text(one, indent + 1, room - len(name))
            for name, one in members]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(rows) + "\n" + " " * indent + closing


def laid_out(text):
    return value_text(json.loads(text), 0, COLUMNS) + "\n"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(laid_out(path.read_text(encoding="utf-8")), encoding="utf-8")

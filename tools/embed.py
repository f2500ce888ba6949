#!/usr/bin/env python3
"""Turns a file into a C header with its bytes, JSON without white space: embed.py INPUT OUTPUT NAME."""
import json
import sys

source, target, name = sys.argv[1:]
with open(source, "rb") as f:
    data = f.read()
if source.endswith(".json"):
    data = json.dumps(json.loads(data), separators=(",", ":"), ensure_ascii=False).encode()
rows = [", ".join(str(b) for b in data[i:i + 20]) for i in range(0, len(data), 20)]
with open(target, "w") as f:
    f.write("static const unsigned char %s[] = {\n    %s};\n" % (name, ",\n    ".join(rows)))

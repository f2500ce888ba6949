"""The library that shim.c makes, put before a daemon: its disk fails, or its clock is moved."""
import datetime
import os
import struct
from pathlib import Path

import pytest

from harness import BINARY

LIBRARIES = Path(BINARY).resolve().parent / "tests" / "scenario"


def shimmed(**controls):
    return preloaded("shim.so", **controls)


def preloaded(name, **controls):
    """The environment that preloads a library; sanitizers let it come before their runtime."""
    if not (LIBRARIES / name).exists():
        pytest.skip("no %s beside %s" % (name, BINARY))
    env = {"LD_PRELOAD": str(LIBRARIES / name)}
    env.update({name: str(path) for name, path in controls.items()})
    if "ASAN_OPTIONS" in os.environ:
        env["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"] + ":verify_asan_link_order=0"
    return env


class Clock:
    def __init__(self, path):
        self.path, self.seconds = path, 0
        path.write_bytes(struct.pack("q", 0))

    def jump(self, seconds):
        self.seconds += seconds
        with open(self.path, "r+b") as f:
            f.write(struct.pack("q", self.seconds))

    def now(self):
        return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.seconds)

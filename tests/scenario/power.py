"""Power cuts of a real daemon: the library that power.c makes writes down how to undo each change
that no sync has made durable, and `cut` undoes all of them, those after some moment, or random
sectors, in the order that a disk may have lost them."""
import os
import shutil
import struct
from pathlib import Path

from shim import preloaded

WRITE, TRUNCATE, SYNC, SYNC_NAMES, CREATE, RENAME, UNLINK, MAKE_DIRECTORY = range(1, 9)
NAMES = (CREATE, RENAME, UNLINK, MAKE_DIRECTORY)
HEAD = struct.Struct("<IIQqqq")
SECTOR = 512
STYLES = ("all lost", "nothing lost", "prefix kept", "sectors lost")
LATEST = 64  # of a prefix that is kept: how many changes before the end it ends at most


class Change:
    def __init__(self, head, data):
        self.kind, _, self.inode, self.offset, self.length, self.size = head
        self.data = data
        self.first = self.second = None
        if self.kind in NAMES + (SYNC_NAMES,):
            self.first, _, self.second = data.decode().partition("\0")

    def folder(self):
        return os.path.dirname(self.first)


def read_log(path):
    """All changes; a last one that the kill has torn goes: its change was not made."""
    data, at, changes = path.read_bytes() if path.exists() else b"", 0, []
    while at + HEAD.size <= len(data):
        head = HEAD.unpack_from(data, at)
        end = at + HEAD.size + head[1]
        if end > len(data):
            break
        changes.append(Change(head, data[at + HEAD.size:end]))
        at = end
    if at < len(data):
        os.truncate(path, at)
    return changes


def not_durable(changes):
    """The changes, oldest first, that no later sync of their file or folder covers."""
    files, folders, pending = set(), set(), []
    for c in reversed(changes):
        if c.kind == SYNC:
            files.add(c.inode)
        elif c.kind == SYNC_NAMES:
            folders.add(c.first)
        elif c.folder() not in folders if c.kind in NAMES else c.inode not in files:
            pending.append(c)
    return pending[::-1]


class PowerSupply:
    """Of the daemons whose files are in `root`; its log is in a folder beside it."""

    def __init__(self, root):
        self.root = Path(root).resolve()
        self.log = self.root.parent / (self.root.name + ".power")
        self.root.mkdir(parents=True, exist_ok=True)
        self.log.mkdir()

    def environment(self):
        return preloaded("power.so", POWER_ROOT=self.root, POWER_LOG=self.log)

    def stays(self):
        """After the daemon was killed: the next one finds what the kernel has, durable or not."""
        read_log(self.log / "log")

    def cut(self, r, style=None):
        """After the daemon was killed. How many changes were not durable, and what became of them."""
        pending = not_durable(read_log(self.log / "log"))
        style = style or r.choice(STYLES)
        names = [c for c in pending if c.kind in NAMES]
        kept_names = {"all lost": 0, "nothing lost": len(names)}.get(
            style, r.randrange(len(names) + 1))
        Undo(self, pending, r, style).run(set(map(id, names[kept_names:])))
        shutil.rmtree(self.log)
        self.log.mkdir()
        return len(pending), style


class Undo:
    def __init__(self, supply, pending, r, style):
        self.pending, self.r, self.style = pending, r, style
        self.kept = supply.log
        self.loss = r.uniform(0.1, 0.9)  # of sectors
        self.end = len(pending) - r.randrange(min(LATEST, len(pending)) + 1)  # of the prefix
        inodes = {c.inode for c in pending}
        self.files = {}
        for top in (supply.root, supply.log):
            for folder, _, names in os.walk(top):
                for name in names:
                    path = os.path.join(folder, name)
                    inode = os.stat(path).st_ino
                    if inode in inodes and inode not in self.files:
                        self.files[inode] = os.open(path, os.O_RDWR)
                    if name.endswith("-shm"):
                        os.unlink(path)

    def run(self, lost_names):
        for i in range(len(self.pending) - 1, -1, -1):
            change = self.pending[i]
            if change.kind in NAMES:
                if id(change) in lost_names:
                    self.undo_name(change)
            elif change.inode in self.files:
                self.undo_bytes(change, i)
        for fd in self.files.values():
            os.close(fd)

    def undo_bytes(self, c, i):
        torn = self.style == "sectors lost" or (self.style == "prefix kept" and i == self.end)
        lost = self.style == "all lost" or (self.style == "prefix kept" and i > self.end)
        fd = self.files[c.inode]
        if c.kind == TRUNCATE:
            if lost or (torn and self.r.randrange(2)):
                os.ftruncate(fd, c.size)
                os.pwrite(fd, c.data, c.offset)
            return
        before = c.data + bytes(c.length - len(c.data))
        at = 0
        while (lost or torn) and at < c.length:
            n = min(SECTOR - (c.offset + at) % SECTOR, c.length - at)
            if lost or self.r.random() < self.loss:
                os.pwrite(fd, before[at:at + n], c.offset + at)
            at += n
        if lost:
            os.ftruncate(fd, c.size)

    def undo_name(self, c):
        if c.kind == CREATE and os.path.exists(c.first):
            os.unlink(c.first)
        elif c.kind == MAKE_DIRECTORY:
            shutil.rmtree(c.first, ignore_errors=True)
        elif c.kind == UNLINK and not os.path.exists(c.first):
            os.link(self.kept / str(c.inode), c.first)
        elif c.kind == RENAME and os.path.exists(c.second) and os.stat(c.second).st_ino == c.inode:
            os.rename(c.second, c.first)  # nothing here is renamed over another file

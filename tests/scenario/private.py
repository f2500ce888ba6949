"""A network or a disk of one's own, for what a test would not do to the real one.

The calling thread, and every process and thread it starts meanwhile, sees the private one. Nothing
has to be cleaned up: the kernel drops it with the last of them. Needs root; `pytest.skip` without.
"""
import contextlib
import ctypes
import fcntl
import os
import socket
import struct

import pytest

CLONE_FS, CLONE_NEWNS, CLONE_NEWNET = 0x200, 0x00020000, 0x40000000
MS_REC, MS_PRIVATE, MS_REMOUNT = 0x4000, 0x40000, 0x20
SIOCADDRT, RTF_UP = 0x890B, 0x1
SIOCSIFADDR, SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8916, 0x8914, 0x1, 0x40

libc = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), "%s: %s" % (what, os.strerror(ctypes.get_errno())))


def _now(path):
    return os.open(path, os.O_RDONLY)


def _enter(namespace, root, directory):
    """Entering a mount namespace leads to its own root: outside, where the tests run in a chroot."""
    must(libc.setns(namespace, 0), "setns")
    os.fchdir(root)
    os.chroot(".")
    os.chdir(directory)


@contextlib.contextmanager
def _apart(flag, name):
    directory = os.getcwd()
    before, root = _now("/proc/thread-self/ns/" + name), _now("/")
    if libc.unshare(flag) != 0:
        pytest.skip("a private %s namespace needs root" % name)
    try:
        yield
    finally:
        must(libc.unshare(CLONE_FS), "unshare")  # threads started meanwhile share their root
        _enter(before, root, directory)
        os.close(before)
        os.close(root)


def _keep_mounts_here():
    """What is mounted from now on is seen in this thread's mount namespace only."""
    here, root, directory = _now("/proc/thread-self/ns/mnt"), _now("/"), os.getcwd()
    must(libc.setns(here, 0), "setns")
    must(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount / private")
    _enter(here, root, directory)
    os.close(here)
    os.close(root)


@contextlib.contextmanager
def private_network(*addresses):
    """Loopback only, with these further IPv4 addresses on it."""
    with _apart(CLONE_NEWNET, "net"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            up = struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING)
            fcntl.ioctl(s, SIOCSIFFLAGS, up)
            for i, address in enumerate(addresses):
                at = struct.pack("16sHH4s8x", b"lo:%d" % (i + 1), socket.AF_INET, 0,
                                 socket.inet_aton(address))
                fcntl.ioctl(s, SIOCSIFADDR, at)
        yield


def add_route_to_nowhere():
    """A default route by the loopback device: what goes to the Internet is lost, without an error."""
    anywhere = struct.pack("=H14x", socket.AF_INET)
    device = ctypes.create_string_buffer(b"lo")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        route = struct.pack("@L16s16s16sHhLPhPLLH", 0, anywhere, anywhere, anywhere, RTF_UP, 0, 0, 0,
                            0, ctypes.addressof(device), 0, 0, 0)
        fcntl.ioctl(s, SIOCADDRT, route)


@contextlib.contextmanager
def private_mounts():
    """What is mounted meanwhile is seen here only."""
    with _apart(CLONE_NEWNS, "mnt"):
        _keep_mounts_here()
        yield


@contextlib.contextmanager
def private_disk(directory, size):
    """A small file system of its own at `directory`; yields what gives it another size."""
    def resize(size, flags=MS_REMOUNT):
        must(libc.mount(b"tmpfs", bytes(directory), b"tmpfs", flags, b"size=%d" % size), "mount")

    directory.mkdir(parents=True, exist_ok=True)
    with private_mounts():
        resize(size, 0)
        yield resize

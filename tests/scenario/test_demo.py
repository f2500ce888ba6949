"""`postbackd demo` on a terminal: it says what it does, takes a free port, and all that it prints works."""
import importlib.util
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import time

import pytest

from harness import BINARY, PATIENCE, ROOT, Api, eventually

pytestmark = pytest.mark.sqlite("the demo's own store")


class Demo:
    def __init__(self):
        self.text, (self.master, slave) = "", pty.openpty()
        env = {k: v for k, v in os.environ.items() if not k.startswith("POSTBACKD_")}
        self.process = subprocess.Popen([BINARY, "demo"], stdin=slave, stdout=slave, stderr=slave, env=env)
        os.close(slave)

    def read_until(self, words, limit_s=120):
        end = time.monotonic() + limit_s * PATIENCE
        while words not in self.text:
            assert time.monotonic() < end, self.text
            ready, _, _ = select.select([self.master], [], [], 1)
            if ready:
                self.text += os.read(self.master, 65536).decode().replace("\r\n", "\n")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        end = time.monotonic() + 60 * PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            ready, _, _ = select.select([self.master], [], [], 0.1)
            if ready:
                try:
                    os.read(self.master, 65536)
                except OSError:  # the last one has closed it
                    break
        os.close(self.master)
        assert self.process.wait(60 * PATIENCE) == 0


def take_the_usual_port():
    """Somebody else's may have it already."""
    found = socket.socket()
    try:
        found.bind(("127.0.0.1", 8080))
        found.listen(1)
    except OSError:
        pass
    return found


def test_what_the_demo_prints_works():
    taken = take_the_usual_port()
    demo = Demo()
    try:
        demo.read_until("Stop with Ctrl-C.")
        said = demo.text
        assert said.count("127.0.0.1:8080 is in use") == 1
        assert re.search(r"Making a month of history: day 31 of 31, \d+ events", said)
        assert "Nobody can sign in" not in said and "/link#" not in said

        port = int(re.search(r"Open http://127\.0\.0\.1:(\d+)/ and sign in", said).group(1))
        password = re.search(r"Password of both\s+(\S+)", said).group(1)
        emails = re.findall(r"^\s+(\S+@\S+\.example)\s", said, re.M)
        assert port != 8080 and len(emails) == 2
        for email in emails:
            answer = Api(port, None).post("/api/v1/session", {"Email": email, "Password": password})
            assert answer.status == 200 and answer.json["User"]["Email"] == email, answer

        key = re.search(r"OPERATOR=(\S+)", said).group(1)
        fixed = re.search(r"(http://127\.0\.0\.1:\d+/quiz-night/\S+)", said).group(1)
        api = Api(port, key)
        urls = {lane + "CallbackUrl": fixed for lane in ("Success", "Failure", "Offer")}
        assert api.patch("/api/v1/apps/quiz-night", urls).status == 200

        def delivered():
            return api.get("/api/v1/callbacks", query={"partnerId": "sunny-games", "appId": "quiz-night",
                                                       "state": "delivered"}).json["Items"]
        eventually(delivered, 90)
    finally:
        demo.stop()
        taken.close()


def test_a_port_that_was_asked_for_is_not_changed():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        listen = "127.0.0.1:%d" % taken.getsockname()[1]
        result = subprocess.run([BINARY, "demo", "--listen", listen], capture_output=True, timeout=60 * PATIENCE)
    assert result.returncode == 1
    assert "is %s in use?" % listen in result.stderr.decode()


def stand_in(path, log):
    """A program that writes down how it was called."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('#!/bin/sh\necho "%s $*" >> %s\n' % (path.name, log))
    path.chmod(0o755)


def test_only_what_the_demo_runs_is_installed_and_built(tmp_path):
    log = tmp_path / "log"
    shutil.copy(ROOT / "dev", tmp_path)
    for name in ("tools/packages.sh", "bin/meson", "bin/ninja", "build/postbackd"):
        stand_in(tmp_path / name, log)
    env = {k: v for k, v in os.environ.items() if k not in ("CC", "CXX")}
    env["PATH"] = "%s:%s" % (tmp_path / "bin", env["PATH"])
    said = subprocess.run([tmp_path / "dev", "demo", "--seconds", "1"], env=env, timeout=60 * PATIENCE,
                          check=True, capture_output=True).stdout.decode()
    assert "Building postbackd" in said
    assert log.read_text().splitlines() == [
        "packages.sh build", "meson setup build", "ninja -C build postbackd", "postbackd demo --seconds 1"]


def test_of_the_dashboard_only_what_the_bundle_needs_is_installed(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("dashboard", ROOT / "tools/dashboard.py")
    dashboard = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dashboard)
    stand_in(tmp_path / "bin/npm", tmp_path / "log")
    monkeypatch.setenv("PATH", "%s:%s" % (tmp_path / "bin", os.environ["PATH"]))
    (tmp_path / "package-lock.json").touch()
    dashboard.packages(False, tmp_path)
    dashboard.packages(False, tmp_path)  # which is installed already
    assert (tmp_path / "log").read_text() == "npm ci --no-audit --no-fund --omit=dev\n"

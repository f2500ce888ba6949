"""Debian's Postfix as the operator's mail server: STARTTLS or TLS, people with a password, and every mail it
takes handed on to another server, where tests read it.

Nothing is installed: the package is unpacked into the build folder. Its master needs root. Who may sign in it
asks of an authentication server, by the protocol of Dovecot's; that one is here.
"""
import base64
import os
import shutil
import socketserver
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from harness import ROOT, eventually, leave_nothing_behind
from patroni import free_ports

PACKAGE = ROOT / "build/postfix"
LIBRARIES = PACKAGE / "usr/lib/postfix"
DAEMONS = LIBRARIES / "sbin"

# Of people and groups that every Debian has, none twice.
MAIN = """
compatibility_level = 3.6
myhostname = mail.wall.example
inet_interfaces = loopback-only
inet_protocols = ipv4
mydestination =
alias_maps =
local_recipient_maps =
mail_owner = daemon
setgid_group = mail
default_privs = nobody
queue_directory = {home}/queue
data_directory = {home}/data
daemon_directory = {daemons}
command_directory = {package}/usr/sbin
shlib_directory = {libraries}
meta_directory = {package}/etc/postfix
import_environment = MAIL_CONFIG LD_LIBRARY_PATH={libraries}
maillog_file = {home}/log
maillog_file_prefixes = {home}
smtpd_tls_cert_file = {certificate}
smtpd_tls_key_file = {key}
smtpd_tls_auth_only = yes
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:127.0.0.1:{people}
smtpd_sasl_security_options = noanonymous
smtpd_relay_restrictions = permit_sasl_authenticated, reject
default_transport = smtp:[127.0.0.1]:{onward}
smtp_dns_support_level = disabled
queue_run_delay = 1s
minimal_backoff_time = 1s
maximal_backoff_time = 1s
transport_retry_time = 1s
"""

MASTER = """
127.0.0.1:{smtp} inet n - n - - smtpd -o smtpd_tls_security_level=encrypt
127.0.0.1:{smtps} inet n - n - - smtpd -o smtpd_tls_wrappermode=yes
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
smtp unix - - n - - smtp
postlog unix-dgram n - n - 1 postlogd
"""


class People(socketserver.ThreadingTCPServer):
    """Dovecot's authentication protocol, version 1.1, of one who signs in by PLAIN."""
    daemon_threads = allow_reuse_address = True

    def __init__(self, user):
        self.user = user
        super().__init__(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answers(socketserver.StreamRequestHandler):
    def handle(self):
        self.say("VERSION", "1", "1"), self.say("MECH", "PLAIN", "plaintext"), self.say("SPID", "1")
        self.say("CUID", "1"), self.say("COOKIE", "0"), self.say("DONE")
        for line in self.rfile:
            verb, number, *words = line.decode().rstrip("\n").split("\t")
            given = [word[5:] for word in words if word.startswith("resp=")] if verb == "AUTH" else words
            if verb == "AUTH" and not given:
                self.say("CONT", number, "")
            elif verb in ("AUTH", "CONT"):
                good = tuple(base64.b64decode(given[0]).decode().split("\0")[1:]) == self.server.user
                self.say("OK" if good else "FAIL", number, "user=" + self.server.user[0])

    def say(self, *words):
        self.wfile.write(("\t".join(words) + "\n").encode())


class Postfix:
    """certificate: (file, its key). user: (name, password). onward: the port of the server that gets its mails."""

    def __init__(self, certificate, user, onward):
        if os.geteuid() != 0:
            pytest.skip("Postfix needs root")
        if subprocess.run([ROOT / "tools/unpack.sh", "postfix", PACKAGE]).returncode != 0:
            pytest.skip("Debian's package postfix cannot be fetched")
        self.home = Path(tempfile.mkdtemp(prefix="postfix-"))  # not below pytest's folder, which only root may enter
        self.home.chmod(0o755)
        self.people = People(user)
        self.smtp, self.smtps = free_ports(2)
        self.configure(certificate, onward)
        environment = dict(os.environ, LD_LIBRARY_PATH=str(LIBRARIES), MAIL_CONFIG=str(self.home))
        self.process = subprocess.Popen([DAEMONS / "master", "-d", "-c", self.home], env=environment, cwd=self.home)
        leave_nothing_behind(self.process)
        eventually(lambda: self.process.poll() is not None or "daemon started" in self.log())
        assert self.process.poll() is None, self.log()

    def configure(self, certificate, onward):
        places = {"home": self.home, "daemons": DAEMONS, "package": PACKAGE, "libraries": LIBRARIES,
                  "certificate": certificate[0], "key": certificate[1], "people": self.people.server_address[1],
                  "onward": onward, "smtp": self.smtp, "smtps": self.smtps}
        (self.home / "main.cf").write_text(MAIN.format(**places))
        (self.home / "master.cf").write_text(MASTER.format(**places))
        for name in ("data", "queue", *("queue/" + part for part in (
                "active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming", "pid", "private",
                "public", "saved", "trace"))):
            (self.home / name).mkdir()
            shutil.chown(self.home / name, *(("root",) if name in ("queue", "queue/pid") else ("daemon",)))

    def log(self):
        file = self.home / "log"
        return file.read_text() if file.exists() else ""

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        print(self.log())  # shown where the test fails
        self.people.shutdown()
        shutil.rmtree(self.home)

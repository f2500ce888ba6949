"""The nginx block of docs/operators/reverse-proxy.md, as it stands there but for ports, names and files."""
import http.client
import re
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from harness import BINARY, OPERATOR_KEY, Account, Api, Daemon, Receiver, eventually, leave_nothing_behind
from patroni import free_ports
from people import PASSWORD, partner, person
from raw import Authority
from test_listen import Listen

PAGE = Path(__file__).parents[2] / "docs/operators/reverse-proxy.md"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="no nginx on this machine")
CLIENT = "127.0.0.9"
WRAPPED = """
pid %(at)s/pid; error_log %(at)s/error.log; daemon off; worker_processes 1;
events {}
http {
    access_log off;
    client_body_temp_path %(at)s/body; proxy_temp_path %(at)s/proxy; fastcgi_temp_path %(at)s/fastcgi;
    uwsgi_temp_path %(at)s/uwsgi; scgi_temp_path %(at)s/scgi;
%(block)s
}
"""


class Nginx(Api):
    """The block in front of a daemon, and a client of it at another address than the proxy's."""

    def __init__(self, folder, port, daemon):
        super().__init__(port, OPERATOR_KEY)
        folder.mkdir()
        authority = Authority(folder)
        self.ca_file = authority.file
        block = re.search(r"```nginx\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S).group(1)
        certificate, key = authority.sign("localhost")
        for old, new in {"127.0.0.1:8080": "127.0.0.1:%d" % daemon.port, "443 ssl": "127.0.0.1:%d ssl" % port,
                         "/etc/nginx/rewards.example.pem": certificate, "/etc/nginx/rewards.example.key": key}.items():
            assert block.count(old) == 1, old
            block = block.replace(old, new)
        (folder / "nginx.conf").write_text(WRAPPED % {"at": folder, "block": block})
        with open(folder / "out", "wb") as out:
            # In the foreground without a master, which would give up root for its worker.
            self.process = subprocess.Popen([NGINX, "-p", folder, "-c", folder / "nginx.conf", "-g", "master_process off;"],
                                            stdout=out, stderr=out)
        leave_nothing_behind(self.process)
        eventually(self.is_there, what="nginx listens")

    def connection(self, timeout):
        tls = ssl.create_default_context(cafile=self.ca_file)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=tls, source_address=(CLIENT, 0))

    def is_there(self):
        try:
            return self.get("/readyz").status == 200
        except OSError:
            return False

    def close(self):
        self.process.terminate()
        assert self.process.wait(30) == 0


@pytest.fixture
def behind(tmp_path):
    """What starts a daemon with these options behind nginx: (daemon, nginx, its URL)."""
    started = []

    def start(*options):
        port = free_ports(1)[0]
        url = "https://127.0.0.1:%d" % port
        daemon = Daemon(tmp_path / "d", "--trusted-proxy", "127.0.0.1/32", *[o.replace("URL", url) for o in options]).start()
        started.append(daemon)
        started.append(Nginx(tmp_path / "nginx", port, daemon))
        return (*started, url)
    yield start
    if len(started) == 2:
        started[1].close()
    started[0].stop()


def sign_in(nginx, email, origin):
    return nginx.post("/api/v1/session", {"Email": email, "Password": PASSWORD}, key=None, headers={"Origin": origin})


def test_people_sign_in_and_are_seen_at_their_address(behind):
    daemon, nginx, url = behind("--public-url", "URL")
    b = person(daemon, "owner", partner(daemon))
    answer = sign_in(nginx, b.email, url)
    assert answer.status == 200 and "; Secure" in answer.headers["Set-Cookie"], answer
    begun = daemon.api().get("/api/v1/audit", query={"action": "session.begun", "limit": "1"}).json["Items"][0]
    assert begun["Address"] == CLIENT
    refused = sign_in(nginx, b.email, "https://elsewhere.example")
    assert refused.status == 403 and "another site" in refused.json["detail"]


def test_without_the_public_url_the_refusal_names_it(behind):
    daemon, nginx, url = behind()
    b = person(daemon, "owner", partner(daemon))
    refused = sign_in(nginx, b.email, url)
    assert refused.status == 403 and "--public-url" in refused.json["detail"]


def test_a_batch_of_nearly_8_mib_passes(behind):
    daemon, nginx, _ = behind("--public-url", "URL")
    a = Account(daemon)
    answer = nginx.post("/api/v1/events", b"[" + b" " * 8_000_000 + b"]")
    assert (answer.status, answer.json["Accepted"]) == (202, 0)
    assert nginx.events([a.event("through-nginx")])["Accepted"] == 1


def test_listen_gets_the_live_stream_through_it(behind, tmp_path):
    """And trusts the proxy's certificate by --ca-file."""
    daemon, nginx, url = behind("--public-url", "URL")
    a, local = Account(daemon), Receiver()
    listen = Listen(tmp_path, daemon, a.key("callbacks:read", "apps:write"), local.url, url=url, more=["--ca-file", nginx.ca_file])
    listen.wait_for("^listening")
    daemon.api().events(a.event("forwarded-1"))
    listen.wait_for("callback survey_completed forwarded-1 of")
    assert local.of("forwarded-1")
    listen.stop()
    local.close()
    words = [BINARY, "health", "--url", url]
    assert subprocess.run(words, capture_output=True, timeout=60).returncode == 1
    done = subprocess.run(words + ["--ca-file", nginx.ca_file], capture_output=True, timeout=60)
    assert done.returncode == 0, done

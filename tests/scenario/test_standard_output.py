"""Commands whose output cannot be written, or whose standard files are closed: the exit status says so, and
no message goes into another file. And servers that are no postbackd."""
import http.server
import json
import os
import subprocess
import threading
import time

import pytest
from harness import BINARY, OPERATOR_KEY, Account


def run(daemon, *words, shell="", stdin="", **more):
    """shell: redirections, as a user would type them."""
    env = {**os.environ, "POSTBACKD_OPERATOR_KEY": OPERATOR_KEY}
    line = ["sh", "-c", 'exec "$@" ' + shell, "sh", BINARY, *words, "--url", "http://127.0.0.1:%d" % daemon.port]
    return subprocess.run(line, input=stdin, capture_output=True, text=True, timeout=60, env=env, **more)


PEOPLE = "".join(json.dumps({"Email": "full%d@output.test" % n, "Role": "support"}) + "\n" for n in range(3))


@pytest.mark.parametrize("shell", [">/dev/full", ">&-"])
def test_the_status_says_that_output_is_lost(daemon, shell):
    name = "gone%d@output.test" % len(shell)
    for words in (("user", "add", name, "--role", "support"), ("user", "list"), ("user", "reset", name), ("health",)):
        lost = run(daemon, *words, shell=shell)
        assert lost.returncode == 1 and "standard output could not be written" in lost.stderr, (words, lost)
    version = subprocess.run(["sh", "-c", 'exec "$0" --version ' + shell, BINARY], check=False)
    assert version.returncode == 1


def test_an_import_of_people_stops_where_a_link_is_lost(daemon):
    lost = run(daemon, "import", "people", "-", stdin=PEOPLE, shell=">/dev/full")
    assert lost.returncode == 1 and "the link of full0@output.test could not be printed" in lost.stderr, lost
    assert "stopped at line 1" in lost.stderr and "1 invited" in lost.stderr, lost
    rest = run(daemon, "import", "people", "-", stdin=PEOPLE)
    assert rest.returncode == 0 and "2 invited" in rest.stderr and "1 still invited" in rest.stderr, rest
    again = run(daemon, "user", "reset", "full0@output.test")
    assert again.returncode == 0 and "/link#" in again.stdout, again


def test_no_message_is_written_into_a_file(daemon, tmp_path):
    account = Account(daemon)
    daemon.api().events([account.event("o-%d" % n) for n in range(20)])
    today = time.strftime("%Y-%m-%d", time.gmtime())
    words = ("export", "rewards", "--partner", account.partner_id, "--start-date", "2026-01-01", "--end-date", today)
    whole, file = run(daemon, *words), tmp_path / "rewards"
    assert whole.returncode == 0 and whole.stdout.count("\n") == 20
    closed = run(daemon, *words, str(file), shell="2>&- <&-")
    assert closed.returncode == 0 and file.read_text() == whole.stdout
    lost = run(daemon, *words, shell=">&-")
    assert lost.returncode == 1 and "written" in lost.stderr, lost


@pytest.fixture
def stranger():
    class Handler(http.server.BaseHTTPRequestHandler):
        status = 200

        def answer(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(self.server.status)
            self.end_headers()
            self.wfile.write(b"<html>Welcome</html>")
        do_GET = do_POST = answer

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.port, server.status = server.server_address[1], 200
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_server_that_is_no_postbackd_is_not_believed(stranger):
    for words in (("health",), ("user", "list"), ("user", "add", "a@b.test", "--role", "admin")):
        found = run(stranger, *words)
        assert found.returncode == 1 and "not a postbackd server" in found.stderr and not found.stdout, (words, found)
    stranger.status = 202
    found = run(stranger, "import", "-", stdin='{"EventId":"1"}\n')
    assert found.returncode == 1 and "not a postbackd server" in found.stderr, found

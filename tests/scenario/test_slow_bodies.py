"""Receivers that send the headers of a 2xx at once and take their time over the body, which only the log needs."""
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness import Account, eventually

MAX_CONCURRENCY, LEFT_ALONE = 4, 4  # the app's; answers of a receiver that are read on when their exchange is over


class Slow(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        server = self.server
        self.rfile.read(int(self.headers["Content-Length"]))
        with server.lock:
            server.ids.append(self.headers["webhook-id"])
            server.open += 1
            server.most = max(server.most, server.open)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.flush()
        server.gate.wait(server.holds_s)
        with server.lock:  # the answer's end may let the next request begin
            server.open -= 1
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


@pytest.fixture
def slow():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.daemon_threads = True
    server.lock, server.gate, server.ids, server.open, server.most, server.holds_s = \
        threading.Lock(), threading.Event(), [], 0, 0, 60
    server.url = "http://127.0.0.1:%d/" % server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.gate.set()
    server.shutdown()
    server.server_close()


def test_a_kill_while_the_body_comes_makes_no_duplicate(own_daemon, slow):
    account = Account(own_daemon.start(), slow.url, TimeoutSeconds=30)
    own_daemon.api().events([account.event("r-1"), account.event("r-2")])
    for name in ("r-1", "r-2"):
        own_daemon.api().wait_state(name, account.partner_id, "delivered")
    own_daemon.kill()
    own_daemon.start()
    own_daemon.api().events([account.event("r-3")])
    own_daemon.api().wait_state("r-3", account.partner_id, "delivered")
    assert sorted(slow.ids) == ["r-1", "r-2", "r-3"]


def test_the_receiver_gets_few_more_requests_at_once_than_its_app_allows(own_daemon, slow):
    """It may be crediting while its body is awaited: what is over for us is not over for it."""
    slow.holds_s = 4
    account = Account(own_daemon.start(), slow.url, TimeoutSeconds=30, MaxConcurrency=MAX_CONCURRENCY)
    own_daemon.api().events([account.event("m-%d" % i) for i in range(24)])
    eventually(lambda: len(slow.ids) == 24, 60)
    assert MAX_CONCURRENCY < slow.most <= MAX_CONCURRENCY + LEFT_ALONE
    eventually(lambda: own_daemon.metrics()["postbackd_callbacks_pending"] == 0, 60)
    assert len(slow.ids) == 24

"""Drives the real binary over the real network on loopback: a daemon, receivers, an API client.

Nothing here knows the daemon's insides; what it says is what a partner or an operator could do.
"""
import atexit
import base64
import hashlib
import hmac
import http.client
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import postgresql

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("POSTBACKD_BIN", str(ROOT / "build" / "postbackd"))
# How many loops a daemon gets that does not say: races need more than a small machine's one.
LOOPS = os.environ.get("SCENARIO_LOOPS", "")
# How many times longer than usual to wait for what must come: sanitizers are slow. Only the
# harness's own patience grows by it, never a time that the daemon is held to.
PATIENCE = int(os.environ.get("SCENARIO_PATIENCE", "1"))
# Where it is set, every daemon keeps its events on this PostgreSQL server, in a database of its own.
POSTGRESQL = os.environ.get("SCENARIO_POSTGRESQL", "")
LIVE = "/api/v1/live"  # whose answer never ends: for those who read streams, see test_people_rights.py
OPERATOR_KEY = "operator-key-for-tests-0123456789"
MASTER_KEY = "6d61737465722d6b65792d666f722d74657374732d30313233343536373839ab"


def eventually(check, timeout_s=30.0, step_s=0.02, what=None):
    """Waits for check() to be true and returns its value; fails with its last value.

    It asks less and less often, up to every tenth step: a key has 600 requests a minute.
    """
    deadline = time.monotonic() + timeout_s * PATIENCE
    longest_s = 10 * step_s
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("never came true: %s (last: %r)" % (what or check, value))
        time.sleep(step_s)
        step_s = min(1.1 * step_s, longest_s)


def leave_nothing_behind(process):
    """A test that fails may not come to its end: whatever it started is killed with pytest."""
    atexit.register(lambda: process.poll() is None and process.kill())


def is_sanitized():
    """Such a program maps a large part of the address space, and uses more memory."""
    binary = Path(BINARY).read_bytes()
    return b"__asan_init" in binary or b"__tsan_init" in binary


databases = {}  # on POSTGRESQL: of which directory


def store_of(directory):
    """Where daemons of that directory keep their events: whoever comes back to it finds them."""
    if not POSTGRESQL:
        return "sqlite:%s" % (Path(directory) / "store")
    name = str(Path(directory).resolve())
    if name not in databases:
        databases[name] = postgresql.new_database(POSTGRESQL, "t" + uuid.uuid4().hex)
    return databases[name]


def forget_stores(directory):
    """Drops the databases of that directory and of those below it."""
    top = Path(directory).resolve()
    for name in [n for n in databases if top == Path(n) or top in Path(n).parents]:
        postgresql.drop_database(databases.pop(name))


class Daemon:
    """One postbackd serve with its own store directory; restartable on the same store and port."""

    def __init__(self, directory, *options, env=None, schedule="1s,1s,1s", allow=("127.0.0.0/8",)):
        self.directory = Path(directory)
        self.options = list(options)
        self.env = dict(env or {})
        self.schedule = schedule
        self.allow = allow
        self.loops = LOOPS
        self.port = 0
        self.process = None
        self.fds = ()  # what the process inherits

    def store(self):
        return store_of(self.directory)

    def command(self):
        line = [BINARY, "serve", "--listen", "127.0.0.1:%d" % self.port,
                "--store", self.store(), "--log-format", "json"]
        if self.schedule:
            line += ["--retry-schedule", self.schedule]
        for cidr in self.allow:
            line += ["--allow-destination", cidr]
        if self.loops and "--loops" not in self.options:
            line += ["--loops", self.loops]
        return line + self.options

    def spawn(self):
        """Starts the process and waits for nothing; where its log begins."""
        self.directory.mkdir(parents=True, exist_ok=True)
        env = {k: v for k, v in os.environ.items() if not k.startswith("POSTBACKD_")}
        env["POSTBACKD_OPERATOR_KEY"] = OPERATOR_KEY
        if self.store().startswith("postgresql:"):  # which keeps no key file
            env["POSTBACKD_MASTER_KEY"] = MASTER_KEY
        env.update(self.env)
        with open(self.directory / "daemon.log", "ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen(self.command(), env=env, stdout=log, stderr=log,
                                            pass_fds=self.fds)
            leave_nothing_behind(self.process)
            return begin

    def start(self, wait_ready=True):
        begin = self.spawn()

        def listening():
            nonlocal begin
            if self.process.poll() is not None and "the address is in use" in self.log_text(begin):
                begin = self.spawn()  # a client of another test has had its port since it was killed
            if self.process.poll() is not None:
                raise AssertionError("the daemon ended: " + self.log_text()[-2000:])
            for line in self.log_text(begin).splitlines():
                if '"event":"listening"' in line:
                    return json.loads(line)
            return None

        found = eventually(listening, 30, what="the daemon listens")
        self.port = int(found["address"].rsplit(":", 1)[1])
        if wait_ready:
            eventually(lambda: self.api().get("/readyz", key=None).status == 200, 30)
        return self

    def log_text(self, begin=0):
        """Its whole lines: the last one may be half written."""
        with open(self.directory / "daemon.log", "rb") as f:
            f.seek(begin)
            text = f.read()
        return text[:text.rfind(b"\n") + 1].decode(errors="replace")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, timeout_s=40):
        if self.process is None or self.process.poll() is not None:
            return self.process.returncode if self.process else 0
        self.process.terminate()
        try:
            return self.process.wait(timeout_s * PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("the daemon did not stop at SIGTERM: " + self.log_text()[-2000:])

    def restart(self):
        self.stop()
        return self.start()

    def api(self, key=OPERATOR_KEY):
        return Api(self.port, key)

    def resident_kib(self, which="VmRSS"):
        """VmHWM: the most at any time."""
        with open("/proc/%d/status" % self.process.pid) as f:
            return next(int(line.split()[1]) for line in f if line.startswith(which))

    def check_resident(self, most_kib, which="VmRSS"):
        """Nobody can say of a daemon with a sanitizer, which keeps what is freed, or notes on it."""
        if not is_sanitized():
            assert self.resident_kib(which) < most_kib

    def check_grown(self, before_kib, most_kib):
        self.check_resident(before_kib + most_kib)

    def metrics(self):
        values = {}
        for line in self.api().get("/metrics", key=None).text.splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "<%d %s>" % (self.status, self.body[:500])


DEFAULT = object()


class Api:
    """One request, one connection: simple, and no connection outlives a killed daemon."""

    def __init__(self, port, key):
        self.port, self.key = port, key

    def connection(self, timeout):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method, path, body=None, key=DEFAULT, headers=None, query=None, timeout=30):
        sent = dict(headers or {})
        key = self.key if key is DEFAULT else key
        if key is not None:
            sent.setdefault("Authorization", "Bearer " + key)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body, ensure_ascii=False)
        if isinstance(body, str):
            body = body.encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        if query:
            path += "?" + urlencode(query)
        connection = self.connection(timeout * PATIENCE)
        try:
            connection.request(method, path, body=body, headers=sent)
            r = connection.getresponse()
            return Answer(r.status, r.headers, r.read())
        finally:
            connection.close()

    def get(self, path, **kw):
        return self.request("GET", path, **kw)

    def post(self, path, body=None, **kw):
        return self.request("POST", path, body=body, **kw)

    def patch(self, path, body=None, **kw):
        return self.request("PATCH", path, body=body, **kw)

    def delete(self, path, **kw):
        return self.request("DELETE", path, **kw)

    def events(self, events, **kw):
        """Posts events that must all be taken; returns the answer's JSON."""
        answer = self.post("/api/v1/events", events, **kw)
        assert answer.status == 202, answer
        found = answer.json
        assert found["Rejected"] == [], found
        return found

    def callback(self, reward_id, partner_id):
        answer = self.get("/api/v1/callbacks/" + reward_id, query={"partnerId": partner_id})
        assert answer.status == 200, answer
        return answer.json

    def wait_state(self, reward_id, partner_id, state, timeout_s=30):
        def reached():
            found = self.callback(reward_id, partner_id)
            return found if found["State"] == state else None
        return eventually(reached, timeout_s, what="%s is %s" % (reward_id, state))


class Receiver:
    """A partner's server: records every request; `answer` decides what is said to it.

    answer(request) returns a status, or (status, headers, body), or None to close without one.
    """

    def __init__(self, answer=lambda request: 200, address="127.0.0.1", port=0):
        self.requests = []
        self.lock = threading.Lock()
        self.answer = answer
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def do_GET(self):
                self.do_POST()

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = Request(self.path, dict(self.headers.items()), body, time.time(), self.command)
                with receiver.lock:
                    receiver.requests.append(request)
                said = receiver.answer(request)
                if said is None:
                    self.close_connection = True
                    return
                status, headers, text = said if isinstance(said, tuple) else (said, {}, b"ok")
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512
            allow_reuse_address = True

            def handle_error(self, request, client_address):
                pass  # a daemon killed in the middle of a request is what these tests do

        self.server = Server((address, port), Handler)
        self.port = self.server.server_address[1]
        self.url = "http://%s:%d/callback" % (address, self.port)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def of(self, reward_id):
        with self.lock:
            return [r for r in self.requests if r.json.get("RewardId") == reward_id]

    def ids(self):
        with self.lock:
            return [r.json["RewardId"] for r in self.requests]

    def wait_for(self, reward_id, count=1, timeout_s=30):
        return eventually(lambda: len(self.of(reward_id)) >= count and self.of(reward_id), timeout_s,
                          what="%d requests for %s" % (count, reward_id))


class Request:
    """`json` has the callback's fields; those of a form or a query are texts."""

    def __init__(self, path, headers, body, at, method="POST"):
        self.path, self.headers, self.body, self.at, self.method = path, headers, body, at, method
        self.query = path.partition("?")[2]
        is_json = self.header("Content-Type") in ("application/json", None) and method == "POST"
        self.json = json.loads(body) if is_json else dict(
            parse_qsl(body.decode() or self.query, keep_blank_values=True))

    def header(self, name):
        for key, value in self.headers.items():
            if key.lower() == name.lower():
                return value
        return None


def sig(panelist_id, reward_id, secret):
    return hashlib.md5((panelist_id + reward_id + secret).encode()).hexdigest()


def webhook_signature(secret, webhook_id, timestamp, body):
    key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
    signed = webhook_id.encode() + b"." + str(timestamp).encode() + b"." + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def assert_signed(request, secret):
    """Both signatures of a received callback hold."""
    body = request.json
    assert body["Sig"] == sig(body["PanelistId"], body["RewardId"], secret)
    assert request.header("webhook-id") == body["RewardId"]
    timestamp = int(request.header("webhook-timestamp"))
    assert abs(timestamp - request.at) < 60
    wanted = webhook_signature(secret, body["RewardId"], timestamp, request.body)
    assert wanted in request.header("webhook-signature").split(" ")


class Account:
    """A partner with one app and its clients, made over the interface."""

    count = 0

    def __init__(self, daemon, url=None, clients=("sdk",), currency="100", **app):
        Account.count += 1
        self.daemon = daemon
        api = daemon.api()
        self.partner_id = "p%d" % Account.count
        answer = api.post("/api/v1/partners", {"PartnerId": self.partner_id, "Name": "Partner"})
        assert answer.status == 201, answer
        settings = {"AppId": "app%d" % Account.count, "Name": "App", "CurrencyValue": currency}
        if url:
            settings.update(SuccessCallbackUrl=url, FailureCallbackUrl=url, OfferCallbackUrl=url)
        settings.update(app)
        answer = api.post("/api/v1/partners/%s/apps" % self.partner_id, settings)
        assert answer.status == 201, answer
        self.app_id = answer.json["AppId"]
        self.secret = answer.json["CallbackSecret"]
        self.clients = []
        for i, integration in enumerate(clients):
            client_id = "c%d_%d" % (Account.count, i)
            answer = api.post("/api/v1/apps/%s/clients" % self.app_id,
                              {"ClientId": client_id, "Name": "Client", "Integration": integration})
            assert answer.status == 201, answer
            self.clients.append(client_id)
        self.client = self.clients[0]

    def key(self, *scopes):
        answer = self.daemon.api().post("/api/v1/partners/%s/keys" % self.partner_id,
                                        {"Name": "test", "Scopes": list(scopes)})
        assert answer.status == 201, answer
        return answer.json["Key"]

    def patch(self, **changes):
        answer = self.daemon.api().patch("/api/v1/apps/" + self.app_id, changes)
        assert answer.status == 200, answer
        return answer.json

    def event(self, event_id, kind="survey_completed", **fields):
        e = {"EventId": event_id, "Type": kind, "ClientId": self.client, "PanelistId": "user-1"}
        if kind in ("survey_completed", "offer_completed"):
            e["RevenueAmount"] = "1.00"
        if kind.startswith("offer_") and kind != "offer_completion_reversed":
            e.update(OfferId=7, OfferTitle="An offer")
        if kind == "ad_hoc":
            e["Reward"] = "5"
        e.update(fields)
        return e

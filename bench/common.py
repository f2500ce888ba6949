"""What the benchmarks share: pinned processes, a sink, a daemon, and the printing of ratios.

Only ratios within one run mean anything: machines differ, and shared ones drift. Every figure is
printed with its yardstick, measured in the same run, and as a median with its spread.
"""
import atexit
import http.client
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("POSTBACKD_BIN", ROOT / "build" / "postbackd")).parent
KEY = "operator-key-for-benchmarks-0123456789"
MASTER_KEY = "6d61737465722d6b65792d666f722d62656e63686d61726b732d3031323334ab"  # for stores without a folder
CORES = sorted(os.sched_getaffinity(0))
DAEMON_CORE, LOAD_CORE = CORES[0], CORES[-1]
BENCH_DIR = os.environ.get("BENCH_DIR")  # on the disk to measure; None: the system's temporary folder
if BENCH_DIR:
    os.makedirs(BENCH_DIR, exist_ok=True)


def pinned(core, command):
    return ["taskset", "-c", str(core)] + [str(c) for c in command]


def argument(at, otherwise):
    """The number at that place of the command line."""
    return type(otherwise)(sys.argv[at]) if len(sys.argv) > at else otherwise


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_port(port, timeout_s=20):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("nothing listens on port %d" % port)


def certificate(folder):
    """cert.pem, its own authority, for 127.0.0.1."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, stderr=subprocess.DEVNULL)


class Sink:
    """nginx, one worker, `return 200`: what a perfect receiver would cost. On every loopback address,
    over HTTP at `port` and over TLS, HTTP/1.1 only, at `tls_port`."""

    def __init__(self, core=LOAD_CORE):
        self.dir = Path(tempfile.mkdtemp(prefix="bench-sink-"))
        self.port, self.tls_port = free_port(), free_port()
        self.ca = self.dir / "cert.pem"
        certificate(self.dir)
        (self.dir / "nginx.conf").write_text("""
            worker_processes 1; daemon off; pid %(dir)s/pid; error_log %(dir)s/error.log;
            events { worker_connections 8192; }
            http { access_log off; keepalive_requests 1000000000; keepalive_timeout 600;
              client_body_temp_path %(dir)s/body; proxy_temp_path %(dir)s/p; fastcgi_temp_path %(dir)s/f;
              uwsgi_temp_path %(dir)s/u; scgi_temp_path %(dir)s/s;
              ssl_certificate %(dir)s/cert.pem; ssl_certificate_key %(dir)s/key.pem;
              server { listen 0.0.0.0:%(port)d backlog=4096; listen 0.0.0.0:%(tls_port)d ssl backlog=4096;
                location / { return 200 "ok"; } } }
            """ % {"dir": self.dir, "port": self.port, "tls_port": self.tls_port})
        self.process = subprocess.Popen(pinned(core, ["nginx", "-c", self.dir / "nginx.conf"]),
                                        stderr=subprocess.DEVNULL)
        atexit.register(self.close)  # a bench that fails leaves nothing behind
        wait_port(self.port)

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def wrk(port, core=DAEMON_CORE, seconds=4, connections=64, scheme="http"):
    """Requests a second of wrk posting a callback-sized body: the ceiling."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua", delete=False) as f:
        f.write('wrk.method = "POST"\nwrk.body = string.rep("x", 300)\n'
                'wrk.headers["Content-Type"] = "application/json"\n')
    out = subprocess.run(pinned(core, ["wrk", "-t1", "-c%d" % connections, "-d%ds" % seconds, "-s", f.name,
                                       "%s://127.0.0.1:%d/" % (scheme, port)]), capture_output=True, text=True).stdout
    os.unlink(f.name)
    return float(next(line.split(":")[1] for line in out.splitlines() if line.startswith("Requests/sec")))


def parts(sink, scheme="http", events=200000):
    """What the parts of an event cost bare, us of CPU on one core: {name: us}.

    The store takes events and outcomes with their attempts, after as many events as it is given;
    the sender posts bodies of 418 bytes over 64 connections; JSON is parsed, judged and hashed in
    batches of 100. HTTP in and what joins the parts is in none of them.
    """
    def run(name, *arguments):
        return subprocess.run(pinned(DAEMON_CORE, [BUILD / "bench" / name, *arguments]), cwd=sink.dir,
                              capture_output=True, text=True, check=True).stdout
    store = re.search(r"recorded +\d+ events/s +([\d.]+) CPU", run("bench_ingest_store", events, events, 8, "r"))
    port = sink.port if scheme == "http" else sink.tls_port
    return {"store": float(store.group(1)),
            "sender, " + scheme: float(run("bench_send", scheme, port, 1, 64, 3, sink.ca).split()[1]),
            "JSON": float(re.search(r"hash +(\d+) ns", run("bench_intake", 500)).group(1)) / 1000}


def ages(port):
    """How old callbacks were when they arrived at bench/sink, since it was last asked."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    c.request("GET", "/")
    found = json.loads(c.getresponse().read())
    c.close()
    return found


SENT = 'postbackd_attempts_total{result="ok"}'


class Daemon:
    def __init__(self, core=DAEMON_CORE, options=(), store=None, kept=None, uri=None, within=(), log=None):
        """On SQLite in the folder `store`, or on PostgreSQL. kept: a folder that is used and outlives the
        bench, made if it is not there. within: a command that runs it. log: a file for its log; without
        one only errors are shown."""
        self.dir = Path(kept or store or tempfile.mkdtemp(prefix="bench-store-", dir=BENCH_DIR))
        self.is_kept, self.is_new = bool(kept), not self.dir.exists() or not kept
        self.dir.mkdir(parents=True, exist_ok=True)
        self.uri = uri or "sqlite:%s" % self.dir
        self.master_key = {"POSTBACKD_MASTER_KEY": MASTER_KEY} if uri else {}  # a folder has its own, for bench/fill
        self.core, self.options, self.within, self.log, self.port = core, options, within, log, free_port()
        self.start()

    def start(self):
        command = [*self.within, BUILD / "postbackd", "serve", "--listen", "127.0.0.1:%d" % self.port,
                   "--store", self.uri, "--allow-destination", "127.0.0.0/8",
                   "--reads-per-minute", "1000000", "--log-level", "info" if self.log else "error", *self.options]
        log = open(self.log, "a") if self.log else None
        self.process = subprocess.Popen(pinned(self.core, command), stderr=log,
                                        env=dict(os.environ, POSTBACKD_OPERATOR_KEY=KEY, **self.master_key))
        if log:
            log.close()
        wait_port(self.port)

    def fill(self, count, first, clients, *more):
        """Callbacks straight into the store while the daemon is down (bench/fill.c); how many it took."""
        out = subprocess.run([str(a) for a in (BUILD / "bench" / "fill", self.dir, count, first, clients, *more)],
                             capture_output=True, text=True)
        if not out.stdout:
            raise RuntimeError(out.stderr)
        return json.loads(out.stdout)["accepted"]

    def request(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        c.request(method, path, None if body is None else json.dumps(body),
                  {"X-Api-Key": KEY, "Content-Type": "application/json"})
        r = c.getresponse()
        data = r.read()
        c.close()
        if r.status >= 300:
            raise RuntimeError("%s %s: %d %s" % (method, path, r.status, data[:300]))
        return data

    def metrics(self):
        text = self.request("GET", "/metrics").decode()
        return {l.rsplit(" ", 1)[0]: float(l.rsplit(" ", 1)[1]) for l in text.splitlines() if l and l[0] != "#"}

    def wait_delivered(self, count):
        """So many callbacks since its start, and none waits."""
        while self.metrics()[SENT] < count or self.metrics()["postbackd_callbacks_pending"]:
            time.sleep(0.05)

    def accounts(self, count, url, partners=10):
        """`count` apps with one client each (bench_0...), app i at url(i)."""
        for p in range(partners):
            self.request("POST", "/api/v1/partners", {"PartnerId": "bench_p%d" % p, "Name": "bench"})
        for i in range(count):
            u = url(i)
            self.request("POST", "/api/v1/partners/bench_p%d/apps" % (i % partners),
                         {"AppId": "bench_a%d" % i, "CurrencyValue": "100", "SuccessCallbackUrl": u,
                          "FailureCallbackUrl": u, "OfferCallbackUrl": u, "MaxConcurrency": 64})
            self.request("POST", "/api/v1/apps/bench_a%d/clients" % i,
                         {"ClientId": "bench_%d" % i, "Integration": "sdk"})

    def load(self, clients, events, batch=100, connections=4, rate=0, query="", days=0, first=0, core=LOAD_CORE):
        out = subprocess.run(pinned(core, [BUILD / "bench" / "load", self.port, KEY, clients, events, batch,
                                           connections, rate, query, days, first]), capture_output=True, text=True)
        if out.returncode:
            raise RuntimeError(out.stderr)
        return json.loads(out.stdout)

    def rss_mib(self, which="VmRSS"):
        for line in open("/proc/%d/status" % self.process.pid):
            if line.startswith(which):
                return int(line.split()[1]) / 1024

    def forget_most_rss(self):
        """From here on VmHWM is the most since now."""
        Path("/proc/%d/clear_refs" % self.process.pid).write_text("5")

    def cpu_seconds(self):
        f = open("/proc/%d/stat" % self.process.pid).read().rsplit(")", 1)[1].split()
        return (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")

    def settle(self):
        """Waits until everything acknowledged is in SQLite: the audit log waits for all accounts."""
        self.request("GET", "/api/v1/audit?limit=1")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def close(self):
        self.stop()
        if not self.is_kept:
            shutil.rmtree(self.dir, ignore_errors=True)


class Reader:
    """One connection that is kept, as a browser keeps it."""

    def __init__(self, daemon):
        self.connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=300)

    def ask(self, method, path, body=None):
        """Milliseconds until the answer was read, and the answer."""
        begin = time.monotonic()
        self.connection.request(method, path, body, {"X-Api-Key": KEY, "Content-Type": "application/json"})
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status >= 300:
            raise RuntimeError("%s: %d %s" % (path, answer.status, data[:300]))
        return (time.monotonic() - begin) * 1000, data

    def search(self, query):
        """Milliseconds, and the callbacks found."""
        ms, data = self.ask("GET", "/api/v1/callbacks?partnerId=bench_p0" + query)
        return ms, json.loads(data)["Items"]


def memory_parts(daemon):
    """What its memory is made of, as it says itself."""
    mib = {k.split('"')[1]: v / 2 ** 20 for k, v in daemon.metrics().items() if k.startswith("postbackd_memory_bytes")}
    return ", ".join("%s %.0f" % (name.replace("_", " "), mib[name]) for name in mib)


def read_everything(daemon):
    """Every kind of read once, so that every cache has had its use."""
    today = time.strftime("%Y-%m-%d", time.gmtime())
    for path in ["callbacks?limit=500", "callbacks?state=pending&limit=500", "callbacks?panelistId=panelist-000001",
                 "rewards?limit=500", "statements?day=" + today, "reports/earnings", "reports/active-panelist"]:
        daemon.request("GET", "/api/v1/%s%spartnerId=bench_p1" % (path, "&" if "?" in path else "?"))


def until_arrived(port):
    while not ages(port)["count"]:
        time.sleep(0.002)


def spread(values):
    return "%.3g (min %.3g, max %.3g, n %d)" % (statistics.median(values), min(values), max(values), len(values))


def row(name, value, yardstick="", ratio=None, goal=""):
    print("| %-44s | %-38s | %-38s | %-8s | %s |" % (name, value, yardstick, "" if ratio is None else "%.3f" % ratio, goal), flush=True)


def header():
    print("| what | measured | yardstick, same run | ratio | goal |\n|---|---|---|---|---|")

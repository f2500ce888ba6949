#!/usr/bin/env python3
"""Fairness: does one account, or a stranger, make a healthy partner wait?

For each abusive neighbour a healthy partner does one thing RATE times a second on one daemon, in
rounds: SECONDS quiet, SECONDS beside the neighbour, SECONDS quiet. The p99 of all that was measured
beside the neighbour over the p99 of all that was quiet is the ratio that counts. The same for the
second quiet part of each round over the first is the control: how far it is from 1 is what the
machine adds. Both have an interval of 90 % (bootstrap over rounds). What the neighbour was answered
stands beside them.

    bench/fairness.py [--seconds 3] [--rounds 8] [--events 300000] [--users 5000] [--store URI]
                      [KIND ...]

The daemon has one core for itself, and the clients have the other one: the neighbours run at the
lowest priority, and the healthy client, where that is permitted, before everybody else. So the
daemon is measured and not its clients. On a machine that does other work, too, as root:

    setsid sh -c 'echo -20 >/proc/self/autogroup; exec nice -n -15 bench/fairness.py'

(Where the kernel groups processes by session, `nice` alone says nothing to other sessions.)
"""
import argparse
import collections
import http.client
import http.server
import json
import multiprocessing
import os
import random
import socket
import ssl
import tempfile
import threading
import time
from pathlib import Path

from common import DAEMON_CORE, KEY, LOAD_CORE, Daemon, certificate

RATE = 100  # of the healthy partner
PATIENCE = 30


def prefer(flags=0):
    """This thread runs before all others, where that is permitted."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | flags, os.sched_param(1))
    except PermissionError:
        pass


class Client:
    """One connection that is kept; (status, body) of each request."""

    def __init__(self, port, key, tls=None):
        self.port, self.key, self.tls = port, key, tls
        self.connection = None

    def request(self, method, path, body=None):
        if not self.connection:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE) if not self.tls else \
                http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self.tls)
        try:
            self.connection.request(method, path, None if body is None else json.dumps(body),
                                    {"X-Api-Key": self.key, "Content-Type": "application/json"})
            r = self.connection.getresponse()
            data = r.read()
            if r.getheader("Connection") == "close":
                self.connection.close()
                self.connection = None
            return r.status, data
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            return 0, b""


class Sink:
    """A receiver in this process: when each event arrived. `/hang` never answers."""

    def __init__(self):
        self.arrived = {}
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/hang":
                    time.sleep(PATIENCE)
                sink.arrived[json.loads(body)["RewardId"]] = time.monotonic()
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *a):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, request, client_address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        prefer()
        self.server.serve_forever()


# --- neighbours: each runs in processes of its own until it is told to stop ------------------------

def hammer(world, stop, answers, method, path, body=None, rate=300, threads=24):
    """So many requests a second in all, whatever is answered."""
    def run(i):
        client = Client(world["port"], world["bad_keys"][i % len(world["bad_keys"])])
        due = time.monotonic() + i / rate
        while not stop.is_set():
            wait = due - time.monotonic()
            if wait > 0:
                time.sleep(min(wait, 0.2))
                continue
            due = max(due + threads / rate, time.monotonic() - 1)
            status, _ = client.request(method, path, body)
            answers[status] += 1
    answers = collections.Counter()
    running = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    for t in running:
        t.start()
    for t in running:
        t.join()
    return answers


def idle(world, stop, answers):
    """8,300 connections of one address that say nothing; those that are closed are opened again."""
    opened = []
    while not stop.is_set():
        while len(opened) < 8300 and not stop.is_set():
            s = socket.socket()
            s.settimeout(2)
            s.bind(("127.0.0.9", 0))
            try:
                s.connect(("127.0.0.1", world["port"]))
                opened.append(s)
                answers["opened"] += 1
            except OSError:
                s.close()
                answers["refused"] += 1
        stop.wait(0.2)
    for s in opened:
        s.close()
    return answers


def big_bodies(world, stop, answers):
    """100 strangers that send 8 MiB to sign in, again and again."""
    piece = bytes(65536)
    def run():
        while not stop.is_set():
            try:
                with socket.create_connection(("127.0.0.1", world["port"]), 2) as s:
                    s.sendall(b"POST /api/v1/session HTTP/1.1\r\nHost: b\r\nContent-Length: 8000000\r\n\r\n")
                    s.settimeout(0.5)
                    for _ in range(120):
                        s.sendall(piece)
            except OSError:
                answers["ended"] += 1
            stop.wait(0.5)
    running = [threading.Thread(target=run) for _ in range(100)]
    for t in running:
        t.start()
    for t in running:
        t.join()
    return answers


def part_of_a_record(world, stop, answers):
    """50 connections over TLS that send fifteen bytes of a record."""
    context = ssl._create_unverified_context()
    opened = []
    for _ in range(50):
        s = context.wrap_socket(socket.create_connection(("127.0.0.1", world["tls_port"]), 5))
        raw = socket.socket(fileno=os.dup(s.fileno()))
        raw.sendall(b"\x17\x03\x03\x40\x00 ten bytes")
        opened += [s, raw]
    answers["connections"] = 50
    stop.wait()
    return answers


def run_neighbour(name, world, stop, queue):
    os.nice(19)
    os.sched_setaffinity(0, {LOAD_CORE})
    bad = world["bad"]
    calls = {
        "tests": lambda a: hammer(world, stop, a, "POST", "/api/v1/apps/%s/test-callback" % bad["app"],
                                  {"RewardType": "survey_completed", "PanelistId": "u"}, threads=200),
        "changes": lambda a: hammer(world, stop, a, "PATCH", "/api/v1/apps/" + bad["app"], {"Name": "n"}, threads=100),
        "keys": lambda a: hammer(world, stop, a, "POST", "/api/v1/partners/%s/keys" % bad["partner"],
                                 {"Scopes": ["apps:read"]}, threads=50),
        "recoveries": lambda a: hammer(world, stop, a, "POST", "/api/v1/callbacks/recover",
                                       {"From": "2020-01-01T00:00:00Z", "To": "2030-01-01T00:00:00Z",
                                        "States": ["pending", "dead"], "RatePerSecond": 1}, rate=50),
        "statements": lambda a: hammer(world, stop, a, "GET", "/api/v1/statements?day=" + world["day"], rate=50),
        "log": lambda a: hammer(world, stop, a, "GET", "/api/v1/callbacks?state=pending&limit=500", rate=50),
        "users": lambda a: hammer(dict(world, bad_keys=[KEY]), stop, a, "GET",
                                  "/api/v1/users?partnerId=bad&limit=500", rate=50),
        "idle": lambda a: idle(world, stop, a),
        "bodies": lambda a: big_bodies(world, stop, a),
        "tls": lambda a: part_of_a_record(world, stop, a),
    }
    queue.put(dict(calls[name](collections.Counter())))


# --- the healthy partner --------------------------------------------------------------------------

def callback_arrives(world, client, n):
    event = "healthy-%d-%d" % (os.getpid(), n)
    begin = time.monotonic()
    client.request("POST", "/api/v1/events", {"EventId": event, "Type": "survey_completed", "RevenueAmount": "1",
                                              "ClientId": world["good"]["client"], "PanelistId": "u"})
    while event not in world["sink"].arrived:
        if time.monotonic() - begin > PATIENCE:
            break
        time.sleep(0.0005)
    return world["sink"].arrived.get(event, time.monotonic()) - begin


def timed(method, path, body=None):
    def op(world, client, n):
        begin = time.monotonic()
        status, data = client.request(method, path % world["good"], body)
        if status not in (200, 204):
            raise RuntimeError("the healthy partner was answered %d %s" % (status, data[:200]))
        return time.monotonic() - begin
    return op


def new_connection(world, client, n):
    begin = time.monotonic()
    status, _ = Client(world["port"], world["good_key"]).request("GET", "/api/v1/apps/" + world["good"]["app"])
    if status != 200:
        raise RuntimeError("the healthy partner was answered %d" % status)
    return time.monotonic() - begin


READ = timed("GET", "/api/v1/apps/%(app)s")
# By the operator's key: a partner's own limit of changes is below RATE.
WRITE = timed("PATCH", "/api/v1/apps/%(app)s", {"Name": "healthy"})
KINDS = {  # what the healthy partner does beside it
    "tests": ("test callbacks to a host that hangs", "a callback arrives", callback_arrives),
    "changes": ("changes", "a change", WRITE),
    "keys": ("keys being made", "a change", WRITE),
    "recoveries": ("recoveries of all callbacks", "a statement", timed("GET", "/api/v1/statements?day=2026-01-01")),
    "statements": ("statements of a big day", "a statement", timed("GET", "/api/v1/statements?day=2026-01-01")),
    "log": ("scans of the log", "a callback read", timed("GET", "/api/v1/callbacks?rewardId=nobody")),
    "users": ("lists of many users", "an app read", READ),
    "idle": ("8,300 idle connections of an address", "an app read, new connection", new_connection),
    "bodies": ("strangers' bodies of 8 MiB", "an app read", READ),
    "tls": ("part of a TLS record, 50 times", "an app read over TLS", READ),
}


def measure(world, client, op, seconds, counter):
    found, begin = [], time.monotonic()
    for i in range(int(seconds * RATE)):
        wait = begin + i / RATE - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        counter[0] += 1
        found.append(op(world, client, counter[0]))
        if time.monotonic() - begin > seconds * 2:
            break
    return found


def beside_neighbour(world, client, name, op, seconds, counter, answers):
    plain = {k: v for k, v in world.items() if k != "sink"}
    stop, queue = multiprocessing.Event(), multiprocessing.Queue()
    neighbour = multiprocessing.Process(target=run_neighbour, args=(name, plain, stop, queue))
    neighbour.start()
    time.sleep(1)
    found = measure(world, client, op, seconds, counter)
    stop.set()
    answers.update(queue.get(timeout=120))
    neighbour.join()
    time.sleep(1)
    return found


def p99(lists):
    values = sorted(v for l in lists for v in l)
    return values[int(len(values) * 0.99)] * 1000


def ratio(over, under):
    """Of the p99s, with its interval: over and under are lists of the same rounds."""
    rng, n, found = random.Random(1), len(over), []
    for _ in range(500):
        some = [rng.randrange(n) for _ in range(n)]
        found.append(p99([over[i] for i in some]) / p99([under[i] for i in some]))
    found.sort()
    return p99(over) / p99(under), found[25], found[475]


def compare(world, name, seconds, rounds):
    title, what, op = KINDS[name]
    context = ssl._create_unverified_context() if name == "tls" else None
    port, key = (world["tls_port"], world["tls_key"]) if name == "tls" else (world["port"], world["good_key"])
    client = Client(port, KEY if name in ("tests", "changes", "keys") else key, context)
    counter, before, beside, after, answers = [0], [], [], [], collections.Counter()
    measure(world, client, op, 1, counter)
    for _ in range(rounds):
        before.append(measure(world, client, op, seconds, counter))
        beside.append(beside_neighbour(world, client, name, op, seconds, counter, answers))
        after.append(measure(world, client, op, seconds, counter))
    quiet = [a + b for a, b in zip(before, after)]
    print("| %s: %s | %.2f | %.2f | **%.2f** (%.2f to %.2f) | %.2f (%.2f to %.2f) | %s |" % (
        title, what, p99(beside), p99(quiet), *ratio(beside, quiet), *ratio(after, before),
        ", ".join("%s: %d" % item for item in sorted(answers.items(), key=str))), flush=True)


def make_partner(operator, name, url):
    def post(path, body):
        status, data = operator.request("POST", path, body)
        if status != 201:
            raise RuntimeError("%s: %d %s" % (path, status, data[:200]))
        return json.loads(data)
    post("/api/v1/partners", {"PartnerId": name, "Name": name})
    post("/api/v1/partners/%s/apps" % name, {"AppId": name + "_app", "CurrencyValue": "100", "SuccessCallbackUrl": url})
    post("/api/v1/apps/%s_app/clients" % name, {"ClientId": name + "_client", "Integration": "sdk"})
    scopes = ["reports:read", "callbacks:read", "callbacks:write", "apps:read", "apps:write", "keys:write"]
    return ({"partner": name, "app": name + "_app", "client": name + "_client"},
            [post("/api/v1/partners/%s/keys" % name, {"Name": "k", "Scopes": scopes})["Key"] for _ in range(4)])


def fill(daemon, client, events, day):
    """Events of one partner, whose callbacks wait: its receiver answers nobody."""
    for first in range(0, events, 5000):
        daemon.request("POST", "/api/v1/events", [
            {"EventId": "fill-%d" % i, "Type": "survey_completed", "RevenueAmount": "1", "ClientId": client,
             "PanelistId": "p%d" % (i % 1000), "Timestamp": day + "T00:00:00Z"} for i in range(first, first + 5000)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--events", type=int, default=300000)
    parser.add_argument("--users", type=int, default=5000)
    parser.add_argument("--store", metavar="URI", help="of an empty PostgreSQL database, instead of SQLite")
    a = parser.parse_args()
    kinds = a.kinds or list(KINDS)
    sink, folder = Sink(), Path(tempfile.mkdtemp(prefix="bench-fairness-"))
    certificate(folder)
    plain = Daemon(uri=a.store)
    tls = Daemon(options=["--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem"])
    os.sched_setaffinity(0, {LOAD_CORE})
    prefer(os.SCHED_RESET_ON_FORK)
    try:
        world = {"port": plain.port, "tls_port": tls.port, "sink": sink,
                 "day": time.strftime("%Y-%m-%d", time.gmtime())}
        operator = Client(plain.port, KEY)
        world["good"], keys = make_partner(operator, "good", "http://127.0.0.1:%d/take" % sink.port)
        world["good_key"] = keys[0]
        world["bad"], world["bad_keys"] = make_partner(operator, "bad", "http://127.0.0.1:%d/hang" % sink.port)
        if "tls" in kinds:
            over_tls = Client(tls.port, KEY, ssl._create_unverified_context())
            _, (world["tls_key"], *_) = make_partner(over_tls, "good", "http://127.0.0.1:%d/take" % sink.port)
        if {"recoveries", "statements", "log"} & set(kinds):
            fill(plain, world["bad"]["client"], a.events, world["day"])
        if "users" in kinds:
            for i in range(a.users):
                plain.request("POST", "/api/v1/users?partnerId=bad", {"Email": "u%d@bad.example" % i, "Role": "analyst"})
        print("| neighbour: what the healthy partner does | p99 ms beside | p99 ms quiet | ratio | control "
              "| what the neighbour was answered |\n|---|---|---|---|---|---|")
        for name in kinds:
            compare(world, name, a.seconds, a.rounds)
    finally:
        plain.close()
        tls.close()


if __name__ == "__main__":
    main()

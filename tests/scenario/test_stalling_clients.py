"""Strangers, or a key from many addresses, fill the daemon's places and buffers with requests that do
not get on, or with answers that they do not take: everybody else is served, and slow uploads go on.
Each attack holds somewhat more than there is."""
import json
import socket

import pytest

from harness import Account, Daemon
from http2 import DATA, frame, request, settings
from test_hostile_clients import AUTHORIZATION as KEY
from test_hostile_clients import answers
from test_http2_clients import AUTHORIZATION, HttpsDaemon

JSON = ("content-type", "application/json")
HEAD = "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"
ADDRESSES = ["127.0.0.%d" % i for i in range(2, 8)]  # one address has a quarter of the places


def http2_clients(d, count, *parts, **greeting):
    for i in range(count):
        client = d.client(greeting=settings(**greeting), source=ADDRESSES[i % len(ADDRESSES)])
        client.send(*parts)
        yield client.s


def answers_not_taken(d):
    return http2_clients(d, 20, *[request(s, "GET", "/openapi.json") for s in range(1, 200, 2)], window=0)


def bodies(count, path, *headers):
    return [request(s, "POST", path, JSON, *headers, end=False) + frame(DATA, 0, s, b"{")
            for s in range(1, 2 * count, 2)]


def bodies_of_streams(d):
    return http2_clients(d, 50, *bodies(100, "/api/v1/session"))


def bodies_of_a_key(d):
    return http2_clients(d, 90, *bodies(100, "/api/v1/events", ("content-length", "9"), AUTHORIZATION))


def bodies_of_a_key_without_room(d):
    """The first ones take the room that an account may have."""
    large = bodies(100, "/api/v1/events", ("content-length", "8388608"), AUTHORIZATION)
    return http2_clients(d, 90, *large)


def bodies_of_connections(d):
    for i in range(4500):
        s = socket.create_connection(("127.0.0.1", d.port), 30, (ADDRESSES[i % len(ADDRESSES)], 0))
        s.sendall((HEAD % ("/api/v1/session", "", 16384)).encode() + b"{")
        yield s


class SlowUpload:
    """A body that comes byte by byte, with a rest that comes at the end."""

    def __init__(self, d, path, body, headers=""):
        connection = d.api().connection(30)
        connection.connect()
        self.s = connection.sock
        self.body = json.dumps(body).encode()
        self.s.sendall((HEAD % (path, headers, len(self.body))).encode())

    def drip(self):
        if len(self.body) > 1:
            self.s.sendall(self.body[:1])
            self.body = self.body[1:]

    def end(self):
        self.s.sendall(self.body)
        with self.s:
            return answers(self.s)[0][0]


def assert_served(d, account, event_id):
    assert d.api().get("/healthz", key=None, timeout=20).status == 200
    assert d.api().post("/api/v1/links/check", {}, key=None, timeout=20).status == 400
    d.api().events([account.event(event_id)], timeout=20)


# Where bodies wait for room, those that waited long enough are refused, and need not be closed.
@pytest.mark.parametrize("tls, attack, step, met", ((True, answers_not_taken, 2, "connections_closed"),
                                                    (True, bodies_of_streams, 5, "connections_closed"),
                                                    (True, bodies_of_a_key, 5, "connections_closed"),
                                                    (True, bodies_of_a_key_without_room, 5, "bodies_waited"),
                                                    (False, bodies_of_connections, 500, "connections_closed")))
def test_who_stalls_shuts_nobody_out(tmp_path, tls, attack, step, met):
    d = (HttpsDaemon if tls else Daemon)(tmp_path, "--loops", "1").start()
    account = Account(d)
    upload = SlowUpload(d, "/api/v1/events", [account.event("slow")], KEY)
    signing_in = SlowUpload(d, "/api/v1/session", {"Email": "a@b.example", "Password": "x" * 40})
    stalled = []
    for i, s in enumerate(attack(d)):
        stalled.append(s)
        if i % step == 0:
            signing_in.drip()
            upload.drip()
            assert_served(d, account, "beside-%d" % i)
    for i in range(10):
        assert_served(d, account, "after-%d" % i)
    assert (upload.end(), signing_in.end()) == (202, 401)
    assert d.metrics()["postbackd_http_%s_total" % met] > 0  # the attack was big enough
    for s in stalled:
        s.close()
    assert d.stop() == 0

"""A proxy that knows PostgreSQL's protocol: it sees which statements get names, and may lie."""
import itertools
import socket
import struct
import threading
from collections import Counter
from urllib.parse import parse_qs, quote, urlsplit

PID = 4242


def fatal(state, message):
    """An ErrorResponse that ends a connection."""
    fields = b"".join(key + text.encode() + b"\0" for key, text in (
        (b"S", "FATAL"), (b"V", "FATAL"), (b"C", state), (b"M", message))) + b"\0"
    return b"E" + struct.pack("!i", 4 + len(fields)) + fields


class Ended(Exception):
    """Instead of passing a message on: what the client is told, before its connection is closed."""


def text_at(data, at):
    """The text up to its zero, and where the next one begins."""
    end = data.index(b"\0", at)
    return data[at:end].decode(), end + 1


class Wire:
    """One direction of a connection, message by message. A client's first one has no kind."""

    def __init__(self, source, bare_first):
        self.source, self.bare_first = source, bare_first
        self.buffer = b""

    def messages(self):
        """(kind, all of it), until the end."""
        while True:
            head = 0 if self.bare_first else 1
            while not self.has(head):
                more = self.source.recv(65536)
                if not more:
                    return
                self.buffer += more
            n = head + struct.unpack_from("!i", self.buffer, head)[0]
            whole, self.buffer = self.buffer[:n], self.buffer[n:]
            kind = b"" if self.bare_first else whole[:1]
            self.bare_first = False
            yield kind, whole

    def has(self, head):
        if len(self.buffer) < head + 4:
            return False
        return len(self.buffer) >= head + struct.unpack_from("!i", self.buffer, head)[0]


class NamesProxy:
    """`pretends`: whoever is asked which process it is says what was announced at the begin, as the
    server itself does; so a pooler behind it looks like one. `spoil(text)`: the next time that a
    named statement with that text is carried out, it is by a name that the server does not have; or,
    with `ends`, the connection is ended as PgBouncer 1.21 does that takes a name for a wrong one."""

    def __init__(self, uri, pretends=False):
        parts = urlsplit(uri)
        query = parse_qs(parts.query)
        self.target = "%s/.s.PGSQL.%s" % (query["host"][0], query.get("port", ["5432"])[0])
        self.pretends = pretends
        self.lock = threading.Lock()
        self.used = Counter()  # how often names were, by connection
        self.refusals = []  # (connection, SQLSTATE)
        self.texts = {}  # by (connection, name)
        self.to_spoil, self.spoil_ends = None, False
        self.numbers = itertools.count()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.uri = "postgresql://postgres@%s?host=127.0.0.1&port=%d&sslmode=disable&gssencmode=disable" % (
            quote(parts.path), self.listener.getsockname()[1])
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:  # it is down: whoever comes is told
                server.close()
                client.close()
                continue
            number = next(self.numbers)
            for source, sink, change in ((client, server, self.asked), (server, client, self.answered())):
                threading.Thread(target=self.relay, daemon=True,
                                 args=(number, source, sink, change)).start()

    def relay(self, number, source, sink, change):
        try:
            for kind, whole in Wire(source, change == self.asked).messages():
                sink.sendall(change(number, kind, whole))
        except Ended as told:
            source.sendall(told.args[0])
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def asked(self, number, kind, whole):
        if kind == b"P":
            name, at = text_at(whole, 5)
            if name:
                with self.lock:
                    self.used[number] += 1
                    self.texts[number, name] = text_at(whole, at)[0]
        elif kind == b"B":
            _, at = text_at(whole, 5)
            name, _ = text_at(whole, at)
            if name:
                return self.use(number, name, whole, at)
        return whole

    def use(self, number, name, whole, at):
        with self.lock:
            self.used[number] += 1
            if self.to_spoil and self.to_spoil in self.texts[number, name]:
                self.to_spoil = None
                if self.spoil_ends:
                    self.refusals.append((number, "08P01"))
                    raise Ended(fatal("08P01", "prepared statement name is already in use"))
                return whole[:at] + b"x" + whole[at + 1:]
        return whole

    def answered(self):
        tells_pid = False

        def change(number, kind, whole):
            nonlocal tells_pid
            if kind == b"E":
                self.note_refusal(number, whole)
            if not self.pretends:
                return whole
            if kind == b"K":
                return whole[:5] + struct.pack("!i", PID) + whole[9:]
            if kind == b"D" and tells_pid:
                return whole[:-4] + struct.pack("!i", PID)
            if kind == b"T":
                tells_pid = b"pg_backend_pid\0" in whole
            return whole
        return change

    def note_refusal(self, number, whole):
        fields = dict((f[:1], f[1:].decode()) for f in whole[5:].split(b"\0") if f)
        if fields[b"C"] in ("26000", "42P05", "0A000"):
            with self.lock:
                self.refusals.append((number, fields[b"C"]))

    def spoil(self, text, ends=False):
        self.to_spoil, self.spoil_ends = text, ends

    def close(self):
        self.listener.close()

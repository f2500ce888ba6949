"""Both ends below HTTP/2: frames as bytes (RFC 9113) over TLS, so that they can break every rule."""
import socket
import ssl
import struct

from raw import Acceptor

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, \
    CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED = 0, 2, 7, 11, 13
INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS = 4, 3
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        ">I", stream) + payload


def packed(*lines):
    """Header lines, each a literal without indexing (RFC 7541, section 6.2.2)."""
    def string(text):
        data = text.encode()
        assert len(data) < 127
        return bytes([len(data)]) + data
    return b"".join(b"\0" + string(name) + string(value) for name, value in lines)


def headers(stream, status=200, *more, end=True, flags=END_HEADERS):
    block = packed((":status", str(status)), *more)
    return frame(HEADERS, flags | (END_STREAM if end else 0), stream, block)


def settings(**values):
    names = {"window": INITIAL_WINDOW_SIZE, "streams": MAX_CONCURRENT_STREAMS}
    return frame(SETTINGS, 0, 0, b"".join(
        struct.pack(">HI", names[k], v) for k, v in values.items()))


def rst(stream, code):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def window_update(stream, n):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", n))


def paid_back(stream, data):
    """For a DATA frame, at once: its stream's window and the connection's."""
    return window_update(0, len(data)) + window_update(stream, len(data)) if data else b""


def goaway(last, code=NO_ERROR):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, code))


class Gone(Exception):
    pass


class Connection:
    def __init__(self, server, s, number):
        self.server, self.s, self.number = server, s, number
        self.data = b""

    def send(self, *parts):
        self.s.sendall(b"".join(parts))

    def read(self, n):
        while len(self.data) < n:
            more = self.s.recv(65536)
            if not more:
                raise Gone
            self.data += more
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    def next_frame(self):
        head = self.read(9)
        length = int.from_bytes(head[:3], "big")
        return head[3], head[4], int.from_bytes(head[5:], "big"), self.read(length)

    def request(self, pays=lambda stream, data: b""):
        """The stream of the next request that is here whole; SETTINGS are acknowledged. pays: what is sent
        for each DATA frame."""
        while True:
            kind, flags, stream, payload = self.next_frame()
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, ACK))
            if kind == DATA:
                self.send(pays(stream, payload))
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                self.server.requests += 1
                return stream

    def hang(self):
        """Until the peer goes; what it sends is not read."""
        self.server.closed.wait(60)


class Http2Server(Acceptor):
    """behave(connection) for each connection, after its preface; closed when it returns."""

    def __init__(self, behave, tls, greeting=settings()):
        self.behave, self.tls, self.greeting = behave, tls, greeting
        self.requests = 0
        super().__init__()

    def url(self):
        return "https://localhost:%d/cb?a=b" % self.port

    def _serve(self, s, number):
        try:
            s.settimeout(60)
            with self.tls.wrap_socket(s, server_side=True) as s:
                connection = Connection(self, s, number)
                assert connection.read(len(PREFACE)) == PREFACE
                connection.send(self.greeting)
                self.behave(connection)
        except (OSError, Gone):
            pass  # the daemon gave up on us, as it should


def context(certificate, *protocols):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*certificate)
    tls.set_alpn_protocols(list(protocols or ["h2", "http/1.1"]))
    return tls


class Http2Client:
    """A client of the daemon on one connection; what it is told is read only when it asks.

    OpenSSL makes no system call here. From OpenSSL 3.2 on, one that fails adds to the thread's queue of
    errors, Python 3.13 leaves it there, and then the next read of another connection fails with it."""

    def __init__(self, port, ca_file, greeting=settings(), preface=PREFACE, source="127.0.0.1"):
        tls = ssl.create_default_context(cafile=ca_file)
        tls.set_alpn_protocols(["h2"])
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = tls.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self.s = socket.create_connection(("127.0.0.1", port), 30, (source, 0))
        self._with_bytes(self.tls.do_handshake)
        assert self.tls.selected_alpn_protocol() == "h2"
        self.frames, self.data, self.goaway, self.ended = [], b"", None, None
        self.send(preface, greeting)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.s.close()

    def _with_bytes(self, step):
        """step(), again whenever more bytes have come that it asked for."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                pass
            finally:
                self.s.sendall(self.outgoing.read())
            more = self.s.recv(65536)
            if more:
                self.incoming.write(more)
            else:
                self.incoming.write_eof()

    def send(self, *parts):
        """What the daemon does not take any more is lost: its frames say why."""
        data = b"".join(parts)
        try:
            if data:
                self._with_bytes(lambda: self.tls.write(data))
        except OSError:
            pass

    def next_frame(self):
        """(kind, flags, stream, payload), or None at the end: `ended` says how it came."""
        try:
            while len(self.data) < 9 or len(self.data) < 9 + int.from_bytes(self.data[:3], "big"):
                more = self._with_bytes(lambda: self.tls.read(65536))
                if not more:
                    self.ended = "closed"
                    return None
                self.data += more
        except (ConnectionResetError, ssl.SSLEOFError, BrokenPipeError) as error:
            self.ended = repr(error)
            return None
        end = 9 + int.from_bytes(self.data[:3], "big")
        head, payload, self.data = self.data[:9], self.data[9:end], self.data[end:]
        return head[3], head[4], int.from_bytes(head[5:], "big"), payload

    def read_until(self, done):
        """Frames up to one for which done(kind, flags, stream, payload); None: the connection ended."""
        while True:
            found = self.next_frame()
            if found is None:
                return None
            if found[0] == SETTINGS and not found[1] & ACK:
                self.send(frame(SETTINGS, ACK))
            if found[0] == GOAWAY:
                self.goaway = struct.unpack(">I", found[3][4:8])[0]
            self.frames.append(found)
            if done(*found):
                return found

    def answer(self, stream):
        """Its body, or the code of RST_STREAM; None: the connection ended before."""
        def is_last(kind, flags, s, _):
            return s == stream and (kind == RST_STREAM or (kind in (DATA, HEADERS) and flags & END_STREAM))

        last = next((f for f in self.frames if is_last(*f)), None) or self.read_until(is_last)
        if last is None:
            return None
        if last[0] == RST_STREAM:
            return struct.unpack(">I", last[3])[0]
        return b"".join(f[3] for f in self.frames if f[0] == DATA and f[2] == stream)

    def end(self):
        """The code of GOAWAY, when the daemon has ended the connection; None: without one."""
        self.read_until(lambda *_: False)
        return self.goaway


def request(stream, method="GET", path="/healthz", *more, end=True, flags=END_HEADERS):
    block = packed((":method", method), (":scheme", "https"), (":authority", "localhost"),
                   (":path", path), *more)
    return frame(HEADERS, flags | (END_STREAM if end else 0), stream, block)

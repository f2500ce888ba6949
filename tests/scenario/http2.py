"""A receiver below HTTP/2: frames as bytes (RFC 9113) over TLS, so that it can break every rule."""
import socket
import ssl
import struct
import threading

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

    def request(self):
        """The stream of the next request that is here whole; SETTINGS are acknowledged."""
        while True:
            kind, flags, stream, _ = self.next_frame()
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, ACK))
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                self.server.requests += 1
                return stream

    def hang(self):
        """Until the peer goes; what it sends is not read."""
        self.server.closed.wait(60)


class Http2Server:
    """behave(connection) for each connection, after its preface; closed when it returns."""

    def __init__(self, behave, tls, greeting=settings()):
        self.behave, self.tls, self.greeting = behave, tls, greeting
        self.requests = self.connections = 0
        self.closed = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self):
        return "https://localhost:%d/cb?a=b" % self.port

    def _accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(s, self.connections), daemon=True).start()

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

    def close(self):
        self.closed.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def context(certificate, *protocols):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*certificate)
    tls.set_alpn_protocols(list(protocols or ["h2", "http/1.1"]))
    return tls

"""A server below HTTP: it takes one whole request, then a function does with the socket as it
likes. And certificates for it, made by openssl."""
import re
import socket
import struct
import subprocess
import threading

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)


def answer(status, body=b"", headers=""):
    return ("HTTP/1.1 %d Said\r\nContent-Length: %d\r\n%s\r\n" % (
        status, len(body), headers)).encode() + body


def timeout_for(attempt_class):
    """TimeoutSeconds: short only where the time-out is what is tested, as a slow machine is no receiver's fault."""
    return 3 if attempt_class and "timeout" in attempt_class else 30


class Acceptor:
    """A server on a free port of loopback: _serve(socket, number) for each connection, the first of which has the
    number 1, on a thread of its own, until close(). A subclass sets what _serve needs before it calls this __init__."""

    def __init__(self):
        self.connections = 0
        self.closed = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection, self.connections), daemon=True).start()

    def close(self):
        self.closed.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class RawServer(Acceptor):
    """behave(server, socket, request) after each whole request; the socket is closed afterwards
    unless it returns True: then the next request is awaited."""

    def __init__(self, behave, tls=None):
        self.behave, self.tls = behave, tls
        self.requests = []
        super().__init__()

    def url(self, scheme="http", host="127.0.0.1", userinfo=""):
        return "%s://%s%s:%d/cb?a=b" % (scheme, userinfo, host, self.port)

    def _serve(self, connection, number):
        try:
            connection.settimeout(60)
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            while True:
                request = read_request(connection)
                if request is None:
                    break
                self.requests.append(request)
                if not self.behave(self, connection, request):
                    break
        except OSError:
            pass  # the daemon gave up on us, as it should
        finally:
            connection.close()


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(LENGTH.search(head).group(1))
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def reset(connection):
    """Closes with RST instead of FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


# --- certificates -------------------------------------------------------------------------------

def openssl(*words, **kw):
    subprocess.run(["openssl", *words], check=True, capture_output=True, **kw)


def lifetime(days):
    """The words for it: a negative number of days, which OpenSSL 3.4 and newer refuse, is over."""
    helped = subprocess.run(["openssl", "x509", "-help"], capture_output=True, text=True)
    if days < 0 and "-not_after" in helped.stderr + helped.stdout:
        return "-not_before", "20200101000000Z", "-not_after", "20200102000000Z"
    return "-days", str(days)


class Authority:
    """A certificate authority in a directory; PEM files of it and of what it signs."""

    def __init__(self, directory, name="ca"):
        self.directory, self.name = directory, name
        self.file = str(directory / (name + ".pem"))
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", self.file + ".key", "-out", self.file, "-days", "30",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                "-subj", "/CN=Test Authority " + name)

    def sign(self, name, san="DNS:localhost,IP:127.0.0.1", days=30):
        """(certificate file, key file)"""
        base = str(self.directory / name)
        extensions = self.directory / (name + ".ext")
        extensions.write_text("subjectAltName=%s\nsubjectKeyIdentifier=hash\n"
                              "authorityKeyIdentifier=keyid\n" % san)
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", base + ".key", "-out", base + ".csr", "-subj", "/CN=" + name)
        openssl("x509", "-req", "-in", base + ".csr", "-CA", self.file, "-CAkey",
                self.file + ".key", "-CAcreateserial", "-out", base + ".pem", *lifetime(days),
                "-extfile", str(extensions))
        return base + ".pem", base + ".key"

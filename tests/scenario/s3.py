"""A small S3 on loopback: objects, multipart uploads, and AWS Signature Version 4 checked on every request."""
import hashlib
import hmac
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOST = -1
KEY_ID, SECRET, REGION = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "eu-test-1"


def signature(secret, scope, when, method, path, query, headers, signed, payload_hash):
    """As https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html says."""
    pairs = sorted(urllib.parse.parse_qsl(query, keep_blank_values=True))
    canonical = "\n".join([
        method, path,
        "&".join("%s=%s" % tuple(urllib.parse.quote(text, safe="-_.~") for text in pair) for pair in pairs),
        "".join("%s:%s\n" % (name, " ".join(headers[name].split())) for name in signed), ";".join(signed), payload_hash])
    text = "\n".join(["AWS4-HMAC-SHA256", when, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class S3:
    """answer(method, path, query): a status that is answered instead; None: as S3 does; LOST: as S3
    does, but the connection ends without an answer."""

    def __init__(self, answer=lambda method, path, query: None):
        self.objects, self.uploads, self.requests, self.wrong = {}, {}, [], []
        self.etags = {}  # of objects
        self.answer = answer
        s3 = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                path, _, query = self.path.partition("?")
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                s3.requests.append((self.command, path, query))
                fault = s3.fault(self, path, query, body)
                status = s3.answer(self.command, path, query)
                if fault:
                    s3.wrong.append(fault)
                    self.reply(403, ("<Error><Code>%s</Code></Error>" % fault).encode())
                elif status == LOST:
                    s3.do(self.command, path, dict(urllib.parse.parse_qsl(query, True)), body)
                    self.close_connection = True
                elif status:
                    self.reply(status, b"<Error><Code>Planned</Code></Error>")
                else:
                    self.reply(*s3.do(self.command, path, dict(urllib.parse.parse_qsl(query, True)), body))

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

            def reply(self, status, body=b"", etag=None):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                if etag:
                    self.send_header("ETag", etag)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.env = {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET,
                    "AWS_REGION": REGION, "AWS_SESSION_TOKEN": ""}

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    @staticmethod
    def fault(request, path, query, body):
        headers = {name.lower(): value for name, value in request.headers.items()}
        found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)",
                             headers.get("authorization", ""))
        if not found:
            return "NotSigned"
        key_id, scope, signed, given = found.groups()
        when, payload_hash = headers.get("x-amz-date", ""), headers.get("x-amz-content-sha256", "")
        if key_id != KEY_ID or scope != "%s/%s/s3/aws4_request" % (when[:8], REGION):
            return "WrongScope"
        if payload_hash != hashlib.sha256(body).hexdigest():
            return "XAmzContentSHA256Mismatch"
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed.split(";")):
            return "HeadersNotSigned"
        wanted = signature(SECRET, scope, when, request.command, path, query, headers, signed.split(";"), payload_hash)
        return None if wanted == given else "SignatureDoesNotMatch"

    def do(self, method, path, query, body):
        etag = '"%s"' % hashlib.md5(body).hexdigest()
        if "uploads" in query:
            upload = "id/%d+=" % len(self.uploads)
            self.uploads[upload] = {}
            return 200, ("<R><UploadId>%s</UploadId></R>" % upload).encode()
        if "uploadId" in query:
            parts = self.uploads.get(query["uploadId"])
            if parts is None:
                return 404, b"<Error><Code>NoSuchUpload</Code></Error>"
            if method == "PUT":
                parts[int(query["partNumber"])] = (etag, body)
                return 200, b"", etag
            if method == "GET":
                return 200, b"<ListPartsResult/>"
            named = re.findall(r"<PartNumber>(\d+)</PartNumber><ETag>([^<]+)</ETag>", body.decode())
            if [(n, tag.replace("&quot;", '"')) for n, tag in named] != [(str(n), parts[n][0]) for n in sorted(parts)]:
                return 400, b"<Error><Code>InvalidPart</Code></Error>"
            if any(len(parts[n][1]) < 5 << 20 for n in sorted(parts)[:-1]):
                return 400, b"<Error><Code>EntityTooSmall</Code></Error>"
            self.objects[path] = b"".join(parts[n][1] for n in sorted(parts))
            of_parts = b"".join(hashlib.md5(parts[n][1]).digest() for n in sorted(parts))
            self.etags[path] = '"%s-%d"' % (hashlib.md5(of_parts).hexdigest(), len(parts))
            del self.uploads[query["uploadId"]]
            return 200, b"<R/>"
        if method == "PUT":
            self.objects[path], self.etags[path] = body, etag
            return 200, b"", etag
        if method == "DELETE":
            self.objects.pop(path, None)
            return (204,)
        return (200, self.objects[path], self.etags[path]) if path in self.objects else (404, b"<Error><Code>NoSuchKey</Code></Error>")

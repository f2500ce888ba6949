"""The programs of docs/partners/verify inside a web framework: importing one does nothing, and its
handler answers 200 to what is signed and books it unless it is a test, 400 to what is not, and 500
where booking fails.

A framework that is not here is skipped by name; ./dev test installs Debian's."""
import base64
import hashlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from harness import eventually, leave_nothing_behind
from test_snippets import BUILD_S, GO, SECRET, SNIPPETS, SURVEY, build, build_csharp, mac

EXPRESS = """
import { createRequire } from 'node:module';
import { expressHandler } from '%(snippets)s/node.mjs';
const express = createRequire(import.meta.url)('express');
const app = express();
app.post('/callback', express.raw({ type: '*/*' }), expressHandler('%(secret)s', async (callback) => {
  if (callback.RewardId === 'r-2') throw new Error('booking fails');
  console.log('booked', callback.RewardId);
}));
const server = app.listen(0, '127.0.0.1', () => console.log('port', server.address().port));
"""
PYTHON = """
import sys
sys.path.insert(0, "%(snippets)s")
import verify

def credit(callback):
    if callback["RewardId"] == "r-2":
        raise RuntimeError("booking fails")
    print("booked", callback["RewardId"], flush=True)
"""
FLASK = PYTHON + """
from flask import Flask
from werkzeug.serving import make_server
app = Flask("app")
app.add_url_rule("/callback", view_func=verify.flask_view("%(secret)s", credit), methods=["POST"])
server = make_server("127.0.0.1", 0, app)
print("port", server.server_port, flush=True)
server.serve_forever()
"""
FASTAPI = PYTHON + """
import socket
import uvicorn
from fastapi import FastAPI
app = FastAPI()
app.post("/callback")(verify.fastapi_endpoint("%(secret)s", credit))
listening = socket.create_server(("127.0.0.1", 0))
print("port", listening.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listening])
"""
PHP = """<?php
require '%(snippets)s/verify.php';
[$status, $text] = answerCallback(file_get_contents('php://input'), $_SERVER, '%(secret)s', function ($callback) {
    if ($callback['RewardId'] === 'r-2') {
        throw new RuntimeException('booking fails');
    }
    file_put_contents('php://stdout', "booked {$callback['RewardId']}\n");
});
http_response_code($status);
echo $text;
"""
NET_HTTP = """package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"verify"
)

func main() {
	http.Handle("/callback", verify.Handler("%(secret)s", func(body []byte) error {
		if strings.Contains(string(body), `"r-2"`) {
			return errors.New("booking fails")
		}
		fmt.Println("booked r-1")
		return nil
	}))
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	fmt.Println("port", listener.Addr().(*net.TCPAddr).Port)
	http.Serve(listener, nil)
}
"""
ASP_NET = """
var app = WebApplication.Create();
app.Urls.Add("http://127.0.0.1:0");
app.MapPost("/callback", context => AspNetCallback.Answer(context, "%(secret)s", body =>
{
    if (System.Text.Encoding.UTF8.GetString(body).Contains("r-2"))
    {
        throw new InvalidOperationException("booking fails");
    }
    Console.WriteLine("booked r-1");
    return Task.CompletedTask;
}));
app.Start();
Console.WriteLine("port " + new Uri(app.Urls.First()).Port);
app.WaitForShutdown();
"""
# Spring is not here: its annotations, and a caller that hands over what it would.
SPRING = {
    "org/springframework/http/ResponseEntity.java": """package org.springframework.http;
public class ResponseEntity<T> {
    public int status; public T body;
    public static ResponseEntity<String> status(int status) {
        ResponseEntity<String> made = new ResponseEntity<>(); made.status = status; return made; }
    public ResponseEntity<T> body(T body) { this.body = body; return this; }
}""",
    "Caller.java": """
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
public class Caller {
    static void credit(byte[] body) {
        if (new String(body).contains("r-2")) throw new IllegalStateException("booking fails");
        System.out.println("booked r-1");
    }
    public static void main(String[] args) throws Exception {
        SpringCallback controller = new SpringCallback("%(secret)s", Caller::credit);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/callback", exchange -> {
            int status = 500;
            try {
                status = controller.callback(exchange.getRequestBody().readAllBytes(),
                    exchange.getRequestHeaders().getFirst("webhook-id"),
                    exchange.getRequestHeaders().getFirst("webhook-timestamp"),
                    exchange.getRequestHeaders().getFirst("webhook-signature")).status;
            } catch (Exception e) { }
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        });
        server.start();
        System.out.println("port " + server.getAddress().getPort());
    }
}""",
    **{"org/springframework/web/bind/annotation/%s.java" % name:
       "package org.springframework.web.bind.annotation;\npublic @interface %s "
       "{ String value() default \"\"; String name() default \"\"; boolean required() default true; }" % name
       for name in ("PostMapping", "RequestBody", "RequestHeader", "RestController")},
}
KEY = base64.b64decode(SECRET[6:])
pytestmark = pytest.mark.timeout(2 * BUILD_S)
FILL = {"snippets": SNIPPETS, "secret": SECRET}


def needs(*commands):
    for command in commands:
        if shutil.which(command) is None:
            pytest.skip("no %s on this machine" % command)


def script(scratch, name, text):
    (scratch / name).write_text(text % FILL)
    return str(scratch / name)


def run_express(scratch):
    needs("node")
    if not os.path.isdir("/usr/share/nodejs/express"):
        pytest.skip("no Express on this machine (Debian's node-express)")
    return ["node", script(scratch, "app.mjs", EXPRESS)]


def run_python(scratch, text, *modules):
    for module in modules:
        pytest.importorskip(module)
    return [sys.executable, "-u", script(scratch, "app.py", text)]


def run_flask(scratch):
    return run_python(scratch, FLASK, "flask")


def run_fastapi(scratch):
    return run_python(scratch, FASTAPI, "fastapi", "uvicorn")


def run_php(scratch):
    needs("php")
    script(scratch, "callback", PHP)
    return ["php", "-S", "127.0.0.1:0", str(scratch / "callback")]


def run_net_http(scratch):
    needs("go")
    shutil.copy(SNIPPETS / "verify.go", scratch)
    shutil.copy(SNIPPETS / "go.mod", scratch)
    (scratch / "app").mkdir()
    script(scratch, "app/main.go", NET_HTTP)
    build(["go", "build", "-o", "server", "./app"], scratch, **GO)
    return [str(scratch / "server")]


def run_spring(scratch):
    needs("javac")
    for name, text in SPRING.items():
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        script(scratch, name, text)
    build(["javac", "-d", ".", *SPRING, str(SNIPPETS / "Verify.java"), str(SNIPPETS / "SpringCallback.java")], scratch)
    return ["java", "-cp", str(scratch), "Caller"]


def run_asp_net(scratch):
    needs("dotnet")
    script(scratch, "Program.cs", ASP_NET)
    return build_csharp(scratch, "Verify.cs", "AspNetCallback.cs", sdk="Microsoft.NET.Sdk.Web")


APPS = {"express": run_express, "flask": run_flask, "fastapi": run_fastapi, "php": run_php, "net_http": run_net_http,
        "spring": run_spring, "asp_net": run_asp_net}


@pytest.fixture(params=APPS)
def app(request, tmp_path):
    """A server with the handler: its port, and a function that reads what it has printed."""
    words = APPS[request.param](tmp_path)
    with open(tmp_path / "out", "wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, cwd=tmp_path,
                                   env={**os.environ, "NODE_PATH": "/usr/share/nodejs"})
    leave_nothing_behind(process)

    def printed():
        return (tmp_path / "out").read_text(errors="replace").rpartition("\n")[0]  # a write may be under way

    def port():
        assert process.poll() is None, printed()
        lines = [line for line in printed().replace("http://127.0.0.1:", "port ").splitlines() if "port " in line]
        return lines and int(lines[0].split("port ")[1].split(")")[0])
    yield eventually(port, 60, what="it listens"), printed
    process.kill()
    process.wait()


def post(port, body=SURVEY, reward_id="r-1", **headers):
    at = int(time.time())
    headers = headers or {"webhook-id": reward_id, "webhook-timestamp": str(at),
                          "webhook-signature": mac(body, reward_id, KEY, at)}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", "/callback", body=body, headers={"Content-Type": "application/json", **headers})
    status = connection.getresponse().status
    connection.close()
    return status


def test_handler(app):
    port, printed = app
    assert post(port) == 200
    eventually(lambda: printed().count("booked r-1") == 1, what="it is booked")
    signed = {"webhook-id": "r-1", "webhook-timestamp": str(int(time.time()))}
    signed["webhook-signature"] = mac(SURVEY, "r-1", KEY, int(signed["webhook-timestamp"]))
    assert post(port, SURVEY.replace(b"72.00", b"720.00"), **signed) == 400
    assert post(port, Accept="*/*") == 400
    sig = hashlib.md5(("user-ü/1r-2" + SECRET).encode()).hexdigest()
    failing = json.dumps({"Sig": sig, "PanelistId": "user-ü/1", "RewardId": "r-2"}, ensure_ascii=False,
                         separators=(",", ":")).encode()
    assert post(port, failing, "r-2") == 500
    assert post(port, SURVEY.replace(b'"IsTest":false', b'"IsTest":true')) == 200  # booked for nobody
    assert printed().count("booked") == 1


def test_importing_one_does_nothing(tmp_path):
    """No exit, nothing read or printed: standard input stays open and empty."""
    importers = {
        "python3": [sys.executable, "-c", "import sys; sys.path.insert(0, '%s'); import verify" % SNIPPETS],
        "node": ["node", "--input-type=module", "-e", "await import('%s/node.mjs')" % SNIPPETS],
        "php": ["php", "-r", "require '%s/verify.php';" % SNIPPETS],
    }
    for command, words in importers.items():
        if shutil.which(command):
            done = subprocess.run(words, input=b"", capture_output=True, timeout=60, cwd=tmp_path)
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), command

#!/usr/bin/env python3
"""What taking in one request costs, beside nginx answering by `return`, loaded alike in one run.

usage: bench/http_server.py [BUILD-DIR [SECONDS]]

wrk on one core, one server thread on the other. Prints requests per second and CPU of the server
per request. Above some 200,000/s wrk itself is the bound: then compare the CPU. Figures of one
machine; the ratios are what travels.
"""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

from send import certificate, free_ports, pinned

CONF = """
daemon off; master_process off; worker_processes 1; pid {dir}/pid; error_log {dir}/error.log;
events {{ worker_connections 8192; }}
http {{
    access_log off; keepalive_requests 1000000000; keepalive_timeout 60;
    client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c;
    uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e; client_max_body_size 8m;
    server {{
        listen 127.0.0.1:{plain} backlog=4096;
        listen 127.0.0.1:{tls} ssl backlog=4096;
        ssl_certificate {dir}/cert.pem; ssl_certificate_key {dir}/key.pem;
        default_type application/json;
        location / {{ return 200 '{{"Accepted":1,"Duplicates":0,"Rejected":[]}}'; }}
    }}
}}
"""

POST = """
wrk.method = "POST"
wrk.body = string.rep("x", {bytes})
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer 0123456789abcdef0123456789abcdef"
"""

CASES = [  # name, scheme, bytes of body, connections
    ("GET, 64 connections", "http", 0, 64),
    ("GET, 1,000 connections", "http", 0, 1000),
    ("POST 418 B, 64 connections", "http", 418, 64),
    ("POST 100 KB, 64 connections", "http", 100_000, 64),
    ("https GET, 64 connections", "https", 0, 64),
]


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(pid, port, scheme, script, connections, seconds):
    """Requests per second, and micros of CPU of the server per request."""
    before = cpu_seconds(pid)
    out = subprocess.run(
        pinned(0, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script,
               f"{scheme}://127.0.0.1:{port}/api/v1/events"),
        check=True, capture_output=True, text=True).stdout
    cpu = cpu_seconds(pid) - before
    if "Non-2xx" in out or "Socket errors" in out:
        sys.exit(out)
    for line in out.splitlines():
        if " requests in " in line:
            count = int(line.split()[0])
        if line.startswith("Requests/sec:"):
            rate = float(line.split()[1])
    return rate, cpu * 1e6 / count


def serve(build, folder):
    """Our two servers, plain and TLS: processes and ports."""
    servers = {}
    for scheme in ("http", "https"):
        with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
            listener.setblocking(False)
            files = [folder / "cert.pem", folder / "key.pem"] if scheme == "https" else []
            servers[scheme] = (
                subprocess.Popen(pinned(1, build / "bench/bench_http_server",
                                        str(listener.fileno()), *files),
                                 pass_fds=[listener.fileno()]),
                listener.getsockname()[1])
    return servers


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain, tls = free_ports(2)
        certificate(folder)
        (folder / "conf").write_text(CONF.format(dir=folder, plain=plain, tls=tls))
        nginx = subprocess.Popen(pinned(1, "/usr/sbin/nginx", "-c", folder / "conf"),
                                 stderr=subprocess.DEVNULL)
        servers = serve(build, folder)
        try:
            time.sleep(0.5)
            print(f"{'':30}{'nginx/s':>10}{'CPU us':>8}{'ours/s':>10}{'CPU us':>8}{'CPU / nginx':>13}")
            for what, scheme, size, connections in CASES:
                script = folder / "wrk.lua"
                script.write_text(POST.format(bytes=size) if size else "")
                yard, yard_cpu = measure(nginx.pid, tls if scheme == "https" else plain, scheme,
                                         script, connections, seconds)
                process, port = servers[scheme]
                rate, cpu = measure(process.pid, port, scheme, script, connections, seconds)
                print(f"{what:30}{yard:10.0f}{yard_cpu:8.2f}{rate:10.0f}{cpu:8.2f}"
                      f"{cpu / yard_cpu:13.2f}")
        finally:
            for process in [nginx] + [server for server, _ in servers.values()]:
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main()

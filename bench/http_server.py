#!/usr/bin/env python3
"""What taking in one request costs, beside nginx answering by `return`, loaded alike in one run.

usage: bench/http_server.py [BUILD-DIR [SECONDS]]
       bench/http_server.py --against OTHER-BUILD-DIR [BUILD-DIR [SECONDS [PAIRS]]]

wrk or h2load on one core, one server thread on the other. Prints requests per second and CPU of the
server per request. Above some 200,000/s wrk itself is the bound: then compare the CPU. h2load makes
the same requests by HTTP/1.1 and by HTTP/2 over TLS. Figures of one machine; the ratios are what
travels. --against compares with another build's server instead of nginx, in turns: plain HTTP/1.1.
"""
import os
import pathlib
import re
import socket
import statistics
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
        listen 127.0.0.1:{tls} ssl http2 backlog=4096;
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
H2LOAD_CASES = [  # name, options
    ("https GET, 64, by h2load", ["--h1", "-c64", "-m1"]),
    ("HTTP/2 GET, 64 connections", ["-c64", "-m1"]),
    ("HTTP/2 GET, 8 with 8 streams", ["-c8", "-m8"]),
]
AGAINST = CASES[0], CASES[2]


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(pid, *command):
    """What the load says, and micros of CPU of the server meanwhile."""
    before = cpu_seconds(pid)
    out = subprocess.run(pinned(0, *command), check=True, capture_output=True, text=True).stdout
    return out, (cpu_seconds(pid) - before) * 1e6


def by_wrk(pid, port, scheme, script, connections, seconds):
    """Requests per second, and micros of CPU of the server per request."""
    out, cpu = measure(pid, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script,
                       f"{scheme}://127.0.0.1:{port}/api/v1/events")
    if "Non-2xx" in out or "Socket errors" in out:
        sys.exit(out)
    for line in out.splitlines():
        if " requests in " in line:
            count = int(line.split()[0])
        if line.startswith("Requests/sec:"):
            rate = float(line.split()[1])
    return rate, cpu / count


def by_h2load(pid, port, options, seconds):
    """The same."""
    out, cpu = measure(pid, "h2load", "-t1", f"-D{seconds}", *options,
                       f"https://127.0.0.1:{port}/api/v1/events")
    done = re.search(r"(\d+) succeeded, (\d+) failed", out)
    asked = "http/1.1" if "--h1" in options else "h2"
    if not done or int(done[2]) or not re.search(rf"^Application protocol: {asked}$", out, re.M):
        sys.exit(out)
    return int(done[1]) / seconds, cpu / int(done[1])


def serve(build, folder, schemes=("http", "https")):
    """Our servers, plain and TLS: processes and ports."""
    servers = {}
    for scheme in schemes:
        with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
            listener.setblocking(False)
            files = [folder / "cert.pem", folder / "key.pem"] if scheme == "https" else []
            servers[scheme] = (
                subprocess.Popen(pinned(1, build / "bench/bench_http_server",
                                        str(listener.fileno()), *files),
                                 pass_fds=[listener.fileno()]),
                listener.getsockname()[1])
    return servers


def end(processes):
    for process in processes:
        process.terminate()
        process.wait()


def script_of(folder, size):
    script = folder / "wrk.lua"
    script.write_text(POST.format(bytes=size) if size else "")
    return script


def beside_nginx(folder, build, seconds):
    plain, tls = free_ports(2)
    certificate(folder)
    (folder / "conf").write_text(CONF.format(dir=folder, plain=plain, tls=tls))
    nginx = subprocess.Popen(pinned(1, "/usr/sbin/nginx", "-c", folder / "conf"),
                             stderr=subprocess.DEVNULL)
    servers = serve(build, folder)
    yard = {"http": plain, "https": tls}
    print(f"{'':30}{'nginx/s':>10}{'CPU us':>8}{'ours/s':>10}{'CPU us':>8}{'CPU / nginx':>13}")

    def row(what, scheme, measured, *more):
        process, port = servers[scheme]
        yard_rate, yard_cpu = measured(nginx.pid, yard[scheme], *more, seconds)
        rate, cpu = measured(process.pid, port, *more, seconds)
        print(f"{what:30}{yard_rate:10.0f}{yard_cpu:8.2f}{rate:10.0f}{cpu:8.2f}"
              f"{cpu / yard_cpu:13.2f}", flush=True)

    try:
        time.sleep(0.5)
        for what, scheme, size, connections in CASES:
            row(what, scheme, by_wrk, scheme, script_of(folder, size), connections)
        for what, options in H2LOAD_CASES:
            row(what, "https", by_h2load, options)
    finally:
        end([nginx] + [server for server, _ in servers.values()])


def against(folder, other, build, seconds, pairs):
    """Each pair one after the other, the first of them in turns."""
    builds = {"that": other, "this": build}
    servers = {which: serve(path, folder, ["http"])["http"] for which, path in builds.items()}
    print(f"{'':30}{'that CPU us':>13}{'this CPU us':>13}{'median ratio':>14}   least to most")
    try:
        for what, scheme, size, connections in AGAINST:
            cpu = {"that": [], "this": []}
            for pair in range(pairs):
                for which in ("that", "this") if pair % 2 else ("this", "that"):
                    process, port = servers[which]
                    cpu[which].append(by_wrk(process.pid, port, scheme, script_of(folder, size),
                                             connections, seconds)[1])
            ratios = [this / that for that, this in zip(cpu["that"], cpu["this"])]
            print(f"{what:30}{statistics.median(cpu['that']):13.2f}"
                  f"{statistics.median(cpu['this']):13.2f}{statistics.median(ratios):14.3f}"
                  f"   {min(ratios):.3f} to {max(ratios):.3f}", flush=True)
    finally:
        end([process for process, _ in servers.values()])


def main():
    arguments = sys.argv[1:]
    other = pathlib.Path(arguments[1]) if arguments[:1] == ["--against"] else None
    arguments = arguments[2:] if other else arguments
    build = pathlib.Path(arguments[0] if arguments else "build")
    seconds = int(arguments[1]) if len(arguments) > 1 else 3
    with tempfile.TemporaryDirectory() as name:
        if other:
            pairs = int(arguments[2]) if len(arguments) > 2 else 12
            against(pathlib.Path(name), other, build, seconds, pairs)
        else:
            beside_nginx(pathlib.Path(name), build, seconds)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What one exchange costs, beside wrk (and h2load) against the same nginx in the same run.

usage: bench/send.py [BUILD-DIR [SECONDS]]

Prints exchanges per second and CPU per exchange of the sending side, for one and for 1,000
destinations, plain, over TLS and over HTTP/2. Figures of one machine; the ratios are what travels.
"""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

CONF = """
daemon off; master_process off; worker_processes 1; pid {dir}/pid; error_log {dir}/error.log;
events {{ worker_connections 8192; }}
http {{
    access_log off; keepalive_requests 1000000000; keepalive_timeout 60;
    client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c;
    uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e;
    server {{
        listen 0.0.0.0:{plain} backlog=4096;
        listen 0.0.0.0:{tls} ssl backlog=4096;
        ssl_certificate {dir}/cert.pem; ssl_certificate_key {dir}/key.pem;
        location / {{ return 200; }}
    }}
    server {{
        listen 0.0.0.0:{h2} ssl http2 backlog=4096;
        ssl_certificate {dir}/cert.pem; ssl_certificate_key {dir}/key.pem;
        location / {{ return 200; }}
    }}
}}
"""

WRK = """
wrk.method = "POST"
wrk.body = string.rep("x", 418)
wrk.headers["Content-Type"] = "application/json"
wrk.headers["webhook-id"] = "0123456789abcdef"
wrk.headers["webhook-timestamp"] = "1763726400"
wrk.headers["webhook-signature"] = "v1,w0WTbsLn7HQtTdHV6B9cjz5B0AY0+x7aaQGZQDgu0Y8="
"""


def pinned(core, *command):
    both = os.cpu_count() > 1
    return ["taskset", "-c", str(core), *command] if both else list(command)


def free_ports(count):
    import socket

    sockets = [socket.create_server(("0.0.0.0", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def certificate(folder):
    names = "subjectAltName=" + ",".join(
        f"IP:127.0.{i // 250}.{i % 250 + 1}" for i in range(1000))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=bench", "-addext", names,
         "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, stderr=subprocess.DEVNULL)


def wrk(scheme, port, seconds, script):
    """Exchanges per second, and micros of CPU of wrk per exchange."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(
        pinned(0, "wrk", "-t1", "-c64", f"-d{seconds}s", "-s", script,
               f"{scheme}://127.0.0.1:{port}/callback?app=1"),
        check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    for line in out.splitlines():
        if " requests in " in line:
            count = int(line.split()[0])
        if line.startswith("Requests/sec:"):
            rate = float(line.split()[1])
    return rate, cpu * 1e6 / count


def h2load(port, seconds, folder):
    """As wrk: one connection, 64 streams. It sends the same headers every time, so that they cost
    it next to nothing; a sender's signatures differ."""
    (folder / "body").write_bytes(b"x" * 418)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(
        pinned(0, "h2load", "-t1", "-c1", "-m64", f"-D{seconds}", "-d", folder / "body",
               "-H", "content-type: application/json", "-H", "webhook-id: 0123456789abcdef",
               "-H", "webhook-timestamp: 1763726400", "-H",
               "webhook-signature: v1,w0WTbsLn7HQtTdHV6B9cjz5B0AY0+x7aaQGZQDgu0Y8=",
               f"https://127.0.0.1:{port}/callback?app=1"),
        check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    count = int(re.search(r"(\d+) succeeded", out).group(1))
    return count / seconds, cpu * 1e6 / count


def ours(build, scheme, port, destinations, seconds, ca):
    out = subprocess.run(
        pinned(0, build / "bench/bench_send", scheme, str(port), str(destinations), "64",
               str(seconds), ca),
        check=True, capture_output=True, text=True).stdout.split()
    return float(out[0]), float(out[1])


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain, tls, h2 = free_ports(3)
        certificate(folder)
        (folder / "conf").write_text(CONF.format(dir=folder, plain=plain, tls=tls, h2=h2))
        (folder / "wrk.lua").write_text(WRK)
        nginx = subprocess.Popen(pinned(1, "/usr/sbin/nginx", "-c", folder / "conf"),
                                 stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            print(f"{'':26}{'exchanges/s':>12}{'CPU us':>8}{'CPU / wrk':>11}")
            for scheme, port in (("http", plain), ("https", tls), ("h2", h2)):
                if scheme != "h2":
                    rate, yard = wrk(scheme, port, seconds, folder / "wrk.lua")
                    print(f"{'wrk, ' + scheme:26}{rate:12.0f}{yard:8.2f}")
                elif shutil.which("h2load"):
                    rate, loaded = h2load(port, seconds, folder)
                    print(f"{'h2load':26}{rate:12.0f}{loaded:8.2f}{loaded / yard:11.2f}")
                for destinations in (1, 1000):
                    rate, cpu = ours(build, scheme, port, destinations, seconds,
                                     folder / "cert.pem")
                    what = f"{scheme}, {destinations} destination" + "s" * (destinations > 1)
                    print(f"{what:26}{rate:12.0f}{cpu:8.2f}{cpu / yard:11.2f}")
        finally:
            nginx.terminate()
            nginx.wait()


if __name__ == "__main__":
    main()

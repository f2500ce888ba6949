"""What holds behind a pause of the process (SIGSTOP, a virtual machine that was paused)."""
import signal
import ssl
import threading
import time

import pytest

from harness import Account, Daemon, eventually
from raw import Authority, RawServer, answer

TIMEOUT_S = 3


def state_of(daemon):
    with open("/proc/%d/stat" % daemon.process.pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_answer_that_came_in_time_is_no_timeout(tmp_path, scheme):
    """It needs more than one read, and over TLS more than one record."""
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.sign("receiver"))
    asked, go, answered = threading.Event(), threading.Event(), threading.Event()

    def behave(_, connection, request):
        asked.set()
        go.wait(60)
        head, _, body = answer(200, b"x" * 40000).partition(b"\r\n\r\n")
        for part in (head, b"\r\n\r\n", body):
            connection.sendall(part)
        answered.set()
        return True

    receiver = RawServer(behave, context if scheme == "https" else None)
    daemon = Daemon(tmp_path / "d", "--ca-file", authority.file).start()
    try:
        account = Account(daemon, receiver.url(scheme, "localhost"), TimeoutSeconds=TIMEOUT_S)
        daemon.api().events([account.event("paused-1")])
        assert asked.wait(60)
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            eventually(lambda: state_of(daemon) == "T")
            go.set()
            assert answered.wait(60)
            time.sleep(TIMEOUT_S + 0.5)  # longer than the attempt may take
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        found = daemon.api().wait_state("paused-1", account.partner_id, "delivered")
        assert [(a["Class"], a["Status"]) for a in found["Attempts"]] == [(None, 200)]
        assert len(receiver.requests) == 1
        assert daemon.stop() == 0
    finally:
        go.set()
        daemon.stop()
        receiver.close()

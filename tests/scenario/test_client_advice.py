"""What a command says when its server gives no answer: why, and what may help."""
import os
import re
import subprocess

import pytest

from harness import BINARY, Daemon
from raw import Authority

KEY = "the-key-of-the-operator"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An https server whose authority no system trusts; its certificate is of localhost alone."""
    directory = tmp_path_factory.mktemp("advice")
    authority = Authority(directory)
    certificate, key = authority.sign("server", san="DNS:localhost")
    daemon = Daemon(directory / "d", "--tls-cert", certificate, "--tls-key", key)
    daemon.start(wait_ready=False)
    daemon.authority, daemon.another = authority.file, Authority(directory, "another").file
    (directory / "lines").write_text('{"RewardId":"r","Reward":"1"}\n')
    daemon.lines = str(directory / "lines")
    yield daemon
    assert daemon.stop() == 0


def said(*words):
    """By a command that fails, and not only after a minute of trying."""
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("POSTBACKD_")}, "POSTBACKD_OPERATOR_KEY": KEY}
    result = subprocess.run([BINARY, *words], env=env, capture_output=True, text=True, timeout=30)
    assert result.returncode != 0
    return result.stderr


def commands(place):
    days = ("--start-date", "2026-01-01", "--end-date", "2026-01-01")
    return [("health",), ("user", "list"), ("import", place.lines), ("export", "rewards", *days),
            ("reconcile", "--day", "2026-01-01", "--partner", "p", place.lines)]


def test_a_certificate_that_is_not_trusted(place):
    url = "https://localhost:%d" % place.port
    for words in commands(place):
        text = said(*words, "--url", url)
        assert re.search(r"certificate[^\n]* \(--ca-file FILE trusts it\)", text) and "running" not in text, text
        assert ": 0 " not in text, text
    assert "(the file of --ca-file does not have it)" in said("health", "--url", url, "--ca-file", place.another)


def test_a_name_that_the_certificate_does_not_have(place):
    text = said("health", "--url", "https://127.0.0.1:%d" % place.port, "--ca-file", place.authority)
    assert "(--url needs a name that the certificate has)" in text


def test_nobody_listens(place):
    for words in commands(place):
        if words[0] != "import":  # which waits for a server
            text = said(*words, "--url", "http://127.0.0.1:1")
            assert "(is the server running? --url says where)" in text and ": 0 " not in text, text


def test_listen_says_why_it_tries_again(place):
    words = [BINARY, "listen", "--key", "k", "--to", "http://127.0.0.1:1/", "--url", "https://localhost:%d" % place.port]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as listen:
        line = listen.stderr.readline()
        listen.kill()
    assert re.fullmatch(r"postbackd: the server does not answer now: .*\(--ca-file FILE trusts it\); trying again\n", line)

"""Clients made of /openapi.json: they compile, and what they ask is answered. The TypeScript one is always
made; the page docs/clients.md, whose generators are fetched, is typed by `./dev clients`."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from harness import OPERATOR_KEY, ROOT, Account, Receiver
from typed import blocks

CLIENTS = ROOT / "tests/clients"


def run(*command, cwd):
    done = subprocess.run([str(c) for c in command], cwd=cwd, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not shutil.which("npm"), reason="there is no npm")
def test_a_typescript_client_makes_its_calls(daemon, tmp_path):
    run(sys.executable, ROOT / "tools/dashboard.py", "packages", "clients", cwd=ROOT)
    (tmp_path / "openapi.json").write_bytes(daemon.api(None).get("/openapi.json").body)
    (tmp_path / "package.json").write_text('{"type":"module"}')
    (tmp_path / "node_modules").symlink_to(CLIENTS / "node_modules")
    shutil.copy(CLIENTS / "calls.ts", tmp_path)
    tools = CLIENTS / "node_modules/.bin"
    run(tools / "openapi-typescript", "openapi.json", "--output", "api.d.ts", cwd=tmp_path)
    run(tools / "tsc", "--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--module", "nodenext",
        "calls.ts", cwd=tmp_path)
    account = Account(daemon)
    told = json.loads(run("node", "calls.js", "http://127.0.0.1:%d" % daemon.port, OPERATOR_KEY, account.partner_id,
                          cwd=tmp_path))
    assert told == {"Name": "Made by a client", "Accepted": 2, "Earnings": [1.25, 1.25], "Refused": [412, 412],
                    "Wrong": ["survey_finished", "survey_completed", "offer_clicked", 1]}


# language: (the tools that must be there, the program's file)
LANGUAGES = {"python": (["python3"], "calls.py"), "go": (["go"], "main.go"), "java": (["mvn", "javac"], "Calls.java"),
             "typescript": (["npm"], "calls.ts")}
PAGE = ROOT / "docs/clients.md"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_of_clients_as_it_stands(daemon, tmp_path, language):
    tools, file = LANGUAGES[language]
    if "POSTBACKD_CLIENTS" not in os.environ:
        pytest.skip("its generator is fetched from the internet: ./dev clients runs it")
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        pytest.skip("there is no " + missing[0])
    kinds = [(kind, text) for _, kind, text in blocks(PAGE)]
    at = next(i for i, (kind, _) in enumerate(kinds) if kind == language)
    assert kinds[at - 1][0] == "shell"
    (tmp_path / file).write_text(kinds[at][1])
    receiver = Receiver()
    account = Account(daemon, receiver.url)
    key = account.key("events:write", "reports:read", "callbacks:read")
    env = dict(os.environ, POSTBACKD_URL="http://127.0.0.1:%d" % daemon.port, POSTBACKD_API_KEY=key,
               CLIENT_ID=account.client)
    done = subprocess.run(["bash", "-euc", kinds[at - 1][1]], cwd=tmp_path, env=env, text=True, capture_output=True)
    receiver.close()
    assert done.returncode == 0, done.stdout + done.stderr
    printed = re.sub("\x1b\\[[0-9;]*m", "", done.stdout)  # Maven's colours
    assert re.findall("^(?:accepted|earnings|callback) .*", printed, re.M) == [
        "accepted 1", "earnings 1.25", "callback %s-1 survey_completed" % language]

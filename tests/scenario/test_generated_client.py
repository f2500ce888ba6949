"""A TypeScript client made by openapi-typescript of /openapi.json: it compiles, and what it asks is answered."""
import json
import shutil
import subprocess
import sys

import pytest

from harness import OPERATOR_KEY, ROOT, Account

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
                    "Wrong": ["survey_finished", 1]}

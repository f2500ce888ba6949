"""A receiver with npm's library of Standard Webhooks, made as the page of moving in says: it takes the callbacks
that were sent, of each kind of secret."""
import json
import re
import shutil
import subprocess
import sys

import pytest

from harness import ROOT, Account, eventually

PAGE = ROOT / "docs/operators/moving-in.md"
PACKAGES = ROOT / "dashboard/package.json"
VERIFY = """
const { Webhook } = require('node:module').createRequire(process.argv[1])('standardwebhooks');
const { makers, secret, headers, bodies } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
const verdict = (maker, body) => {
  try {
    const webhook = new Function('Webhook', 'secret', `return ${maker}`)(Webhook, secret);
    return webhook.verify(body, headers);
  } catch (error) {
    return error.message;
  }
};
console.log(JSON.stringify(makers.map((maker) => bodies.map((body) => verdict(maker, body)))));
"""
DEFAULT = "new Webhook(secret)"


def makers():
    """Those of the page's row: by the base64, and in raw mode."""
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith("| [JavaScript]"))
    return re.findall("`([^`]+)`", row)


def verdicts(request, secret):
    """What each maker's library makes of the body as it came, and of one that was changed on its way."""
    subprocess.run([sys.executable, ROOT / "tools/dashboard.py", "packages", "all"], check=True)
    changed = request.body.replace(b'"PanelistId":"user-1"', b'"PanelistId":"user-2"')
    assert changed != request.body
    asked = {"makers": [DEFAULT, *makers()], "secret": secret, "headers": request.headers,
             "bodies": [request.body.decode(), changed.decode()]}
    done = subprocess.run(["node", "-e", VERIFY, PACKAGES], input=json.dumps(asked), capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def called(daemon, receiver, event_id, **app):
    account = Account(daemon, receiver.url, **app)
    daemon.api().events(account.event(event_id))
    return account, eventually(lambda: receiver.of(event_id))[0]


@pytest.mark.skipif(not shutil.which("npm"), reason="there is no npm")
@pytest.mark.parametrize("secret", ["an-older-secret_of.theirs", "c2VjcmV0LW9mLXRoZWlycw=="], ids=["words", "base64"])
def test_a_secret_without_the_prefix_is_taken_as_the_page_says(daemon, receiver, secret):
    _, request = called(daemon, receiver, "sw-" + secret[:2], CallbackSecret=secret)
    default, by_base64, raw = verdicts(request, secret)
    assert by_base64 == raw == [request.json, "No matching signature found"]
    assert isinstance(default[0], str), "the constructor without a mode decodes the secret"


@pytest.mark.skipif(not shutil.which("npm"), reason="there is no npm")
def test_a_secret_of_ours_needs_no_mode(daemon, receiver):
    account, request = called(daemon, receiver, "sw-ours")
    assert account.secret.startswith("whsec_")
    default, by_base64, raw = verdicts(request, account.secret)
    assert default == [request.json, "No matching signature found"]
    assert isinstance(by_base64[0], str) and isinstance(raw[0], str)

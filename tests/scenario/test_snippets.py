"""The receivers' snippets in docs/partners/verify: each is run against the test vectors and
against bodies, headers and secrets that were tampered with.

A runtime that is not here is skipped by name; Node and Python never are."""

import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import BINARY

SNIPPETS = Path(__file__).resolve().parents[2] / "docs/partners/verify"
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
AT = 1763726400
BUILD_S = 1200  # Go compiles its whole library the first time
pytestmark = pytest.mark.timeout(2 * BUILD_S)
OK = ["Sig ok", "webhook-signature ok"]

SURVEY = (
    '{"Sig":"68814bd5ca811bc95364ba60868977a8","PanelistId":"user-ü/1",'
    '"RewardType":"survey_completed","RewardId":"r-1","Reward":72.00,"SessionId":"s \\"1\\"",'
    '"RevenueAmount":0.35,"IsTest":false}').encode()
OFFER = (
    '{"Sig":"1869117705bdee1a6406e206fb0100d6","OfferId":12345,"OfferGoalId":null,'
    '"OfferTitle":"Ti<tle>","PanelistId":"user-ü/1","RewardType":"offer_clicked",'
    '"RewardId":"c-1","Reward":0.00,"RevenueAmount":0.00,"ClientId":"c_1",'
    '"Timestamp":"2026-11-20T12:00:00.000Z"}').encode()
SURVEY_MAC = "v1,w0WTbsLn7HQtTdHV6B9cjz5B0AY0+x7aaQGZQDgu0Y8="
OFFER_MAC = "v1,Dm53LZZmtev/4bFFucI7Mz53YOBDibcXMWvNOWFxeNY="


def mac(body, reward_id, key, at=AT):
    signed = f"{reward_id}.{at}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def command_node(_scratch):
    return [shutil.which("node"), str(SNIPPETS / "node.mjs")]


def command_python(_scratch):
    return [sys.executable, str(SNIPPETS / "verify.py")]


def command_php(_scratch):
    return [shutil.which("php"), str(SNIPPETS / "verify.php")]


def build(arguments, scratch, **environment):
    subprocess.run(arguments, cwd=scratch, check=True, timeout=BUILD_S, capture_output=True,
                   env={**os.environ, **environment})


def command_go(scratch):
    build([shutil.which("go"), "build", "-o", str(scratch / "verify"), "./run"], SNIPPETS, **GO)
    return [str(scratch / "verify")]


def command_java(scratch):
    build([shutil.which("javac"), "-d", str(scratch), str(SNIPPETS / "Verify.java")], scratch)
    return [shutil.which("java"), "-cp", str(scratch), "Verify"]


GO = {"GOCACHE": str(Path(BINARY).parent / "go-cache"), "CGO_ENABLED": "0", "GOPROXY": "off", "GOFLAGS": "-mod=mod"}
PROJECT = """<Project Sdk="{sdk}"><PropertyGroup>
<OutputType>Exe</OutputType><TargetFramework>net{major}.0</TargetFramework><Nullable>enable</Nullable>
<ImplicitUsings>enable</ImplicitUsings><AssemblyName>verify</AssemblyName></PropertyGroup></Project>
"""


def build_csharp(scratch, *sources, sdk="Microsoft.NET.Sdk"):
    dotnet = shutil.which("dotnet")
    version = subprocess.run([dotnet, "--version"], capture_output=True, text=True, check=True)
    (scratch / "verify.csproj").write_text(PROJECT.format(sdk=sdk, major=version.stdout.split(".")[0]))
    for source in sources:
        shutil.copy(SNIPPETS / source, scratch)
    build([dotnet, "build", "-o", str(scratch / "out")], scratch, DOTNET_NOLOGO="1",
          DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_CLI_HOME=str(scratch))
    return [dotnet, str(scratch / "out/verify.dll")]


def command_csharp(scratch):
    return build_csharp(scratch, "Verify.cs")


# name: (what must be on the PATH, how to run it, whether its absence is a failure)
LANGUAGES = {
    "node": ("node", command_node, True),
    "python": ("python3", command_python, True),
    "php": ("php", command_php, False),
    "go": ("go", command_go, False),
    "java": ("javac", command_java, False),
    "csharp": ("dotnet", command_csharp, False),
}


def test_examples_in_the_guide_are_signed():
    text = (SNIPPETS.parent / "README.md").read_text(encoding="utf-8")
    bodies = re.findall(r"```json\n(.*?)\n```", text, re.S)
    assert [SURVEY.decode(), OFFER.decode()] == bodies[-3:-1]
    for body in bodies:
        fields = json.loads(body)
        text = fields["PanelistId"] + fields["RewardId"] + SECRET
        assert fields["Sig"] == hashlib.md5(text.encode()).hexdigest()
        assert next(iter(fields)) == "Sig"


@pytest.fixture(scope="module", params=LANGUAGES)
def snippet(request, tmp_path_factory):
    """The command line of one language's snippet, built once."""
    runtime, command, required = LANGUAGES[request.param]
    if shutil.which(runtime) is None:
        if required:
            pytest.fail(f"{runtime} is needed to test the {request.param} snippet")
        pytest.skip(f"the {request.param} snippet: no {runtime} on this machine")
    return command(tmp_path_factory.mktemp(request.param))


def run(snippet, body=SURVEY, reward_id="r-1", at=AT, signature=SURVEY_MAC, secret=SECRET, now=AT):
    given = {"CALLBACK_SECRET": secret, "WEBHOOK_ID": reward_id, "WEBHOOK_TIMESTAMP": at,
             "WEBHOOK_SIGNATURE": signature, "NOW": now}
    environment = {**os.environ, **{k: str(v) for k, v in given.items() if v is not None}}
    result = subprocess.run(snippet, input=body, env=environment, capture_output=True, timeout=60)
    assert result.stderr == b""
    lines = result.stdout.decode().splitlines()
    assert result.returncode == (0 if lines == OK else 1)
    assert [line.split()[0] for line in lines] == ["Sig", "webhook-signature"]
    return lines


def wrong(lines):
    return [line.split()[0] for line in lines if " wrong: " in line]


def test_vectors(snippet):
    assert run(snippet) == OK
    assert run(snippet, OFFER, "c-1", signature=OFFER_MAC) == OK


def test_altered_amount_is_seen_by_webhook_signature_alone(snippet):
    body = SURVEY.replace(b"72.00", b"720.00")
    lines = run(snippet, body)
    assert lines[0] == "Sig ok"
    assert lines[1] == "webhook-signature wrong: another secret, or an altered id, time or body"


def test_a_body_written_again_is_another_body(snippet):
    body = json.dumps(json.loads(SURVEY), separators=(",", ":"), ensure_ascii=False).encode()
    assert b"72.0," in body
    assert wrong(run(snippet, body)) == ["webhook-signature"]


def test_altered_ids(snippet):
    for old, new in [("user-ü/1", "user-u/1"), ('"r-1"', '"r-2"')]:
        lines = run(snippet, SURVEY.replace(old.encode(), new.encode()))
        assert wrong(lines) == ["Sig", "webhook-signature"]


def test_wrong_secret(snippet):
    assert wrong(run(snippet, secret="whsec_" + "A" * 32)) == ["Sig", "webhook-signature"]


def test_signature_of_another_case(snippet):
    body = SURVEY.replace(b"68814bd5ca811bc95364ba60868977a8", b"68814BD5CA811BC95364BA60868977A8")
    assert wrong(run(snippet, body)) == ["Sig", "webhook-signature"]


def test_timestamp_is_signed_and_fresh(snippet):
    assert run(snippet, now=AT + 300) == OK
    assert run(snippet, now=AT - 300) == OK
    late = "webhook-signature wrong: webhook-timestamp is too old or new"
    assert run(snippet, now=AT + 301)[1] == late
    assert run(snippet, now=AT - 301)[1] == late
    assert wrong(run(snippet, at=AT + 1)) == ["webhook-signature"]
    for at in ["", "x", "1e9", "-1763726400", "1763726400.0", "0x1", "9" * 40, "9" * 5000]:
        assert wrong(run(snippet, at=at)) == ["webhook-signature"]


def test_headers_that_are_missing(snippet):
    for name in ["reward_id", "at", "signature"]:
        lines = run(snippet, **{name: None})
        assert lines == ["Sig ok", "webhook-signature wrong: a webhook- header is missing"]


def test_rotation_sends_one_signature_per_live_secret(snippet):
    other = mac(SURVEY, "r-1", b"another key")
    assert run(snippet, signature=f"{other} {SURVEY_MAC}") == OK
    assert run(snippet, signature=f"{SURVEY_MAC} {other}") == OK
    for signature in [other, f"{other} {other}", SURVEY_MAC[3:], f"v2,{SURVEY_MAC[3:]}",
                      f"{SURVEY_MAC},{other}", SURVEY_MAC[:-1], " "]:
        assert wrong(run(snippet, signature=signature)) == ["webhook-signature"]


def test_a_secret_that_was_not_copied_whole(snippet):
    for secret in ["whsec_MDE", "whsec_MDEyM", "whsec_%"]:
        assert wrong(run(snippet, secret=secret)) == ["Sig", "webhook-signature"]


def test_bodies_that_are_hardly_json(snippet):
    half = SURVEY.replace("ü".encode(), b"\\ud800")
    deep = SURVEY.replace(b"72.00", b"[" * 100000 + b"]" * 100000)
    for body in [half, deep]:
        assert wrong(run(snippet, body))[-1] == "webhook-signature"


def test_secret_without_prefix_is_its_own_key(snippet):
    secret = "moved-in from elsewhere".replace(" ", "_")
    sig = hashlib.md5(f"user-ü/1r-1{secret}".encode()).hexdigest()
    body = SURVEY.replace(b"68814bd5ca811bc95364ba60868977a8", sig.encode())
    assert run(snippet, body, signature=mac(body, "r-1", secret.encode()), secret=secret) == OK


def test_escapes_in_ids(snippet):
    panelist = 'q"\\/\n\t\x01ü😀'
    sig = hashlib.md5(f"{panelist}r-1{SECRET}".encode()).hexdigest()
    body = ('{"Sig":"%s","PanelistId":"q\\"\\\\/\\n\\t\\u0001ü😀","RewardType":"ad_hoc",'
            '"RewardId":"r-1","Reward":1.00,"SessionId":"\\"Sig\\":\\"x\\",\\"PanelistId\\":\\"y\\"",'
            '"RevenueAmount":0.00,"IsTest":false}' % sig).encode()
    key = base64.b64decode(SECRET[6:])
    assert run(snippet, body, signature=mac(body, "r-1", key)) == OK


def test_bodies_without_a_sig(snippet):
    for body in [b"", b"{", b"[]", b"null", b'"x"', b"{}", SURVEY.replace(b'"Sig"', b'"Signature"'),
                 SURVEY.replace(b'"user-\xc3\xbc/1"', b"1")]:
        assert "Sig" in wrong(run(snippet, body))


@pytest.mark.skipif(shutil.which("php") is None, reason="no php on this machine")
@pytest.mark.parametrize("query,answer", [
    ("uid=user-%C3%BC%2F1&amount=72.00&tx=r-1&sig=ead843eb1907a6618c3c82a8a607507a8ae1fa6b12f8d27fc5ebd931a04a70d9", "good"),
    ("uid=user-%C3%BC%2F1&amount=73.00&tx=r-1&sig=ead843eb1907a6618c3c82a8a607507a8ae1fa6b12f8d27fc5ebd931a04a70d9", "401"),
    ("a=1&sig=", "401"), ("a&b", "401"), ("sig", "401"), ("sig=x", "401"), ("&", "401"), ("", "401"), (None, "401")])
def test_query_signature_of_the_formats_page(tmp_path, query, answer):
    page = (SNIPPETS.parents[1] / "request-formats.md").read_text(encoding="utf-8")
    block = re.search(r"```php\n(.*?)```", page, re.S).group(1)
    given = "" if query is None else "$_SERVER['QUERY_STRING'] = %s;" % json.dumps(query)
    script = tmp_path / "query.php"
    script.write_text("<?php declare(strict_types=1); error_reporting(E_ALL); unset($_SERVER['QUERY_STRING']); %s\n"
                      "$secret = '%s'; register_shutdown_function(fn() => print(http_response_code() ?: 'good'));\n"
                      "%s" % (given, SECRET, block))
    done = subprocess.run(["php", "-d", "display_errors=stderr", str(script)], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (answer, "")

"""The command line: what it says of itself, what it refuses and how, and its small commands."""
import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from checks import encode
from harness import BINARY, OPERATOR_KEY, Account, Daemon, eventually, is_sanitized

VECTOR_SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
BODY = ('{"Sig":"68814bd5ca811bc95364ba60868977a8","PanelistId":"user-ü/1","RewardType":"survey_completed",'
        '"RewardId":"r-1","Reward":72.00,"SessionId":"s \\"1\\"","RevenueAmount":0.35,"IsTest":false}')
# what the contract's section 7 names for each command that is there
OPTIONS = {
    "serve": ["--config", "--listen", "--tls-cert", "--tls-key", "--store", "--retry-schedule", "--allow-destination",
              "--source-address", "--ca-file", "--proxy", "--dns-server", "--public-url", "--trusted-proxy"],
    "demo": [], "receive": ["--listen", "--secret", "--status", "--delay", "--fail-rate", "--print"],
    "listen": ["--key", "--to", "--url"],
    "verify": ["--secret"], "import": [], "backup": [], "clusters": ["--config", "--store", "--store-cluster"],
}


def run(*arguments, stdin="", timeout=30, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith("POSTBACKD_")}
    env.update(variables)
    if isinstance(stdin, str):
        stdin = stdin.encode()
    return subprocess.run([BINARY, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout, env=env)


def assert_one_line(result, status, *words):
    """Ends with this status, one clear line on standard error, and nothing else."""
    text = result.stderr.decode()
    assert result.returncode == status, (result.returncode, text)
    assert result.stdout == b""
    lines = text.splitlines()
    assert len(lines) == 1 and len(lines[0]) > 15, text
    assert all(word in text for word in words), (words, text)


# --- help ------------------------------------------------------------------------------------

def test_help_lists_the_commands():
    result = run("--help")
    assert (result.returncode, result.stderr) == (0, b"")
    for command in OPTIONS:
        assert re.search(r"^\s+%s\s" % command, result.stdout.decode(), re.M), command


@pytest.mark.parametrize("command", OPTIONS)
def test_each_command_names_its_options(command):
    result = run(command, "--help")
    assert (result.returncode, result.stderr) == (0, b"")
    listed = set(re.findall(r"^\s*(--[a-z-]+)", result.stdout.decode(), re.M))
    assert listed >= set(OPTIONS[command])
    # and takes each that it names: without a value that is what it asks for
    for option in re.findall(r"^\s*(--[a-z-]+) \S", result.stdout.decode(), re.M):
        assert_one_line(run(command, option), 2, option.lstrip("-"))
        assert_one_line(run(command, option + "="), 2, option.lstrip("-"))


def offered(command):
    """The options that --help shows for it."""
    return re.findall(r"^\s*(--[a-z0-9-]+)", run(command, "--help").stdout.decode(), re.M)


def commands():
    return re.findall(r"^  ([a-z]+) ", run("--help").stdout.decode(), re.M)


def test_the_manual_names_every_option():
    assert run("--manual").stdout == run("--manual", "1").stdout
    plain = run("--manual").stdout.decode().replace("\\-", "-")
    for command in commands():
        for option in offered(command):
            assert option in plain, (command, option)
    file = run("--manual", "5").stdout.decode()
    for option in set(offered("serve")) - {"--config"}:
        assert "\\fB%s\\fR = " % option[2:] in file, option
    assert "\\fBoperator-key\\fR" in file and "\\fBconfig\\fR = " not in file
    assert_one_line(run("--manual", "7"), 2, "section")


def test_what_is_reloaded_is_the_same_in_every_text():
    manual = run("--manual", "5").stdout.decode().replace("\\-", "-")
    entries = [(re.match(r"\\fB([a-z0-9-]+)\\fR = ", entry), " ".join(entry.split())) for entry in manual.split(".TP\n")[1:]]
    told = {name[1] for name, entry in entries if name and "Reloaded at SIGHUP" in entry}
    page = (Path(__file__).parents[2] / "docs/operators/reference.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", page.split("## Reloading\n")[1].split("\n## ")[0], re.M)
    assert told == set(re.findall(r"`([a-z0-9-]+)`", " ".join(rows))) and len(told) > 15
    text = run("serve", "--help").stdout.decode()
    helped = {option for option, rest in re.findall(r"^ +--([a-z0-9-]+)(.*?)(?=^ +--|\Z)", text, re.M | re.S)
              if "Reloaded at SIGHUP." in " ".join(rest.split())}
    assert helped == told - {"smtp-password"}, "secrets are no options of the command line"


@pytest.mark.parametrize("section", ["1", "5", "8"])
def test_a_manual_page_renders(section, tmp_path):
    result = run("--manual", section)
    assert result.returncode == 0 and result.stdout.startswith(b".TH ")
    if shutil.which("man") is None:
        pytest.skip("no man on this machine")
    page = tmp_path / ("postbackd." + section)
    page.write_bytes(result.stdout)
    shown = subprocess.run(["man", "--warnings", "-l", str(page)], capture_output=True, timeout=60,
                           env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"})
    assert shown.returncode == 0 and shown.stderr == b"", shown.stderr
    for word in {"1": ["retry-schedule"], "5": ["retry-schedule = LIST", "postbackd(8)"], "8": ["SIGTERM"]}[section]:
        assert word.encode() in shown.stdout, shown.stdout.decode()


def test_version():
    for arguments in (["--version"],):
        result = run(*arguments)
        assert re.fullmatch(rb"postbackd \d+\.\d+\.\d+\S*\n", result.stdout)


# --- what is refused -------------------------------------------------------------------------

WRONG = [
    ([], []), (["--nonsense"], ["nonsense"]), (["serves"], ["serves"]),
    (["serve", "--nonsense", "x"], ["nonsense"]), (["serve", "stray"], []),
    (["serve", "--listen"], ["listen"]), (["serve", "--listen", "nowhere"], ["listen"]),
    (["serve", "--listen", "127.0.0.1:99999"], ["listen"]), (["serve", "--listen", "1.2.3:80"], ["listen"]),
    (["serve", "--store", "mysql:x"], ["store"]), (["serve", "--store", "postgresql://me:pw@db/x"], ["***:***@db", "POSTBACKD_MASTER_KEY"]),
    (["serve", "--store", "sqlite:"], ["--store: sqlite: names no directory; write sqlite:DIR"]), (["copy"], ["--to needs"]),
    (["serve", "--read-replica", "postgresql:///x"], ["read-replica"]),
    (["serve", "--store-cluster", "postgresql:///x"], ["store-cluster"]),
    (["serve", "--store", "postgresql:///x", "--store-cluster", "sqlite:x"], ["store-cluster"]),
    (["serve", "--store", "postgresql:///x", "--read-replica", "sqlite:x"], ["read-replica"]),
    (["serve", "--store", "postgresql:///x", "--read-replica-max-lag", "0"], ["read-replica-max-lag"]),
    (["serve", "--retry-schedule", "5s,x"], ["retry-schedule"]), (["serve", "--retry-schedule", "5"], ["retry-schedule"]),
    (["serve", "--retry-schedule", "5s,,1m"], ["retry-schedule"]),
    (["serve", "--retry-schedule", "-5s"], ["retry-schedule"]),
    (["serve", "--allow-destination", "10.0.0.0/33"], ["allow-destination"]),
    (["serve", "--allow-destination", "localhost"], ["allow-destination"]),
    (["serve", "--allow-destination", "127.0.0.0/8", "--allow-destination", "10.0.0.0/33"], ["allow-destination: 10.0.0.0/33:"]),
    (["serve", "--source-address", "here"], ["source-address"]),
    (["serve", "--source-address", "192.0.2.1"], ["source-address", "192.0.2.1", "this machine"]),
    (["serve", "--source-address", "127.0.0.1", "--source-address", "192.0.2.1"], ["source-address: 192.0.2.1:"]),
    (["serve", "--source-address", "127.0.0.1", "--source-address", "here"], ["source-address: here:"]),
    (["serve", "--trusted-proxy", "x"], ["trusted-proxy"]), (["serve", "--dns-server", "x"], ["dns-server"]),
    (["serve", "--dns-server", "127.0.0.1:0"], ["dns-server"]),
    (["serve", "--node-name", "x" * 65], ["node-name: at most 64"]), (["serve", "--node-name", "a\x1b[1m"], ["node-name: at most 64"]),
    (["serve", "--node-name", "a\u200eb"], ["node-name: at most 64", "end a line or set a direction"]),
    (["serve", "two\n\x1b[31mlines"], ["two  [31mlines: serve takes options only"]),
    (["serve", "--public-url", "ftp://x"], ["public-url"]), (["serve", "--public-url", "https://x/path?q"], ["public-url", "query"]),
    (["serve", "--public-url", "https://x/#f"], ["public-url", "fragment"]),
    (["serve", "--public-url", "https://me:pw@x"], ["public-url: https://***:***@x: has a user"]),
    (["serve", "--store", "postgresql:///x", "--read-replica", "x"], ["--read-replica: a replica postgresql://"]),
    (["health", "--ca-file", "/nonexistent/ca.pem"], ["--ca-file: /nonexistent/ca.pem"]),
    (["user", "list", "--ca-file", "/nonexistent/ca.pem"], ["--ca-file: /nonexistent/ca.pem"]), (["serve", "--proxy", "socks5://x"], ["proxy"]),
    (["serve", "--smtp-url", "http://mail.example"], ["smtp-url", "smtps://"]),
    (["serve", "--smtp-url", "smtp://me:pw@mail.example"], ["smtp-url", "***:***@", "smtp-user"]),
    (["serve", "--smtp-url", "smtp://mail.example"], ["smtp-url", "mail-from"]),
    (["serve", "--smtp-url", "smtp://mail.example", "--mail-from", "me"], ["mail-from"]),
    (["serve", "--smtp-url", "smtp://mail.example/x", "--mail-from", "me@here.example"], ["smtp-url"]),
    (["serve", "--mail-from", "me@here.example"], ["mail-from", "smtp-url"]),
    (["serve", "--operations-email", "me@here.example"], ["operations-email", "smtp-url"]),
    (["serve", "--operations-email", "me@here..example", "--smtp-url", "smtp://127.0.0.1", "--mail-from", "a@b.example"],
     ["operations-email", "name@domain"]),
    (["serve", "--smtp-password", "x"], ["smtp-password"]),
    (["serve", "--tls-cert", "/nonexistent"], ["tls-"]), (["serve", "--tls-key", "/nonexistent"], ["tls-"]),
    (["serve", "--log-format", "xml"], ["log-format"]), (["serve", "--log-level", "loud"], ["log-level"]),
    (["serve", "--reads-per-minute", "-1"], ["reads-per-minute"]), (["serve", "--loops", "x"], ["loops"]),
    (["serve", "--retain-bodies-days", "1.5"], ["retain-bodies-days"]),
    (["serve", "--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"], ["listen"]),
    (["serve", "--operator-key", "x" * 20], ["operator-key"]), (["serve", "--master-key", "x"], ["master-key"]),
    (["serve", "--config", "/nonexistent/file"], ["/nonexistent/file"]),
    (["verify"], ["secret"]), (["verify", "--secret", "x", "body.json"], ["standard input", "< body.json"]), (["receive"], ["secret"]), (["import"], []),
    (["demo", "stray"], ["stray"]),
    (["copy", "--store", "sqlite:.", "--to", "sqlite:./"], ["the same store"]),
    (["copy", "--store", "postgresql:///x", "--to", "postgresql:///x"], ["the same store"]),
    (["receive", "--secret", "x" * 20, "stray"], ["stray"]),
    (["receive", "--secret", "x" * 20, "--listen", "nowhere"], ["--listen: nowhere: not an address and port"]),
    (["demo", "--listen", "nowhere"], ["--listen: nowhere: not an address and port"]),
    (["receive", "--secret", "x" * 20, "--status", "99"], ["status"]),
    (["receive", "--secret", "x" * 20, "--fail-rate", "2"], ["fail-rate"]),
    (["receive", "--secret", "x" * 20, "--delay", "-1"], ["delay"]),
]


@pytest.mark.parametrize("arguments,words", WRONG, ids=[" ".join(a)[:60] or "nothing" for a, _ in WRONG])
def test_wrong_words_are_one_line_and_exit_2(arguments, words, tmp_path):
    arguments = list(arguments)
    if arguments[:1] == ["serve"] and "--store" not in arguments:
        arguments[1:1] = ["--store", "sqlite:%s" % (tmp_path / "store")]
    assert_one_line(run(*arguments, timeout=60), 2, *words)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name,value", [("LISTEN", "nowhere"), ("RETRY_SCHEDULE", "soon"), ("LOG_FORMAT", "xml"),
                                        ("LOOPS", "x"), ("OPERATOR_KEY", "short"), ("OPERATOR_KEY", " " * 20), ("OPERATOR_KEY", "x" * 8193),
                                        ("OPERATOR_KEY", "two lines\n" * 4), ("OPERATOR_KEY", "ü" * 20), ("MASTER_KEY", "no key"),
                                        ("ALLOW_DESTINATION", "10.0.0.0/8,x"), ("STORE", "file:x")])
def test_wrong_values_of_the_environment(name, value, tmp_path):
    arguments = [] if name == "STORE" else ["--store", "sqlite:%s" % (tmp_path / "store")]
    result = run("serve", *arguments, timeout=60, **{"POSTBACKD_" + name: value})
    assert_one_line(result, 2, "postbackd: POSTBACKD_%s: " % name)
    assert name.lower().replace("_", "-") + ": " not in result.stderr.decode()
    if name.endswith("_KEY"):
        assert re.search("operator|master", result.stderr.decode(), re.I) and value not in result.stderr.decode()


@pytest.mark.parametrize("text,words", [
    ("nonsense = 1\n", ["nonsense", ":1"]), ("# good\n\nlisten 127.0.0.1:0\n", [":3"]),
    ("listen = nowhere\n", ["postbackd.conf:1: listen: nowhere"]), ("log-format = json\nretry-schedule = 5s,never\n", [":2: retry-schedule"]),
    ("allow-destination = 10.0.0.0/8\nallow-destination = x\n", [":2: allow-destination: x:"]), ("\ufeff\nloops = x\n", [":2: loops: x"]),
    ("listen = 127.0.0.1:0\nlisten = 127.0.0.1:0\n", ["listen"]), ("listen =\n", ["listen"]),
    ("config = other\n", ["config"]), ("fail-rate = 1\n", ["fail-rate"]),
])
def test_wrong_config_files(text, words, tmp_path):
    path = tmp_path / "postbackd.conf"
    path.write_text(text)
    assert_one_line(run("serve", "--config", path, "--store", "sqlite:%s" % (tmp_path / "s"), timeout=60), 2, *words)


def test_each_value_of_a_list_has_its_line(tmp_path):
    path = tmp_path / "postbackd.conf"
    path.write_text("store = postgresql:///x\n\n" + "store-cluster = postgresql:///y\n" + "store-cluster = me:pw@z\n")
    result = run("serve", "--config", path, timeout=60)
    assert_one_line(result, 2, "postbackd.conf:4: store-cluster: postgresql://...")
    path.write_text("store = postgresql:///x\n" + "store-cluster = postgresql:///y\n" * 16)
    assert_one_line(run("serve", "--config", path, timeout=60), 2, "postbackd.conf:17: store-cluster: 15 at most")
    assert "pw" not in result.stderr.decode()


def test_an_unknown_variable_only_warns(tmp_path):
    d = Daemon(tmp_path, env={"POSTBACKD_NONSENSE": "value-of-nonsense"}).start()
    assert d.stop() == 0
    lines = [json.loads(line) for line in d.log_text().splitlines() if "NONSENSE" in line]
    assert lines and all(line["level"] == "warning" for line in lines)


# --- where settings come from ----------------------------------------------------------------

def test_command_line_beats_environment_beats_file(tmp_path):
    path = tmp_path / "postbackd.conf"
    path.write_text("# the file\nreads-per-minute = 1\npublic-url = https://file.example\n"
                    "retry-schedule = 1s\nallow-destination = 127.0.0.0/8\noperator-key = %s\n" % ("f" * 32))
    path.chmod(0o600)
    d = Daemon(tmp_path, "--config", str(path), "--reads-per-minute", "3", schedule=None, allow=(),
               env={"POSTBACKD_READS_PER_MINUTE": "2", "POSTBACKD_PUBLIC_URL": "https://variable.example"}).start()
    try:
        assert d.api().get("/api/v1/partners").headers["RateLimit-Limit"] == "3"
        assert "https://variable.example" in d.api(None).get("/openapi.json").text
        a = Account(d, "http://127.0.0.1:9/")  # allowed by the file
        d.api().events(a.event("c-1"))
        key = d.api(a.key("callbacks:read"))

        def dead():
            d.metrics()
            return d.metrics()["postbackd_callbacks_dead_total"] == 1

        eventually(dead)  # after two attempts: the file's schedule has one step
        assert len(key.get("/api/v1/callbacks/c-1").json["Attempts"]) == 2
        assert d.api("f" * 32).get("/api/v1/partners").status == 401
        assert "readable_by_others" not in d.log_text()
    finally:
        d.stop()


def test_config_by_variable(tmp_path):
    path = tmp_path / "postbackd.conf"
    path.write_text("reads-per-minute = 7\nmaster-key = %s\n" % ("6b" * 32))
    path.chmod(0o644)
    d = Daemon(tmp_path, env={"POSTBACKD_CONFIG": str(path)}).start()
    try:
        assert d.api().get("/api/v1/partners").headers["RateLimit-Limit"] == "7"
        warned = [line for line in d.log_text().splitlines() if "config_file_with_keys_is_readable_by_others" in line]
        assert len(warned) == 1 and str(path) in warned[0] and "chmod" in warned[0], warned
    finally:
        d.stop()


@pytest.mark.sqlite("one daemon to a directory")
def test_a_second_daemon_on_the_same_store_is_refused(own_daemon):
    d = own_daemon.start()
    result = run("serve", "--listen", "127.0.0.1:0", "--store", d.store(), timeout=60)
    assert result.returncode not in (0, 2) and result.stderr
    assert d.api(None).get("/readyz").status == 200


@pytest.mark.sqlite("the key file in its directory")
def test_sigterm_ends_with_0_and_the_key_file_is_private(own_daemon):
    d = own_daemon.start()
    made = [f for f in (d.directory / "store").iterdir() if f.name == "master.key"]
    assert len(made) == 1 and made[0].stat().st_mode & 0o777 == 0o600
    assert "master" in d.log_text()
    d.process.send_signal(signal.SIGTERM)
    assert d.process.wait(60) == 0


def test_a_master_key_of_the_environment_makes_no_file(tmp_path):
    d = Daemon(tmp_path, env={"POSTBACKD_MASTER_KEY": "ab" * 32}).start()
    a = Account(d)
    assert d.stop() == 0
    assert not list((tmp_path / "store").glob("*.key"))
    wrong = run("serve", "--listen", "127.0.0.1:0", "--store", d.store(), timeout=60,
                POSTBACKD_MASTER_KEY="cd" * 32)
    assert wrong.returncode not in (0, None) and wrong.stderr
    d.start()
    assert d.api().get("/api/v1/apps/%s/secret" % a.app_id).json["CallbackSecret"] == a.secret
    assert d.stop() == 0


# --- health ----------------------------------------------------------------------------------

def test_health_says_whether_a_server_is_ready(own_daemon):
    d = own_daemon.start()
    at = "http://127.0.0.1:%d" % d.port
    ready = run("health", "--url", at)
    assert (ready.returncode, ready.stderr) == (0, b"") and json.loads(ready.stdout) == d.api().get("/readyz").json
    assert run("health", POSTBACKD_URL=at).returncode == 0
    assert_one_line(run("health", "--url", at + "/elsewhere"), 1, at, "404")
    assert_one_line(run("health", "stray"), 2, "health")
    d.stop()
    assert_one_line(run("health", "--url", at), 1, at, "running")


# --- verify ----------------------------------------------------------------------------------

def body_with(signature):
    return BODY.replace("68814bd5ca811bc95364ba60868977a8", signature)


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


P, R, S = "user-ü/1", "r-1", VECTOR_SECRET
CAUSES = [
    (md5(P + R + S).upper(), "upper|case"), (md5(R + P + S), "order"), (md5(P + S + R), "order"),
    (md5(S + P + R), "order"), (md5(P + ":" + R + ":" + S), "separator|between"), (md5(P + R), "secret|left out|missing"),
    (md5(P + S), "RewardId|left out|missing"), (hmac.new(S.encode(), (P + R).encode(), "md5").hexdigest(), "HMAC"),
    (md5(P + R + S[6:]), "whsec_|prefix"), (hashlib.sha256((P + R + S).encode()).hexdigest(), "32|MD5"),
    (base64.b64encode(hashlib.md5((P + R + S).encode()).digest()).decode(), "32|hex"),
    (md5(P + R + S + "\n"), "white|space|line"), (md5(P + R + "whsec_another"), "secret"), ("", "Sig"),
]


def test_verify_says_that_sig_matches():
    for text in (BODY, BODY + "\n", json.dumps(json.loads(BODY)), body_with(md5(P + R + "plain-secret"))):
        secret = "plain-secret" if "68814" not in text else S
        result = run("verify", "--secret", secret, stdin=text)
        assert (result.returncode, result.stderr) == (0, b""), text
        assert b"matches" in result.stdout


@pytest.mark.parametrize("signature,words", CAUSES, ids=[w for _, w in CAUSES])
def test_verify_says_why_not(signature, words):
    result = run("verify", "--secret", S, stdin=body_with(signature))
    assert result.returncode == 1
    text = (result.stdout + result.stderr).decode()
    assert "not" in text and re.search(words, text, re.I), text
    assert S not in text and S[6:] not in text


def test_the_causes_are_told_apart():
    said = {run("verify", "--secret", S, stdin=body_with(signature)).stdout for signature, _ in CAUSES}
    assert len(said) >= 10


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\xff", '{"PanelistId":"u"}', "{}",
                                  '{"Sig":"68814bd5ca811bc95364ba60868977a8"}'])
def test_verify_of_what_is_no_callback(text):
    result = run("verify", "--secret", S, stdin=text.encode("latin-1"))
    assert result.returncode == 1 and result.stdout + result.stderr


# --- receive ---------------------------------------------------------------------------------

class Receive:
    """`postbackd receive` at a free port."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([BINARY, "receive", "--listen", "127.0.0.1:0", *arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = self.process.stdout.readline()
        self.url = re.search(r"http://127\.0\.0\.1:\d+/", first).group(0)

    def line(self):
        return self.process.stdout.readline()

    def stop(self):
        self.process.terminate()
        self.process.stdout.close()
        return self.process.wait(60)


def test_an_address_in_use_is_named(daemon, tmp_path):
    at = "127.0.0.1:%d" % daemon.port
    for command in (["receive", "--secret", "x" * 20], ["serve", "--store", "sqlite:%s" % tmp_path]):
        result = run(*command, "--listen", at, POSTBACKD_MASTER_KEY="ab" * 32)
        assert result.returncode == 1
        assert result.stderr.decode() == "postbackd: listen: %s: the address is in use by another program\n" % at


def test_help_is_about_the_command_that_was_asked():
    def said(command, option):
        entry = run(command, "--help").stdout.decode().split("  --%s " % option)[1].split("\n  ")
        return " ".join((entry[0] + entry[1]).split())

    assert "127.0.0.1:9000" in said("receive", "listen") and "127.0.0.1:8080" in said("serve", "listen")
    assert "export" not in said("user", "partner") + said("reconcile", "partner")
    assert "all partners" in said("export", "partner") and "operator's own people" in said("user", "partner")
    assert "sqlite" not in said("listen", "to") and "sqlite" in said("copy", "to")


def test_receive_verifies_what_the_daemon_sends(daemon):
    a = Account(daemon, currency="72.5")
    other = Receive("--secret", a.secret)
    try:
        a.patch(SuccessCallbackUrl=other.url + "cb?x=1", OfferCallbackUrl=other.url)
        daemon.api().events(a.event("rc-1", PanelistId='ü"\\'))
        line = other.line()
        assert "rc-1" in line and "survey_completed" in line and "72.50" in line
        assert line.startswith("200 ") and "Sig ok " in line and "webhook-signature ok" in line
        daemon.api().wait_state("rc-1", a.partner_id, "delivered")
        daemon.api().post("/api/v1/callbacks/rc-1/resend", query={"partnerId": a.partner_id})
        assert "rc-1" in (again := other.line()) and again != line  # said to have come before
        daemon.api().events(a.event("rc-2", "offer_clicked"))
        assert "offer_clicked" in other.line()
    finally:
        assert other.stop() == 0


def test_receive_takes_forms_and_queries(daemon):
    a = Account(daemon)
    other = Receive("--secret", a.secret)
    try:
        for name, path in (("form", ""), ("get", ""), ("get", "cb/{PanelistId}?RewardType={RewardType}&RewardId="
                           "{RewardId}&Reward={Reward}&PanelistId={PanelistId}&Sig={Sig}")):
            a.patch(SuccessCallbackUrl=other.url + path, RequestFormat=name)
            reward_id = "rc-%s%d" % (name, len(path))
            daemon.api().events(a.event(reward_id, PanelistId='ü + "\\'))
            line = other.line()
            assert line.startswith("200 ") and reward_id in line, line
            assert "Sig ok " in line and "webhook-signature ok" in line, line
        a.patch(SuccessCallbackUrl=other.url + "cb/{PanelistId}")
        daemon.api().events(a.event("rc-path"))
        assert "without RewardType" in (line := other.line()) and "webhook-signature ok" in line, line
    finally:
        assert other.stop() == 0


def test_receive_with_another_secret_says_so(daemon):
    a = Account(daemon)
    other = Receive("--secret", VECTOR_SECRET)
    try:
        a.patch(SuccessCallbackUrl=other.url)
        daemon.api().events(a.event("rc-3"))
        assert other.line().count("WRONG") == 2
    finally:
        assert other.stop() == 0


def test_receive_answers_what_it_is_told(daemon):
    a = Account(daemon)
    other = Receive("--secret", a.secret, "--status", "404", "--delay", "300")
    try:
        a.patch(SuccessCallbackUrl=other.url)
        daemon.api().events(a.event("rc-4"))
        found = daemon.api().wait_state("rc-4", a.partner_id, "dead")
        assert {t["Status"] for t in found["Attempts"]} == {404}
        assert min(t["DurationMs"] for t in found["Attempts"]) >= 290
    finally:
        assert other.stop() == 0
    other = Receive("--secret", a.secret, "--fail-rate", "1")
    try:
        a.patch(SuccessCallbackUrl=other.url)
        daemon.api().events(a.event("rc-5"))
        assert other.line().startswith("503 ")
    finally:
        assert other.stop() == 0


# --- import, backup --------------------------------------------------------------------------

def import_file(daemon, path, stdin=""):
    return run("import", "--url", "http://127.0.0.1:%d" % daemon.port, path, stdin=stdin, timeout=120,
               POSTBACKD_OPERATOR_KEY=OPERATOR_KEY)


def test_import_and_again(daemon, receiver, tmp_path):
    a = Account(daemon, receiver.url)
    path = tmp_path / "past.ndjson"
    lines = [encode(a.event("im-%d" % i, Timestamp="2021-05-%02dT12:00:00+02:00" % (1 + i % 28))) for i in range(12000)]
    path.write_text("\n".join(lines) + "\n\n")
    result = import_file(daemon, path)
    assert (result.returncode, result.stdout) == (0, b"12000 accepted, 0 duplicates, 0 rejected\n"), result
    result = import_file(daemon, path)
    assert (result.returncode, result.stdout) == (0, b"0 accepted, 12000 duplicates, 0 rejected\n"), result
    query = {"partnerId": a.partner_id, "startDate": "2021-05-01", "endDate": "2021-05-31"}
    rows = daemon.api().get("/api/v1/reports/conversions", query=query).json["Rows"]
    assert sum(row["Conversions"] for row in rows) == 12000 and len(rows) == 28
    found = daemon.api().callback("im-7", a.partner_id)
    assert (found["State"], found["Reason"]) == ("skipped", "imported")
    assert receiver.requests == []


def test_import_names_the_lines_it_could_not_take(daemon, tmp_path):
    a = Account(daemon)
    lines = [encode(a.event("il-1")), "", "{broken", encode(a.event("il-2", RevenueAmount="x")), encode(a.event("il-3"))]
    result = import_file(daemon, "-", stdin="\n".join(lines))
    assert result.returncode == 1
    assert result.stdout == b"2 accepted, 0 duplicates, 2 rejected\n"
    told = result.stderr.decode()
    assert re.search(r"line 3\b", told) and re.search(r"line 4: RevenueAmount", told), told


def test_import_refuses_lines_with_a_nul(daemon):
    a = Account(daemon)
    good = encode(a.event("nul-1"))
    result = import_file(daemon, "-", stdin="\n".join([good, "\0", encode(a.event("nul-2")) + "\0", "\0 "]))
    assert (result.returncode, result.stdout) == (1, b"1 accepted, 0 duplicates, 3 rejected\n")
    assert result.stderr.decode().splitlines() == \
        ["line %d: has a NUL byte: save the file as UTF-8" % n for n in (2, 3, 4)]
    utf_16 = run("import", "--url", "http://127.0.0.1:%d" % daemon.port, "-", stdin=good.encode("utf-16"),
                 timeout=120, POSTBACKD_OPERATOR_KEY=OPERATOR_KEY)
    assert utf_16.returncode == 1 and b"line 1: has a NUL byte" in utf_16.stderr


def test_import_reads_over_a_byte_order_mark(daemon):
    a = Account(daemon)
    result = import_file(daemon, "-", stdin="\ufeff" + encode(a.event("mark-1")) + "\n" + encode(a.event("mark-2")))
    assert (result.returncode, result.stdout, result.stderr) == (0, b"2 accepted, 0 duplicates, 0 rejected\n", b"")


def test_import_names_lines_that_are_too_long(daemon, tmp_path):
    """Their length does not reach the memory: half a GiB, with less to use."""
    a = Account(daemon)
    long = [" " * (8 << 20), encode(a.event("long-1")), " " * (9 << 20) + "{}", encode(a.event("long-2"))]
    result = import_file(daemon, "-", stdin="\n".join(long))
    assert (result.returncode, result.stdout) == (1, b"2 accepted, 0 duplicates, 2 rejected\n")
    assert result.stderr.decode().splitlines() == [
        "line %d: is longer than 8388607 bytes, which the server does not take: write each event on a line of "
        "its own" % n for n in (1, 3)]
    path = tmp_path / "one-line"
    path.touch()
    os.truncate(path, 512 << 20)
    limit = [] if is_sanitized() else ["prlimit", "--as=%d" % (256 << 20)]
    for what in ([], ["people"], ["apps"]):
        result = subprocess.run([*limit, BINARY, "import", *what, str(path), "--url",
                                 "http://127.0.0.1:%d" % daemon.port], capture_output=True, timeout=120,
                                env={**os.environ, "POSTBACKD_OPERATOR_KEY": OPERATOR_KEY})
        assert result.returncode == 1 and b"line 1: is longer than" in result.stderr, result.stderr


def test_import_that_cannot_work(daemon, tmp_path):
    assert_one_line(run("import", "x.ndjson"), 2, "POSTBACKD_OPERATOR_KEY")
    missing = import_file(daemon, tmp_path / "missing")
    assert missing.returncode == 1 and b"missing" in missing.stderr
    path = tmp_path / "one"
    path.write_text('{"EventId":"x"}\n')
    refused = run("import", "--url", "http://127.0.0.1:%d" % daemon.port, path, POSTBACKD_OPERATOR_KEY="x" * 20)
    assert refused.returncode == 1 and b"401" in refused.stderr


@pytest.mark.sqlite("postbackd backup")
def test_backup_while_running_restores(own_daemon, tmp_path):
    d = own_daemon.start()
    a = Account(d, "http://127.0.0.1:9/")
    d.api().events([a.event("bk-%d" % i, RevenueAmount="0.01") for i in range(500)], query={"deliver": "false"})
    target = tmp_path / "copy" / "store"
    target.mkdir(parents=True)
    result = run("backup", "--store", "sqlite:%s" % (d.directory / "store"), target / "postbackd.db", timeout=60)
    assert result.returncode == 0, result
    d.api().events(a.event("bk-later"))
    shutil.copy(d.directory / "store" / "master.key", target)
    copy = Daemon(tmp_path / "copy").start()
    try:
        query = {"partnerId": a.partner_id}
        rows = copy.api().get("/api/v1/reports/earnings", query=query).json["Rows"]
        assert [row["Earnings"] for row in rows] == [5]
        assert copy.api().get("/api/v1/callbacks/bk-later", query=query).status == 404
        assert copy.api().get("/api/v1/apps/%s/secret" % a.app_id).json["CallbackSecret"] == a.secret
    finally:
        copy.stop()
    again = run("backup", "--store", "sqlite:%s" % (d.directory / "store"), target / "postbackd.db", timeout=60)
    assert again.returncode != 0 and again.stderr

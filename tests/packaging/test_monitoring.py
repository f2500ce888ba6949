"""The Prometheus alerts and the Grafana dashboard: Prometheus' own tools take them, and what they ask
for is what a running daemon says."""
import json
import os
import re
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

import kafka
from harness import ROOT, Account, Daemon, Receiver, eventually, leave_nothing_behind

MONITORING = ROOT / "packaging" / "monitoring"
RULES, RULES_TEST = MONITORING / "postbackd.rules.yml", MONITORING / "postbackd.rules.test.yml"
TOOLS = os.environ.get("PROMETHEUS_TOOLS") or os.path.dirname(shutil.which("promtool") or "")
needs_prometheus = pytest.mark.skipif(not TOOLS, reason="no promtool here (Debian's package prometheus)")
# What a daemon says only when it has something to say: the test's has no certificate and no other
# nodes. tests/postgresql/test_metrics.py asks one that may have.
NODES = {"postbackd_nodes", "postbackd_shards", "postbackd_shards_held", "postbackd_shards_taken_over_total",
         "postbackd_shards_lost_total", "postbackd_outcomes_refused_total", "postbackd_clock_ahead_seconds"}
NOT_ALWAYS = {"postbackd_certificate_expiry_seconds"} | NODES


def promtool(*words):
    done = subprocess.run([str(Path(TOOLS) / "promtool"), *map(str, words)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=100, check=False)
    return done.returncode, done.stdout


def queries():
    """(panel, expression) of the dashboard, Grafana's variables replaced as Grafana would."""
    dashboard = json.loads((MONITORING / "postbackd.grafana.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"].replace("$__rate_interval", "1m").replace("$job", "postbackd").replace("$instance", ".+")
            assert "$" not in text, text
            yield panel["title"], text


def expressions():
    """Those of the alerts: one line, or folded over several."""
    text = RULES.read_text()
    found = re.findall(r"^ +expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)", text, re.M)
    assert len(found) == len(re.findall(r"^ +- alert:", text, re.M)) > 10
    return [" ".join((folded or line).split()) for folded, line in found]


def names_in(text):
    return set(re.findall(r"\bpostbackd_\w+", re.sub(r'"[^"]*"', "", text)))


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A daemon that has taken an event and delivered it; of a Kafka that it does not reach it has the metrics."""
    directory = tmp_path_factory.mktemp("monitored")
    receiver = Receiver()
    daemon = Daemon(directory, *kafka.options(directory, "127.0.0.1:1", "events", rewards="rewards"))
    daemon.start()
    account = Account(daemon, receiver.url)
    daemon.api().events([account.event("e1")])
    receiver.wait_for("e1")
    yield daemon
    assert daemon.stop() == 0
    receiver.close()
    shutil.rmtree(directory, ignore_errors=True)


def test_every_metric_that_is_asked_for_is_there(running):
    text = running.api().get("/metrics", key=None).text
    there = set(re.findall(r"^# TYPE (\w+) (?:counter|gauge)$", text, re.M))
    for name in re.findall(r"^# TYPE (\w+) histogram$", text, re.M):
        there |= {name + suffix for suffix in ("_bucket", "_sum", "_count")}
    asked = set().union(*(names_in(text) for _, text in queries()), *map(names_in, expressions()))
    assert len(asked) > 40 and asked - NODES <= there, asked - there


def test_every_alert_is_tested_and_explained():
    alerts = re.findall(r"^ +- alert: (\w+)$", RULES.read_text(), re.M)
    tested = RULES_TEST.read_text()
    explained = (ROOT / "docs" / "operators" / "monitoring.md").read_text()
    assert len(alerts) == len(expressions())
    for alert in alerts:
        fires = re.search(r'alertname="%s",alertstate="firing"}\)\'\n +exp_samples: \[{' % alert, tested)
        assert fires or re.search(r"alertname: %s\n +exp_alerts:\n" % alert, tested), alert
        assert "`%s`" % alert in explained, alert


@needs_prometheus
def test_promtool_takes_the_metrics(running):
    text = running.api().get("/metrics", key=None).text
    done = subprocess.run([str(Path(TOOLS) / "promtool"), "check", "metrics"], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@needs_prometheus
def test_promtool_takes_the_rules():
    status, said = promtool("check", "rules", RULES)
    assert status == 0, said


@needs_prometheus
def test_each_alert_fires_when_it_must(tmp_path):
    status, said = promtool("test", "rules", RULES_TEST)
    assert status == 0, said
    for path in (RULES, RULES_TEST):
        shutil.copy(path, tmp_path)
    broken = tmp_path / RULES.name
    broken.write_text(RULES.read_text().replace("postbackd_store_accepting == 0", "postbackd_store_accepting == 2"))
    status, said = promtool("test", "rules", tmp_path / RULES_TEST.name)
    assert status != 0 and "PostbackdRefusesEvents" in said


def start_prometheus(folder):
    """Its process and URL. It cannot pick a port and say which: another process may be faster."""
    for _ in range(5):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            at = "127.0.0.1:%d" % free.getsockname()[1]
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen([str(Path(TOOLS) / "prometheus"), "--config.file=%s" % (folder / "config.yml"),
                                        "--storage.tsdb.path=%s" % (folder / "data"), "--web.listen-address=" + at],
                                       stdout=log, stderr=log, cwd=folder)
        leave_nothing_behind(process)
        if eventually(lambda p=process, a=at: p.poll() is not None or answers("http://%s/-/ready" % a), 60) and \
                process.poll() is None:
            return process, "http://" + at
    raise AssertionError("Prometheus does not start: " + (folder / "log").read_text())


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as r:
            return r.status == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def prometheus(running, tmp_path_factory):
    """A Prometheus that scrapes that daemon; its URL."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "config.yml").write_text(
        "global: {scrape_interval: 250ms, evaluation_interval: 1s}\n"
        "rule_files: [%s]\n"
        "scrape_configs:\n"
        "  - {job_name: postbackd, static_configs: [{targets: ['127.0.0.1:%d']}]}\n" % (RULES, running.port))
    process, url = start_prometheus(folder)

    eventually(lambda: ask(url, "count_over_time(postbackd_uptime_seconds[1m]) > 3")["data"]["result"], 60,
               what="Prometheus has scraped the daemon")
    yield url
    process.terminate()
    process.wait(60)
    shutil.rmtree(folder, ignore_errors=True)


def ask(url, expression):
    with urllib.request.urlopen(url + "/api/v1/query?" + urllib.parse.urlencode({"query": expression}), timeout=30) as r:
        return json.load(r)


@needs_prometheus
def test_every_query_of_the_dashboard_has_an_answer(prometheus):
    """Each is run by promtool against what was really scraped."""
    asked = list(queries())
    assert len(asked) > 40
    for panel, text in asked:
        status, said = promtool("query", "instant", prometheus, text)
        assert status == 0, (panel, text, said)
        if not names_in(text) & NOT_ALWAYS:
            assert "=>" in said, (panel, text, said)


@needs_prometheus
def test_nothing_is_alerted_about_a_daemon_that_is_well(prometheus):
    def judged():
        with urllib.request.urlopen(prometheus + "/api/v1/rules", timeout=30) as r:
            rules = [rule for group in json.load(r)["data"]["groups"] for rule in group["rules"]]
        return rules if rules and all(rule["health"] != "unknown" for rule in rules) else None

    rules = eventually(judged, 60)
    assert len(rules) == len(expressions())
    assert [rule["name"] for rule in rules if rule["state"] == "firing" or rule["health"] == "err"] == []


@needs_prometheus
def test_every_alert_can_be_asked(prometheus):
    for text in expressions():
        assert ask(prometheus, text)["status"] == "success", text

"""What the alerts and the Grafana dashboard ask of nodes on a database, such a node says, as Prometheus wants it."""
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from harness import ROOT
from postgresql import sql

TOOLS = os.environ.get("PROMETHEUS_TOOLS") or os.path.dirname(shutil.which("promtool") or "")


def test_every_metric_that_is_asked_for_is_there(database_daemon):
    text = database_daemon.start().api().get("/metrics", key=None).text
    there = set(re.findall(r"^# TYPE (\w+) ", text, re.M))
    asked = set()
    for name in ("postbackd.rules.yml", "postbackd.grafana.json"):
        asked |= set(re.findall(r"\b(postbackd_\w+?)(?:_bucket)?\b(?=[ {\[])", (ROOT / "packaging/monitoring" / name).read_text()))
    assert "postbackd_shards_held" in asked and len(asked) > 40
    # Those are of SQLite's files, and of who has Kafka: tests/packaging/test_monitoring.py.
    asked -= {name for name in asked if name.startswith(("postbackd_scrub_", "postbackd_kafka_"))}
    assert asked <= there, asked - there


@pytest.mark.skipif(not TOOLS, reason="no promtool here (Debian's package prometheus)")
def test_promtool_takes_the_metrics(database_daemon):
    """Those that only nodes have, too."""
    text = database_daemon.start().api().get("/metrics", key=None).text
    assert "postbackd_shards_held" in text
    done = subprocess.run([str(Path(TOOLS) / "promtool"), "check", "metrics"], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_numbers_that_take_long_are_read_less_often(database, database_daemon):
    """They are sums over all accounts, and every node reads them: a twentieth of its time at most."""
    def looks():
        return int(sql(database, "SELECT seq_scan FROM pg_stat_user_tables WHERE relname='total'"))

    database_daemon.start()
    sql(database, "BEGIN; LOCK TABLE total IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2); COMMIT")
    time.sleep(2)  # the server counts scans a second late
    before = looks()
    time.sleep(5)
    assert looks() - before < 5  # four a second otherwise

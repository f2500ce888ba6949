"""Words of the source and home-made ones stay out of what people read: the dashboard's texts, the
commands' help, /openapi.json, the answers' errors and the partners' pages."""
import json
import re

import pytest

from harness import ROOT
from test_cli import OPTIONS, run

INNER = re.compile(r"\b(daemons?|memtables?|mends?|mended|mending|stands? still|does well|do well"
                   r"|by hand|looks? as)\b", re.I)
COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.S)


def faults(text):
    return INNER.findall(text)


@pytest.mark.parametrize("page", sorted((ROOT / "dashboard/src").rglob("*.ts*")),
                         ids=lambda page: str(page.relative_to(ROOT)))
def test_the_dashboard_speaks_plainly(page):
    assert faults(COMMENT.sub("", page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("command", [None, *OPTIONS, "user", "migrate", "copy", "reconcile"])
def test_the_help_speaks_plainly(command):
    assert faults(run(*([command] if command else []), "--help").stdout.decode()) == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs/partners").glob("*.md")), ids=lambda page: page.name)
def test_the_partners_pages_speak_plainly(page):
    assert faults(page.read_text(encoding="utf-8")) == []


def test_the_interface_speaks_plainly(daemon):
    document = daemon.api().get("/openapi.json").json
    assert faults(json.dumps(document)) == []
    assert faults(daemon.api().get("/api/v1/apps/none").text) == []

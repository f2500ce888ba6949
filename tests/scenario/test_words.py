"""Words of the source and home-made ones stay out of what people read: the dashboard's texts, the
commands' help, /openapi.json, errors and the partners' pages."""
import json
import re

import pytest

from harness import ROOT
from test_cli import OPTIONS, run

INNER = re.compile(r"\b(daemons?|memtables?|mends?|mended|mending|does well|do well|by hand|looks? as"
                   r"|stands? (?:still|in|at|on|there|more|twice|beside)|took it|send again|tried again|under way"
                   r"|by itself|pick (?:a|an|one|the)|byte for byte|for ever|has been made|in force|laid out"
                   r"|the very|(?:is|are) owed"
                   r"|how (?:it|they|each|all|the) [\w ]{0,30}\bdo(?:es)?)\b", re.I)
COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.S)
SPOKEN = "accounts api cli domain http intake operations people reports send services".split()


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


@pytest.mark.parametrize("folder", SPOKEN)
def test_the_sources_texts_speak_plainly(folder):
    sources = list((ROOT / "src" / folder).glob("*.c"))
    assert sources
    for source in sources:
        text = re.sub(r'"\s*\n\s*"', "", COMMENT.sub("", source.read_text(encoding="utf-8")))
        said = [literal for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text) if " " in literal]
        assert [(literal, faults(literal)) for literal in said if faults(literal)] == [], source.name

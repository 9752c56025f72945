"""The problems' pages: the same four parts in the same order, short, and every link of ours leads to a file that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.pages import named

ROOT = Path(__file__).resolve().parents[2]
PARTS = ["The problem and its files", "As a decision process", "Which solver", "The paper's method and ours"]
MOST_WORDS = {f"problems/{name}/README.md": 1300 for name in ("memory", "milp", "jobshop", "bandits")}  # the others have 900
PAGES = sorted(ROOT.glob("problems/*/**/README.md"))  # those of families; problems/README.md is about one's own
_TOPS = ("corl", "problems", "instances", "tests")
LINKED = [ROOT / "README.md", *sorted(page for top in _TOPS for page in ROOT.glob(f"{top}/**/*.md"))]


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_family_has_a_page():
    """A folder of problems/ has a README.md, and formats.md beside it where it has files of its own."""
    families = {path.parent for path in ROOT.glob("problems/*/__init__.py")}
    assert families and not [family for family in families if not (family / "README.md").exists()]
    own = [family for family in families if (family / "formats.py").exists()]
    assert own and not [family for family in own if not (family / "formats.md").exists()]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_parts_and_length(page):
    """One title, the four parts in order, and fewer words (as `wc -w` counts) than a page may have."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == PARTS
    assert len(page.read_text(encoding="utf-8").split()) < MOST_WORDS.get(named(page), 900)


@pytest.mark.parametrize("page", LINKED, ids=named)
def test_links_lead_somewhere(page):
    """A relative link is the path of a file or folder, and what follows # a heading of that page."""
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", LINKED, ids=named)
def test_studies_are_there(page):
    """A script under tests/studies that a page tells to run is in the checkout."""
    named_there = re.findall(r"python (tests/studies/\S+?\.py)", page.read_text(encoding="utf-8"))
    assert not [script for script in named_there if not (ROOT / script).exists()]


@pytest.mark.parametrize("page", sorted(ROOT.glob("instances/*/results/README.md")), ids=named)
def test_every_file_of_rows_is_told_of(page):
    """No CSV file of a results folder that its page does not name."""
    text = page.read_text(encoding="utf-8")
    assert not [rows.name for rows in page.parent.glob("*.csv") if rows.name not in text]

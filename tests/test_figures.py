"""Tables of figures in the pages are those of the results files, as `python -P tests/support/figures write` makes them."""

from __future__ import annotations

import re

import pytest

from support.figures.blocks import pages, renewed, without_blocks
from support.figures.cells import ROOT
from support.pages import named


@pytest.mark.parametrize("page", pages(), ids=named)
def test_figures_are_those_of_the_results_files(page):
    """Every block of a page is what its function makes of the CSV files."""
    text, new = renewed(page)
    assert text == new, "python -P tests/support/figures write"


def test_tables_of_figures_are_blocks():
    """In README, choosing.md and the pages of problems and results no row with two decimal fractions is written by hand."""
    choosing, problems = ROOT / "corl" / "documentation" / "choosing.md", ROOT.glob("problems/*/README.md")
    for page in (ROOT / "README.md", choosing, *problems, *ROOT.glob("instances/*/results/README.md")):
        rows = [line for line in without_blocks(page).splitlines() if line.startswith("|")]
        assert [line for line in rows if len(re.findall(r"\d\.\d", line)) > 1] == [], named(page)

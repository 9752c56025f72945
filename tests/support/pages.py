"""Names of the repository's Markdown pages, for tests."""

from __future__ import annotations

from pathlib import Path

from support.figures.cells import ROOT

__all__ = ["named"]


def named(page: Path) -> str:
    """Return the path of a page relative to the repository's root, such as "problems/tsp/README.md"."""
    return page.relative_to(ROOT).as_posix()

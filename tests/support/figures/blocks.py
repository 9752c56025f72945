"""Blocks of figures in the pages, and what they should be.

A block lies between `<!-- figures: MODULE.FUNCTION -->` and `<!-- end -->`; the function of a module beside this one returns it.
A new table of figures is such a function, and these two lines in the page.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from .cells import ROOT

__all__ = ["pages", "renewed", "without_blocks"]

_BLOCK = re.compile(r"^(<!-- figures: (\w+)\.(\w+) -->\n\n)(.*?)(\n\n<!-- end -->)$", re.DOTALL | re.MULTILINE)
_OPENING = re.compile("^<!-- figures: ", re.MULTILINE)


def pages() -> list[Path]:
    """Return the pages that have blocks of figures."""
    folders = ("corl", "problems", "instances")
    every = [ROOT / "README.md", *(page for folder in folders for page in sorted((ROOT / folder).rglob("*.md")))]
    return [page for page in every if _OPENING.search(page.read_text(encoding="utf-8"))]


def renewed(page: Path) -> tuple[str, str]:
    """Return the text of a page, and the same with the figures of the results files in its blocks."""
    text = page.read_text(encoding="utf-8")
    if len(_BLOCK.findall(text)) != len(_OPENING.findall(text)):
        raise ValueError(
            f"{page}: accepted: <!-- figures: MODULE.FUNCTION -->, an empty line, a table, an empty line, <!-- end -->"
        )
    return text, _BLOCK.sub(lambda found: found[1] + _made(found[2], found[3]) + found[5], text)


def without_blocks(page: Path) -> str:
    """Return the text of a page without its blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def _made(module: str, function: str) -> str:
    return str(getattr(importlib.import_module(f"{__package__}.{module}"), function)())

"""Figures of the pages from the results files: `python -P tests/support/figures write` or `check`."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from figures.blocks import pages, renewed
from figures.cells import ROOT


def main(arguments: list[str]) -> int:
    """Renew the blocks of all pages, or compare them; print the differences. Return 1 if a check found any."""
    if arguments not in (["write"], ["check"]):
        print("python -P tests/support/figures write|check", file=sys.stderr)
        return 2
    stale = 0
    for page in pages():
        text, new = renewed(page)
        if text == new:
            continue
        stale += 1
        if arguments == ["write"]:
            page.write_text(new, encoding="utf-8")
        names = page.relative_to(ROOT).as_posix(), "instances/*/results/*.csv"
        print("\n".join(difflib.unified_diff(text.splitlines(), new.splitlines(), *names, n=0, lineterm="")))
    return int(stale > 0 and arguments == ["check"])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""The page of a tuning: one HTML file, which is written again after each block of runs and loads itself again until the end."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from corl import options, registry
from corl.files.opening import replacing
from corl.files.page import render
from corl.formatting import percent, value
from corl.tuning.tuner import Tuning

__all__ = ["page", "write_page"]

_MOST_ROWS = 50


def page(tuning: Tuning) -> str:
    """Return the HTML of the state of a tuning."""
    standard = options.defaults(registry.solver(tuning.problem, tuning.solver))
    ranked = sorted(tuning.candidates, key=lambda each: (each[2] == math.inf, -each[1] if each[0] in tuning.best else 0, each[2]))
    rows = [
        {
            "label": each.label, "runs": runs, "value": "" if difference == math.inf else percent(difference),
            "best": each in tuning.best, "options": [(each.options.get(d.name, standard[d.name])) for d in tuning.dimensions],
        }
        for each, runs, difference in ranked[:_MOST_ROWS]
    ]  # fmt: skip
    values: dict[str, Any] = {
        "tuning": tuning,
        "running": tuning.phase not in ("finished", "interrupted"),
        "rows": rows,
        "omitted": max(0, len(ranked) - _MOST_ROWS),
        "share": min(100.0, 100 * tuning.spent / tuning.settings.budget),
    }
    return render("corl.tuning", values, {"value": lambda x: str(x) if isinstance(x, (str, bool)) else value(x)})


def write_page(tuning: Tuning, path: Path) -> None:
    """Write the page, in one step, so that a browser never reads half of it."""
    with replacing(path) as partial:
        partial.write_text(page(tuning), encoding="utf-8")

"""Pictures: one figure around what a Problem draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corl.errors import UsageError
from corl.files import replacing
from corl.problem import Problem

__all__ = ["check_name", "save"]

_ENDINGS = (".pdf", ".png", ".svg")


def check_name(path: Path) -> None:
    """Raises UsageError for a name that is not an image's; needs no matplotlib, so that it can come before hours of work."""
    if path.suffix.lower() not in _ENDINGS:
        raise UsageError(f"{path}: an image's name ends in one of {', '.join(_ENDINGS)}")


def save(problem: Problem, instance: Any, solution: Any, path: Path) -> None:
    """Draw `solution` (None: the instance alone) into an image file, its kind by the name's ending. Raises UsageError."""
    check_name(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 7), layout="constrained")
    FigureCanvasAgg(figure)
    problem.draw(instance, solution, figure.add_subplot())
    with replacing(path) as partial:
        figure.savefig(partial, dpi=150)

"""Pictures: one figure around what a Problem draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corl.errors import UsageError
from corl.problem import Problem

__all__ = ["save"]


def save(problem: Problem, instance: Any, solution: Any, path: Path) -> None:
    """Draw `solution` (None: the instance alone) into an image file, its kind by the name's ending. Raises UsageError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 7), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    accepted = sorted(canvas.get_supported_filetypes())
    if path.suffix[1:].lower() not in accepted:
        raise UsageError(f"{path.name}: an image's name ends in one of {', '.join('.' + kind for kind in accepted)}")
    problem.draw(instance, solution, figure.add_subplot())
    figure.savefig(path, dpi=150)

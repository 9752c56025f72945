"""Pictures: saves the drawing of a Problem as an image, and has parts that the drawings of several problems share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corl.adapter import Problem
from corl.errors import UsageError
from corl.files.opening import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["check_name", "draw", "note", "save", "whole_ticks", "write_ids"]

_ENDINGS = (".pdf", ".png", ".svg")
_MOST_IDS = 100  # nodes of a picture have their ids written beside them if there are at most this many
_MARGIN = 0.96  # share of the available width that a title may take, as its width is not quite proportional to its font size


def check_name(path: Path) -> None:
    """Raise UsageError if the path does not end like an image file. Without matplotlib, so that it is quick before a long run."""
    if path.suffix.lower() not in _ENDINGS:
        raise UsageError(f"{path}: an image's name ends in one of {', '.join(_ENDINGS)}")


def save(problem: Problem, instance: Any, solution: Any, path: Path) -> None:
    """Draw `solution` (None: only the instance) into an image file, whose ending determines its format. Raises UsageError."""
    check_name(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 7), layout="constrained")
    FigureCanvasAgg(figure)
    problem.draw(instance, solution, figure.add_subplot())
    _fit_titles(figure)
    with replacing(path) as partial:
        figure.savefig(partial, dpi=150)


def draw(problem: Problem, instance: Any, solution: Any, axes: Axes | None = None) -> Axes:
    """Draw `solution` on `axes`, or on new axes of matplotlib's current backend; return the axes."""
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.figure(figsize=(7, 7), layout="constrained").add_subplot()
    problem.draw(instance, solution, axes)
    return axes


def whole_ticks(axes: Axes, which: str = "both") -> None:
    """Restrict ticks to integers, with thousands separators, on the axes `which` (x, y or both)."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    for name in "xy" if which == "both" else which:
        axis = getattr(axes, f"{name}axis")
        axis.set_major_locator(MaxNLocator(nbins="auto", steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
        axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def write_ids(axes: Axes, xy: Any, ids: Iterable[object]) -> None:
    """Write each node's id beside its position, xy float64 [n, 2] in data units, if there are at most _MOST_IDS nodes."""
    from matplotlib.patheffects import withStroke

    texts = list(map(str, ids))
    edge = [withStroke(linewidth=1.5, foreground="white")]
    for place, text in zip(xy, texts if len(texts) <= _MOST_IDS else []):
        axes.annotate(text, place, xytext=(2.5, 2.5), textcoords="offset points", fontsize=6, path_effects=edge, zorder=5)


def note(axes: Axes, text: str) -> None:
    """Write a small explanatory line below a picture whose axes are hidden."""
    axes.text(0.5, -0.01, text, transform=axes.transAxes, ha="center", va="top", fontsize="x-small", color="#57606a")


def _fit_titles(figure: Figure) -> None:
    """Break titles that are wider than the figure into two lines, after a comma or a colon; shrink those that are still wider."""
    for axes in figure.axes:
        for halve in (True, False):
            figure.draw_without_rendering()
            box, width = axes.title.get_window_extent(), figure.bbox.width
            room = 2 * _MARGIN * min((box.x0 + box.x1) / 2, width - (box.x0 + box.x1) / 2)
            if box.width > room and halve:
                axes.set_title(_halved(axes.get_title()))
            elif box.width > room:
                axes.title.set_fontsize(axes.title.get_fontsize() * room / box.width)


def _halved(text: str) -> str:
    """Return a text of one line with a line end after the comma or colon nearest its middle; any other text unchanged."""
    places = [k + 1 for k in range(len(text) - 1) if text[k] in ",:" and text[k + 1] == " "]
    if "\n" in text or not places:
        return text
    place = min(places, key=lambda k: abs(k - len(text) / 2))
    return f"{text[:place]}\n{text[place + 1 :]}"

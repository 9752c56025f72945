"""The report's charts as image files, drawn by matplotlib."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from corl.benchmark.reporting.charts import Axis, spread
from corl.benchmark.reporting.curves import Curve
from corl.benchmark.reporting.page import suite_charts
from corl.benchmark.reporting.report import Report
from corl.files.opening import replacing

__all__ = ["save_figures"]

_COLOURS = ("#0067a8", "#c94f00", "#00805a", "#b0508a", "#9a7400", "#2f8fc7", "#6f4aa8", "#5b5b5b")  # as in page.html
_DASHES = ("-", "--", ":", "-.")
_INK, _SOFT, _RULE = "#1c2126", "#5b6570", "#dfe3e8"


def save_figures(report: Report, folder: Path, endings: Sequence[str] = (".png", ".svg")) -> list[Path]:
    """Write the charts of every suite into `folder`, which is created if it does not exist; return the paths of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for suite in report.suites:
        colours = {solver: number for number, solver in enumerate(suite.solvers)}
        for title, _, _, curves, x, y, stepped in suite_charts(suite):
            name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{suite.name}-{title}").strip("-.").lower()
            for ending in endings:
                path = folder / f"{name}{ending}"
                with replacing(path) as partial:
                    _save(curves, x, y, colours, f"{suite.name}: {title.lower()}", stepped, partial)
                written.append(path)
    return written


def _save(curves: Sequence[Curve], x: Axis, y: Axis, colours: dict[str, int], title: str, stepped: bool, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for curve in curves:
        number = colours[curve.label]
        colour, dashes = _COLOURS[number % len(_COLOURS)], _DASHES[number // len(_COLOURS) % len(_DASHES)]
        xs, ys = (np.clip(values, axis.low, axis.high) for values, axis in ((curve.x, x), (curve.y, y)))
        draw_style = "steps-post" if stepped else "default"
        axes.plot(xs, ys, color=colour, linestyle=dashes, linewidth=1.8, drawstyle=draw_style)
        if curve.low is not None and curve.high is not None:
            low, high = (np.clip(edge, y.low, y.high) for edge in (curve.low, curve.high))
            axes.fill_between(xs, low, high, color=colour, alpha=0.15, linewidth=0)
    places = spread([1 - float(y.place(curve.y[-1:])[0]) for curve in curves], 0.052, 0.0, 1.0)
    for curve, place in zip(curves, places):
        colour = _COLOURS[colours[curve.label] % len(_COLOURS)]
        label = axes.text(
            1.015, 1 - place, "", transform=axes.transAxes, color=colour, fontsize=9.5, va="center", fontweight="bold"
        )
        label.set_text(curve.label)
        label.set_parse_math(False)
    _style_axes(axes, x, y, title)
    figure.savefig(path, dpi=160)


def _style_axes(axes: object, x: Axis, y: Axis, title: str) -> None:
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    for axis, side in ((x, axes.xaxis), (y, axes.yaxis)):
        if axis.log:
            (axes.set_xscale if side is axes.xaxis else axes.set_yscale)("log")
        side.set_ticks([mark for mark, _ in axis.ticks()], [text for _, text in axis.ticks()])
        side.set_ticks([], minor=True)
    axes.set_xlim(x.low, x.high)
    axes.set_ylim(y.low, y.high)
    axes.margins(0)
    axes.grid(axis="y", color=_RULE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=_SOFT, labelsize=9.5, length=3)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_SOFT)
    axes.set_xlabel(x.title, color=_SOFT)
    axes.set_ylabel(y.title, color=_SOFT)
    axes.set_title(title, color=_INK, loc="left", fontsize=11.5, fontweight="bold", parse_math=False)

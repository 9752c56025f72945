"""Drawings of the best solutions in a benchmark's store, for the report's page."""

from __future__ import annotations

import io
import logging
import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corl import registry
from corl.benchmark.reporting.grid import Grid
from corl.benchmark.reporting.report import SuiteReport
from corl.benchmark.running.suite import read_suite
from corl.errors import CorlError
from corl.formatting import value
from corl.store import Store

__all__ = ["best_solutions"]

_DRAWINGS = 3  # of a suite
_LARGEST_SIZE = 5000.0  # larger instances are not drawn: the page would grow by megabytes
_log = logging.getLogger(__name__)


def best_solutions(store: Store, suite: SuiteReport) -> list[tuple[str, str]]:
    """Return (caption, SVG) of the best stored solutions of a small, a medium and a large instance of the suite.

    Empty if the suite's instances are not available on this machine, or if the problem cannot draw solutions.
    """
    loaders = _loaders(suite)
    drawable = [
        row
        for row in suite.instance_rows
        if row.instance in loaders and (row.size or 0.0) <= _LARGEST_SIZE and row.best is not None
    ]
    drawable.sort(key=lambda row: row.size or 0.0)
    places = sorted({round(k * (len(drawable) - 1) / max(1, _DRAWINGS - 1)) for k in range(min(_DRAWINGS, len(drawable)))})
    drawn: list[tuple[str, str]] = []
    for place in places:
        name = drawable[place].instance
        try:
            drawing = _drawing(store, suite.grid, name, loaders[name])
        except Exception as error:  # a problem's drawing may raise anything; the report matters more
            _log.warning("%s is not drawn: %s", name, error)
            return drawn
        drawn += [drawing] if drawing is not None else []
    return drawn


def _loaders(suite: SuiteReport) -> dict[str, Callable[[], Any]]:
    """Return instance -> function that loads it, from the suite that a command of the store names; {} if none can be read."""
    for command in suite.provenance.commands:
        try:
            words = shlex.split(command)
        except ValueError:
            continue
        for word in words:
            if not word.endswith(".toml") and word.count("/") != 1:
                continue
            try:
                found = read_suite(word)
            except (CorlError, OSError):
                continue
            if found.name == suite.name:
                return {source.label: source.load for source in found.sources}
    return {}


def _drawing(store: Store, grid: Grid, name: str, load: Callable[[], Any]) -> tuple[str, str] | None:
    i = grid.instances.index(name)
    objective = grid.numbers["objective"][:, :, i]
    objective = np.where(grid.derived[:, :, i], np.nan, objective)
    if np.isnan(objective).all():
        return None
    best = np.nanargmin(objective) if grid.sense == "min" else np.nanargmax(objective)
    record = grid.records[grid.record[:, :, i].flat[int(best)]]
    solution_json = store.solution(record)
    if solution_json is None:
        return None
    problem, instance = registry.problem(grid.problem), load()
    caption = f"{name}: {value(record.objective)}, by {record.solver} (seed {record.seed})"
    return caption, _svg(problem, instance, problem.from_json(instance, solution_json), f"drawing-{i}-")


def _svg(problem: Any, instance: Any, solution: Any, prefix: str) -> str:
    """Return the drawing as an SVG element. Its ids start with `prefix`, so that ids are unique in a page of several drawings."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 6), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    problem.draw(instance, solution, axes)
    axes.set_title("")
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": prefix, "svg.fonttype": "none", "path.simplify": True}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"(?<=\d\.\d\d)\d+", "", text)  # hundredths of a point are enough
    return re.sub(r'(id="|url\(#|href="#)', lambda found: found[1] + prefix, text)


def solutions_of(store: Store, suites: Sequence[SuiteReport]) -> dict[str, list[tuple[str, str]]]:
    """Return the name of each suite -> its `best_solutions`."""
    return {suite.name: best_solutions(store, suite) for suite in suites}

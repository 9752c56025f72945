"""The HTML page of an instance or a solution: one self-contained file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from corl.errors import UsageError
from corl.files.page import render
from corl.formatting import value

if TYPE_CHECKING:
    from corl.adapter import Problem
    from corl.view.scene import Scene

__all__ = ["Facts", "Trace", "in_browser", "in_notebook", "page"]

Facts: TypeAlias = Sequence[tuple[str, str]]
"""Pairs (name, value) of texts to show."""
Trace: TypeAlias = Sequence[tuple[float, float | None, float | None]]
"""(seconds, objective, bound) at each improvement."""


def page(
    problem: Problem,
    instance: Any,
    solution: Any = None,
    run: Facts = (),
    trace: Trace = (),
    tiles: str = "",
    against: Any = None,
    live: bool = False,
) -> str:
    """Return the HTML page of an instance and, if given, of a solution.

    Args:
        problem: The problem.
        instance: The instance.
        solution: The solution, or None.
        run: Facts about the run that found the solution (`Result.facts`).
        trace: The trace of that run (`Result.trace`).
        tiles: The address of map tiles with {z}, {x} and {y}, from which the page loads a map; "": it loads nothing.
        against: Another solution; the page marks where `solution` differs from it.
        live: Whether the page asks its address for a newer page every second, until it gets one that is not live.

    Raises:
        UsageError: `tiles` is no such address, or the problem has no longitudes and latitudes; or its pages compare nothing.
    """
    scene = problem.view(instance, solution) if against is None else problem.view_against(instance, solution, against)
    if tiles:
        _check_tiles(tiles, scene)
    name = getattr(instance, "name", "") or problem.name
    values = {
        "title": scene.title if scene else name,
        "problem": problem.title or problem.name,
        "scene": scene,
        "facts": _facts(problem, instance, solution, run),
        "explained": problem.explain(instance, solution) if solution is not None else {},
        "trace": bool(trace),
        "data": _embedded({"scene": asdict(scene) if scene else None, "trace": list(trace), "tiles": tiles}),
        "tiles": _host(tiles),
        "live": live,
    }
    return render("corl.view", values)


def _check_tiles(tiles: str, scene: Scene | None) -> None:
    """Raise UsageError if this is no address of map tiles, or if the scene is not on a map."""
    if not tiles.startswith(("https://", "http://")) or not all(part in tiles for part in ("{z}", "{x}", "{y}")):
        raise UsageError(f"tiles: {tiles!r} is not accepted; accepted: an address such as https://HOST/{{z}}/{{x}}/{{y}}.png")
    if scene is None or not scene.globe:
        raise UsageError("tiles: this instance has no longitudes and latitudes, so there is no map of it")


def _host(tiles: str) -> str:
    """Return the host of an address; "" for no address."""
    from urllib.parse import urlsplit

    return urlsplit(tiles).netloc


def _facts(problem: Problem, instance: Any, solution: Any, run: Facts) -> list[tuple[str, str]]:
    """Return the facts to show: of the run, or the objective value of the solution, then of the instance."""
    about_instance = [(key.replace("_", " "), _shown(fact)) for key, fact in problem.describe(instance).items()]
    if run:
        return [*run, *about_instance]
    if solution is None:
        return about_instance
    return [("objective", value(float(problem.with_sense_of(instance).evaluate(instance, solution)))), *about_instance]


def _shown(fact: Any) -> str:
    return value(fact) if isinstance(fact, int | float) and not isinstance(fact, bool) else str(fact)


def _embedded(data: Any) -> Any:
    """Return data as JSON for a script element; no text in it can end the element."""
    from markupsafe import Markup

    text = json.dumps(data, separators=(",", ":"), allow_nan=False, default=float)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def in_browser(html: str) -> None:
    """Open the page in the user's browser, from a temporary file. It is not removed, as the browser may read it again later."""
    import tempfile
    import webbrowser
    from pathlib import Path

    with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="corl-", delete=False, encoding="utf-8") as file:
        file.write(html)
    webbrowser.open(Path(file.name).as_uri())


def in_notebook(html: str) -> str:
    """Return an HTML element that shows the page in a notebook's cell."""
    return f'<iframe srcdoc="{escape(html)}" style="width:100%;height:640px;border:0"></iframe>'

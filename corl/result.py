"""Result: the outcome of a solve, and its JSON form."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from corl import registry
from corl.errors import InputError, UsageError, unknown
from corl.fields import Anything, Array, Choice, Either, Flag, Integer, Kind, Null, Number, Row, String, Table, Worded
from corl.files import json_values
from corl.files.opening import replacing
from corl.formatting import value
from corl.termination import LIMITS, STATUSES, Limit, Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Result", "relative_gap"]


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of a solve."""

    problem: str
    """The problem's name."""
    instance: str
    """The instance's name."""
    status: Status
    """What is known of the solution, such as "optimal" or "feasible"; `corl.termination.STATUSES` explains each word."""
    limit: Limit
    """What ended the run, such as "time_limit"; `corl.termination.LIMITS` explains each word."""
    sense: Literal["min", "max"]
    """Whether the objective value is minimised or maximised."""
    objective: float | None
    """The objective value of the solution; None if there is no solution."""
    bound: float | None
    """The best proven bound of the objective value; None if none was proven."""
    runtime: float
    """Seconds of search, without `setup_seconds` and the time for reading the file."""
    setup_seconds: float
    """Seconds for imports, loading of weights, and compilation."""
    solution: Any = field(repr=False)
    """The solution in the problem's own form (for TSP an int array of city indices, 0-based); None if there is none."""
    trace: tuple[tuple[float, float | None, float | None], ...] = field(repr=False)
    """(seconds, objective, bound) at each improvement of objective value or bound."""
    solver: str
    """The solver that ran; for solver="auto" the chosen one."""
    options: Mapping[str, Any]
    """The solver's options."""
    seed: int
    versions: Mapping[str, str]
    """Program -> its version: Python, corl and the engines."""
    verified: bool
    """Whether `Problem.evaluate` of the returned solution gave `objective` again at the end."""
    data: Any = field(default=None, repr=False)
    """The Instance, for `plot` and `write`; None after `from_json` without one."""
    reason: str = ""
    """The reason, in words, why there is no solution, why an engine's answer proves nothing, or why a report was discarded; ""
    if unknown.
    """

    tolerated: str = ""
    """The constraints that the solution violates within the tolerance of `Problem.evaluate` (milp: 1e-6), and by how much; "" if
    there are none.
    """
    discarded: int = 0
    """The number of the solver's failures and false reports (infeasible solutions, false objective values and bounds). Above 0
    the solver has a fault; verified solutions are kept.
    """

    @property
    def gap(self) -> float | None:
        """|objective - bound| / |objective|; None if one of them is unknown."""
        return relative_gap(self.objective, self.bound)

    @property
    def policy(self) -> Any:
        """The solution of a problem whose solutions are policies (bandits): `result.policy.act(state)`.

        Raises UsageError for other problems, and if there is no solution.
        """
        if not callable(getattr(self.solution, "act", None)):
            raise UsageError(f"a solution of {self.problem} is no policy" if self.solution is not None else "there is no policy")
        return self.solution

    def to_json(self) -> str:
        """Return the Result as a JSON object. The solution has the ids of the input file; unknown values are null, never NaN."""
        values = {key: getattr(self, key) for key in _ACCEPTED}
        if self.solution is not None and self.data is not None:
            values["solution"] = self._problem().to_json(self.data, self.solution)
        return json_values.to_json(values)

    @classmethod
    def from_json(cls, text: str, instance: Any = None) -> Result:
        """Return the Result from a text that `to_json` returned. Raises InputError for other texts.

        Without the Instance, `solution` stays in its JSON form.
        """
        values = json_values.from_json(text, field="result")
        if not isinstance(values, dict):
            raise InputError("accepted: a JSON object as written by Result.to_json", field="result")
        defaults: dict[str, Any] = {"reason": "", "tolerated": "", "discarded": 0}  # of keys that files of older versions lack
        values = defaults | values
        for key, kind in _ACCEPTED.items():
            if key not in values:
                raise InputError(f"the key {key!r} is missing", field="result")
            if not kind.fits(values[key]):
                raise InputError(f"not as written by Result.to_json; accepted: {kind.words}", field=key)
        fields: dict[str, Any] = {key: values[key] for key in _ACCEPTED if key != "gap"}
        result = cls(**fields | {"trace": tuple(map(tuple, values["trace"]))})
        if instance is None or result.solution is None:
            return result
        return replace(result, data=instance, solution=result._problem().from_json(instance, result.solution))

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """Return the JSON schema (2020-12) of what `to_json` writes and `from_json` reads."""
        properties = {key: {"description": kind.words, **kind.schema} for key, kind in _ACCEPTED.items()}
        optional = ("reason", "tolerated", "discarded")  # keys that files of older versions lack
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "corl Result",
            "type": "object",
            "properties": properties,
            "required": [key for key in properties if key not in optional],
        }

    def write(self, path: str | os.PathLike[str], form: str = "") -> None:
        """Write the solution: JSON for a .json name, otherwise the problem's own solution format.

        The file is replaced as a whole. `form` is the name of another program's format, such as "vroom" for vehicle routing.
        """
        path = Path(path)
        if form:
            text = self.solution_text(form)
            with replacing(path) as partial:
                partial.write_text(text, encoding="utf-8")
            return
        if path.suffix == ".json":
            with replacing(path) as partial:
                partial.write_text(self.to_json() + "\n", encoding="utf-8")
            return
        self._need("write")
        problem = self._problem()
        if problem.suffixes and path.suffix not in problem.suffixes:
            raise UsageError(f"{path.name}: a solution of {problem.name} is written to {', '.join(problem.suffixes)} or .json")
        with replacing(path) as partial:
            problem.write_solution(self.data, self.solution, partial)

    def solution_text(self, form: str) -> str:
        """Return the solution as text in the format of another program: "vroom" for vehicle routing. Raises UsageError."""
        self._need("write")
        problem = self._problem()
        if form not in problem.solution_formats:
            raise UsageError(unknown(f"{problem.name} has no format", form, problem.solution_formats))
        return str(problem.solution_text(self.data, self.solution, form))

    def plot(self, path: str | os.PathLike[str] | None = None, *, ax: Axes | None = None) -> Axes | None:
        """Draw the solution into an image file (.png, .svg, .pdf), on the axes `ax`, or on new axes if neither is given.

        Returns the axes, or None if a file was written. Raises UsageError.
        """
        from corl.files import drawing

        self._need("plot")
        if path is None:
            return drawing.draw(self._problem(), self.data, self.solution, ax)
        if ax is not None:
            raise UsageError("plot: accepted: a path or ax, not both")
        drawing.save(self._problem(), self.data, self.solution, Path(path))
        return None

    def page(self, *, tiles: str = "", against: Any = None) -> str:
        """Return one self-contained HTML page: an interactive picture, tables, objective and bound over time.

        With `tiles`, an address of map tiles with {z}, {x} and {y}, the page loads a map behind routes. With `against`, another
        solution of a job shop, it marks the operations that have moved. Raises UsageError.
        """
        from corl.view.page import page

        if self.data is None:
            self._need("show")
        return page(self._problem(), self.data, self.solution, self.facts(), self.trace, tiles, against)

    def facts(self) -> list[tuple[str, str]]:
        """Return names and values of the run for display, such as ("status", "optimal"); unknown values are omitted."""
        rows = [("status", self.status), ("objective", value(self.objective)), ("bound", value(self.bound))]
        rows += [("gap", "" if self.gap is None else f"{100 * self.gap:.3g} %"), ("solver", self.solver)]
        rows += [("ended by", self.limit.replace("_", " ")), ("seconds", f"{self.runtime:.3g}"), ("seed", str(self.seed))]
        return [(key, each) for key, each in [*rows, ("reason", self.reason)] if each not in ("", "-")]

    def show(self, path: str | os.PathLike[str] | None = None) -> None:
        """Write the HTML page (`page`) to a file; without a path, open it in the browser."""
        from corl.view.page import in_browser

        if path is None:
            in_browser(self.page())
        else:
            with replacing(Path(path)) as partial:
                partial.write_text(self.page(), encoding="utf-8")

    def _repr_html_(self) -> str | None:
        """Return the page that a notebook shows."""
        from corl.view.page import in_notebook

        return None if self.data is None else in_notebook(self.page())

    def table(self, *, steps: bool = False) -> list[dict[str, Any]]:
        """Return the rows of the table that `corl view` shows, one per route, job or tensor, as for `pandas.DataFrame(rows)`.

        With `steps` there is one row for each stop (arrival, load) or operation (machine, start, end). The list is empty if the
        problem has no such table.
        """
        self._need("table")
        scene = self._problem().view(self.data, self.solution)
        if scene is None:
            return list(self._problem().table(self.data, self.solution))
        if not steps:
            return [dict(zip(scene.head, group.cells)) for group in scene.groups]
        head = (scene.head[0], *scene.steps_head) if scene.head else ()
        return [dict(zip(head, (group.cells[0], *step))) for group in scene.groups for step in group.steps]

    def explain(self) -> dict[str, str]:
        """Return what the solution does not serve (vehicle routing: clients without a route): name -> the reason in one line."""
        self._need("explain")
        return dict(self._problem().explain(self.data, self.solution))

    def _need(self, verb: str) -> None:
        """Raise UsageError if there is no instance or no solution; `verb` names the attempt in the message."""
        if self.data is None:
            raise UsageError(f"to {verb} a Result read from JSON, give Result.from_json its instance")
        if self.solution is None:
            raise UsageError(f"there is no solution to {verb} ({self.status})")

    def _problem(self) -> Any:
        return registry.problem(self.problem)


def relative_gap(objective: float | None, bound: float | None) -> float | None:
    """Return |objective - bound| / |objective|; 0 if they are equal, None if either is unknown or the objective is 0."""
    if objective is None or bound is None:
        return None
    if objective == bound:
        return 0.0
    return abs(objective - bound) / abs(objective) if objective else None


_ANY_INTEGER = Integer(-math.inf, math.inf)
_NUMBER, _TEXT = Number(), Worded(String(), "text")
_NUMBER_OR_NULL = Either(_NUMBER, Null())
_TRACE = Array(Row(_NUMBER, _NUMBER_OR_NULL, _NUMBER_OR_NULL))
_ACCEPTED: dict[str, Kind] = {  # by JSON key
    "problem": _TEXT,
    "instance": _TEXT,
    "status": Choice(STATUSES),
    "limit": Choice(LIMITS),
    "reason": _TEXT,
    "sense": Choice(("min", "max")),
    "objective": _NUMBER_OR_NULL,
    "bound": _NUMBER_OR_NULL,
    "gap": _NUMBER_OR_NULL,
    "runtime": _NUMBER,
    "setup_seconds": _NUMBER,
    "solution": Anything(),
    "trace": Worded(_TRACE, "a list of [seconds, objective or null, bound or null]"),
    "solver": _TEXT,
    "options": Table(Anything()),
    "seed": _ANY_INTEGER,
    "versions": Worded(Table(String()), "an object of texts"),
    "verified": Flag(),
    "tolerated": _TEXT,
    "discarded": _ANY_INTEGER,
}

"""Result: what came of a solve, and its JSON form."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from corl.errors import InputError, UsageError

__all__ = ["Result", "relative_gap", "write_text"]

_KEYS = (
    "problem", "instance", "status", "limit", "sense", "objective", "bound", "gap", "runtime", "setup_seconds",
    "solution", "trace", "solver", "options", "seed", "versions", "verified",
)  # fmt: skip
_STATUSES = ("optimal", "feasible", "infeasible", "no_solution")


@dataclass(frozen=True)
class Result:
    """What came of a solve. `solution` is in the problem's own form (for TSP an int array of city indices, 0-based)."""

    problem: str
    instance: str
    """The instance's name."""
    status: Literal["optimal", "feasible", "infeasible", "no_solution"]
    limit: str
    """What ended the run: time_limit, iterations, target, optimal, infeasible, interrupted or finished (by itself)."""
    sense: Literal["min", "max"]
    objective: float | None
    """In the user's sense; None without a solution."""
    bound: float | None
    """The best proven bound, None where none was proved."""
    runtime: float
    """Seconds on the clock; `setup_seconds` (imports, weights, compilation) and reading the file are outside."""
    setup_seconds: float
    solution: Any
    trace: tuple[tuple[float, float | None, float | None], ...]
    """(seconds, objective, bound) at each improvement."""
    solver: str
    """The solver that ran; for solver="auto" the one it chose."""
    options: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str]
    verified: bool
    """Whether the problem's own evaluation of the returned solution gave `objective` once more at the end."""
    data: Any = field(default=None, repr=False, compare=False)
    """The Instance, for `plot` and `write`; None after `from_json` without one."""

    @property
    def gap(self) -> float | None:
        """|objective - bound| / |objective|, or None where one of them is unknown."""
        return relative_gap(self.objective, self.bound)

    def to_json(self) -> str:
        """One JSON object; the solution in the input file's own ids; what is unknown is null, never NaN."""
        values = {key: getattr(self, key) for key in _KEYS}
        if self.solution is not None and self.data is not None:
            values["solution"] = self._problem().to_json(self.data, self.solution)
        return json.dumps(_plain(values), allow_nan=False)

    @classmethod
    def from_json(cls, text: str, instance: Any = None) -> Result:
        """The inverse of `to_json`. Without the Instance, `solution` stays in its JSON form. Raises InputError."""
        try:
            values = json.loads(text)
        except ValueError as error:
            raise InputError(f"not JSON: {error}", field="result") from error
        if not isinstance(values, dict):
            raise InputError("accepted: a JSON object as written by Result.to_json", field="result")
        if missing := [key for key in _KEYS if key not in values]:
            raise InputError(f"the key {missing[0]!r} is missing", field="result")
        if values["status"] not in _STATUSES:
            raise InputError(f"{values['status']!r} is not known; accepted: {', '.join(_STATUSES)}", field="status")
        fields = {key: values[key] for key in _KEYS if key != "gap"}
        fields["trace"] = tuple((t, objective, bound) for t, objective, bound in values["trace"])
        result = cls(**fields)
        if instance is None or result.solution is None:
            return result
        return replace(result, data=instance, solution=result._problem().from_json(instance, result.solution))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the solution: JSON for a .json name, else the problem's own solution format. The file is replaced whole."""
        path = Path(path)
        if path.suffix == ".json":
            write_text(path, self.to_json() + "\n")
            return
        self._need("write")
        problem = self._problem()
        if problem.suffixes and path.suffix not in problem.suffixes:
            raise UsageError(f"{path.name}: a {problem.name} solution is written to {', '.join(problem.suffixes)} or .json")
        partial = path.with_name(f".{path.name}.partial")
        problem.write_solution(self.data, self.solution, partial)
        os.replace(partial, path)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the solution into an image file (.png, .svg, .pdf)."""
        from corl.drawing import save

        self._need("plot")
        save(self._problem(), self.data, self.solution, Path(path))

    def _need(self, verb: str) -> None:
        if self.data is None:
            raise UsageError(f"to {verb} a Result read from JSON, give Result.from_json its instance")
        if self.solution is None:
            raise UsageError(f"there is no solution to {verb} ({self.status})")

    def _problem(self) -> Any:
        from corl import registry

        return registry.problem(self.problem)


def relative_gap(objective: float | None, bound: float | None) -> float | None:
    """|objective - bound| / |objective|; 0 where they agree, None where either is unknown or the objective is 0."""
    if objective is None or bound is None:
        return None
    if objective == bound:
        return 0.0
    return abs(objective - bound) / abs(objective) if objective else None


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: into a neighbour first, then renamed."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def _plain(value: Any) -> Any:
    """JSON values: tuples as lists, NumPy numbers as Python's, infinities and NaN as null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value

"""Problem: the adapter of a problem family, and the only judge of its solutions."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from corl.deprecation import renamed_members
from corl.parts import Files, Pictures, Process

__all__ = ["Problem"]


@renamed_members(
    {
        "episode": "realised_instance",
        "miniature": "warm_up_instance",
        "of": "with_sense_of",
        "starts": "start_count",
        "tolerated": "tolerance_note",
    }
)
class Problem(Files, Process, Pictures, abc.ABC):
    """A problem family: its name, its sense and its judge; and three optional parts, `Files`, `Process` and `Pictures`.

    Subclass it and declare it as an entry point, and `corl` solves and checks it; with the parts it reads, learns and draws it.
    Only `evaluate` must be written. `Instance` below stands for the family's own frozen dataclass, `Solution` for its own
    form of a solution (a NumPy array, a dict ...); both must pickle, for `workers`.
    """

    name: ClassVar[str]
    """The registered name, such as "tsp"."""
    title: ClassVar[str] = ""
    """One line for `corl list problems`."""
    sense: ClassVar[Literal["min", "max"]] = "min"
    instance_type: ClassVar[type]
    generators: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    """Name -> function(*, seed: int = 0, **parameters) -> Instance; the first is the default of `corl generate`."""
    size_option: ClassVar[str] = "size"
    """The generators' parameter for the size of an instance."""

    @abc.abstractmethod
    def evaluate(self, instance: Any, solution: Any) -> float:
        """Return the objective value of `solution` in the user's sense. Raises Infeasible with the first violated constraint."""

    def tolerance_note(self, instance: Any, solution: Any) -> str:
        """Return what an accepted solution violates within the tolerances of `evaluate`, and by how much; "" if nothing."""
        return ""

    def infeasible(self, instance: Any) -> str:
        """Return why an instance has no solution, in one line; "" if a quick check does not prove that it has none."""
        return ""

    def with_sense_of(self, instance: Any) -> Problem:
        """Return this problem with the sense of `instance`, if some are minimised and others maximised; otherwise itself."""
        return self

    def describe(self, instance: Any) -> dict[str, Any]:
        """Return facts for `corl info`: name -> number or short text."""
        return {}

    def explain(self, instance: Any, solution: Any) -> dict[str, str]:
        """Return what a feasible solution leaves unserved, and why, for `corl info` and `Result.explain`: name -> one line."""
        return {}

    def warm_up_instance(self, instance: Any) -> Any:
        """Return a small instance of the same kind, whose solving compiles the same kernels; by default `instance` itself."""
        return instance

    def better(self, a: float, b: float) -> bool:
        """Return whether objective value `a` is strictly better than `b`."""
        return a < b if self.sense == "min" else a > b

    @property
    def worst(self) -> float:
        """The objective value that every other is better than: +inf when minimising."""
        return float("inf") if self.sense == "min" else float("-inf")

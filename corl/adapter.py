"""Problem: the base class of problem families; its `evaluate` is the only code that judges solutions."""

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
    """A problem family: its name, its sense, and the evaluation of solutions; and three optional parts (corl.parts).

    Declare a subclass as an entry point; corl then solves instances and checks solutions. The parts `Files`, `Process` and
    `Pictures` add files, learning and drawings. Only `evaluate` must be written. `Instance` below stands for the family's own
    frozen dataclass, `Solution` for its own form of a solution (a NumPy array, a dict ...). For `workers`, both must be
    picklable.
    """

    name: ClassVar[str]
    """The registered name, such as "tsp"."""
    title: ClassVar[str] = ""
    """One line for `corl list problems`."""
    sense: ClassVar[Literal["min", "max"]] = "min"
    """Whether objective values are minimised or maximised."""
    instance_type: ClassVar[type]
    """The class of the family's instances."""
    generators: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    """Name -> function(*, seed: int = 0, **parameters) -> Instance; the first is the default of `corl generate`."""
    size_option: ClassVar[str] = "size"
    """The generators' parameter for the size of an instance."""

    @abc.abstractmethod
    def evaluate(self, instance: Any, solution: Any) -> float:
        """Return the objective value of `solution`. Raises Infeasible, with a message on the first violated constraint."""

    def tolerance_note(self, instance: Any, solution: Any) -> str:
        """Return a note on constraints that a solution violates within the tolerance of `evaluate`; "" if there are none."""
        return ""

    def infeasible(self, instance: Any) -> str:
        """Return why an instance has no solution, in one line, if a quick check proves that it has none; otherwise ""."""
        return ""

    def with_sense_of(self, instance: Any) -> Problem:
        """Return this problem with the sense of `instance`. To be overridden if the sense differs between instances."""
        return self

    def describe(self, instance: Any) -> dict[str, Any]:
        """Return facts for `corl info`: name -> number or short text."""
        return {}

    def explain(self, instance: Any, solution: Any) -> dict[str, str]:
        """Return what a feasible solution does not serve (for `corl info` and `Result.explain`): name -> reason in one line."""
        return {}

    def partial(self, instance: Any, value: Any, as_json: bool) -> tuple[Any, str] | None:
        """Return the part of an incomplete or infeasible warm start that can be used; None if the family has no such form.

        The part is a solution that all solvers can start from, or, if `evaluate` refuses it because something is missing, one
        that solvers with `completes_starts` complete.

        Args:
            instance: The instance.
            value: The warm start.
            as_json: Whether `value` is in the JSON form, otherwise in the problem's own form.

        Returns:
            solution: The usable part.
            note: What it leaves out, in words; "" if nothing is.

        Raises:
            Infeasible: Nothing of `value` can be used.
        """
        return None

    def warm_up_instance(self, instance: Any) -> Any:
        """Return a small instance for which solving compiles the same kernels as for `instance`; by default `instance`."""
        return instance

    def better(self, a: float, b: float) -> bool:
        """Return whether objective value `a` is strictly better than `b`."""
        return a < b if self.sense == "min" else a > b

    @property
    def worst(self) -> float:
        """The worst objective value: +inf when minimising, -inf when maximising."""
        return float("inf") if self.sense == "min" else float("-inf")

"""Vrp: the adapter of vehicle routing problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corl.problem import Problem
from corl.problems.vrp.instance import VrpInstance

__all__ = ["Vrp"]


class Vrp(Problem):
    """Vehicle routing: capacities, time windows, several depots, different vehicles, optional clients with prizes.

    A solution is a list of Route(vehicle type, int32 client nodes in order); see corl.problems.vrp.evaluation.
    Modules that are only needed by one method are imported there.
    """

    name = "vrp"
    title = "vehicle routing: capacities, time windows, fleets, depots, prizes"
    sense = "min"
    instance_type = VrpInstance
    suffixes = (".sol",)

    def evaluate(self, instance: VrpInstance, solution: Any) -> float:
        """Distance, fixed costs and missed prizes. Raises Infeasible, naming the first broken limit in the file's ids."""
        from corl.problems.vrp.evaluation import evaluate

        return evaluate(instance, solution)

    def recognises(self, head: str) -> bool:
        """Whether this is the head of a VRPLIB file."""
        from corl.problems.vrp.formats import recognises

        return recognises(head)

    def read(self, path: Path) -> VrpInstance:
        """The instance in a VRPLIB file. Raises InputError or OSError."""
        from corl.problems.vrp.formats import read_text
        from corl.text import Text

        return read_text(Text.read(path), Path(path).stem)

    def read_solution(self, instance: VrpInstance, path: Path) -> Any:
        """The routes in a VRPLIB .sol file. Raises InputError, OSError, or Infeasible for a client that there is not."""
        from corl.problems.vrp.solutions import read_solution

        return read_solution(instance, path)

    def write_solution(self, instance: VrpInstance, solution: Any, path: Path) -> None:
        """Write a VRPLIB .sol file: clients are numbered 1..n-1."""
        from corl.problems.vrp.solutions import write_solution

        write_solution(instance, solution, path)

    def to_json(self, instance: VrpInstance, solution: Any) -> list[Any]:
        """A list of the file's client ids for each route, depots left out; dicts where vehicles or depots differ."""
        from corl.problems.vrp.solutions import to_json

        return to_json(instance, solution)

    def from_json(self, instance: VrpInstance, value: Any) -> Any:
        """The inverse of `to_json`. Raises InputError for no list of routes, Infeasible for an unknown client."""
        from corl.problems.vrp.solutions import from_json

        return from_json(instance, value)

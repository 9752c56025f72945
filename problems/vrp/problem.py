"""Vrp: the adapter of vehicle routing problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corl.adapter import Problem
from corl.files.json_instances import Field, plain
from corl.problems.vrp.generators import GENERATORS
from corl.problems.vrp.instance import VrpInstance

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from corl.online.stream import Stream
    from corl.problems.vrp.environment import VrpEnvironment
    from corl.tokens import Tokens
    from corl.view.scene import Scene

__all__ = ["Vrp"]


def _routes(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.vrp.features.routes."""
    from corl.problems.vrp.features import routes

    return routes(observation)


def _savings(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.vrp.environments.savings.features.savings."""
    from corl.problems.vrp.environments.savings.features import savings

    return savings(observation)


def _priced(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.vrp.environments.priced.features.priced."""
    from corl.problems.vrp.environments.priced.features import priced

    return priced(observation)


class Vrp(Problem):
    """Vehicle routing: capacities, time windows, depots, different vehicles, optional clients with prizes, side constraints.

    A solution is a list of Route(vehicle type, int32 client nodes in order); see corl.problems.vrp.evaluation. A module that only
    one method needs is imported in that method.
    """

    name = "vrp"
    title = "vehicle routing: capacities, time windows, fleets, depots, prizes"
    sense = "min"
    instance_type = VrpInstance
    generators = GENERATORS
    environments = ("routes", "savings", "priced")
    features = {"routes": _routes, "priced": _priced, "savings": _savings}  # noqa: RUF012
    suffixes = (".sol",)
    instance_suffixes = (".vrp",)
    solution_formats = ("vroom",)

    def infeasible(self, instance: VrpInstance) -> str:
        """Return why the instance has no solution, in one line; "" if that is not proven. See corl.problems.vrp.feasibility."""
        from corl.problems.vrp.feasibility import unservable

        return unservable(instance)

    def evaluate(self, instance: VrpInstance, solution: Any) -> float:
        """Return the objective value: costs of distance, routes and time, and the prizes of unserved clients.

        Raises Infeasible, naming the first violated limit and the file's ids.
        """
        from corl.problems.vrp.evaluation import objective

        return objective(instance, solution)

    def partial(self, instance: VrpInstance, value: Any, as_json: bool) -> tuple[Any, str]:
        """See `corl.adapter.Problem.partial`: `ruin-recreate` inserts the missing clients."""
        from corl.problems.vrp.partial import partial_routes

        return partial_routes(instance, value, as_json)

    def recognises(self, head: str) -> bool:
        """Return whether this is the head of a VRPLIB, Solomon or Li and Lim file, of VROOM's JSON or our own."""
        from corl.problems.vrp.formats import recognises

        return recognises(head)

    def read(self, path: Path) -> VrpInstance:
        """Return the instance in a VRPLIB, Solomon, Li and Lim, VROOM or JSON file. Raises InputError or OSError."""
        from corl.problems.vrp.formats import read_instance

        return read_instance(path)

    def write(self, instance: VrpInstance, path: Path) -> None:
        """Write VROOM's JSON (a name ending in .vroom.json), our own (.json) or VRPLIB. Raises UsageError."""
        from corl.problems.vrp.formats import write_instance

        write_instance(instance, path)

    def adapt(self, data: Any) -> VrpInstance:
        """Return the instance of a dict with the fields of a JSON file (formats.md), with lists or arrays. Raises InputError."""
        from corl.problems.vrp.formats.json_format import from_json_value

        return from_json_value(Field(plain(data))) if isinstance(data, Mapping) else super().adapt(data)

    def read_solution(self, instance: VrpInstance, path: Path) -> Any:
        """Return the routes in a VRPLIB .sol file. Raises InputError, OSError, or Infeasible for an unknown client."""
        from corl.problems.vrp.formats.solutions import read_solution

        return read_solution(instance, path)

    def write_solution(self, instance: VrpInstance, solution: Any, path: Path) -> None:
        """Write a VRPLIB .sol file, in which clients are numbered from 1. Raises UsageError if vehicles or depots differ."""
        from corl.problems.vrp.formats.solutions import write_solution

        write_solution(instance, solution, path)

    def solution_text(self, instance: VrpInstance, solution: Any, form: str) -> str:
        """See Files.solution_text: "vroom" is VROOM's JSON."""
        from corl.problems.vrp.formats.vroom.solutions import solution_text

        return solution_text(instance, solution)

    def to_json(self, instance: VrpInstance, solution: Any) -> list[Any]:
        """Return a list of client ids for each route, or a dict for each route if vehicles or depots differ."""
        from corl.problems.vrp.formats.solutions import to_json

        return to_json(instance, solution)

    def from_json(self, instance: VrpInstance, value: Any) -> Any:
        """Return the inverse of `to_json`.

        Raises InputError for anything but a list of routes, Infeasible for an unknown client.
        """
        from corl.problems.vrp.formats.solutions import from_json

        return from_json(instance, value)

    def schemas(self) -> dict[str, dict[str, Any]]:
        """See Problem.schemas."""
        from corl.problems.vrp.formats.json_format import SCHEMAS

        return SCHEMAS

    def describe(self, instance: VrpInstance) -> dict[str, Any]:
        """Return facts for `corl info`."""
        from corl.problems.vrp.facts import facts

        return facts(instance)

    def explain(self, instance: VrpInstance, solution: Any) -> dict[str, str]:
        """Return, for each unserved client, the cost of serving the client, or the limit that prevents it."""
        from corl.problems.vrp.explaining import unserved_reasons

        return unserved_reasons(instance, solution)

    def draw(self, instance: VrpInstance, solution: Any, axes: Axes) -> None:
        """Draw depots and clients, and the routes if there is a solution."""
        from corl.problems.vrp.drawing import draw

        draw(instance, solution, axes)

    def view(self, instance: VrpInstance, solution: Any) -> Scene:
        """See `corl.adapter.Problem.view`."""
        from corl.problems.vrp.drawing import scene

        return scene(instance, solution)

    def environment(
        self, instances: Sequence[VrpInstance], rows: int, width: int | None = None, name: str = ""
    ) -> VrpEnvironment:
        """Return an environment that builds routes client by client: `rows` states of `instances`.

        At most `width` actions are listed. Raises UsageError for instances that the decision process does not support: several
        depots or vehicle types, side constraints, fewer vehicles than clients.
        """
        from corl.problems.vrp.environment import VrpEnvironment
        from corl.problems.vrp.environments.priced.environment import PricedEnvironment
        from corl.problems.vrp.environments.savings.environment import SavingsEnvironment

        kinds: dict[str, type[VrpEnvironment]] = {"savings": SavingsEnvironment, "priced": PricedEnvironment}
        kind = kinds.get(self.environment_name(name), VrpEnvironment)
        return kind(instances, rows) if width is None else kind(instances, rows, width)

    def decisions(self, instance: VrpInstance, solution: Any, key: int = 0, name: str = "") -> NDArray[np.integer]:
        """Return the actions that build a solution, the fullest routes first; int64 [T]."""
        from corl.problems.vrp.decisions import decisions

        return decisions(instance, solution)

    def stream(self, instance: VrpInstance) -> Stream:
        """Return how the requests of a day are revealed. Raises UsageError for instances that are no such day."""
        from corl.problems.vrp.stream import stream

        return stream(instance)

    def warm_up_instance(self, instance: VrpInstance) -> VrpInstance:
        """Return the instance of the first twelve clients."""
        from corl.problems.vrp.facts import first_clients

        return first_clients(instance, 12)

"""Tsp: the travelling salesman problem for the package: judge, files, environment, features and pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.errors import Infeasible, InputError, shortened
from corl.problems.tsp.generators import GENERATORS
from corl.problems.tsp.instance import TspInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corl.problems.tsp.environment import TspEnvironment
    from corl.tokens import Tokens
    from corl.view.scene import Scene

__all__ = ["Tsp"]


_TYPE = re.compile(r"^\s*TYPE\s*:?\s*(\w+)", re.IGNORECASE | re.MULTILINE)
_KEYWORD = re.compile(r"^\s*(DIMENSION|EDGE_WEIGHT_TYPE|NODE_COORD_SECTION|EDGE_WEIGHT_SECTION)\b", re.IGNORECASE | re.MULTILINE)
_VEHICLES = re.compile(r"^\s*(CAPACITY|VEHICLES|DEMAND_SECTION|DEPOT_SECTION)\b", re.IGNORECASE | re.MULTILINE)


def _plane(observation: Mapping[str, Any], window: int = 20, **effort: Any) -> Tokens:
    """See corl.problems.tsp.features.plane and Effort."""
    from corl.problems.tsp.features import Effort, plane

    return plane(observation, window, Effort(**effort))


def _matrix(observation: Mapping[str, Any], level: str = "actions") -> Tokens:
    """See corl.problems.tsp.features_matrix.matrix."""
    from corl.problems.tsp.features_matrix import matrix

    return matrix(observation, level)


class Tsp(Problem):
    """The travelling salesman problem, symmetric (TSP) and asymmetric (ATSP).

    A solution is an integer array [n]: the cities 0..n-1 in visiting order; the return to the first is implied.
    Modules that are only needed by one method are imported there: `import corl.problems.tsp.problem` loads NumPy alone.
    """

    name = "tsp"
    title = "travelling salesman problem, symmetric and asymmetric"
    sense = "min"
    instance_type = TspInstance
    generators = GENERATORS
    features = {  # noqa: RUF012
        "plane": _plane,
        "plane-12": partial(_plane, window=12),
        "plane-32": partial(_plane, window=32),
        "plane-far": partial(_plane, around=96, trees=64, branches=6, branch_trees=64, enough=0.5),
        "matrix": _matrix,
        "matrix-raw": partial(_matrix, level="raw"),  # this feature set and the next two are for comparisons
        "matrix-reduced": partial(_matrix, level="reduced"),
        "matrix-flags": partial(_matrix, level="flags"),
    }
    suffixes = (".tour",)
    instance_suffixes = (".tsp", ".atsp")

    def evaluate(self, instance: TspInstance, solution: Any) -> float:
        """Return the length of the closed tour, by TSPLIB's formulas.

        Raises Infeasible with the first fault; the message names cities by their ids in the file.
        """
        from corl.problems.tsp.evaluation import objective

        return objective(instance, solution)

    def partial(self, instance: TspInstance, value: Any, as_json: bool) -> tuple[NDArray[np.int64], str]:
        """See `corl.adapter.Problem.partial`: the tour is complete and feasible."""
        from corl.problems.tsp.partial import completed_tour

        return completed_tour(instance, value, as_json)

    def recognises(self, head: str) -> bool:
        """Return whether `head`, the beginning of a file, is that of a TSPLIB file, but not of a vehicle routing problem.

        Files of unsupported TYPEs are recognised too, so that `read` can report the type.
        """
        if kind := _TYPE.search(head):
            return kind[1].upper() in ("TSP", "ATSP", "SOP", "HCP", "TOUR")
        return bool(_KEYWORD.search(head)) and not _VEHICLES.search(head)

    def read(self, path: Path) -> TspInstance:
        """Return the instance in a TSPLIB 95 file. Raises InputError or OSError."""
        from corl.problems.tsp.formats import read_instance

        return read_instance(path)

    def write(self, instance: TspInstance, path: Path) -> None:
        """Write a TSPLIB 95 file from which `read` returns an identical instance."""
        from corl.problems.tsp.formats import write_instance

        write_instance(instance, path)

    def adapt(self, data: Any) -> TspInstance:
        """Return the instance of coordinates [n, 2 or 3] (Euclidean, unrounded), a matrix [n, n] or a networkx graph.

        Coordinates and matrices are arrays or lists; a 2 x 2 or 3 x 3 array is taken for a matrix. Ids are 0..n-1 or the graph's
        own integers. Raises InputError.
        """
        from corl.problems.tsp.adaptation import adapt_array, adapt_graph

        return adapt_graph(data) if hasattr(data, "is_directed") and hasattr(data, "nodes") else adapt_array(data)

    def read_solution(self, instance: TspInstance, path: Path) -> NDArray[np.int32]:
        """Return the tour in a TSPLIB .tour file. Raises InputError, OSError, or Infeasible for an unknown city."""
        from corl.problems.tsp.solutions import read_tour

        return read_tour(instance, path)

    def write_solution(self, instance: TspInstance, solution: Any, path: Path) -> None:
        """Write a TSPLIB .tour file in the instance's own ids."""
        from corl.problems.tsp.solutions import write_tour

        write_tour(instance, solution, path, [f"Length {self.evaluate(instance, solution)!r}"])

    def to_json(self, instance: TspInstance, solution: NDArray[np.integer]) -> list[Any]:
        """Return the ids of the cities in the file, or the names of the cities if they have names, in visiting order."""
        if instance.names is not None:
            return [instance.names[city] for city in np.asarray(solution).tolist()]
        return instance.ids[np.asarray(solution)].tolist()  # type: ignore[no-any-return]

    def from_json(self, instance: TspInstance, value: Any) -> NDArray[np.int32]:
        """Return int32 cities 0..n-1 for a list of ids or names.

        Raises InputError if `value` is no such list, Infeasible for an unknown city.
        """
        from corl.problems.tsp.solutions import cities_called, cities_of

        if instance.names is not None and isinstance(value, list) and all(isinstance(city, str) for city in value):
            return cities_called(instance, value)
        if not isinstance(value, list) or not all(type(city) is int for city in value):
            raise InputError("accepted: a list of city ids, integers, in visiting order", field="solution")
        if huge := [city for city in value if abs(city) >= 2**63]:
            raise Infeasible(f"city {shortened(str(huge[0]), 40)} of the tour is not in the instance")
        return cities_of(instance, value)

    def schemas(self) -> dict[str, dict[str, Any]]:
        """See Problem.schemas."""
        from corl.fields import Array, Either, Integer, String, document

        tour = Either(Array(Integer()), Array(String()))
        return {"solution": document("corl tsp solution: cities in visiting order, by their ids or names", tour)}

    def describe(self, instance: TspInstance) -> dict[str, Any]:
        """Return facts for `corl info`."""
        facts: dict[str, Any] = {
            "type": "TSP" if instance.symmetric else "ATSP",
            "dimension": instance.n,
            "edge_weight_type": instance.edge_weight_type,
            "integer_distances": instance.integral,
        }
        if instance.points is not None:
            low, high = instance.points.min(axis=0), instance.points.max(axis=0)
            facts["bounding_box"] = " x ".join(f"[{a:.10g}, {b:.10g}]" for a, b in zip(low, high))
            facts["distinct_cities"] = len(np.unique(instance.points, axis=0))
        elif instance.matrix is not None and instance.n > 1:
            apart = instance.matrix[~np.eye(instance.n, dtype=bool)]
            facts["distances"] = f"[{apart.min():.10g}, {apart.max():.10g}]"
        if instance.comment:
            facts["comment"] = " / ".join(instance.comment.splitlines())
        return facts

    def draw(self, instance: TspInstance, solution: Any, axes: Axes) -> None:
        """Draw the cities, and the tour through them if there is a solution."""
        from corl.problems.tsp.drawing import draw

        draw(instance, solution, axes)

    def view(self, instance: TspInstance, solution: Any) -> Scene:
        """See `corl.adapter.Problem.view`."""
        from corl.problems.tsp.drawing import scene

        return scene(instance, solution)

    def environment(
        self, instances: Sequence[TspInstance], rows: int, width: int | None = None, name: str = ""
    ) -> TspEnvironment:
        """Return an environment that builds tours city by city: `rows` states of `instances`.

        The `width` nearest unvisited cities are listed as actions.
        """
        from corl.problems.tsp.environment import TspEnvironment

        self.environment_name(name)
        return TspEnvironment(instances, rows) if width is None else TspEnvironment(instances, rows, width)

    def decisions(self, instance: TspInstance, solution: Any, key: int = 0, name: str = "") -> NDArray[np.int64]:
        """Return the cities after city `key % n` in the tour's order, int64 [n - 1]."""
        from corl.problems.tsp.decisions import decisions

        return decisions(instance, solution, key)

    def default_policy(self, instance: TspInstance) -> str:
        """Return "tsp-bq" for an instance with coordinates, "atsp-bq" for a matrix."""
        return "tsp-bq" if instance.points is not None else "atsp-bq"

    def symmetries(self, instance: TspInstance) -> list[TspInstance]:
        """Return eight instances: this one and its copies under the reflections and rotations of the plane that keep the axes.

        For GEO and matrix instances, return the instance alone.
        """
        from corl.problems.tsp.symmetries import planar_symmetries

        return planar_symmetries(instance)

    def start_count(self, instance: TspInstance) -> int:
        """Return the number of cities: a tour may begin at any of them."""
        return instance.n

    def warm_up_instance(self, instance: TspInstance) -> TspInstance:
        """Return the instance of the first 12 cities."""
        from corl.problems.tsp.symmetries import first_cities

        return first_cities(instance, 12)

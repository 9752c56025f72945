"""`Orienteering`: the orienteering problem with its judge, files, environments and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.errors import InputError, kind_of
from corl.files.json_instances import Field, plain
from corl.problems.orienteering.generators import GENERATORS
from corl.problems.orienteering.instance import OrienteeringInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corl.problems.orienteering.environment import OrienteeringEnvironment
    from corl.tokens import Tokens
    from corl.view.scene import Scene

__all__ = ["Orienteering"]


def _nodes(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.orienteering.features.nodes."""
    from corl.problems.orienteering.features import nodes

    return nodes(observation)


def _insertion(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.orienteering.environments.insertion.features.insertion."""
    from corl.problems.orienteering.environments.insertion.features import insertion

    return insertion(observation)


def _plane(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.orienteering.environments.plane.features.plane."""
    from corl.problems.orienteering.environments.plane.features import plane

    return plane(observation)


class Orienteering(Problem):
    """The orienteering problem: the path or closed tour of the greatest score whose length is within a limit.

    A solution is an integer array: nodes 0..n-1 in visiting order, start and end included (the start twice in a closed tour).
    Modules that only one method needs are imported in that method: `import corl.problems.orienteering.problem` loads NumPy alone.
    """

    name = "orienteering"
    title = "orienteering: the most score within a limit on the length"
    sense = "max"
    instance_type = OrienteeringInstance
    generators = GENERATORS
    suffixes = (".sol",)
    instance_suffixes = (".oplib",)
    environments = ("nodes", "insertion", "plane")
    features = {"nodes": _nodes, "insertion": _insertion, "plane": _plane}  # noqa: RUF012

    def infeasible(self, instance: OrienteeringInstance) -> str:
        """Return why the instance is infeasible (every path is longer than the limit), or "" if it is feasible."""
        from corl.problems.orienteering.evaluation import shortest_path

        if shortest_path(instance) is not None:
            return ""
        start, end = instance.graph.ids[instance.start], instance.graph.ids[instance.end]
        return f"every way from node {start} to node {end} is longer than the limit {instance.limit:.10g}"

    def evaluate(self, instance: OrienteeringInstance, solution: Any) -> float:
        """Return the sum of the scores of the nodes on the path, each node counted once.

        Raises Infeasible, naming the first violated condition, with the file's ids.
        """
        from corl.problems.orienteering.evaluation import objective

        return objective(instance, solution)

    def partial(self, instance: OrienteeringInstance, value: Any, as_json: bool) -> tuple[NDArray[np.int64], str]:
        """See `corl.adapter.Problem.partial`: the path is complete and feasible."""
        from corl.problems.orienteering.partial import shortened_path

        return shortened_path(instance, value, as_json)

    def recognises(self, head: str) -> bool:
        """Return whether `head` is the beginning of an OPLib file, or of a JSON file whose key "problem" comes first."""
        from corl.problems.orienteering.formats import recognises

        return recognises(head)

    def read(self, path: Path) -> OrienteeringInstance:
        """Return the instance in an OPLib or a JSON file. Raises InputError or OSError."""
        from corl.problems.orienteering.formats import read_instance

        return read_instance(path)

    def write(self, instance: OrienteeringInstance, path: Path) -> None:
        """Write a file from which `read` returns an identical instance: JSON if its name ends in .json, otherwise OPLib."""
        from corl.problems.orienteering.formats import write_instance

        write_instance(instance, path)

    def adapt(self, data: Any) -> OrienteeringInstance:
        """Return the instance in a mapping with the keys of a JSON file: points or matrix (lists or arrays), scores, limit."""
        if not isinstance(data, Mapping):
            message = f"{kind_of(data)} is no orienteering problem; accepted: an object with points, scores and limit"
            raise InputError(message)
        from corl.problems.orienteering.formats import from_json_value

        return from_json_value(Field(plain(data)), "object")

    def read_solution(self, instance: OrienteeringInstance, path: Path) -> NDArray[np.int64]:
        """Return the path in a .sol file of OPLib."""
        from corl.problems.orienteering.solutions import read_solution

        return read_solution(instance, path)

    def write_solution(self, instance: OrienteeringInstance, solution: Any, path: Path) -> None:
        """Write a .sol file of OPLib."""
        from corl.problems.orienteering.solutions import write_solution

        write_solution(instance, solution, path)

    def to_json(self, instance: OrienteeringInstance, solution: Any) -> list[int]:
        """Return the file's ids of the nodes in visiting order, including start and end."""
        return instance.graph.ids[np.asarray(solution)].tolist()  # type: ignore[no-any-return]

    def from_json(self, instance: OrienteeringInstance, value: Any) -> NDArray[np.int64]:
        """Return int64 nodes 0..n-1. Raises InputError for anything but a list of integers, Infeasible for an unknown node."""
        if not isinstance(value, list) or not all(type(node) is int for node in value):
            raise InputError("accepted: a list of node ids, integers, start and end among them", field="solution")
        from corl.problems.orienteering.solutions import nodes_of

        return nodes_of(instance, value)

    def schemas(self) -> dict[str, dict[str, Any]]:
        """See Problem.schemas."""
        from corl.problems.orienteering.formats import SCHEMAS

        return SCHEMAS

    def describe(self, instance: OrienteeringInstance) -> dict[str, Any]:
        """Return facts for `corl info`."""
        ids, scores = instance.graph.ids, instance.scores
        facts: dict[str, Any] = {
            "nodes": instance.n,
            "edge_weight_type": instance.graph.edge_weight_type,
            "limit": instance.limit,
            "start": int(ids[instance.start]),
            "end": int(ids[instance.end]),
            "scores": f"{scores.min():.10g} to {scores.max():.10g}",
            "all_scores": float(scores.sum()),
        }
        if instance.comment:
            facts["comment"] = " / ".join(instance.comment.splitlines())
        return facts

    def draw(self, instance: OrienteeringInstance, solution: Any, axes: Axes) -> None:
        """Draw the nodes by their scores, and the path through some of them if there is a solution."""
        from corl.problems.orienteering.drawing import draw

        draw(instance, solution, axes)

    def view(self, instance: OrienteeringInstance, solution: Any) -> Scene:
        """See `corl.adapter.Problem.view`."""
        from corl.problems.orienteering.drawing import scene

        return scene(instance, solution)

    def environment(
        self, instances: Sequence[OrienteeringInstance], rows: int, width: int | None = None, name: str = ""
    ) -> OrienteeringEnvironment:
        """Return an environment that builds paths node by node: `rows` states of `instances`.

        Of the nodes that can be visited, the `width` best by score and distance are listed as actions.
        """
        from corl.problems.orienteering.environment import OrienteeringEnvironment
        from corl.problems.orienteering.environments.insertion.environment import InsertionEnvironment
        from corl.problems.orienteering.environments.plane.environment import PlaneEnvironment

        classes = {"insertion": InsertionEnvironment, "plane": PlaneEnvironment}
        environment_class = classes.get(self.environment_name(name), OrienteeringEnvironment)
        return environment_class(instances, rows) if width is None else environment_class(instances, rows, width)

    def decisions(self, instance: OrienteeringInstance, solution: Any, key: int = 0, name: str = "") -> NDArray[np.int64]:
        """Return the actions of an episode that builds `solution`, int64 [k].

        They are the nodes between start and end. After them, each step visits the first listed node until no node can be visited,
        so that the episode may end in a better solution. A node from which the direct way to the end is too long is skipped: no
        episode can visit it (rounded distances may violate the triangle inequality).
        """
        from corl.problems.orienteering.decisions import decisions

        self.environment_name(name)
        return decisions(instance, solution)

    def default_policy(self, instance: OrienteeringInstance) -> str:
        """Return "orienteering-bq" if distances are those between points in the plane, otherwise ""."""
        from corl.problems.orienteering.environments.plane.environment import in_the_plane

        return "orienteering-bq" if in_the_plane(instance) else ""

    def symmetries(self, instance: OrienteeringInstance) -> list[OrienteeringInstance]:
        """Return the eight reflections and rotations of the plane that keep the axes.

        For GEO and matrix instances, return the instance alone.
        """
        from corl.problems.tsp.symmetries import planar_symmetries

        return [instance, *(replace(instance, graph=graph) for graph in planar_symmetries(instance.graph)[1:])]

    def warm_up_instance(self, instance: OrienteeringInstance) -> OrienteeringInstance:
        """Return an instance with the first 12 nodes, from node 0 to node 0 or 1, whose limit lets a path visit some of them."""
        from corl.problems.orienteering.evaluation import path_length
        from corl.problems.tsp.symmetries import first_cities

        graph = first_cities(instance.graph, 12)
        end = 0 if instance.closed else min(1, graph.n - 1)
        tiny = replace(instance, graph=graph, scores=instance.scores[: graph.n], start=0, end=end)
        tour_length = path_length(tiny, np.append(np.arange(graph.n), end))
        return replace(tiny, limit=max(tour_length / 2.0, path_length(tiny, np.array([0, end]))))

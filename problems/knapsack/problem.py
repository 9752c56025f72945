"""`Knapsack`: the 0-1 knapsack problem with its judge, files, environments and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.errors import Infeasible, InputError, kind_of, shortened
from corl.files.json_instances import Field, plain
from corl.problems.knapsack.generators import GENERATORS
from corl.problems.knapsack.instance import KnapsackInstance, make_instance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corl.problems.knapsack.environment import KnapsackEnvironment
    from corl.tokens import Tokens
    from corl.view.scene import Scene

__all__ = ["Knapsack"]

_ACCEPTED_DATA = "accepted: (values, weights, capacity), or an object with values, weights and capacities"


def _items(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.knapsack.features.items."""
    from corl.problems.knapsack.features import items

    return items(observation)


def _core(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.knapsack.environments.core.features.core."""
    from corl.problems.knapsack.environments.core.features import core

    return core(observation)


class Knapsack(Problem):
    """The 0-1 knapsack problem with one or several capacities.

    A solution is an integer array: the items taken, in any order. Modules that only one method needs are imported in that method:
    `import corl.problems.knapsack.problem` loads NumPy alone.
    """

    name = "knapsack"
    title = "0-1 knapsack, with one or several capacities"
    sense = "max"
    instance_type = KnapsackInstance
    generators = GENERATORS
    environments = ("items", "core")
    features = {"items": _items, "core": _core}  # noqa: RUF012

    def evaluate(self, instance: KnapsackInstance, solution: Any) -> float:
        """Return the value of the items taken. Raises Infeasible, naming the first violation, with the file's item numbers."""
        from corl.problems.knapsack.evaluation import objective

        return objective(instance, solution)

    def recognises(self, head: str) -> bool:
        """Return whether `head` is the beginning of JSON (its key "problem" first) or of Pisinger's text."""
        from corl.problems.knapsack.formats import recognises

        return recognises(head)

    def read(self, path: Path) -> KnapsackInstance:
        """Return the instance in a file: Pisinger's text, plain text, or JSON. Raises InputError or OSError."""
        from corl.problems.knapsack.formats import read_instance

        return read_instance(path)

    def write(self, instance: KnapsackInstance, path: Path) -> None:
        """Write a file from which `read` returns an equal instance: JSON if its name ends in .json, otherwise Pisinger's text."""
        from corl.problems.knapsack.formats import write_instance

        write_instance(instance, path)

    def adapt(self, data: Any) -> KnapsackInstance:
        """Return the instance in a tuple (values [n], weights [n] or [m, n], capacity or capacities [m]).

        `data` may also be a mapping with the keys of a JSON file.
        """
        if isinstance(data, Mapping):
            from corl.problems.knapsack.formats import from_json_value

            return from_json_value(Field(plain(data)), "object")
        if not isinstance(data, (tuple, list)) or len(data) != 3:
            raise InputError(f"{kind_of(data)} is no knapsack; {_ACCEPTED_DATA}")
        return make_instance("array", *data)

    def to_json(self, instance: KnapsackInstance, solution: Any) -> list[int]:
        """Return the items taken, numbered as in the file."""
        return (np.asarray(solution, np.int64) + instance.first_item).tolist()  # type: ignore[no-any-return]

    def from_json(self, instance: KnapsackInstance, value: Any) -> NDArray[np.int64]:
        """Return int64 items 0..n-1. Raises InputError for anything but a list of integers, Infeasible for an unknown item."""
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            raise InputError("accepted: a list of item numbers, integers", field="solution")
        if too_large := [item for item in value if abs(item) >= 2**62]:
            raise Infeasible(f"there is no item {shortened(str(too_large[0]), 40)}")
        return np.array(value, np.int64) - instance.first_item

    def schemas(self) -> dict[str, dict[str, Any]]:
        """See Problem.schemas."""
        from corl.problems.knapsack.formats import SCHEMAS

        return SCHEMAS

    def describe(self, instance: KnapsackInstance) -> dict[str, Any]:
        """Return facts for `corl info`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            fill = float((instance.capacities / instance.weights.sum(axis=1)).min())
        facts: dict[str, Any] = {
            "items": instance.n,
            "capacities": instance.m,
            "values": _span(instance.values),
            "weights": _span(instance.weights),
            "capacity_of_all_weights": f"{min(1.0, fill):.4g}" if fill == fill else "1",
        }
        if instance.comment:
            facts["comment"] = " / ".join(instance.comment.splitlines())
        return facts

    def draw(self, instance: KnapsackInstance, solution: Any, axes: Axes) -> None:
        """Draw one point per item, by weight and value; the items taken are highlighted."""
        from corl.problems.knapsack.drawing import draw

        draw(instance, solution, axes)

    def view(self, instance: KnapsackInstance, solution: Any) -> Scene:
        """See `corl.adapter.Problem.view`."""
        from corl.problems.knapsack.drawing import scene

        return scene(instance, solution)

    def environment(
        self, instances: Sequence[KnapsackInstance], rows: int, width: int | None = None, name: str = ""
    ) -> KnapsackEnvironment:
        """Return an environment that fills knapsacks item by item: `rows` states of `instances`.

        The `width` densest items that fit are listed as actions. In the environment "core", items that belong to every
        solution better than a known one are taken at the start.
        """
        from corl.problems.knapsack.environment import KnapsackEnvironment
        from corl.problems.knapsack.environments.core.environment import CoreEnvironment

        environment_class = CoreEnvironment if self.environment_name(name) == "core" else KnapsackEnvironment
        return environment_class(instances, rows) if width is None else environment_class(instances, rows, width)

    def decisions(self, instance: KnapsackInstance, solution: Any, key: int = 0, name: str = "") -> NDArray[np.int64]:
        """Return the actions of an episode that takes the items of `solution`, the densest first.

        An episode continues until no item fits: items that still fit follow, the densest first, so that the episode may end in a
        better solution.
        """
        from corl.problems.knapsack.decisions import decisions

        return decisions(instance, solution, self.environment_name(name))

    def default_policy(self, instance: KnapsackInstance) -> str:
        """Return "knapsack-bq" if there is one capacity, otherwise ""."""
        return "knapsack-bq" if instance.m == 1 else ""

    def warm_up_instance(self, instance: KnapsackInstance) -> KnapsackInstance:
        """Return an instance with the first 12 items, with capacities reduced in proportion to the number of items."""
        n = min(instance.n, 12)
        if n == instance.n:
            return instance
        share = n / instance.n
        return replace(
            instance, values=instance.values[:n], weights=instance.weights[:, :n], capacities=instance.capacities * share
        )


def _span(values: NDArray[np.float64]) -> str:
    """Return the least and the greatest of the numbers as text."""
    return f"{values.min():.10g} to {values.max():.10g}"

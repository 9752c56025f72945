"""`KnapsackModel`: items with values and weights, and one or several capacities."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corl.errors import UsageError
from corl.modelling.common import Names, Solved, compiled, loads, records, to_frame

if TYPE_CHECKING:
    import pandas

    from corl.problems.knapsack.instance import KnapsackInstance

__all__ = ["KnapsackModel", "Selection"]


@dataclass(frozen=True)
class Selection(Solved):
    """The items taken."""

    rows: tuple[dict[str, Any], ...]
    """Of every item: its name, value and weights."""

    @property
    def items(self) -> list[Hashable]:
        """The names of the items taken, in the order in which they were added. Raises UsageError without a solution."""
        return [self.rows[item]["item"] for item in sorted(map(int, self._solution()))]

    def to_frame(self) -> pandas.DataFrame:
        """A row for each item: its data and whether it is taken."""
        taken = set(self.items)
        return to_frame([row | {"taken": row["item"] in taken} for row in self.rows])


class KnapsackModel:
    """Take what is worth most within a capacity, or within several: `KnapsackModel({"money": 50, "hours": 20})`."""

    def __init__(self, capacity: float | Mapping[Hashable, float], name: str = "model") -> None:
        self.name, self._dimensions, self._items = name, Names("capacity"), Names("item")
        self._capacity = loads("the capacity", capacity, self._dimensions, new=True)
        self._rows: list[tuple[float, dict[Hashable, float]]] = []

    @classmethod
    def from_frame(
        cls, frame: pandas.DataFrame, capacity: float | Mapping[Hashable, float], name: str = "model"
    ) -> KnapsackModel:
        """Items from columns `name`, `value` and `weight`, or instead of `weight` a column for every capacity's name."""
        model = cls(capacity, name)
        for row in records(frame):
            kept = {dimension: row.get(str(dimension), 0) for dimension in model._capacity}
            model.add_item(row.get("name"), value=row.get("value", 0), weight=row.get("weight", kept))
        return model

    def add_item(self, name: Hashable, *, value: float, weight: float | Mapping[Hashable, float]) -> None:
        """An item; a weight that is not named is 0. Raises UsageError for a name twice, or a capacity that there is not."""
        weights = loads(f"item {name!r}", weight, self._dimensions, new=False)
        self._items.add(name)
        self._rows.append((value, weights))

    def instance(self) -> KnapsackInstance:
        """What the model compiles to. Raises InputError."""
        from corl.problems.knapsack.problem import Knapsack

        if not self._rows:
            raise UsageError("the model has no items; add_item adds one")
        dimensions = self._dimensions.listed()
        weights = [[row.get(dimension, 0) for _, row in self._rows] for dimension in dimensions]
        capacities = [self._capacity[dimension] for dimension in dimensions]
        given = {
            "name": self.name,
            "values": [value for value, _ in self._rows],
            "weights": weights if len(weights) > 1 else weights[0],
            "capacities": capacities if len(capacities) > 1 else capacities[0],
        }
        return compiled(lambda: Knapsack().adapt(given), {"values": self._items})

    def solve(self, **options: Any) -> Selection:
        """As `corl.solve` of the instance: `time_limit`, `solver` and what else it takes."""
        from corl.solving import solve

        instance, values = self.instance(), zip(self._items.listed(), self._rows)
        rows = tuple({"item": item, "value": value} | {str(key): at for key, at in row.items()} for item, (value, row) in values)
        return Selection(solve(instance, problem="knapsack", **options), rows)

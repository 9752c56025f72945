"""`KnapsackModel`: items with values and weights, and one or several capacities."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corl.arguments import number, refusal, text
from corl.errors import UsageError, shown
from corl.modelling.common import Names, Solved, accepted_cells, compiled, loads, records, solved, to_frame

if TYPE_CHECKING:
    import pandas

    from corl.problems.knapsack.instance import KnapsackInstance

__all__ = ["KnapsackModel", "Selection"]


@dataclass(frozen=True)
class Selection(Solved):
    """The solution of a KnapsackModel: the items that it takes."""

    rows: tuple[dict[str, Any], ...]
    """One row per item of the model: its name, value and weights."""

    @property
    def items(self) -> list[Hashable]:
        """The names of the items taken, in the order of their addition to the model. Raises UsageError without a solution."""
        return [self.rows[item]["item"] for item in sorted(map(int, self._solution()))]

    def _lines(self) -> list[str]:
        return [str(item) for item in self.items]

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each item of the model: its data, and whether the solution takes it. Raises UsageError."""
        chosen_items = set(self.items)
        rows = [row | {"taken": row["item"] in chosen_items} for row in self.rows]
        return to_frame(rows, list(dict.fromkeys(key for row in rows for key in row)))


class KnapsackModel:
    """A model of items with values and weights: the most valuable subset that fits into the capacity is sought.

    There may be several capacities, and a weight for each: `KnapsackModel({"money": 50, "hours": 20})`.
    """

    def __init__(self, capacity: float | Mapping[Hashable, float], name: str = "model") -> None:
        """Create a model without items. Raises UsageError.

        Args:
            capacity: One capacity, or a dict from names to capacities.
            name: The name of the instance.
        """
        self.name, self._dimensions, self._items = text("name", name), Names("capacity"), Names("item")
        self._capacity = loads("capacity", capacity, self._dimensions, new=True)
        if not self._capacity:
            raise refusal("capacity", capacity, "a number from 0, or a dict of such numbers")
        self._rows: list[tuple[float, dict[Hashable, float]]] = []  # per item: its value and weights

    @classmethod
    def from_frame(
        cls, frame: pandas.DataFrame, capacity: float | Mapping[Hashable, float], name: str = "model"
    ) -> KnapsackModel:
        """Return a model with an item for each row of a table. Raises UsageError.

        Args:
            frame: A DataFrame, or dicts, with columns `name`, `value` and `weight`, or one column per capacity instead of the
                column `weight`. An empty cell in a capacity's column is a weight of 0.
            capacity: As for `KnapsackModel`.
            name: The name of the instance.
        """
        model = cls(capacity, name)
        rows, columns = records("frame", frame), list(map(str, model._capacity))
        single = any("weight" in row for row in rows) or columns == ["load"]  # "load": the capacity was one number
        weights = ["weight"] if single else columns
        for column in [] if single else columns:
            if rows and not any(column in row for row in rows):  # no row has the column, so this call raises UsageError
                accepted_cells("the frame", {}, [column], ("name", "value", *columns))
        for at, row in enumerate(rows):
            cells = accepted_cells(
                f"row {at} of the frame", row, ("name", "value", *(weights if single else ())), ("name", "value", *weights)
            )
            by_capacity = {dimension: cells.get(str(dimension), 0) for dimension in model._capacity}
            model.add_item(cells["name"], value=cells["value"], weight=cells["weight"] if single else by_capacity)
        return model

    def add_item(self, name: Hashable, *, value: float, weight: float | Mapping[Hashable, float]) -> None:
        """Add an item. Raises UsageError.

        Args:
            name: The name of the item, which no other item has.
            value: The value of the item, from 0.
            weight: The weight, or a dict from names of capacities to weights; capacities that are not named have weight 0.
        """
        item = self._items.new(name)
        amount = number(f"item {shown(item)}: value", value)
        weights = loads(f"item {shown(item)}: weight", weight, self._dimensions, new=False)
        self._items.add(item)
        self._rows.append((amount, weights))

    def instance(self) -> KnapsackInstance:
        """Return the instance of the model. Raises InputError, or UsageError if the model has no items."""
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
        """Solve the instance with the options of `corl.solve`: `time_limit`, `solver` and others."""
        instance, values = self.instance(), zip(self._items.listed(), self._rows)
        rows = tuple({"item": item, "value": value} | {str(key): at for key, at in row.items()} for item, (value, row) in values)
        return Selection(solved(instance, "knapsack", options), rows)

"""KnapsackInstance: the data of one 0-1 knapsack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.errors import InputError

__all__ = ["LARGEST", "LARGEST_CONSTRAINTS", "LARGEST_ITEMS", "KnapsackInstance", "make_instance"]

LARGEST = 1e12
"""The greatest value, weight or capacity: sums of a million such numbers are still accurate enough in float64."""
LARGEST_ITEMS = 10_000_000
"""The greatest number of items."""
LARGEST_CONSTRAINTS = 10_000
"""The greatest number of capacities."""


@dataclass(frozen=True, eq=False)
class KnapsackInstance:
    """n items that are taken or not, and m capacities that limit the items taken.

    Items are numbered 0..n-1; in the file, they are numbered from `first_item`. All numbers are from 0 to LARGEST. Raises
    InputError for invalid shapes or numbers.
    """

    name: str
    values: NDArray[np.float64]
    """float64 [n]: the values of the items."""
    weights: NDArray[np.float64]
    """float64 [m, n]: how much of each capacity each item uses."""
    capacities: NDArray[np.float64]
    """float64 [m]: the limits of the sums of weights."""
    first_item: int = 0
    """The number of the first item in the file, 0 or 1."""
    comment: str = ""

    def __post_init__(self) -> None:
        values, weights, capacities = (_numbers(getattr(self, key), key) for key in ("values", "weights", "capacities"))
        if values.ndim != 1 or not 1 <= len(values) <= LARGEST_ITEMS:
            raise InputError(f"one number for each of 1 to {LARGEST_ITEMS:,} items is accepted", field="values")
        if capacities.ndim != 1 or not 1 <= len(capacities) <= LARGEST_CONSTRAINTS:
            raise InputError(f"accepted: 1 to {LARGEST_CONSTRAINTS:,} numbers", field="capacities")
        if weights.shape != (len(capacities), len(values)):
            shape = [len(capacities), len(values)]
            raise InputError(f"shape {list(weights.shape)} is not accepted; accepted: {shape}", field="weights")
        if self.first_item not in (0, 1):
            raise InputError(f"{self.first_item!r} is not accepted; accepted: 0 or 1", field="first_item")
        for key, array in (("values", values), ("weights", weights), ("capacities", capacities)):
            if not (array.min() >= 0.0 and array.max() <= LARGEST):  # false for NaN as well
                raise InputError(f"{_offender(array)!r} is not accepted; accepted: 0 to {LARGEST:g}", field=key)
            object.__setattr__(self, key, array)

    @property
    def n(self) -> int:
        """The number of items."""
        return len(self.values)

    @property
    def m(self) -> int:
        """The number of capacities."""
        return len(self.capacities)

    @property
    def integral(self) -> bool:
        """Whether all values are integers, so that every objective value is one."""
        return bool((self.values == np.floor(self.values)).all())


def make_instance(name: str, values: ArrayLike, weights: ArrayLike, capacity: ArrayLike, comment: str = "") -> KnapsackInstance:
    """Return an instance made of lists or arrays. Raises InputError for invalid shapes or numbers.

    Args:
        name: The instance's name.
        values: [n], the values of the items.
        weights: [m, n], the use of each capacity; or [n] if there is one capacity.
        capacity: [m], the capacities; or one number.
        comment: Free text, which files keep.
    """
    weight_table, capacities = _numbers(weights, "weights"), np.atleast_1d(_numbers(capacity, "capacities"))
    if weight_table.ndim == 1:
        weight_table = weight_table[None, :]
    return KnapsackInstance(name, _numbers(values, "values"), weight_table, capacities, comment=comment)


def _numbers(numbers: ArrayLike, field: str) -> NDArray[np.float64]:
    """Return `numbers` as a contiguous float64 array. Raises InputError, for the field `field`, if it is no array of numbers."""
    try:
        array = np.asarray(numbers)
        if array.dtype.kind not in "iuf":
            raise ValueError
        return np.ascontiguousarray(array, np.float64) if array.ndim else np.asarray(array, np.float64)
    except (TypeError, ValueError):
        raise InputError("no array of numbers", field=field) from None


def _offender(array: NDArray[np.float64]) -> float:
    """Return the first number outside 0..LARGEST."""
    return float(array[~((array >= 0.0) & (array <= LARGEST))][0])

"""Renewable resources of an instance: choices that can be used at all, the least work of operations, and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance
    from corl.problems.jobshop.rules import SideConstraints

__all__ = ["least_work", "row_labels", "usable_choices"]


def usable_choices(instance: JobShopInstance) -> NDArray[np.bool_]:
    """Return for each choice whether it needs no more units of any resource than there are, bool [choices]."""
    rules = instance.rules
    if rules is None or rules.capacity is None or rules.demand is None:
        return np.ones(len(instance.choice_machine), bool)
    return np.asarray((rules.demand <= rules.capacity).all(axis=1) | (instance.choice_duration == 0))


def least_work(instance: JobShopInstance, resource: int) -> NDArray[np.int64]:
    """Return the least product of units and duration of each operation on a resource, over its usable choices, int64 [O].

    It is 0 for an operation without a usable choice.
    """
    assert instance.rules is not None and instance.rules.demand is not None
    work = instance.rules.demand[:, resource] * instance.choice_duration.astype(np.int64)
    worst = np.iinfo(np.int64).max
    least = np.minimum.reduceat(np.where(usable_choices(instance), work, worst), instance.choice_first[:-1])
    return np.asarray(np.where(least == worst, 0, least))


def row_labels(rules: SideConstraints) -> list[str]:
    """Return the label of each resource's row: its name, or "resource" and its number."""
    count = 0 if rules.capacity is None else len(rules.capacity)
    return list(rules.resource_names) or [f"resource {r}" for r in range(count)]

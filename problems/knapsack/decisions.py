"""Conversion of items into the decisions that take them, for imitation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.knapsack.environment import KnapsackEnvironment, density
from corl.problems.knapsack.environments.core.environment import CoreEnvironment, core_of
from corl.problems.knapsack.evaluation import check
from corl.problems.knapsack.instance import KnapsackInstance

__all__ = ["decisions"]


def decisions(instance: KnapsackInstance, solution: Any, name: str) -> NDArray[np.int64]:
    """See Knapsack.decisions. In "core", the known solution replaces one without a certain item; it is as good."""
    items = check(instance, solution)
    environment = KnapsackEnvironment([instance], 1, 1)
    if name == "core":
        environment = CoreEnvironment([instance], 1, 1)
        certain, known = core_of(instance)
        if not np.isin(np.flatnonzero(certain), items).all():
            items = np.flatnonzero(known)
        items = items[~certain[items]]
    items = items[np.argsort(-density(instance)[items], kind="stable")]
    for item in items:
        environment.step([0], [0], [item])
    more = []
    while (item := int(environment.actions([0])[0, 0])) >= 0:
        more.append(item)
        environment.step([0], [0], [item])
    return np.append(items, np.array(more, np.int64))

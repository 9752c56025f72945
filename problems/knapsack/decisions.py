"""Conversion of a solution into the actions of an episode, from which imitation learns."""

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
    """Return the actions that take the items of `solution`, and then items that still fit: see `Knapsack.decisions`.

    The environment "core" starts with certain items. A solution without one of them is not better than the known solution of
    `core_of`; the known solution then replaces it.
    """
    items = check(instance, solution)
    environment = KnapsackEnvironment([instance], 1, 1)
    if name == "core":
        environment = CoreEnvironment([instance], 1, 1)
        is_certain, known_items = core_of(instance)
        if not np.isin(np.flatnonzero(is_certain), items).all():
            items = np.flatnonzero(known_items)
        items = items[~is_certain[items]]
    items = items[np.argsort(-density(instance)[items], kind="stable")]
    for item in items:
        environment.step([0], [0], [item])
    additional = []
    while (item := int(environment.actions([0])[0, 0])) >= 0:
        additional.append(item)
        environment.step([0], [0], [item])
    return np.append(items, np.array(additional, np.int64))

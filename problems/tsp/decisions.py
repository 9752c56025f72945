"""From a tour to the decisions that build it: what imitation learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.instance import TspInstance

__all__ = ["decisions"]


def decisions(instance: TspInstance, solution: Any, key: int = 0) -> NDArray[np.int64]:
    """The environment's actions that build a tour from its start for `key`: the cities after `key % n` in the tour's order,
    int64 [n - 1]."""
    tour = np.asarray(solution, np.int64)
    return np.roll(tour, -int((tour == key % instance.n).argmax()))[1:]

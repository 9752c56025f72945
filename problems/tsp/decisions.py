"""The decisions that build a given tour, from which imitation learns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.instance import TspInstance

__all__ = ["decisions"]


def decisions(instance: TspInstance, solution: Any, key: int = 0) -> NDArray[np.int64]:
    """Return the environment's actions that build a tour: the cities after city `key % n` in the tour's order, int64 [n - 1]."""
    tour = np.asarray(solution, np.int64)
    return np.roll(tour, -int((tour == key % instance.n).argmax()))[1:]

"""All tours of a handful of cities."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import metric_of
from corl.solvers.tsp.construction import length_of

__all__ = ["best_of_all"]


def best_of_all(instance: TspInstance) -> NDArray[np.int32]:
    """A shortest tour, int32 [n], by looking at all (n - 1)! of them: for n up to 7."""
    metric = metric_of(instance)
    tours = np.array([(0, *rest) for rest in permutations(range(1, instance.n))], np.int32)
    return tours[int(np.argmin([length_of(metric, tour) for tour in tours]))]

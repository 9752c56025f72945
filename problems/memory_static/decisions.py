"""From an allocation to the decisions that build it: what imitation learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.memory_static.evaluation import check
from corl.problems.memory_static.instance import StaticInstance

__all__ = ["decisions"]


def decisions(instance: StaticInstance, solution: Any) -> NDArray[np.int64]:
    """The buffers, int64 [k], that are not fixed, the lowest first: placed so, each comes to its offset or below it.

    Raises Infeasible for what is no allocation.
    """
    order = np.argsort(check(instance, solution), kind="stable")
    return order[instance.fixed[order] < 0]

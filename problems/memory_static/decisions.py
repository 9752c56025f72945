"""Conversion of an allocation into actions of the environment that build it, for imitation learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.memory_static.evaluation import check
from corl.problems.memory_static.instance import StaticInstance

__all__ = ["decisions"]


def decisions(instance: StaticInstance, solution: Any) -> NDArray[np.int64]:
    """Return the buffers that are not fixed in increasing order of their offsets, int64 [k].

    In this order the environment places each buffer at its offset in `solution` or below. Raises Infeasible if `solution` is not
    a feasible allocation.
    """
    order = np.argsort(check(instance, solution), kind="stable")
    return order[instance.fixed[order] < 0]

"""The decisions that build a given sequence; imitation learns from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.flowshop.evaluation import check
from corl.problems.flowshop.instance import FlowShopInstance

__all__ = ["decisions"]


def decisions(instance: FlowShopInstance, solution: Any) -> NDArray[np.int64]:
    """Return the jobs in their sequence, int64 [n]. Raises Infeasible for anything but a sequence of all jobs."""
    return check(instance, solution)

"""The decisions that build a given sequence, as examples for imitation learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.flowshop.evaluation import check
from corl.problems.flowshop.instance import FlowShopInstance

__all__ = ["decisions"]


def decisions(instance: FlowShopInstance, solution: Any) -> NDArray[np.int64]:
    """Return the actions, int64 [n]: the jobs in the order of `solution`. Raises Infeasible unless each job occurs once."""
    return check(instance, solution)

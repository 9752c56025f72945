"""From a sequence to the decisions that build it: what imitation learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.flowshop.evaluation import check
from corl.problems.flowshop.instance import FlowShopInstance

__all__ = ["decisions"]


def decisions(instance: FlowShopInstance, solution: Any) -> NDArray[np.int64]:
    """The jobs, int64 [n], in their sequence. Raises Infeasible for what is no sequence of all jobs."""
    return check(instance, solution)

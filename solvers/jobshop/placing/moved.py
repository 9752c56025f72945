"""The cost of deviating from an announced schedule, in the kernels that build schedules."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.jit import kernel

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance
    from corl.problems.jobshop.rules import SideConstraints

__all__ = ["change_arrays", "change_cost"]


def change_arrays(instance: JobShopInstance, rules: SideConstraints) -> dict[str, Any]:
    """Return the fields of a Shop for the costs of changes; `announced_start` is empty if there are none."""
    changes = rules.changes
    if changes is None:
        empty = np.zeros(0, np.int64)
        return {"announced_start": empty, "announced_machine": empty, "change_costs": np.zeros(2, np.int64)}
    return {
        "announced_start": changes.start.copy(),
        "announced_machine": changes.machine.copy(),
        "change_costs": np.array([changes.per_machine, changes.per_time]),
    }


@kernel(borrow=True)
def change_cost(shop, plan):
    """Return what a complete plan costs for changes of the announced schedule."""
    cost = 0
    for i in range(len(shop.announced_start)):
        if shop.announced_start[i] >= 0:
            if shop.machine[plan.choice[i]] != shop.announced_machine[i]:
                cost += shop.change_costs[0]
            cost += shop.change_costs[1] * abs(plan.start[i] - shop.announced_start[i])
    return float(cost)

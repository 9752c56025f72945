"""Lower bounds on the run time, proven from the rules of the simulator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance

__all__ = ["best_bound", "op_bounds", "quick_bound"]

_MOST = 2000  # accesses up to which the linear program is solved


def op_bounds(instance: MappingInstance) -> NDArray[np.float64]:
    """Return lower bounds on the seconds of each operation, float64 [O], as if fast memory were free for its tensors alone.

    The bytes that fast memory serves are limited by the tensors that fit into it at once (`most_served`).
    """
    from corl.solvers.memory.relaxation import most_served

    machine, n = instance.machine, instance.ops
    saving = max(0.0, 1.0 / machine.slow_bandwidth - 1.0 / machine.fast_bandwidth)
    total = np.bincount(instance.access_op, instance.access_bytes.astype(float), n)
    memory = total / machine.slow_bandwidth - saving * most_served(instance)
    return np.asarray(machine.overhead + np.maximum(instance.compute, memory))


def best_bound(instance: MappingInstance, remaining: Callable[[], float] = lambda: math.inf) -> float:
    """Return the better of `quick_bound` and, for up to 2,000 accesses, the linear relaxation; in microseconds.

    The relaxation is skipped if it is not solved within the `remaining` seconds.
    """
    from corl.solvers.memory.relaxation import relaxation

    quick = quick_bound(instance)
    relaxed = relaxation(instance, remaining=remaining) if len(instance.access_tensor) <= _MOST else None
    return quick if relaxed is None else max(quick, relaxed)


def quick_bound(instance: MappingInstance) -> float:
    """Return a lower bound in microseconds: the sum of `op_bounds`, or the time that slow memory needs for unavoidable traffic.

    Inputs and weights that are read leave slow memory at least once, by a copy or by an operation; outputs enter it once.
    """
    tensor, away = instance.access_tensor, np.array([kind != "activation" for kind in instance.kinds], np.bool_)
    least = np.where(away, instance.sizes, 0)
    np.minimum.at(least, tensor, instance.access_bytes)
    least[np.bincount(tensor, minlength=instance.tensors) == 0] = 0
    slow = sum(least.tolist()) / instance.machine.slow_bandwidth
    return float(1e6 * (1.0 - 1e-12) * max(float(op_bounds(instance).sum()), slow))

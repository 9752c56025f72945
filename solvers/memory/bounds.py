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

_MAX_ACCESSES = 2000  # the largest number of accesses for which the linear program is solved


def op_bounds(instance: MappingInstance) -> NDArray[np.float64]:
    """Return a lower bound on the duration of each operation in seconds, float64 [O].

    Each operation is considered alone, as if the whole fast memory were free for its tensors. Fast memory can serve only accesses
    to tensors that fit into it at the same time (`most_served`).
    """
    from corl.solvers.memory.relaxation import most_served

    machine, n = instance.machine, instance.ops
    saving = max(0.0, 1.0 / machine.slow_bandwidth - 1.0 / machine.fast_bandwidth)  # seconds per byte
    total = np.bincount(instance.access_op, instance.access_bytes.astype(float), n)
    memory = total / machine.slow_bandwidth - saving * most_served(instance)
    return np.asarray(machine.overhead + np.maximum(instance.compute, memory))


def best_bound(instance: MappingInstance, remaining: Callable[[], float] = lambda: math.inf) -> float:
    """Return the better of `quick_bound` and, for up to 2,000 accesses, the bound of the linear relaxation, in microseconds.

    `remaining` returns the seconds that are left; a relaxation that is not solved in this time does not count.
    """
    from corl.solvers.memory.relaxation import relaxation

    quick = quick_bound(instance)
    relaxed = relaxation(instance, remaining=remaining) if len(instance.access_tensor) <= _MAX_ACCESSES else None
    return quick if relaxed is None else max(quick, relaxed)


def quick_bound(instance: MappingInstance) -> float:
    """Return a lower bound in microseconds: the sum of `op_bounds`, or the time that slow memory needs for unavoidable traffic.

    Inputs and weights that are read leave slow memory at least once, by a copy or by an operation's access, whichever has fewer
    bytes. Outputs enter slow memory once in the same way.
    """
    tensor, uses_slow = instance.access_tensor, np.array([kind != "activation" for kind in instance.kinds], np.bool_)
    least_bytes = np.where(uses_slow, instance.sizes, 0)
    np.minimum.at(least_bytes, tensor, instance.access_bytes)
    least_bytes[np.bincount(tensor, minlength=instance.tensors) == 0] = 0
    slow = sum(least_bytes.tolist()) / instance.machine.slow_bandwidth
    return float(1e6 * (1.0 - 1e-12) * max(float(op_bounds(instance).sum()), slow))

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
    """Least seconds of each operation, float64 [O]: fast memory is free for its own tensors, as far as these fit in.

    What an operation has in fast memory at once is at most the capacity (`most_served`).
    """
    from corl.solvers.memory.relaxation import most_served

    machine, n = instance.machine, instance.ops
    saving = max(0.0, 1.0 / machine.slow_bandwidth - 1.0 / machine.fast_bandwidth)
    total = np.bincount(instance.access_op, instance.access_bytes.astype(float), n)
    memory = total / machine.slow_bandwidth - saving * most_served(instance)
    return np.asarray(machine.overhead + np.maximum(instance.compute, memory))


def best_bound(instance: MappingInstance, remaining: Callable[[], float] = lambda: math.inf) -> float:
    """The better of `quick_bound` and, for programs of up to 2,000 accesses, the linear relaxation; in microseconds.

    The relaxation is left out where it is not solved in the `remaining` seconds.
    """
    from corl.solvers.memory.relaxation import relaxation

    quick = quick_bound(instance)
    relaxed = relaxation(instance, remaining=remaining) if len(instance.access_tensor) <= _MOST else None
    return quick if relaxed is None else max(quick, relaxed)


def quick_bound(instance: MappingInstance) -> float:
    """A lower bound in microseconds: the sum of `op_bounds`, or the time that slow memory needs for what it cannot be spared.

    Inputs and weights that are read leave slow memory once at least, in a copy or for the operations that read them; outputs
    come to it once.
    """
    tensor, away = instance.access_tensor, np.array([kind != "activation" for kind in instance.kinds], np.bool_)
    least = np.where(away, instance.sizes, 0)
    np.minimum.at(least, tensor, instance.access_bytes)
    least[np.bincount(tensor, minlength=instance.tensors) == 0] = 0
    slow = sum(least.tolist()) / instance.machine.slow_bandwidth
    return float(1e6 * (1.0 - 1e-12) * max(float(op_bounds(instance).sum()), slow))

"""Lower bounds on the run time, proven from the rules of the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corl.problems.memory.mapping.instance import MappingInstance
    from corl.solvers.memory.mapping.relaxation import Relaxed

__all__ = ["best_bound", "bound_and_shares", "op_bounds", "quick_bound"]

_MOST = 2000  # accesses up to which the linear program is solved


def op_bounds(instance: MappingInstance) -> NDArray[np.float64]:
    """Least seconds of each operation, float64 [O]: fast memory is free for its own tensors, as far as these fit in.

    What an operation has in fast memory at once is at most the capacity (`most_served`).
    """
    from corl.solvers.memory.mapping.relaxation import most_served

    machine, n = instance.machine, instance.ops
    saving = max(0.0, 1.0 / machine.slow_bandwidth - 1.0 / machine.fast_bandwidth)
    total = np.bincount(instance.access_op, instance.access_bytes.astype(float), n)
    memory = total / machine.slow_bandwidth - saving * np.array([most_served(instance, i) for i in range(n)])
    return np.asarray(machine.overhead + np.maximum(instance.compute, memory))


def best_bound(instance: MappingInstance) -> float:
    """The better of `quick_bound` and, for programs of up to 2,000 accesses, the linear relaxation; in microseconds."""
    return bound_and_shares(instance)[0]


def bound_and_shares(instance: MappingInstance) -> tuple[float, Relaxed | None]:
    """What `best_bound` says, and the relaxation's solution, if there is one."""
    from corl.solvers.memory.mapping.relaxation import relaxation

    quick = quick_bound(instance)
    relaxed = relaxation(instance) if len(instance.access_tensor) <= _MOST else None
    return (quick, None) if relaxed is None else (max(quick, relaxed.bound), relaxed)


def quick_bound(instance: MappingInstance) -> float:
    """A lower bound in microseconds: the sum of `op_bounds`, or the time that slow memory needs for what it cannot be spared.

    Inputs and weights that are read leave slow memory once at least, in a copy or for the operations that read them; outputs
    come to it once.
    """
    least: dict[int, int] = {}
    for a, t in enumerate(instance.access_tensor.tolist()):
        if instance.kinds[t] != "activation":
            moved = min(int(instance.access_bytes[a]), int(instance.sizes[t]))
            least[t] = min(moved, least.get(t, moved))
    slow = sum(least.values()) / instance.machine.slow_bandwidth
    return 1e6 * (1.0 - 1e-12) * max(float(op_bounds(instance).sum()), slow)

"""The judge: the height of an allocation, which is the memory that it takes, and its feasibility."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.memory_static.instance import LARGEST, StaticInstance, first_overlap

__all__ = ["check", "objective"]


def check(instance: StaticInstance, solution: Any) -> NDArray[np.int64]:
    """Return `solution` as offsets, int64 [n], if it is feasible. Raises Infeasible, naming the first violation and buffer."""
    try:
        offsets = np.asarray(solution)
    except ValueError:  # ragged
        raise Infeasible("a solution is an offset for every buffer") from None
    if offsets.shape != (instance.n,):
        shape = list(offsets.shape)
        raise Infeasible(f"a solution is an offset for every buffer: an array of shape {[instance.n]}, not {shape}")
    if offsets.dtype.kind not in "iu":
        raise Infeasible(f"offsets are integers, not {offsets.dtype}")
    if (wrong := (offsets < 0) | (offsets > LARGEST)).any():
        at = int(wrong.argmax())
        raise Infeasible(f"the offset of buffer {instance.ids[at]!r} is {offsets[at]}; accepted: 0 to {LARGEST:,}")
    offsets = offsets.astype(np.int64)
    if (misaligned := offsets % instance.alignment != 0).any():
        at = int(misaligned.argmax())
        fact = f"the offset of buffer {instance.ids[at]!r} is {offsets[at]}"
        raise Infeasible(f"{fact}, no multiple of its alignment, {instance.alignment[at]}")
    if (moved := (instance.fixed >= 0) & (instance.fixed != offsets)).any():
        at = int(moved.argmax())
        raise Infeasible(f"the offset of buffer {instance.ids[at]!r} is {offsets[at]}; it is fixed at {instance.fixed[at]}")
    if pair := first_overlap(instance.lower, instance.upper, offsets, instance.size):
        a, b = (instance.ids[k] for k in pair)
        raise Infeasible(f"buffers {a!r} and {b!r} overlap in memory while both are alive")
    return offsets


def objective(instance: StaticInstance, solution: Any) -> float:
    """Return the height: the largest offset + size of a buffer. Raises Infeasible if `solution` is not feasible."""
    return float((check(instance, solution) + instance.size).max())

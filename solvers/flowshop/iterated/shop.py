"""A shop and a sequence in it as kernels have them: seen from the front and, mirrored, from the back.

Mirrored, time runs backwards: the last machine comes first and the last job is the first. When a machine has done the first k
jobs of the mirrored sequence is then how long it is, in the shop itself, from the start of the k-th job from the end to the end
of all: a tail, with the same kernel as the heads. So Taillard's acceleration (EJOR 47, 1990) needs one recursion alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.flowshop.instance import FlowShopInstance

__all__ = ["Side", "side", "sides"]


class Side(NamedTuple):
    """A shop seen from one side, with n jobs and m machines, and the sequence in it, of up to n jobs."""

    duration: NDArray[np.int32]
    """[n, m]"""
    setup: NDArray[np.int32]
    """[m, n, n + 1], the set-up of a machine for a job after another one (n: after none); [1, 1, 1] where there are none."""
    jobs: NDArray[np.int32]
    """[n + 1] the sequence; what stands behind its end has no meaning."""
    done: NDArray[np.int32]
    """[m, n + 1] when each machine has done the first k jobs, as far as it is known."""
    known: NDArray[np.int64]
    """[1] for how many k > 0 it is."""


def sides(instance: FlowShopInstance) -> tuple[Side, Side]:
    """An instance from the front and from the back, with empty sequences."""
    front, back = None, None
    if instance.setup is not None:
        front = np.ascontiguousarray(instance.setup.transpose(0, 2, 1), np.int32)
        mirrored = instance.setup[::-1, : instance.jobs]  # of a job before another one
        back = np.concatenate([mirrored, np.zeros((*mirrored.shape[:2], 1), np.int64)], axis=2).astype(np.int32)
    return side(instance.duration, front), side(instance.duration[:, ::-1], back)


def side(duration: NDArray[np.int64], setup: NDArray[np.int32] | None) -> Side:
    """A side with an empty sequence; `setup` [m, n, n + 1]."""
    jobs, machines = duration.shape
    return Side(
        duration=np.ascontiguousarray(duration, np.int32),
        setup=np.zeros((1, 1, 1), np.int32) if setup is None else setup,
        jobs=np.zeros(jobs + 1, np.int32),
        done=np.zeros((machines, jobs + 1), np.int32),
        known=np.zeros(1, np.int64),
    )

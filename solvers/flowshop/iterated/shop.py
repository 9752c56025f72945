"""A shop and a sequence as arrays for kernels, in two directions: forward and mirrored.

In the mirrored shop time runs backwards: the last machine is the first, and the last job is the first. The time at which a
machine ends the first k jobs of the mirrored sequence is, in the shop itself, the tail: the time from the start of the k-th last
job there to the makespan. So one kernel computes heads and tails, and Taillard's acceleration (EJOR 47, 1990) needs only one
recursion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.flowshop.instance import FlowShopInstance

__all__ = ["Side", "side", "sides"]


class Side(NamedTuple):
    """A shop of n jobs and m machines in one direction, and the current sequence in it, of up to n jobs."""

    duration: NDArray[np.int32]
    """[n, m] durations."""
    setup: NDArray[np.int32]
    """[m, n, n + 1] set-up times of a machine for a job after another one (n: as the first); [1, 1, 1] without set-ups."""
    jobs: NDArray[np.int32]
    """[n + 1] the sequence; entries after its end have no meaning."""
    done: NDArray[np.int32]
    """[m, n + 1] when each machine ends the first k jobs; valid for k up to `known`."""
    known: NDArray[np.int64]
    """[1] the greatest k for which `done` is valid."""


def sides(instance: FlowShopInstance) -> tuple[Side, Side]:
    """Return the forward and the mirrored side of an instance, with empty sequences."""
    front, back = None, None
    if instance.setup is not None:
        front = np.ascontiguousarray(instance.setup.transpose(0, 2, 1), np.int32)
        mirrored = instance.setup[::-1, : instance.jobs]  # the set-up from one job to the one before it in the mirrored sequence
        back = np.concatenate([mirrored, np.zeros((*mirrored.shape[:2], 1), np.int64)], axis=2).astype(np.int32)
    return side(instance.duration, front), side(instance.duration[:, ::-1], back)


def side(duration: NDArray[np.int64], setup: NDArray[np.int32] | None) -> Side:
    """Return a side with an empty sequence; `duration` [n, m], `setup` [m, n, n + 1]."""
    jobs, machines = duration.shape
    return Side(
        duration=np.ascontiguousarray(duration, np.int32),
        setup=np.zeros((1, 1, 1), np.int32) if setup is None else setup,
        jobs=np.zeros(jobs + 1, np.int32),
        done=np.zeros((machines, jobs + 1), np.int32),
        known=np.zeros(1, np.int64),
    )

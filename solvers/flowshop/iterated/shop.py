"""A shop and a sequence as arrays for kernels, in two directions: forward and mirrored.

In the mirrored shop time runs backwards: the last machine comes first, and so does the last job. The time at which a machine ends
the first k jobs of the mirrored sequence is a tail of the shop itself: the time from the start of the k-th last job on that
machine to the makespan. So one kernel computes both the heads and the tails that Taillard's acceleration (EJOR 47, 1990) needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.flowshop.instance import FlowShopInstance

__all__ = ["Side", "side", "sides"]


class Side(NamedTuple):
    """A shop of n jobs and m machines in one direction, with a sequence of up to n jobs."""

    duration: NDArray[np.int32]
    """[n, m] the duration of each job on each machine."""
    setup: NDArray[np.int32]
    """[m, n, n + 1] setup[i, b, a] is the set-up time of machine i for job b directly after job a, setup[i, b, n] the set-up
    time for b as the first job. [1, 1, 1] if the instance has no set-ups."""
    jobs: NDArray[np.int32]
    """[n + 1] the sequence; entries after its end have no meaning."""
    done: NDArray[np.int32]
    """[m, n + 1] done[i, k] is the time at which machine i ends the first k jobs; valid for k up to valid_length[0]."""
    valid_length: NDArray[np.int64]
    """[1] the largest k for which `done` is valid."""


def sides(instance: FlowShopInstance) -> tuple[Side, Side]:
    """Return the forward and the mirrored side of an instance, with empty sequences."""
    front, back = None, None
    if instance.setup is not None:
        front = np.ascontiguousarray(instance.setup.transpose(0, 2, 1), np.int32)
        mirrored = instance.setup[::-1, : instance.jobs]  # mirrored, [i, b, a] is [m - 1 - i, b, a] of `instance`: b precedes a
        back = np.concatenate([mirrored, np.zeros((*mirrored.shape[:2], 1), np.int64)], axis=2).astype(np.int32)
    return side(instance.duration, front), side(instance.duration[:, ::-1], back)


def side(duration: NDArray[np.int64], setup: NDArray[np.int32] | None) -> Side:
    """Return a side with an empty sequence; duration: int64 [n, m], setup: int32 [m, n, n + 1]."""
    jobs, machines = duration.shape
    return Side(
        duration=np.ascontiguousarray(duration, np.int32),
        setup=np.zeros((1, 1, 1), np.int32) if setup is None else setup,
        jobs=np.zeros(jobs + 1, np.int32),
        done=np.zeros((machines, jobs + 1), np.int32),
        valid_length=np.zeros(1, np.int64),
    )

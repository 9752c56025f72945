"""The input of the encoder: the static features of an instance's operations, and the graph of the operations."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["STATIC", "SlimInstance", "graph", "slim_instance"]

STATIC = 15
"""The number of static features of an operation."""
_CLIP = 4.0  # limit of the features, in mean durations or in mean work of a job
_QUARTILES = (0.25, 0.5, 0.75)


class SlimInstance(NamedTuple):
    """An instance of N operations, J jobs and M machines without choices, for the kernels."""

    first: NDArray[np.int32]
    """[J + 1] the first operation of each job, then N."""
    machine: NDArray[np.int32]
    """[N] the machine of each operation."""
    duration: NDArray[np.int32]
    """[N] durations, in the instance's time units."""
    work_left: NDArray[np.int32]
    """[N] for each operation, the sum of the durations of its job's operations from this one on."""
    release: NDArray[np.int32]
    """[J] release dates."""
    machine_work: NDArray[np.int32]
    """[M] for each machine, the sum of the durations of its operations."""
    machine_offset: NDArray[np.int32]
    """[M + 1] the index of each machine's first operation in `member`, then N."""
    member: NDArray[np.int32]
    """[N] the operations, grouped by machine."""
    features: NDArray[np.float32]
    """[STATIC, N] static features (`slim_instance`)."""
    unit: float
    """The mean duration; 1 if all durations are 0."""


def slim_instance(instance: JobShopInstance) -> SlimInstance:
    """Return the SlimInstance of an instance without choices of machines.

    The features are those of Corsini et al. (NeurIPS 2024): the operation's duration; the work (sum of durations) of its job up
    to the end of the operation, and after it; the quartiles of the durations in its job, and of the durations on its machine; and
    the differences between the operation's duration and these quartiles. So that the features do not depend on the time unit,
    durations are divided by their mean, and work by the mean work of a job; both are clipped.
    """
    machine, duration = instance.choice_machine, instance.choice_duration
    n, first = len(machine), instance.first
    job_work = np.add.reduceat(duration, first[:-1], dtype=np.int64)
    work_done = np.cumsum(duration, dtype=np.int64) - np.repeat(np.cumsum(job_work) - job_work, np.diff(first))
    work_left = np.repeat(job_work, np.diff(first)) - work_done + duration
    machine_offset = np.concatenate([[0], np.cumsum(np.bincount(machine, minlength=instance.machines))]).astype(np.int32)
    member = np.argsort(machine, kind="stable").astype(np.int32)
    unit, mean_job_work = float(duration.mean()) or 1.0, float(job_work.mean()) or 1.0
    of_job, of_machine = np.empty((3, n)), np.empty((3, n))
    for a, b in pairwise(first):
        of_job[:, a:b] = np.quantile(duration[a:b], _QUARTILES)[:, None]
    for a, b in pairwise(machine_offset):
        if b > a:
            of_machine[:, member[a:b]] = np.quantile(duration[member[a:b]], _QUARTILES)[:, None]
    times = np.concatenate([duration[None], of_job, of_machine, duration - of_job, duration - of_machine]) / unit
    work = np.stack([work_done, work_left - duration]) / mean_job_work
    features = np.concatenate([times[:1], work, times[1:]])
    return SlimInstance(
        first, machine, duration, work_left.astype(np.int32), instance.release.astype(np.int32),
        np.bincount(machine, duration, instance.machines).astype(np.int32), machine_offset, member,
        np.clip(features, -_CLIP, _CLIP).astype(np.float32), unit,
    )  # fmt: skip


def graph(shop: SlimInstance) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges of the graph of operations, int64 [2, E] (from, to), and the kinds of the edges, int64 [E].

    An edge into an operation comes from its job predecessor (kind 0), from its job successor (kind 1), or from an operation of
    the same machine, itself included (kind 2).
    """
    n = len(shop.machine)
    has_predecessor = np.ones(n, bool)
    has_predecessor[shop.first[:-1]] = False
    later = np.flatnonzero(has_predecessor)
    edges = [np.stack((later - 1, later)), np.stack((later, later - 1))]
    kinds = [np.zeros(len(later), np.int64), np.ones(len(later), np.int64)]
    for a, b in pairwise(shop.machine_offset):
        member = shop.member[a:b].astype(np.int64)
        edges.append(np.stack((np.tile(member, b - a), np.repeat(member, b - a))))
        kinds.append(np.full((b - a) ** 2, 2))
    return np.concatenate(edges, 1), np.concatenate(kinds)

"""Static features of an instance, and its graph, which the encoder takes."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["STATIC", "SlimInstance", "graph", "slim_instance"]

STATIC = 15
"""Number of static features of an operation."""
_CLIP = 4.0  # in mean durations, or mean lengths of a job
_QUARTILES = (0.25, 0.5, 0.75)


class SlimInstance(NamedTuple):
    """An instance of N operations, J jobs and M machines without choices, for the kernels."""

    first: NDArray[np.int32]
    """[J + 1] the offset of each job's operations."""
    machine: NDArray[np.int32]
    """[N] the machine of each operation."""
    duration: NDArray[np.int32]
    """[N] in the instance's time units."""
    rest: NDArray[np.int32]
    """[N] the duration of an operation plus those of all later ones of its job."""
    release: NDArray[np.int32]
    """[J] release dates."""
    load: NDArray[np.int32]
    """[M] the sum of the durations of a machine's operations."""
    begin: NDArray[np.int32]
    """[M + 1] the offset of each machine's operations in `member`."""
    member: NDArray[np.int32]
    """[N] the operations, grouped by machine."""
    features: NDArray[np.float32]
    """[STATIC, N] static features (`slim_instance`)."""
    unit: float
    """The mean duration, above 0."""


def slim_instance(instance: JobShopInstance) -> SlimInstance:
    """Return the SlimInstance of an instance without choices of machines.

    The features are the paper's: the duration; the work of the job up to the operation's end, and the work after it; the
    quartiles of the durations in its job and on its machine; and the differences between the duration and these quartiles.
    Durations are divided by their mean, work by the mean length of a job, so that the features do not depend on the time unit;
    both are clipped.
    """
    machine, duration = instance.choice_machine, instance.choice_duration
    n, first = len(machine), instance.first
    whole = np.add.reduceat(duration, first[:-1], dtype=np.int64)
    done = np.cumsum(duration, dtype=np.int64) - np.repeat(np.cumsum(whole) - whole, np.diff(first))
    rest = np.repeat(whole, np.diff(first)) - done + duration
    begin = np.concatenate([[0], np.cumsum(np.bincount(machine, minlength=instance.machines))]).astype(np.int32)
    member = np.argsort(machine, kind="stable").astype(np.int32)
    unit, length = float(duration.mean()) or 1.0, float(whole.mean()) or 1.0
    of_job, of_machine = np.empty((3, n)), np.empty((3, n))
    for a, b in pairwise(first):
        of_job[:, a:b] = np.quantile(duration[a:b], _QUARTILES)[:, None]
    for a, b in pairwise(begin):
        if b > a:
            of_machine[:, member[a:b]] = np.quantile(duration[member[a:b]], _QUARTILES)[:, None]
    times = np.concatenate([duration[None], of_job, of_machine, duration - of_job, duration - of_machine]) / unit
    features = np.concatenate([times[:1], done[None] / length, (rest - duration)[None] / length, times[1:]])
    return SlimInstance(
        first, machine, duration, rest.astype(np.int32), instance.release.astype(np.int32),
        np.bincount(machine, duration, instance.machines).astype(np.int32), begin, member,
        np.clip(features, -_CLIP, _CLIP).astype(np.float32), unit,
    )  # fmt: skip


def graph(shop: SlimInstance) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges of the graph of operations, int64 [2, E] (from, to), and their kinds, int64 [E].

    Kind 0 comes from the job predecessor, 1 from the job successor, 2 from each operation of the same machine, itself included.
    """
    n = len(shop.machine)
    follows = np.ones(n, bool)
    follows[shop.first[:-1]] = False
    later = np.flatnonzero(follows)
    parts = [np.stack((later - 1, later)), np.stack((later, later - 1))]
    kinds = [np.zeros(len(later), np.int64), np.ones(len(later), np.int64)]
    for a, b in pairwise(shop.begin):
        member = shop.member[a:b].astype(np.int64)
        parts.append(np.stack((np.tile(member, b - a), np.repeat(member, b - a))))
        kinds.append(np.full((b - a) ** 2, 2))
    return np.concatenate(parts, 1), np.concatenate(kinds)

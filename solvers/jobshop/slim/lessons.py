"""Lessons that the policy gives itself: the best of many sampled schedules of an instance, step by step."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.generators import taillard
from corl.solvers.jobshop.slim.construct import advance, new_partial, replay
from corl.solvers.jobshop.slim.decoder import new_lanes
from corl.solvers.jobshop.slim.encoder import encoded
from corl.solvers.jobshop.slim.plan import Plan, plan_of
from corl.solvers.jobshop.slim.weights import CONTEXT, Weights

if TYPE_CHECKING:
    from torch import Tensor

    from corl.solvers.jobshop.slim.network import SlimNetwork

__all__ = ["Lesson", "batch", "graph", "lesson", "loss_of"]

_TOGETHER = 160  # lanes: their numbers fit into the fast caches


class Lesson(NamedTuple):
    """An instance of N operations and J jobs, and how its best sampled schedule is built in N steps."""

    plan: Plan
    context: NDArray[np.float32]
    """[N, J, CONTEXT]"""
    operation: NDArray[np.int64]
    """[N, J] the next operation of each job, -1 where it is done."""
    chosen: NDArray[np.int64]
    """[N] the job."""
    best: int
    """Its makespan."""
    mean: float
    """The mean makespan of all samples."""


def lesson(jobs: int, machines: int, weights: Weights, samples: int, seed: int) -> Lesson:
    """Sample schedules of a new instance of Taillard's kind and keep the best one."""
    plan = plan_of(taillard(jobs=jobs, machines=machines, seed=seed))
    embedded, values, ways = encoded(plan, weights), [], []
    together = max(1, min(samples, _TOGETHER // jobs))
    lanes = new_lanes(together, jobs)
    for number in range(0, samples, together):
        partial = new_partial(plan, together, seed, number)
        advance(plan, weights, embedded, partial, lanes, 1.0, len(plan.machine))
        values.append(partial.ready.max(1))
        ways.append(partial.chosen)
    value, way = np.concatenate(values)[:samples], np.concatenate(ways)[:samples]
    best = int(value.argmin())
    context = np.zeros((len(plan.machine), jobs, CONTEXT), np.float32)
    operation = np.zeros((len(plan.machine), jobs), np.int64)
    replay(plan, way[best], new_partial(plan, 1), new_lanes(1, jobs), context, operation)
    return Lesson(plan, context, operation, way[best].astype(np.int64), int(value[best]), float(value.mean()))


def graph(plan: Plan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The edges along which operations hear of one another, int64 [2, E] (from, to), and their kinds, int64 [E].

    Kind 0 comes from the operation before in the job, 1 from the one after, 2 from each of the same machine, itself too.
    """
    n = len(plan.machine)
    follows = np.ones(n, bool)
    follows[plan.first[:-1]] = False
    later = np.flatnonzero(follows)
    parts = [np.stack((later - 1, later)), np.stack((later, later - 1))]
    kinds = [np.zeros(len(later), np.int64), np.ones(len(later), np.int64)]
    for a, b in pairwise(plan.begin):
        member = plan.member[a:b].astype(np.int64)
        parts.append(np.stack((np.tile(member, b - a), np.repeat(member, b - a))))
        kinds.append(np.full((b - a) ** 2, 2))
    return np.concatenate(parts, 1), np.concatenate(kinds)


def batch(lessons: list[Lesson]) -> tuple[Tensor, ...]:
    """Several lessons with as many jobs as one: nodes, links, kinds, context, operation, chosen (see SlimNetwork)."""
    import torch

    nodes, links, kinds, operations, offset = [], [], [], [], 0
    for one in lessons:
        link, kind = graph(one.plan)
        nodes.append(one.plan.features.T)
        links.append(link + offset)
        kinds.append(kind)
        operations.append(np.where(one.operation >= 0, one.operation + offset, -1))
        offset += len(one.plan.machine)
    parts = (
        np.concatenate(nodes), np.concatenate(links, 1), np.concatenate(kinds), np.concatenate([one.context for one in lessons]),
        np.concatenate(operations), np.concatenate([one.chosen for one in lessons]),
    )  # fmt: skip
    return tuple(torch.from_numpy(np.ascontiguousarray(part)) for part in parts)


def loss_of(network: SlimNetwork, lessons: list[Lesson]) -> Tensor:
    """The mean cross-entropy of the jobs chosen, over all steps of all lessons, which have as many jobs."""
    from torch.nn import functional

    device = next(network.parameters()).device
    nodes, links, kinds, context, operation, chosen = (part.to(device) for part in batch(lessons))
    return functional.cross_entropy(network.decode(network.encode(nodes, links, kinds), context, operation), chosen)

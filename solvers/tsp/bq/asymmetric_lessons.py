"""States of the ATSP with the way on that our own search finds: on its tours, and on its ways out of worse beginnings.

A policy that only ever sees the teacher's states does not know what to do after its first mistake (Ross, Gordon & Bagnell,
AISTATS 2011). So a part of the tours begins as rules with faults go; then the teacher completes it as well as can be.
What remains of a tour is an ATSP itself: the origin gives its row, the destination its column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.learning.source import Source
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.generators import asymmetric
from corl.problems.tsp.instance import TspInstance
from corl.solvers.tsp.bq.imitation import Examples

__all__ = ["examples", "least_estimate", "way_on"]

_EACH = 64  # states of a tour that a batch has at most ...
_NEXT = 16  # ... among them those right after its beginning
_SPOILT = 0.5  # share of the tours that begin by a rule
_FAULTS = 0.1  # share of its steps that go to one of the next best cities instead
_TEACHER = 300  # iterations of the search: within 0.1 % of the best at 100 cities (measured)


def examples(
    seed: int, smallest: int, largest: int, tours: int, features: str, source: Source | None
) -> Callable[[int], Examples]:
    """A maker for corl.learning.workers: batch i is of `tours` new instances of `smallest` to `largest` cities, or a source's."""
    from corl.registry import problem

    tokens_of = problem("tsp").features[features]

    def batch(i: int) -> Examples:
        random = np.random.default_rng([seed, i])
        sizes = np.exp(random.uniform(np.log(smallest), np.log(largest + 1), tours)).astype(int)
        if source is None:
            instances = [asymmetric(size=int(n), seed=int(random.integers(2**31))) for n in sizes]
        else:
            instances = [_with_matrix(each) for each in source.instances(i * tours, tours)]
            sizes = np.array([each.n for each in instances])
        environment, rows = TspEnvironment(instances, tours), np.arange(tours)
        environment.reset(rows, rows, random.integers(0, 2**31, tours).astype(np.uint64))
        _begin(environment, np.where(random.random(tours) < _SPOILT, random.integers(0, sizes - 3), 0), random)
        return _follow(environment, [way_on(environment, row) for row in range(tours)], tokens_of, random)

    return batch


def _with_matrix(instance: TspInstance) -> TspInstance:
    if instance.matrix is None or instance.n < 4:
        raise UsageError(f"instances: {instance.name} is no ATSP; accepted: distance matrices of four cities at least")
    return instance


def least_estimate(seen: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """[R, K] what the assignment problem says each action prolongs the tour by: the longer assignment, and joining its cycles.

    Going where it is least is the best rule by hand that we know. Infinite in empty slots.
    """
    return np.where(seen["mask"][:, :-2], seen["actions"][..., 0] + seen["actions"][..., 2], np.inf)


def _begin(environment: TspEnvironment, steps: NDArray[np.int64], random: np.random.Generator) -> None:
    """Play steps[r] steps of row r by rules between the assignment's arc and the least estimate, with random faults.

    The former leaves the joining of cycles for later, as bad policies do.
    """
    weight = random.random(len(steps))[:, None]
    for t in range(int(steps.max(initial=0))):
        rows = np.flatnonzero(steps > t)
        seen = environment.observe(rows)
        choice = random.integers(1, 4, len(rows)) * (random.random(len(rows)) < _FAULTS)
        worth = seen["actions"][..., 0] + weight[rows] * seen["actions"][..., 2]
        order = np.argsort(np.where(seen["mask"][:, :-2], worth, np.inf), axis=1, kind="stable")
        choice = np.minimum(choice, np.minimum(seen["remaining"], environment.width) - 1)
        environment.step(rows, rows, seen["cities"][np.arange(len(rows)), order[np.arange(len(rows)), choice]])


def way_on(environment: TspEnvironment, row: int, iterations: int = _TEACHER) -> NDArray[np.int32]:
    """The unvisited cities of a row in the order in which the search goes through them."""
    from corl.problems.tsp.metric import metric_of
    from corl.problems.tsp.problem import Tsp
    from corl.run import Run
    from corl.solvers.tsp.asymmetric.search import search

    state = environment.state
    given = environment.instances[state.instance[row]].matrix
    t = int(state.visited[row])
    cities = state.order[row, t : int(state.graphs.size[state.instance[row]])]
    tails, heads = np.append(state.order[row, t - 1], cities), np.append(state.order[row, 0], cities)
    costs = given[np.ix_(tails, heads)]
    np.fill_diagonal(costs, 0.0)
    rest = TspInstance("rest", "EXPLICIT", matrix=costs, symmetric=False)
    run = Run(Tsp(), rest, iterations=iterations)
    search(rest, metric_of(rest), run, 0)
    tour = np.asarray(run.solution)
    return tails[np.roll(tour, -int(np.flatnonzero(tour == 0)[0]))[1:]]


def _follow(
    environment: TspEnvironment, ways: list[NDArray[np.int32]], tokens_of: Callable[..., Any], random: np.random.Generator
) -> Examples:
    """Walk the ways and keep some of the states, those of at least two cities left."""
    keep = [{*range(min(_NEXT, len(way) - 1)), *random.permutation(len(way) - 1)[: _EACH - _NEXT].tolist()} for way in ways]
    rewards = [np.zeros(len(way)) for way in ways]
    seen: list[dict[str, NDArray[Any]]] = []
    where: list[tuple[int, int]] = []
    for t in range(max(map(len, ways))):
        rows = np.array([r for r, way in enumerate(ways) if t < len(way)])
        kept = [r for r in rows.tolist() if t in keep[r]]
        if kept:
            seen.append(environment.observe(kept))
            where += [(r, t) for r in kept]
        given = environment.step(rows, rows, [ways[r][t] for r in rows])
        for r, reward in zip(rows.tolist(), given):
            rewards[r][t] = reward
    observation = {name: np.concatenate([part[name] for part in seen]) for name in seen[0]}
    tokens = tokens_of(observation)
    hit = observation["cities"][:, :-2] == np.array([ways[r][t] for r, t in where])[:, None]
    hit &= tokens.mask[:, :-2]
    value = np.array([rewards[r][t:].sum() for r, t in where]) / tokens.scale
    shown, slot = _compact(tokens.mask, hit)
    rows = np.arange(len(shown))[:, None]
    mask = tokens.mask[rows, shown]
    return Examples(
        tokens.x[rows, shown], mask, tokens.pairs[rows[..., None], shown[:, :, None], shown[:, None]], slot,
        value.astype(np.float32),
    )  # fmt: skip


def _compact(mask: NDArray[np.bool_], hit: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens that are there (first), as many columns as the fullest row needs, then origin and destination; the slot hit."""
    slots = mask.shape[1] - 2
    most = int(mask[:, :-2].sum(axis=1).max())
    order = np.argsort(~mask[:, :-2], axis=1, kind="stable")[:, :most]
    ends = np.broadcast_to([slots, slots + 1], (len(mask), 2))
    found = np.take_along_axis(hit, order, axis=1)
    return np.concatenate([order, ends], axis=1), np.where(found.any(axis=1), found.argmax(axis=1), -1)

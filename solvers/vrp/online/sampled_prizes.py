"""Prizes from sampled scenarios."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from corl.options import option
from corl.problems.vrp.online.situation import Situation
from corl.solvers.vrp.online.planning import plan, search
from corl.solvers.vrp.online.policy import EpochPolicy
from corl.solvers.vrp.online.scenarios import scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from corl.solvers.vrp.online.planning import Route

__all__ = ["SampledPrizes"]


@dataclass(frozen=True)
class SampledPrizes(EpochPolicy):
    """The prize of a request is its mean cost in plans of sampled futures in which it is postponed; one plan collects prizes.

    Its cost in a plan is a mixture of the detour for it and of the route's cost, divided by the number of clients.
    """

    scenarios: int = option(6, "Scenarios.", low=1)
    factor: float = option(1.3, "The factor of prizes.", low=0)
    mix: float = option(0.5, "The weight of the detour; the rest is that of the route's cost per client.", low=0, high=1)
    ahead: int = option(2, "The number of epochs whose requests are sampled.", low=1)
    share: float = option(1.0, "The share of the requests of an epoch that is sampled.", above=0)
    sampling: float = option(0.4, "The share of the time for scenarios.", above=0, high=1)

    title: ClassVar[str] = "prizes are the costs in plans of sampled futures, one prize-collecting plan"

    def choose(self, now: Situation, seconds: float, seed: int) -> list[Route]:
        begin = time.perf_counter()
        prize = self.prizes(now, self.sampling * seconds, seed)
        return plan(now, seconds - (time.perf_counter() - begin), seed, self.iterations, prize=prize)

    def prizes(self, now: Situation, seconds: float, seed: int) -> NDArray[np.float64]:
        """Return float64 [R], the prizes; inf for requests that must go."""
        begin, random, optional = time.perf_counter(), np.random.default_rng(seed), np.flatnonzero(~now.must)
        waiting, total, plans = now.requests.take(optional), np.zeros(len(optional)), 0
        for _ in range(self.scenarios):
            sampled = scenario(now, waiting, np.ones(len(optional), np.bool_), self.ahead, self.share, random)
            routes, _ = search(sampled.instance, seconds / self.scenarios, int(random.integers(1 << 30)), self.iterations)
            if routes is not None:
                plans += 1
                assert sampled.instance.matrix is not None
                for route in routes:
                    costs, own = _costs(route, sampled.instance.matrix, self.mix), route < sampled.waiting
                    total[route[own]] += costs[own]
            if not self.iterations and time.perf_counter() - begin > seconds:
                break
        prize = np.full(len(now.must), np.inf)
        prize[optional] = self.factor * total / max(1, plans)
        return prize


def _costs(route: Route, matrix: NDArray[np.float64], mix: float) -> NDArray[np.float64]:
    """Return float64 [clients]: each client's cost in a route of a plan, see `SampledPrizes`."""
    path = np.concatenate([[0], route + 1, [0]])
    detour = matrix[path[:-2], path[1:-1]] + matrix[path[1:-1], path[2:]] - matrix[path[:-2], path[2:]]
    return np.asarray(mix * detour + (1.0 - mix) * matrix[path[:-1], path[1:]].sum() / len(route))

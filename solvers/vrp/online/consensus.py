"""Consensus of sampled scenarios (in the manner of OptiML, 2022)."""

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
    from corl.solvers.vrp.online.planning import Route

__all__ = ["Consensus"]


@dataclass(frozen=True)
class Consensus(EpochPolicy):
    """Requests are postponed that leave with one that must go in too few plans of sampled futures; the others are dispatched."""

    scenarios: int = option(6, "Scenarios in a round.", low=1)
    rounds: int = option(2, "Rounds; what a round postpones cannot leave now in the next one's plans.", low=1)
    threshold: float = option(0.3, "The share of plans in which a request must leave now, to be dispatched.", low=0, high=1)
    ahead: int = option(3, "The number of epochs whose requests are sampled.", low=1)
    share: float = option(0.7, "The share of the requests of an epoch that is sampled.", above=0)
    sampling: float = option(0.7, "The share of the time for scenarios.", above=0, high=1)

    title: ClassVar[str] = "requests are dispatched that leave now in most plans of sampled futures"

    def choose(self, now: Situation, seconds: float, seed: int) -> list[Route]:
        begin, random, postponed = time.perf_counter(), np.random.default_rng(seed), np.zeros(len(now.must), np.bool_)
        each = self.sampling * seconds / (self.rounds * self.scenarios)
        for _ in range(self.rounds):
            leaves, plans = np.zeros(len(now.must)), 0
            for _ in range(self.scenarios):
                sampled = scenario(now, now.requests, postponed, self.ahead, self.share, random)
                routes, _ = search(sampled.instance, each, int(random.integers(1 << 30)), self.iterations)
                plans += routes is not None
                for route in routes or []:
                    own = route[route < sampled.waiting]
                    leaves[own] += now.must[own].any()
                if not self.iterations and time.perf_counter() - begin > self.sampling * seconds:
                    break
            postponed = (leaves < self.threshold * plans) & ~now.must
        left = seconds - (time.perf_counter() - begin)
        return plan(now, left, seed, self.iterations, which=np.flatnonzero(~postponed))

"""Dispatching without sampled futures: at once, as late as possible, or by a prize for each request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from corl.options import option
from corl.problems.vrp.online.situation import Situation
from corl.solvers.vrp.online.planning import plan
from corl.solvers.vrp.online.policy import EpochPolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from corl.solvers.vrp.online.planning import Route

__all__ = ["Greedy", "Lazy", "Threshold", "round_trips", "waiting_epochs"]


@dataclass(frozen=True)
class Greedy(EpochPolicy):
    """All waiting requests are planned; all routes are dispatched, or those with a request that must go."""

    drop: bool = option(False, "Whether routes without a request that must go are postponed.")

    title: ClassVar[str] = "every request is dispatched as soon as it is known"

    def choose(self, now: Situation, seconds: float, seed: int) -> list[Route]:
        return plan(now, seconds, seed, self.iterations)


@dataclass(frozen=True)
class Lazy(EpochPolicy):
    """Only requests that must go are dispatched."""

    title: ClassVar[str] = "every request is dispatched as late as possible"

    def choose(self, now: Situation, seconds: float, seed: int) -> list[Route]:
        return plan(now, seconds, seed, self.iterations, which=np.flatnonzero(now.must))


@dataclass(frozen=True)
class Threshold(EpochPolicy):
    """A prize-collecting plan. The prize of a request is a multiple of its round trip, less for each epoch it can still wait."""

    factor: float = option(0.2, "The prize, as a multiple of the round trip.", low=0)
    decay: float = option(1.0, "The factor of the prize for each epoch beyond the next that the request can wait.", low=0, high=1)

    title: ClassVar[str] = "prizes proportional to round trips, one prize-collecting plan"

    def choose(self, now: Situation, seconds: float, seed: int) -> list[Route]:
        prize = self.factor * self.decay ** np.maximum(waiting_epochs(now) - 1, 0) * round_trips(now)
        return plan(now, seconds, seed, self.iterations, prize=np.where(now.must, np.inf, prize))


def waiting_epochs(now: Situation) -> NDArray[np.int64]:
    """Return int64 [R]: for how many epochs each request can still be postponed, see `must_go`; 0 for those that must go."""
    from corl.problems.vrp.online.situation import must_go

    epochs = np.zeros(len(now.must), np.int64)
    for later in range(now.epoch, now.last):
        epochs += ~must_go(now.customers, now.requests, later, now.last)
    return epochs


def round_trips(now: Situation) -> NDArray[np.float64]:
    """Return float64 [R]: the travel time from the depot to each waiting request and back."""
    matrix, place = now.customers.matrix, now.requests.customer
    assert matrix is not None
    return np.asarray(matrix[0, place] + matrix[place, 0])

"""QueueNetwork: a policy with a few hundred parameters that chooses which waiting job a free machine processes next."""

from __future__ import annotations

from typing import Any, ClassVar

from corl.hooks import attach
from corl.problems.jobshop.environments.arriving.environment import ArrivingEnvironment
from corl.problems.jobshop.environments.arriving.features import (
    JOB_FEATURES,
    OF_JOBS,
    OF_SHOP,
    SHOP_FEATURES,
    describe,
    observe_row,
)
from corl.problems.jobshop.transitions import State
from corl.solvers.jobshop.scoring.forward import describe_listed
from corl.solvers.jobshop.scoring.network import ScoringNetwork

__all__ = ["QueueNetwork"]


class QueueNetwork(ScoringNetwork):
    """A new network is the dispatching rule "apparent tardiness cost": the first two features add up to its logarithm."""

    architecture: ClassVar[str] = "jobshop-queue"
    plays = ArrivingEnvironment
    observed = (len(OF_JOBS), len(OF_SHOP))
    counts = (JOB_FEATURES, SHOP_FEATURES)
    rule: ClassVar[dict[int, float]] = {0: 1.0, 1: 1.0}

    def __init__(self, width: int = 16, problem: str = "jobshop", features: str = "queue", environment: str = "arriving") -> None:
        """Initialise the network with `width` hidden units; 0: without the perceptron."""
        super().__init__(width, problem, features, environment)


@attach(describe_listed, State, borrow=True)
def _describe_listed(state: Any, row: Any, count: Any, scratch: Any) -> None:
    """See `describe_listed`."""
    observe_row(state, row, scratch.listed[:count], scratch.work, scratch.observed, scratch.observed_whole)
    describe(scratch.observed, count, scratch.observed_whole, scratch.x, scratch.whole)

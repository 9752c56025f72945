"""FloorNetwork: a policy with a few hundred parameters that chooses what starts next on a shop floor."""

from __future__ import annotations

from typing import Any, ClassVar

from corl.hooks import attach
from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
from corl.problems.jobshop.environments.floor.features import ACTION_FEATURES, FLOOR_FEATURES, LINEAR, describe
from corl.problems.jobshop.environments.floor.observation import OF_ACTIONS, OF_FLOOR, observe_row
from corl.problems.jobshop.environments.floor.pool import State
from corl.solvers.jobshop.scoring.forward import describe_listed
from corl.solvers.jobshop.scoring.network import ScoringNetwork

__all__ = ["FloorNetwork"]

_RULE = {"rate": 1.0, "covert": 1.0, "setup": 4.0, "regret": 8.0, "wait": -10.0}
"""The linear part of a new network: the rule covert, with weights from days to choose on (tests/studies/jobshop_floor.py)."""


class FloorNetwork(ScoringNetwork):
    """A new network is the dispatching rule "cost over time" with weights of set-up and regret: the logarithm of its priority."""

    architecture: ClassVar[str] = "jobshop-floor"
    plays = FloorEnvironment
    observed = (len(OF_ACTIONS), len(OF_FLOOR))
    counts = (ACTION_FEATURES, FLOOR_FEATURES)
    rule: ClassVar[dict[int, float]] = {LINEAR[name]: weight for name, weight in _RULE.items()}

    def __init__(self, width: int = 16, problem: str = "jobshop", features: str = "floor", environment: str = "floor") -> None:
        """Initialise the network with `width` hidden units; 0: without the perceptron."""
        super().__init__(width, problem, features, environment)


@attach(describe_listed, State, borrow=True)
def _describe_listed(state: Any, row: Any, count: Any, scratch: Any) -> None:
    """See `describe_listed`."""
    observe_row(state, row, scratch.listed, count, scratch.work, scratch.observed, scratch.observed_whole)
    describe(scratch.observed, count, scratch.observed_whole, scratch.x, scratch.whole)

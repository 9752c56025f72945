"""Policy and Evaluator: what search, decoding and self-play ask of a learned policy, and all that they ask.

    evaluator = policy.on(environment)               # encodes once an instance what does not change in an episode
    logits, values = evaluator.evaluate(rows)        # of rows of the environment's pool

Nothing here knows of torch: `corl.networks.policy` has the base class of networks, and a compiled policy reads the pool itself.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.environment import Environment

__all__ = ["Evaluator", "Player", "Policy", "RulePolicy"]


class Evaluator(Protocol):
    """A policy on the pool of one environment."""

    def evaluate(self, rows: NDArray[np.int64], /) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Logits float32 [R, K] of `environment.actions(rows)`, -inf in empty slots, and values float64 [R], for `rows` [R] none
        of whose episodes is over. A value is the expected sum of the rewards to come, in the environment's units."""
        ...


@runtime_checkable
class Player(Evaluator, Protocol):
    """An evaluator that plays whole episodes by itself, faster than by `evaluate` state after state."""

    def play(self, rows: NDArray[np.int64], /) -> NDArray[np.float64]:
        """Play `rows` [R] to their ends by the likeliest actions, the first of equals; the sums of the rewards, float64 [R]."""
        ...


@runtime_checkable
class Policy(Protocol):
    """What can be asked about the states of one problem's environment."""

    problem: str
    """The registered name."""
    environment: str
    """Which of the problem's environments it plays in, as `Problem.environment` takes it; "" for the first."""
    has_value: bool
    """Whether its values mean anything; otherwise they are 0."""

    def on(self, environment: Environment, /) -> Evaluator:
        """The policy on the pool of an environment. Raises UsageError for one that it does not fit."""
        ...


class RulePolicy(abc.ABC):
    """A policy written by hand: a function of what the environment observes. It serves every solver and search that a network
    does, such as `corl.solve(..., solver="tree-search", policy=MyRule())`."""

    problem: str = ""
    environment: str = ""
    has_value: bool = False

    @abc.abstractmethod
    def evaluate(self, observation: Mapping[str, NDArray[Any]], /) -> tuple[NDArray[Any], NDArray[Any]]:
        """Logits [R, K] and values [R], as corl.policy.Evaluator has them, of the rows in an `Environment.observe`."""

    def on(self, environment: Environment, /) -> Evaluator:
        return _Observing(self, environment)


class _Observing:
    """A RulePolicy on a pool."""

    def __init__(self, policy: RulePolicy, environment: Environment) -> None:
        self._policy, self._environment = policy, environment

    def evaluate(self, rows: NDArray[np.int64], /) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        import numpy as np

        logits, values = self._policy.evaluate(self._environment.observe(rows))
        return np.asarray(logits, np.float32), np.asarray(values, np.float64)

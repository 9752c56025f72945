"""Policy and Evaluator: the interface through which search, decoding and self-play use a learned policy.

    evaluator = policy.on(environment)               # encodes each instance once
    logits, values = evaluator.evaluate(environment.view(rows))

This module does not import torch; the base class of networks is in `corl.networks.policy`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from corl.environment import Environment, View

__all__ = ["Evaluator", "ModelEvaluator", "NamedPolicy", "Player", "Policy", "RulePolicy"]


class Evaluator(Protocol):
    """A policy on the pool of one environment."""

    def evaluate(self, view: View, /) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the logits of the listed actions and the values of R states of the environment, whose episodes are not over.

        Returns:
            Logits float32 [R, K] of `view.actions`, -inf in empty slots; and values float64 [R], the expected sums of the
            remaining rewards, in the environment's units.
        """
        ...


@runtime_checkable
class Player(Evaluator, Protocol):
    """An evaluator that plays whole episodes by itself, faster than by one `evaluate` per state."""

    together: int
    """The best number of rows for one call."""

    def play(
        self,
        rows: NDArray[np.int64],
        temperature: ArrayLike = 0.0,
        random: NDArray[np.uint64] | None = None,
        most: int = 2**31,
        stop: Callable[[], bool] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Play the episodes of rows, in place, to their ends or for at most `most` actions each.

        Args:
            rows: int64 [R], all different.
            temperature: [R] or one for all. At 0 the likeliest action is taken (the first one of equal actions). Above 0 an
                action is drawn from the softmax of logits / temperature.
            random: uint64 [R, 1], states of corl.rng, advanced in place; required if any temperature is above 0.
            most: The greatest number of actions for each row.
            stop: Called about every 10 ms; when it returns True, playing ends, and the rows remain in their current states.

        Returns:
            The sums of the rewards, float64 [R], and the actions, int32 [R, T], -1 after the end.
        """
        ...


@runtime_checkable
class ModelEvaluator(Evaluator, Protocol):
    """An evaluator with a learned model of the environment, in which a search can plan (`corl.search.models.LatentNetwork`)."""

    slots: int
    """The number of actions of the model."""

    def root(self, view: View, /) -> tuple[Mapping[str, NDArray[Any]], NDArray[np.int32]]:
        """Return the argument of `initial` for R states, and the model's ids of their listed actions, int32 [R, K]."""
        ...

    def initial(self, observed: Mapping[str, NDArray[Any]], /) -> tuple[Any, Any, Any]:
        """See LatentNetwork.initial."""
        ...

    def recurrent(self, latent: Any, actions: Any, /) -> tuple[Any, Any, Any, Any]:
        """See LatentNetwork.recurrent."""
        ...


class NamedPolicy(NamedTuple):
    """The content of a solution that is a policy: the name of a checkpoint, and how actions are chosen."""

    checkpoint: str
    """The name of a shipped policy, or a file."""
    digest: str
    """The digest of the checkpoint; the solution is refused if the checkpoint's digest differs."""
    search: str = ""
    """How actions are chosen: "" takes the likeliest one, "gumbel" and "puct" the result of a tree search (corl.search)."""
    simulations: int = 0
    """The number of simulations of each search."""
    imagined: bool = False
    """Whether searches use the network's learned model (MuZero) instead of the environment."""
    value_scale: float = 0.0
    """The weight of a Gumbel search's values relative to the network's logits."""


@runtime_checkable
class Policy(Protocol):
    """A policy for one environment of one problem."""

    problem: str
    """The registered name of the problem."""
    environment: str
    """The name of the environment, one of `Problem.environments`; "" for the first."""
    has_value: bool
    """Whether the policy's values are meaningful; otherwise they are 0."""

    def on(self, environment: Environment, /) -> Evaluator:
        """Return the evaluator for the pool of an environment. Raises UsageError if the policy does not fit the environment."""
        ...


class RulePolicy(abc.ABC):
    """The base class of policies written by hand: a function of the environment's observation.

    Every solver and search accepts one in place of a network: `corl.solve(..., solver="tree-search", policy=MyRule())`.
    """

    problem: str = ""  # this and the next two: as in Policy
    environment: str = ""
    has_value: bool = False

    @abc.abstractmethod
    def evaluate(self, observation: Mapping[str, NDArray[Any]], /) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return logits [R, K] and values [R], as `Evaluator.evaluate` does, for an observation (`Environment.observe`)."""

    def on(self, environment: Environment, /) -> Evaluator:
        return _Observing(self)


class _Observing:
    """A RulePolicy on a pool."""

    def __init__(self, policy: RulePolicy) -> None:
        self._policy = policy

    def evaluate(self, view: View, /) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        import numpy as np

        logits, values = self._policy.evaluate(view.arrays)
        return np.asarray(logits, np.float32), np.asarray(values, np.float64)

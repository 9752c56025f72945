"""Policy and Evaluator: what search, decoding and self-play ask of a learned policy, and all that they ask.

    evaluator = policy.on(environment)               # encodes once an instance what does not change in an episode
    logits, values = evaluator.evaluate(environment.view(rows))

Nothing here knows of torch: `corl.networks.policy` has the base class of networks, and a compiled policy reads the pool itself.
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
        """Logits float32 [R, K] of `view.actions`, -inf in empty slots, and values float64 [R], of R states of that environment
        none of whose episodes is over. A value is the expected sum of the rewards to come, in the environment's units."""
        ...


@runtime_checkable
class Player(Evaluator, Protocol):
    """An evaluator that plays whole episodes by itself, faster than by `evaluate` state after state."""

    together: int
    """How many rows are best played in one call."""

    def play(
        self,
        rows: NDArray[np.int64],
        temperature: ArrayLike = 0.0,
        random: NDArray[np.uint64] | None = None,
        most: int = 2**31,
        stop: Callable[[], bool] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Play `rows` [R], different ones, in place to their ends, none further than `most` actions.

        temperature: of each row (or of all); at 0 the likeliest action is taken, the first of equals, above it one drawn from the
        softmax of logits / temperature. random: [R, 1], generators of corl.rng, advanced in place; needed where any is drawn.
        stop: asked every 10 ms or so; once it says so the rows stay where they are.

        Returns the sums of the rewards, float64 [R], and the actions, int32 [R, T], -1 after the end.
        """
        ...


@runtime_checkable
class ModelEvaluator(Evaluator, Protocol):
    """An evaluator with a learned model of the environment, in which a search can plan (`corl.search.models.LatentNetwork`)."""

    slots: int
    """How many actions the model has."""

    def root(self, view: View, /) -> tuple[Mapping[str, NDArray[Any]], NDArray[np.int32]]:
        """What `initial` takes of R states, and what the model calls their listed actions, int32 [R, K], then -1."""
        ...

    def initial(self, seen: Mapping[str, NDArray[Any]], /) -> tuple[Any, Any, Any]:
        """See LatentNetwork.initial."""
        ...

    def recurrent(self, latent: Any, actions: Any, /) -> tuple[Any, Any, Any, Any]:
        """See LatentNetwork.recurrent."""
        ...


class NamedPolicy(NamedTuple):
    """A policy by its checkpoint's name, and how it plays: what a solution that is a policy holds of it."""

    checkpoint: str
    """A shipped policy's name or a file."""
    digest: str
    """Of the checkpoint; under another one's the solution is refused."""
    search: str = ""
    """"": the likeliest actions; "gumbel" or "puct": those of a tree search (corl.search)."""
    simulations: int = 0
    """Of each search."""
    imagined: bool = False
    """Whether searches are in the network's own model (MuZero) instead of the environment."""
    value_scale: float = 0.0
    """Of a Gumbel search, the weight of values beside the network's logits."""


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
        return _Observing(self)


class _Observing:
    """A RulePolicy on a pool."""

    def __init__(self, policy: RulePolicy) -> None:
        self._policy = policy

    def evaluate(self, view: View, /) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        import numpy as np

        logits, values = self._policy.evaluate(view.arrays)
        return np.asarray(logits, np.float32), np.asarray(values, np.float64)

"""Recipes `memory.alphazero` and `memory.muzero`: the generic ones, with programs and a network for the mallocGame.

The network is that of the paper (Wang et al., 2023) in small: a convolution over the time x offset grid of what fast memory
holds, attention over the actions, the upcoming accesses and the spans of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.learning.recipe import Recipe
from corl.solvers.training.common import at_least, positive

if TYPE_CHECKING:
    from corl.learning.training import Training

__all__ = ["GameAlphaZero", "GameMuZero"]

_COUNTS = ("operations", "episodes", "updates", "batch", "simulations", "width", "layers", "heads")


@dataclass(frozen=True)
class GameAlphaZero(Recipe):
    """AlphaZero on generated programs (generator `mixed`), new ones in every generation. See corl.solvers.training.alphazero."""

    operations: int = 12
    """Of a program, at least 2."""
    episodes: int = 32
    """Programs of a generation, at least 1."""
    updates: int = 8
    """Optimiser steps from one generation to the next, at least 1."""
    batch: int = 128
    """Moves that an optimiser step looks at, at least 1."""
    simulations: int = 8
    """Of the search for every move, at least 1."""
    width: int = 32
    """Of the network's hidden vectors, a multiple of `heads`."""
    layers: int = 2
    """Of the network, at least 1."""
    heads: int = 4
    """Of its attention, at least 1."""
    rate: float = 2e-3
    """Learning rate at first, above 0; it falls to 0 as a cosine."""
    value_scale: float = 0.02
    """How much the values of a search count beside the network's logits, from 0 (the usual 0.1 makes much of little)."""
    taught: float = 0.4
    """The share of the training, 0 to 1, in which games replay plans of `learned-priority` instead of self-play."""
    plans: int = 8
    """How many it builds for a program, at least 1; the best one is replayed."""
    watch: int = 96
    """Programs never trained on that the policy alone solves after every generation; the weights kept are the best on these."""

    title: ClassVar[str] = "the mallocGame's player by AlphaZero: convolution over memory and time, attention over accesses"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of self-play before it"

    def __post_init__(self) -> None:
        _check(self)

    def train(self, training: Training) -> None:
        from corl.solvers.training.alphazero import AlphaZero

        AlphaZero(**_shared(self)).train(training)


@dataclass(frozen=True)
class GameMuZero(Recipe):
    """MuZero on generated programs (generator `mixed`), new ones in every generation. See corl.solvers.training.muzero."""

    operations: int = 12
    """Of a program, at least 2."""
    episodes: int = 32
    """Programs of a generation, at least 1."""
    updates: int = 8
    """Optimiser steps from one generation to the next, at least 1."""
    batch: int = 64
    """Stretches of moves that an optimiser step looks at, at least 1."""
    simulations: int = 8
    """Of the search for every move, at least 1."""
    unroll: int = 3
    """K, moves over which the model is unrolled in training, at least 1."""
    reanalyse: float = 0.25
    """Moves of the replay that are searched anew for each new move, from 0."""
    width: int = 32
    """Of the network's latent vectors, a multiple of `heads`."""
    layers: int = 2
    """Of the representation, at least 1."""
    heads: int = 4
    """Of the attention, at least 1."""
    rate: float = 2e-3
    """Learning rate at first, above 0; it falls to 0 as a cosine."""
    value_scale: float = 0.02
    """How much the values of a search count beside the network's logits, from 0 (the usual 0.1 makes much of little)."""
    taught: float = 0.4
    """The share of the training, 0 to 1, in which games replay plans of `learned-priority` instead of self-play."""
    plans: int = 8
    """How many it builds for a program, at least 1; the best one is replayed."""
    watch: int = 96
    """Programs never trained on that the policy alone solves after every generation; the weights kept are the best on these."""

    title: ClassVar[str] = "the mallocGame's player by MuZero: convolution over memory and time, attention over accesses"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of self-play before it"

    def __post_init__(self) -> None:
        _check(self)
        at_least(self, ("unroll",), 1)
        positive(self, ("reanalyse",), zero=True)

    def train(self, training: Training) -> None:
        from corl.solvers.training.muzero import MuZero

        MuZero(**_shared(self), unroll=self.unroll, reanalyse=self.reanalyse, bins=32).train(training)


def _check(recipe: Any) -> None:
    at_least(recipe, (*_COUNTS, "plans"), 1)
    at_least(recipe, ("operations",), 2)
    at_least(recipe, ("watch",), 0)
    positive(recipe, ("rate",))
    positive(recipe, ("value_scale",), zero=True)


def _shared(recipe: GameAlphaZero | GameMuZero) -> dict[str, Any]:
    """The options that both generic recipes have."""
    from corl.problems.memory.mapping.features import SPANS

    same = ("episodes", "updates", "batch", "simulations", "width", "layers", "heads", "rate", "taught", "watch")
    own = {"generator": "mixed", "size": recipe.operations, "features": "game", "considered": 3, "grid": SPANS, "keep": True}
    own |= {"teacher": "learned-priority", "teacher_iterations": recipe.plans, "value_scale": recipe.value_scale}
    own |= {"value_weight": 0.05 if isinstance(recipe, GameAlphaZero) else 0.25}
    return {name: getattr(recipe, name) for name in same} | own

"""Recipes `memory.alphazero` and `memory.muzero`: the generic ones, with programs and a network for the mallocGame.

The network is that of the paper (Wang et al., 2023) in small: a convolution over the time x height grid of what fast memory
holds, attention over the actions, the upcoming accesses and the spans of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.learning.recipe import Recipe
from corl.learning.source import folder_option
from corl.options import option

if TYPE_CHECKING:
    from corl.learning.session import Training

__all__ = ["GameAlphaZero", "GameMuZero"]


@dataclass(frozen=True)
class _Game(Recipe):
    """The options of both recipes: generated programs (generator `mixed`), new ones in every generation."""

    operations: int = option(12, "Operations of a program.", low=2, scale="log")
    instances: str = folder_option()
    episodes: int = option(32, "Programs of a generation.", low=1, scale="log")
    updates: int = option(8, "Optimiser steps from one generation to the next.", low=1, scale="log")
    batch: int = option(128, "Moves that an optimiser step looks at.", low=1, scale="log")
    simulations: int = option(8, "Simulations of the search for every move.", low=1, scale="log")
    width: int = option(32, "Size of the network's hidden vectors, a multiple of `heads`.", low=1, scale="log")
    layers: int = option(2, "Layers of attention.", low=1, scale="log")
    heads: int = option(4, "Heads of the attention.", low=1, scale="log")
    rate: float = option(2e-3, "Learning rate at first; it falls to 0 as a cosine.", above=0, scale="log")
    value_scale: float = option(0.02, "How much the values of a search count beside the network's logits.", low=0)
    taught: float = option(
        0.4, "The share of the training in which games replay plans of `annealing` instead of self-play.", low=0, high=1
    )
    moves: int = option(10_000, "Moves of the annealing whose plan of a program is replayed.", low=1, scale="log")
    watch: int = option(
        96,
        "Programs never trained on that the policy alone solves after every generation; the weights kept are the best on these.",
        low=0,
        scale="log",
    )

    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of self-play before it"


@dataclass(frozen=True)
class GameAlphaZero(_Game):
    """AlphaZero on generated programs. See corl.learning.algorithms.alphazero."""

    title: ClassVar[str] = "the mallocGame's player by AlphaZero: convolution over memory and time, attention over accesses"

    def train(self, training: Training) -> None:
        from corl.learning.algorithms.alphazero import AlphaZero

        AlphaZero(**_shared(self), value_weight=0.05).train(training)


@dataclass(frozen=True)
class GameMuZero(_Game):
    """MuZero on generated programs. See corl.learning.algorithms.muzero."""

    batch: int = option(64, "Stretches of moves that an optimiser step looks at.", low=1, scale="log")
    unroll: int = option(3, "Moves over which the model is unrolled in training.", low=1, scale="log")
    reanalyse: float = option(0.25, "Moves of the replay that are searched anew for each new move.", low=0)

    title: ClassVar[str] = "the mallocGame's player by MuZero: convolution over memory and time, attention over accesses"

    def train(self, training: Training) -> None:
        from corl.learning.algorithms.muzero import MuZero

        MuZero(**_shared(self), value_weight=0.25, unroll=self.unroll, reanalyse=self.reanalyse, bins=32).train(training)


def _shared(recipe: _Game) -> dict[str, Any]:
    """The options that both generic recipes have."""
    from corl.problems.memory.features import SPANS

    same = ("instances", "episodes", "updates", "batch", "simulations", "width", "layers", "heads", "rate", "taught", "watch")
    own = {"generator": "mixed", "size": recipe.operations, "features": "game", "considered": 3, "grid": SPANS, "keep": True}
    own |= {"teacher": "annealing", "teacher_iterations": recipe.moves, "value_scale": recipe.value_scale}
    return {name: getattr(recipe, name) for name in same} | own

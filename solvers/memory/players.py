"""Recipes that train players of the mallocGame: `alphazero` and `muzero` with defaults for this game.

The network is a small form of the one of Wang et al. (2023): a convolution over the grid of spans of operations x bands of fast
memory, whose entries are occupied shares, and attention over the actions, the next accesses and the spans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from corl.learning.algorithms.alphazero import AlphaZero
from corl.learning.algorithms.muzero import MuZero
from corl.options import with_default

__all__ = ["GameAlphaZero", "GameMuZero"]

_GRID = ("grid=10",)  # the network option: the number of spans of operations among the features `game`


@dataclass(frozen=True)
class GameAlphaZero(AlphaZero):
    """AlphaZero on generated programs; its first games replay plans of `annealing`."""

    generator: str = with_default(AlphaZero, "generator", "mixed")
    size: int = with_default(AlphaZero, "size", 12)
    features: str = with_default(AlphaZero, "features", "game")
    width: int = with_default(AlphaZero, "width", 32)
    network_options: tuple[str, ...] = with_default(AlphaZero, "network_options", _GRID)
    rate: float = with_default(AlphaZero, "rate", 2e-3)
    watch: int = with_default(AlphaZero, "watch", 96)
    episodes: int = with_default(AlphaZero, "episodes", 32)
    updates: int = with_default(AlphaZero, "updates", 8)
    batch: int = with_default(AlphaZero, "batch", 128)
    simulations: int = with_default(AlphaZero, "simulations", 8)
    considered: int = with_default(AlphaZero, "considered", 3)
    value_scale: float = with_default(AlphaZero, "value_scale", 0.02)
    value_weight: float = with_default(AlphaZero, "value_weight", 0.05)
    teacher: str = with_default(AlphaZero, "teacher", "annealing")
    teacher_iterations: int = with_default(AlphaZero, "teacher_iterations", 10_000)
    taught: float = with_default(AlphaZero, "taught", 0.4)
    keep: bool = with_default(AlphaZero, "keep", True)

    title: ClassVar[str] = "the mallocGame's player by AlphaZero: convolution over memory and time, attention over accesses"


@dataclass(frozen=True)
class GameMuZero(MuZero):
    """MuZero on generated programs; its first games replay plans of `annealing`."""

    generator: str = with_default(MuZero, "generator", "mixed")
    size: int = with_default(MuZero, "size", 12)
    features: str = with_default(MuZero, "features", "game")
    width: int = with_default(MuZero, "width", 32)
    network_options: tuple[str, ...] = with_default(MuZero, "network_options", _GRID)
    rate: float = with_default(MuZero, "rate", 2e-3)
    watch: int = with_default(MuZero, "watch", 96)
    episodes: int = with_default(MuZero, "episodes", 32)
    updates: int = with_default(MuZero, "updates", 8)
    simulations: int = with_default(MuZero, "simulations", 8)
    considered: int = with_default(MuZero, "considered", 3)
    value_scale: float = with_default(MuZero, "value_scale", 0.02)
    unroll: int = with_default(MuZero, "unroll", 3)
    reanalyse: float = with_default(MuZero, "reanalyse", 0.25)
    bins: int = with_default(MuZero, "bins", 32)
    teacher: str = with_default(MuZero, "teacher", "annealing")
    teacher_iterations: int = with_default(MuZero, "teacher_iterations", 10_000)
    taught: float = with_default(MuZero, "taught", 0.4)
    keep: bool = with_default(MuZero, "keep", True)

    title: ClassVar[str] = "the mallocGame's player by MuZero: convolution over memory and time, attention over accesses"

"""Players of the mallocGame: the recipes `alphazero` and `muzero` with programs and a network for it as defaults.

The network is a small form of the paper's (Wang et al., 2023): a convolution over the time x height grid of the occupied fast
memory, and attention over the actions, the upcoming accesses and the spans of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from corl.learning.algorithms.alphazero import AlphaZero
from corl.learning.algorithms.muzero import MuZero
from corl.options import changed

__all__ = ["GameAlphaZero", "GameMuZero"]

_GRID = ("grid=10",)  # spans of time that the features `game` show


@dataclass(frozen=True)
class GameAlphaZero(AlphaZero):
    """AlphaZero on generated programs; its first games replay plans of `annealing`."""

    generator: str = changed(AlphaZero, "generator", "mixed")
    size: int = changed(AlphaZero, "size", 12)
    features: str = changed(AlphaZero, "features", "game")
    width: int = changed(AlphaZero, "width", 32)
    network_options: tuple[str, ...] = changed(AlphaZero, "network_options", _GRID)
    rate: float = changed(AlphaZero, "rate", 2e-3)
    watch: int = changed(AlphaZero, "watch", 96)
    episodes: int = changed(AlphaZero, "episodes", 32)
    updates: int = changed(AlphaZero, "updates", 8)
    batch: int = changed(AlphaZero, "batch", 128)
    simulations: int = changed(AlphaZero, "simulations", 8)
    considered: int = changed(AlphaZero, "considered", 3)
    value_scale: float = changed(AlphaZero, "value_scale", 0.02)
    value_weight: float = changed(AlphaZero, "value_weight", 0.05)
    teacher: str = changed(AlphaZero, "teacher", "annealing")
    teacher_iterations: int = changed(AlphaZero, "teacher_iterations", 10_000)
    taught: float = changed(AlphaZero, "taught", 0.4)
    keep: bool = changed(AlphaZero, "keep", True)

    title: ClassVar[str] = "the mallocGame's player by AlphaZero: convolution over memory and time, attention over accesses"


@dataclass(frozen=True)
class GameMuZero(MuZero):
    """MuZero on generated programs; its first games replay plans of `annealing`."""

    generator: str = changed(MuZero, "generator", "mixed")
    size: int = changed(MuZero, "size", 12)
    features: str = changed(MuZero, "features", "game")
    width: int = changed(MuZero, "width", 32)
    network_options: tuple[str, ...] = changed(MuZero, "network_options", _GRID)
    rate: float = changed(MuZero, "rate", 2e-3)
    watch: int = changed(MuZero, "watch", 96)
    episodes: int = changed(MuZero, "episodes", 32)
    updates: int = changed(MuZero, "updates", 8)
    simulations: int = changed(MuZero, "simulations", 8)
    considered: int = changed(MuZero, "considered", 3)
    value_scale: float = changed(MuZero, "value_scale", 0.02)
    unroll: int = changed(MuZero, "unroll", 3)
    reanalyse: float = changed(MuZero, "reanalyse", 0.25)
    bins: int = changed(MuZero, "bins", 32)
    teacher: str = changed(MuZero, "teacher", "annealing")
    teacher_iterations: int = changed(MuZero, "teacher_iterations", 10_000)
    taught: float = changed(MuZero, "taught", 0.4)
    keep: bool = changed(MuZero, "keep", True)

    title: ClassVar[str] = "the mallocGame's player by MuZero: convolution over memory and time, attention over accesses"

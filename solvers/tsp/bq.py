"""Recipes `tsp.bq` and `tsp.atsp-bq`: imitation learning, with defaults for the TSP and the ATSP.

After BQ-NCO (Drakulic, Michel, Mai, Sors and Andreoli, NeurIPS 2023): the rest of a tour is itself an instance. A policy that
imitates only optimal tours never observes the states that its own mistakes lead to (Ross, Gordon & Bagnell, AISTATS 2011).
Therefore the teacher completes some episodes from the beginning, which gives optimal tours, and others from partial tours that
the policy has built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from corl.learning.algorithms.imitation import Imitation
from corl.options import changed

__all__ = ["AtspBq", "Bq"]


@dataclass(frozen=True)
class Bq(Imitation):
    """Recipe `imitation` with `eax` as a completing teacher, on uniform instances of 50 to 200 cities, with a value."""

    generator: str = changed(Imitation, "generator", "uniform")
    sizes: tuple[int, ...] = changed(Imitation, "sizes", (50, 63, 79, 100, 126, 159, 200))
    features: str = changed(Imitation, "features", "plane")
    layers: int = changed(Imitation, "layers", 3)
    rate: float = changed(Imitation, "rate", 2e-3)
    batch: int = changed(Imitation, "batch", 2)
    states: int = changed(Imitation, "states", 64)
    lesson: int = changed(Imitation, "lesson", 16)
    teacher: str = changed(Imitation, "teacher", "eax")
    teacher_iterations: int = changed(Imitation, "teacher_iterations", 1000)
    completing: bool = changed(Imitation, "completing", True)
    value_weight: float = changed(Imitation, "value_weight", 0.1)

    title: ClassVar[str] = "imitation of eax on the nearest cities of what remains, with the policy's own beginnings"


@dataclass(frozen=True)
class AtspBq(Imitation):
    """Recipe `imitation` with our ATSP search (`ils`) as a completing teacher, on `asymmetric` instances, with a value."""

    generator: str = changed(Imitation, "generator", "asymmetric")
    sizes: tuple[int, ...] = changed(Imitation, "sizes", (30, 40, 54, 72, 97, 130))
    features: str = changed(Imitation, "features", "matrix")
    rate: float = changed(Imitation, "rate", 2e-3)
    batch: int = changed(Imitation, "batch", 2)
    states: int = changed(Imitation, "states", 64)
    lesson: int = changed(Imitation, "lesson", 16)
    teacher: str = changed(Imitation, "teacher", "ils")
    teacher_iterations: int = changed(Imitation, "teacher_iterations", 300)
    completing: bool = changed(Imitation, "completing", True)
    value_weight: float = changed(Imitation, "value_weight", 1.0)

    title: ClassVar[str] = "next city of the ATSP from the assignment problem of what remains, imitating our search"

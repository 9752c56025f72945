"""Recipes `tsp.bq` and `tsp.atsp-bq`: imitation learning, with defaults for the TSP and the ATSP.

After BQ-NCO (Drakulic, Michel, Mai, Sors and Andreoli, NeurIPS 2023): what remains of a partial tour is itself an instance. A
policy that imitates only optimal tours never observes the states that its own mistakes lead to (Ross, Gordon & Bagnell, AISTATS
2011). Therefore the teacher, a solver, starts some episodes itself, which gives near-optimal tours, and completes others from
partial tours that the policy has built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from corl.learning.algorithms.imitation import Imitation
from corl.options import with_default

__all__ = ["AtspBq", "Bq"]


@dataclass(frozen=True)
class Bq(Imitation):
    """Recipe `imitation` of the solver `eax`, on uniform instances of 50 to 200 cities.

    The policy chooses among the nearest unvisited cities. The teacher also completes the policy's own partial tours, and the
    network also learns the value of a state.
    """

    generator: str = with_default(Imitation, "generator", "uniform")
    sizes: tuple[int, ...] = with_default(Imitation, "sizes", (50, 63, 79, 100, 126, 159, 200))
    features: str = with_default(Imitation, "features", "plane")
    layers: int = with_default(Imitation, "layers", 3)
    rate: float = with_default(Imitation, "rate", 2e-3)
    batch: int = with_default(Imitation, "batch", 2)
    states: int = with_default(Imitation, "states", 64)
    lesson: int = with_default(Imitation, "lesson", 16)  # instances of a lesson, which are played and solved together
    teacher: str = with_default(Imitation, "teacher", "eax")
    teacher_iterations: int = with_default(Imitation, "teacher_iterations", 1000)
    completing: bool = with_default(Imitation, "completing", True)
    value_weight: float = with_default(Imitation, "value_weight", 0.1)

    title: ClassVar[str] = "imitation of eax on the nearest cities of what remains, with the policy's own beginnings"


@dataclass(frozen=True)
class AtspBq(Imitation):
    """Recipe `imitation` of the solver `ils` for the ATSP, on instances of the generator `asymmetric`.

    The policy observes features of the assignment problem over the unvisited cities. The teacher also completes the policy's own
    partial tours, and the network also learns the value of a state.
    """

    generator: str = with_default(Imitation, "generator", "asymmetric")
    sizes: tuple[int, ...] = with_default(Imitation, "sizes", (30, 40, 54, 72, 97, 130))
    features: str = with_default(Imitation, "features", "matrix")
    rate: float = with_default(Imitation, "rate", 2e-3)
    batch: int = with_default(Imitation, "batch", 2)
    states: int = with_default(Imitation, "states", 64)
    lesson: int = with_default(Imitation, "lesson", 16)  # instances of a lesson, which are played and solved together
    teacher: str = with_default(Imitation, "teacher", "ils")
    teacher_iterations: int = with_default(Imitation, "teacher_iterations", 300)
    completing: bool = with_default(Imitation, "completing", True)
    value_weight: float = with_default(Imitation, "value_weight", 1.0)

    title: ClassVar[str] = "next city of the ATSP from the assignment problem of what remains, imitating our search"

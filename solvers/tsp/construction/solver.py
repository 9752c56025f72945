"""Two construction heuristics as solvers, baselines for every search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.tsp.instance import TspInstance
    from corl.run import Run

__all__ = ["GreedyEdge", "NearestNeighbour", "kind_of_kernels", "tiny_like"]

_TINY = 24  # cities of `tiny_like`


@dataclass(frozen=True)
class NearestNeighbour(Solver):
    """The tour that always continues to the nearest unvisited city; about 25 % above the optimum on uniform cities."""

    start: int = option(0, "The city to begin at, taken modulo n.", low=0)
    candidates: int = option(8, "Nearest neighbours that are tried before the search over all unvisited cities.", low=1)

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    preparation_size: ClassVar[int] = 3  # sizes and integers from 3 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "Nearest neighbour: always on to the nearest unvisited city"

    def accepts(self, instance: TspInstance) -> str:
        return _symmetric(instance)

    def prepare(self, instance: TspInstance) -> None:
        _construct_nearest(tiny_like(instance), self.candidates, 0)

    def solve(self, instance: TspInstance, run: Run) -> None:
        run.report(_construct_nearest(instance, self.candidates, self.start % instance.n))


@dataclass(frozen=True)
class GreedyEdge(Solver):
    """Edges are added, shortest first, unless they close a cycle or give a city a third edge; about 15 % above the optimum."""

    candidates: int = option(
        10, "Nearest neighbours of each city whose edges are considered; the resulting paths are joined at their ends.", low=1
    )

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    preparation_size: ClassVar[int] = 3  # sizes and integers from 3 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "Greedy edge: always the shortest edge that still fits"

    def accepts(self, instance: TspInstance) -> str:
        return _symmetric(instance)

    def prepare(self, instance: TspInstance) -> None:
        _construct_greedy(tiny_like(instance), self.candidates)

    def solve(self, instance: TspInstance, run: Run) -> None:
        run.report(_construct_greedy(instance, self.candidates))


def _symmetric(instance: TspInstance) -> str:
    return "" if instance.symmetric else "it takes symmetric distances only"


def _construct_nearest(instance: TspInstance, candidates: int, start: int) -> np.ndarray:
    from corl.problems.tsp.metric import metric_of
    from corl.solvers.tsp.construction.kernels import nearest_neighbour
    from corl.solvers.tsp.neighbours.candidates import neighbours

    metric = metric_of(instance)
    return nearest_neighbour(metric, neighbours(instance, metric, candidates)[0], start)


def _construct_greedy(instance: TspInstance, candidates: int) -> np.ndarray:
    from corl.problems.tsp.metric import metric_of
    from corl.solvers.tsp.construction.kernels import greedy_edge
    from corl.solvers.tsp.neighbours.candidates import neighbours

    metric = metric_of(instance)
    return greedy_edge(metric, *neighbours(instance, metric, candidates))


def tiny_like(instance: TspInstance) -> TspInstance:
    """Return an instance of 24 cities (_TINY) with the given instance's kind of distance; solving it compiles every kernel.

    If the cities have coordinates, 14 of them are at one point, so that the kernels for equal cities are compiled too.
    """
    from corl.problems.tsp.instance import TspInstance

    rng = np.random.default_rng(0)
    if instance.points is None:
        half = rng.integers(1, 9, (_TINY, _TINY)).astype(float)
        return TspInstance("tiny", instance.edge_weight_type, matrix=half + half.T)
    points = np.trunc(rng.random((_TINY, instance.points.shape[1])) * 60.0)
    points[:14] = 1.0
    return TspInstance("tiny", instance.edge_weight_type, points=points)


def kind_of_kernels(instance: TspInstance) -> str:
    """Return the kind of an instance (`Solver.kind`) for searches that use dynamic programming and Held-Karp bounds.

    Fewer cities than those of `tiny_like` need dynamic programming, these and matrices another algorithm for spanning trees.
    """
    if not instance.symmetric:
        return "asymmetric"
    if instance.n < _TINY:
        return "few"
    return "matrix" if instance.points is None else ""

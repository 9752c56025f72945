"""Tsp: the adapter of the travelling salesman problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.problem import Problem
from corl.problems.tsp.instance import TspInstance

__all__ = ["Tsp"]


class Tsp(Problem):
    """The travelling salesman problem. A solution is an integer array [n]: cities 0..n-1 in visiting order."""

    name = "tsp"
    title = "travelling salesman problem, symmetric and asymmetric"
    sense = "min"
    instance_type = TspInstance
    suffixes = (".tour",)

    def evaluate(self, instance: TspInstance, solution: Any) -> float:
        """The length of the closed tour, by TSPLIB's formulas. Raises Infeasible."""
        from corl.problems.tsp.evaluation import tour_length

        return tour_length(instance, solution)

    def read(self, path: Path) -> TspInstance:
        """The instance in a TSPLIB file. Raises InputError or OSError."""
        from corl.problems.tsp.formats import read_instance

        return read_instance(path)

    def write(self, instance: TspInstance, path: Path) -> None:
        """Write a TSPLIB file."""
        from corl.problems.tsp.formats import write_instance

        write_instance(instance, path)

    def adapt(self, data: Any) -> TspInstance:
        """From coordinates [n, 2 or 3] (Euclidean, not rounded) or a square matrix."""
        array = np.asarray(data, np.float64)
        if array.ndim == 2 and array.shape[0] == array.shape[1]:
            return TspInstance("array", "EXPLICIT", matrix=array, symmetric=bool(np.array_equal(array, array.T)))
        if array.ndim == 2 and array.shape[1] in (2, 3):
            return TspInstance("array", f"EXACT_{array.shape[1]}D", points=array)
        raise InputError(f"an array of shape {list(array.shape)}; accepted: coordinates [n, 2 or 3] or a matrix [n, n]")

    def to_json(self, instance: TspInstance, solution: NDArray[np.integer]) -> list[int]:
        """The file's city ids in visiting order."""
        return instance.ids[np.asarray(solution)].tolist()  # type: ignore[no-any-return]

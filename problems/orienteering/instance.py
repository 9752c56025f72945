"""OrienteeringInstance: the data of one orienteering problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.problems.tsp.instance import LARGEST, TspInstance

__all__ = ["OrienteeringInstance"]


@dataclass(frozen=True, eq=False)
class OrienteeringInstance:
    """Nodes with scores, the distances between them, and the greatest length of a path from `start` to `end`.

    Nodes are numbered 0..n-1; in the file, node i has the id `graph.ids[i]`. If start and end are one node, a solution is a
    closed tour. Distances are symmetric and not negative. Raises InputError for invalid shapes or numbers, but not if every path
    is too long.
    """

    graph: TspInstance
    """The nodes and their distances."""
    scores: NDArray[np.float64]
    """float64 [n], at least 0."""
    limit: float
    """The greatest length of a path, in the unit of the distances."""
    start: int = 0
    """The node at which a path starts."""
    end: int = 0
    """The node at which a path ends."""
    name: str = ""
    comment: str = ""

    def __post_init__(self) -> None:
        n = self.graph.n
        if not self.graph.symmetric:
            raise InputError("asymmetric distances are not supported; accepted: symmetric ones", field="matrix")
        if self.graph.matrix is not None and self.graph.matrix.min() < 0.0:
            raise InputError(f"a distance of {self.graph.matrix.min():g} is not accepted; accepted: from 0", field="matrix")
        scores = np.ascontiguousarray(self.scores, np.float64)
        if scores.shape != (n,):
            raise InputError(f"accepted: a score for each of the {n} nodes", field="scores")
        if not (scores.min() >= 0.0 and scores.max() <= LARGEST):  # false for NaN as well
            worst = float(scores[~((scores >= 0.0) & (scores <= LARGEST))][0])
            raise InputError(f"a score of {worst:g} is not accepted; accepted: 0 to {LARGEST:g}", field="scores")
        object.__setattr__(self, "scores", scores)
        if not 0.0 <= self.limit <= LARGEST:
            raise InputError(f"{self.limit:g} is not accepted; accepted: 0 to {LARGEST:g}", field="limit")
        for key in ("start", "end"):
            if not 0 <= getattr(self, key) < n:
                raise InputError(f"there is no node {getattr(self, key)}; accepted: 0 to {n - 1}", field=key)

    @property
    def n(self) -> int:
        """The number of nodes, including start and end."""
        return self.graph.n

    @property
    def closed(self) -> bool:
        """Whether a solution is a tour that ends where it starts."""
        return self.start == self.end

    @property
    def integral(self) -> bool:
        """Whether all scores are integers, so that every objective value is one."""
        return bool((self.scores == np.floor(self.scores)).all())

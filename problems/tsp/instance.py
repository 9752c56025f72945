"""TspInstance: the data of one TSP or ATSP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.routing.edge_weights import COORDINATE_TYPES, LARGEST

__all__ = ["COORDINATE_TYPES", "EDGE_WEIGHT_TYPES", "LARGEST", "TspInstance"]

EDGE_WEIGHT_TYPES = (*COORDINATE_TYPES, "EXPLICIT")


@dataclass(frozen=True, eq=False)
class TspInstance:
    """A set of cities and the distances between them.

    An instance has `matrix` if `edge_weight_type` is EXPLICIT, and `points` for all other types. Cities are 0..n-1 here and
    `ids[i]` in the file. Raises InputError for invalid shapes, values or names.
    """

    name: str
    edge_weight_type: str
    """One of EDGE_WEIGHT_TYPES: how distances follow from the data."""
    points: NDArray[np.float64] | None = None
    """[n, 2 or 3] coordinates as in the file: for GEO degrees and minutes, DDD.MM of TSPLIB."""
    matrix: NDArray[np.float64] | None = None
    """[n, n] matrix[i, j] is the distance from city i to city j; zero on the diagonal."""
    symmetric: bool = True
    ids: NDArray[np.int64] = None  # type: ignore[assignment]
    """[n] the number of each city in the file; by default 1..n."""
    display: NDArray[np.float64] | None = None
    """[n, 2] coordinates for pictures, if the file has others than `points`."""
    comment: str = ""
    names: tuple[str, ...] | None = None
    """The name of each city, if cities are called by names instead of ids in JSON solutions, pictures and pages."""

    def __post_init__(self) -> None:
        kind = self.edge_weight_type
        if kind not in EDGE_WEIGHT_TYPES:
            raise InputError(f"{kind!r} is not known; accepted: {', '.join(EDGE_WEIGHT_TYPES)}", field="EDGE_WEIGHT_TYPE")
        if kind == "EXPLICIT":
            self._check_matrix()
        else:
            self._check_points(COORDINATE_TYPES[kind])
        if self.ids is None:
            object.__setattr__(self, "ids", np.arange(1, self.n + 1))
        ids = np.asarray(self.ids)
        if ids.shape != (self.n,) or ids.dtype.kind not in "iu" or (np.diff(np.sort(ids)) == 0).any() or ids.min() < 0:
            raise InputError(f"there must be {self.n} different integers from 0", field="ids")
        object.__setattr__(self, "ids", ids.astype(np.int64))
        if self.names is not None and (len(set(self.names)) != self.n or len(self.names) != self.n):
            raise InputError(f"there must be {self.n} different names", field="names")
        if self.display is not None:
            display = np.ascontiguousarray(self.display, np.float64)
            if display.shape != (self.n, 2) or not np.isfinite(display).all():
                raise InputError(f"display coordinates are finite and of shape [{self.n}, 2]", field="display")
            object.__setattr__(self, "display", display)

    def _check_matrix(self) -> None:
        """Check the matrix of an EXPLICIT instance and store it as contiguous float64 with a zero diagonal. Raises InputError."""
        m = self.matrix
        if m is None or self.points is not None or m.ndim != 2 or m.shape[0] != m.shape[1] or m.shape[0] < 1:
            raise InputError("an EXPLICIT instance has a square matrix and no points", field="matrix")
        m = np.ascontiguousarray(m, np.float64)
        if m.diagonal().any() or np.signbit(m.diagonal()).any():  # the diagonal has no meaning; files have any value there
            m = m.copy()
            np.fill_diagonal(m, 0.0)
        if not (m.min() >= -LARGEST and m.max() <= LARGEST):  # false for NaN as well
            raise InputError(f"distances must be finite and at most {LARGEST:g} in size", field="matrix")
        if self.symmetric and not np.array_equal(m, m.T):
            raise InputError("a symmetric instance has a symmetric matrix; set symmetric=False for an ATSP", field="matrix")
        object.__setattr__(self, "matrix", m)

    def _check_points(self, dimensions: int) -> None:
        """Check the points of an instance with coordinates and store them as contiguous float64. Raises InputError."""
        p = self.points
        if p is None or self.matrix is not None or p.ndim != 2 or p.shape[1] != dimensions or p.shape[0] < 1:
            raise InputError(f"{self.edge_weight_type} takes points of shape [n, {dimensions}] and no matrix", field="points")
        if not self.symmetric:
            raise InputError("an asymmetric instance is given by a matrix (EXPLICIT)", field="symmetric")
        p = np.ascontiguousarray(p, np.float64)
        if not np.isfinite(p).all() or (np.abs(p) > LARGEST).any():
            raise InputError(f"coordinates must be finite and at most {LARGEST:g} in size", field="points")
        object.__setattr__(self, "points", p)

    @property
    def n(self) -> int:
        """The number of cities."""
        return len(self.points if self.points is not None else self.matrix)  # type: ignore[arg-type]

    @property
    def integral(self) -> bool:
        """Whether every distance is an integer, so that a bound may be rounded up."""
        if self.matrix is not None:
            return bool((self.matrix == np.floor(self.matrix)).all())
        return not self.edge_weight_type.startswith("EXACT")

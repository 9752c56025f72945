"""Classes of random matrices for comparing ATSP heuristics.

Cirasella, Johnson, McGeoch and Zhang, The asymmetric traveling salesman problem: algorithms, instance generators, and tests
(ALENEX 2001), section 3. Definitions and parameters follow the paper as far as it states them. The random numbers are our
own, so that the instances differ from those of the authors' programs. The class `coin` is not implemented.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

__all__ = ["CLASSES"]

_SIDE = 1_000_000  # of the square of random points; also the largest random distance
_PROCESSORS, _LONGEST_TIME = 50, 1000  # of the no-wait flow shop
_BITS = 20  # in each string of the shortest common superstring
_ROWS = 64  # rows of a matrix that are computed at once, so that no temporary array is larger than the matrix

_Rows = Callable[[slice], NDArray[np.float64]]


def _by_rows(size: int, rows: _Rows) -> NDArray[np.float64]:
    """Return float64 [size, size] with a diagonal of 0, computed in slices of rows by the function `rows`."""
    matrix = np.empty((size, size))
    for first in range(0, size, _ROWS):
        matrix[first : first + _ROWS] = rows(slice(first, min(size, first + _ROWS)))
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _points(size: int, random: Generator) -> NDArray[np.int64]:
    """Return random points with whole coordinates, int64 [size, 2]."""
    return random.integers(0, _SIDE, (size, 2))


def _amat(size: int, random: Generator) -> NDArray[np.float64]:
    """Return independent random distances."""
    matrix = random.integers(0, _SIDE, (size, size), endpoint=True).astype(np.float64)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _tmat(size: int, random: Generator) -> NDArray[np.float64]:
    """Return an `amat` matrix closed under shortest paths."""
    return _closed(_amat(size, random))


def _smat(size: int, random: Generator) -> NDArray[np.float64]:
    """Return independent random distances that are equal in both directions."""
    upper = np.triu(_amat(size, random), 1)
    return upper + upper.T


def _tsmat(size: int, random: Generator) -> NDArray[np.float64]:
    """Return an `smat` matrix closed under shortest paths."""
    return _closed(_smat(size, random))


def _closed(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lengths of shortest paths, rounded to integers."""
    from scipy.sparse.csgraph import floyd_warshall

    # scipy treats a distance of 0 as a missing arc
    return floyd_warshall(np.where(matrix == 0.0, 1e-3, matrix), directed=True).round() if len(matrix) > 1 else matrix


def _rect(size: int, random: Generator) -> NDArray[np.float64]:
    """Return rectilinear distances between points in the plane."""
    return _tilted(size, random, 1, 1, 1, False)


def _rtilt(size: int, random: Generator) -> NDArray[np.float64]:
    """Return times of a drill over a tilted table whose motors run one at a time: up takes twice as long as across, down 0."""
    return _tilted(size, random, 1, 2, 0, False)


def _stilt(size: int, random: Generator) -> NDArray[np.float64]:
    """Return times of a drill whose motors run simultaneously: a unit takes 2 across, 4 up, 1 down; the longer time counts."""
    return _tilted(size, random, 2, 4, 1, True)


def _tilted(size: int, random: Generator, across: int, up: int, down: int, at_once: bool) -> NDArray[np.float64]:
    """Return times between random points; a unit takes `across`, `up` or `down`.

    If the motors run `at_once`, the longer of the two times counts, otherwise their sum.
    """
    points = _points(size, random)

    def rows(which: slice) -> NDArray[np.float64]:
        dx = across * np.abs(points[None, :, 0] - points[which, None, 0])
        rise = points[None, :, 1] - points[which, None, 1]
        dy = np.where(rise > 0, up * rise, -down * rise)
        found: NDArray[np.float64] = (np.maximum(dx, dy) if at_once else dx + dy).astype(np.float64)
        return found

    return _by_rows(size, rows)


def _crane(size: int, random: Generator) -> NDArray[np.float64]:
    """Return distances of a stacker crane, from the end of one job to the start of the next: Euclidean, rounded to nearest.

    In either coordinate, the end of a job is at most 10^6 / u from its start, u = 10 sqrt(size / 100).
    """
    reach = int(_SIDE / (10.0 * np.sqrt(size / 100.0)))
    starts = _points(size, random)
    ends = starts + random.integers(-reach, reach, (size, 2), endpoint=True)

    def rows(which: slice) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.rint(np.hypot(*(starts[None] - ends[which, None]).transpose(2, 0, 1)))
        return found

    return _by_rows(size, rows)


def _disk(size: int, random: Generator) -> NDArray[np.float64]:
    """Return the times from the end of reading one file on a disk to the beginning of the next.

    A file begins at an angle on a track and takes up to a tenth of a turn. To read the next file, the head moves to the track of
    that file, at a tenth of the disk's speed, and waits until the beginning of the file comes under the head.
    """
    starts = _points(size, random)
    ends = (starts[:, 0] + random.integers(0, _SIDE // 10, size, endpoint=True)) % _SIDE

    def rows(which: slice) -> NDArray[np.float64]:
        turn = (starts[None, :, 0] - ends[which, None]) % _SIDE
        moved = 10 * np.abs(starts[None, :, 1] - starts[which, None, 1])
        turns = np.maximum(0, -((turn - moved) // _SIDE))
        found: NDArray[np.float64] = (turn + turns * _SIDE).astype(np.float64)
        return found

    return _by_rows(size, rows)


def _shop(size: int, random: Generator) -> NDArray[np.float64]:
    """Return, for a no-wait flow shop of 50 processors with times up to 1000, how much later job j ends than job i before it."""
    times = random.integers(0, _LONGEST_TIME, (size, _PROCESSORS), endpoint=True)
    ends = times.cumsum(1)
    begins = ends - times

    def rows(which: slice) -> NDArray[np.float64]:
        later = np.array([(row - begins).max(1) for row in ends[which]])  # how much later than job i job j may start
        found: NDArray[np.float64] = (later + ends[None, :, -1] - ends[which, None, -1]).astype(np.float64)
        return found

    return _by_rows(size, rows)


def _super(size: int, random: Generator) -> NDArray[np.float64]:
    """Return, for the shortest common superstring of random 20-bit strings, how many bits string j appends after string i."""
    strings = random.integers(0, 1 << _BITS, size)
    matrix = np.full((size, size), float(_BITS))
    for overlap in range(1, _BITS + 1):
        ends, begins = strings & ((1 << overlap) - 1), strings >> (_BITS - overlap)
        for i in range(size):
            matrix[i, begins == ends[i]] = _BITS - overlap
    np.fill_diagonal(matrix, 0.0)
    return matrix


CLASSES: dict[str, Callable[[int, Generator], NDArray[np.float64]]] = {
    "amat": _amat, "crane": _crane, "disk": _disk, "rect": _rect, "rtilt": _rtilt, "shop": _shop, "smat": _smat,
    "stilt": _stilt, "super": _super, "tmat": _tmat, "tsmat": _tsmat,
}  # fmt: skip
"""Class -> function(size, random) that returns distances, float64 [size, size]: integers, with a diagonal of 0."""

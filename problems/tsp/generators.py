"""Random instances, identical for a seed on every machine (NumPy's PCG64 streams)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.tsp.instance import COORDINATE_TYPES, TspInstance

__all__ = ["GENERATORS", "asymmetric", "atsp", "clustered", "portcgen", "portgen", "uniform"]

_SIDE = 1_000_000  # of the square, as in the DIMACS challenge
_LARGEST = 10_000_000  # cities
_LARGEST_MATRIX = 10_000  # cities of an instance with a matrix
_LARGEST_PORTCGEN = 1_000_000  # cities
_LARGEST_SEED = 10**9 - 1  # of the DIMACS challenge's generators


def uniform(*, size: int = 1000, edge_weight_type: str = "EUC_2D", seed: int = 0) -> TspInstance:
    """Return cities uniform in a square or cube: whole coordinates below 10^6, as the DIMACS challenge's E instances.

    EXACT_2D and EXACT_3D have float64 coordinates in the unit square or cube instead, as in the learning literature. GEO has
    whole degrees and minutes, uniform in latitude and in longitude, so that cities are denser near the poles.
    """
    _check_size(size, _LARGEST)
    if edge_weight_type not in COORDINATE_TYPES:
        raise UsageError(f"edge_weight_type: {edge_weight_type!r} is not accepted; accepted: {', '.join(COORDINATE_TYPES)}")
    random, dimensions = np.random.default_rng(seed), COORDINATE_TYPES[edge_weight_type]
    if edge_weight_type == "GEO":
        points = _globe(random, size)
    elif edge_weight_type.startswith("EXACT"):
        points = random.random((size, dimensions))
    else:
        points = random.integers(0, _SIDE, (size, dimensions)).astype(np.float64)
    weights = "" if edge_weight_type == "EUC_2D" else f" --option edge_weight_type={edge_weight_type}"
    comment = f"corl generate tsp uniform --option size={size}{weights} --seed {seed}"
    return TspInstance(f"uniform-{size}", edge_weight_type, points, comment=comment)


def clustered(*, size: int = 1000, clusters: int | None = None, seed: int = 0) -> TspInstance:
    """Return EUC_2D cities in clusters, as the C instances of the 8th DIMACS challenge.

    See Johnson and McGeoch, 2002, section 2.1.3. Centres are uniform in a square of side 10^6; their number is `clusters`, by
    default one for every 100 cities. A city is at a normally distributed offset from a random centre, with standard deviation
    10^6 / sqrt(size) in each coordinate.
    """
    _check_size(size, _LARGEST)
    count = max(1, size // 100) if clusters is None else clusters
    if not 1 <= count <= size:
        raise UsageError(f"clusters: {clusters} is not accepted; accepted: 1 to size")
    random = np.random.default_rng(seed)
    centres = random.integers(0, _SIDE, (count, 2))
    offsets = np.rint(random.standard_normal((size, 2)) * (_SIDE / np.sqrt(size)))
    points = centres[random.integers(0, count, size)] + offsets
    given = "" if clusters is None else f" --option clusters={clusters}"
    comment = f"corl generate tsp clustered --option size={size}{given} --seed {seed}"
    return TspInstance(f"clustered-{size}", "EUC_2D", points, comment=comment)


def portgen(*, size: int = 1000, seed: int = 1000) -> TspInstance:
    """Return an E instance of the 8th DIMACS challenge, bit for bit: whole coordinates uniform below 10^6.

    E1k.0 is size 1000, seed 1000; E1k.1 has seed 10001; E100k.0 is size 100000, seed 100000.
    """
    from corl.problems.tsp.dimacs import uniform_points

    _check_size(size, _LARGEST)
    return _of_dimacs("portgen", size, seed, uniform_points)


def portcgen(*, size: int = 1000, seed: int = 1000) -> TspInstance:
    """Return a C instance of the 8th DIMACS challenge, bit for bit: a normal cluster for every 100 cities; seeds as in `portgen`.

    Fewer than 100 cities, for which the original program makes no centre, form one cluster.
    """
    from corl.problems.tsp.dimacs import clustered_points

    _check_size(size, _LARGEST_PORTCGEN)
    return _of_dimacs("portcgen", size, seed, clustered_points)


def _of_dimacs(program: str, size: int, seed: int, points: Callable[[int, int], NDArray[np.float64]]) -> TspInstance:
    if not 0 <= seed <= _LARGEST_SEED:
        raise UsageError(f"seed: {seed} is not accepted; accepted: 0 to {_LARGEST_SEED:,}")
    comment = f"corl generate tsp {program} --option size={size} --seed {seed}"
    return TspInstance(f"{program}-{size}-{seed}", "EUC_2D", points(size, seed), comment=comment)


def asymmetric(*, size: int = 100, seed: int = 0) -> TspInstance:
    """Return an ATSP that obeys the triangle inequality: a random matrix (1..10^6) closed under shortest paths.

    The `tmat` class of Cirasella, Johnson, McGeoch and Zhang (ALENEX 2001). Takes O(size^3) time: about a second for 1000.
    """
    from scipy.sparse.csgraph import floyd_warshall

    _check_size(size, _LARGEST_MATRIX)
    matrix = np.random.default_rng(seed).integers(1, _SIDE, (size, size), endpoint=True).astype(np.float64)
    np.fill_diagonal(matrix, 0.0)
    closed = floyd_warshall(matrix, directed=True, overwrite=True) if size > 1 else matrix
    comment = f"corl generate tsp asymmetric --option size={size} --seed {seed}"
    return TspInstance(f"asymmetric-{size}", "EXPLICIT", matrix=closed, symmetric=False, comment=comment)


def atsp(*, size: int = 316, kind: str = "crane", seed: int = 0) -> TspInstance:
    """Return an instance of one of the classes of Cirasella, Johnson, McGeoch and Zhang (ALENEX 2001).

    `kind` is amat, crane, disk, rect, rtilt, shop, smat, stilt, super, tmat or tsmat; rect, smat and tsmat are symmetric. tmat
    and tsmat take O(size^3) time.
    """
    from corl.problems.tsp.asymmetric_classes import CLASSES

    _check_size(size, _LARGEST_MATRIX)
    if kind not in CLASSES:
        raise UsageError(f"kind: {kind!r} is not accepted; accepted: {', '.join(sorted(CLASSES))}")
    matrix = CLASSES[kind](size, np.random.default_rng(seed))
    comment = f"corl generate tsp atsp --option size={size} --option kind={kind} --seed {seed}"
    symmetric = kind in ("rect", "smat", "tsmat")
    return TspInstance(f"{kind}-{size}-{seed}", "EXPLICIT", matrix=matrix, symmetric=symmetric, comment=comment)


def _check_size(size: int, most: int) -> None:
    if not 1 <= size <= most:
        raise UsageError(f"size: {size} is not accepted; accepted: 1 to {most:,}")


def _globe(random: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Return latitude and longitude in TSPLIB's DDD.MM."""
    degrees = np.column_stack([random.integers(-89, 90, size), random.integers(-179, 180, size)])
    minutes = random.integers(0, 60, (size, 2)) / 100.0
    return np.where(degrees < 0, degrees - minutes, degrees + minutes)


GENERATORS: dict[str, Callable[..., TspInstance]] = {
    "uniform": uniform,
    "clustered": clustered,
    "asymmetric": asymmetric,
    "atsp": atsp,
    "portgen": portgen,
    "portcgen": portcgen,
}

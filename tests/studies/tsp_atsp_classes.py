"""The ATSP search beside OR-Tools and `eax` on the doubled graph, on the random classes of Cirasella, Johnson, McGeoch and Zhang.

python tests/studies/tsp_atsp_classes.py --sizes 316 1000 --output classes.csv

The doubled graph (Jonker & Volgenant 1983) has an in-copy and an out-copy of each city, joined by an edge that every good tour
has; an arc is an edge from an out-copy to an in-copy. One processor, one instance of each kind and size (seed 1); gaps are to the
best of the three and to our bound.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import corl
from corl.problems.tsp.instance import TspInstance

__all__ = ["doubled", "main", "undoubled"]

_KINDS = ("amat", "crane", "disk", "rtilt", "shop", "stilt", "super", "tmat")
_SECONDS = {316: 5.0, 1000: 10.0, 3162: 20.0}


def doubled(instance: TspInstance) -> TspInstance:
    """A symmetric instance of 2 n cities, city i's out-copy i and in-copy n + i."""
    assert instance.matrix is not None
    n, costs = instance.n, instance.matrix
    large = 10.0 * (costs.max() + 1.0)
    matrix = np.full((2 * n, 2 * n), 5.0 * large)
    matrix[:n, n:], matrix[n:, :n] = costs + large, costs.T + large
    at = np.arange(n)
    matrix[at, n + at] = matrix[n + at, at] = 0.0
    np.fill_diagonal(matrix, 0.0)
    return TspInstance(f"{instance.name}-doubled", "EXPLICIT", matrix=matrix)


def undoubled(tour: NDArray[np.integer]) -> NDArray[np.integer]:
    """The directed tour that a tour of the doubled graph stands for. Ends the program where it lacks a bond."""
    n = len(tour) // 2
    out = int(np.flatnonzero(tour == 0)[0])
    turned = np.roll(tour, -out)
    if turned[1] == n:  # the way goes from city 0's out-copy to its in-copy: backwards
        turned = np.roll(turned[::-1], 1)
    cities = turned[::2]
    if not (np.sort(cities) == np.arange(n)).all() or not (np.roll(turned[1::2], 1) == cities + n).all():
        raise SystemExit("a tour of the doubled graph lacks a bond")
    return cities


def main() -> None:
    """Run all, print and write rows."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--sizes", type=int, nargs="+", default=[316, 1000], choices=sorted(_SECONDS))
    asked.add_argument("--kinds", nargs="+", default=list(_KINDS), choices=_KINDS)
    asked.add_argument("--output", type=Path)
    given = asked.parse_args()
    rows = []
    for size in given.sizes:
        seconds = _SECONDS[size]
        for kind in given.kinds:
            instance = corl.generate("tsp", "atsp", size=size, kind=kind, seed=1)
            ours = corl.solve(instance, solver="ils", time_limit=seconds, seed=1)
            lengths = {"ils": ours.objective}
            lengths["ortools"] = corl.solve(instance, solver="ortools", time_limit=seconds).objective
            both = corl.solve(doubled(instance), solver="eax", time_limit=seconds, seed=1)
            lengths["eax, doubled"] = corl.problem("tsp").evaluate(instance, undoubled(np.asarray(both.solution)))
            best = min(lengths.values())
            for name, length in lengths.items():
                gap = 100.0 * (length - best) / best if best > 0 else 0.0
                rows.append((kind, size, seconds, name, length, f"{gap:.3f}", ours.bound, f"{100 * (best / ours.bound - 1):.3f}"))
                print(*rows[-1], flush=True)
    if given.output:
        with given.output.open("w", newline="") as out:
            head = ("class", "cities", "seconds", "solver", "length", "gap to the best", "our bound", "best above our bound")
            csv.writer(out).writerows([head, *rows])


if __name__ == "__main__":
    sys.exit(main())

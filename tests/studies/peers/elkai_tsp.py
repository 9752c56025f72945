"""LKH through elkai: `python elkai_tsp.py INSTANCE.tsp SOLUTION.json RUNS`, in an environment with elkai.

It has no limit and no seed. Distances are Euclidean and rounded, or an explicit full matrix.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import elkai

_REFUSED = 77


def read(path: str) -> tuple[list[int], list[list[int]]]:
    """Return the ids of the cities and their distances."""
    words, rows = {}, []
    for line in Path(path).read_text().splitlines():
        first, _, rest = line.partition(":")
        if rest:
            words[first.strip()] = rest.strip()
        elif line[:1].isspace() or line[:1].isdigit() or line[:1] == "-":
            rows += [line.split()]
    if words["EDGE_WEIGHT_TYPE"] == "EUC_2D" and "ROUNDING" not in words:
        points = [(float(row[1]), float(row[2])) for row in rows if len(row) == 3]
        return [int(row[0]) for row in rows if len(row) == 3], [
            [math.floor(math.dist(a, b) + 0.5) for b in points] for a in points
        ]
    if words.get("EDGE_WEIGHT_FORMAT") == "FULL_MATRIX":
        n, flat = int(words["DIMENSION"]), [int(word) for row in rows for word in row]
        return list(range(1, n + 1)), [flat[k * n : (k + 1) * n] for k in range(n)]
    print(f"{words['EDGE_WEIGHT_TYPE']} is not supported", file=sys.stderr)
    sys.exit(_REFUSED)


def main() -> None:
    """The command above."""
    file, solution, runs = sys.argv[1:]
    ids, distances = read(file)
    tour = elkai.DistanceMatrix(distances).solve_tsp(runs=int(runs))  # the first city again at the end
    Path(solution).write_text(json.dumps([ids[k] for k in tour[:-1]]))


if __name__ == "__main__":
    main()

"""PyJobShop with CP-SAT: `python pyjobshop_jobshop.py INSTANCE.json SOLUTION.json SECONDS CORES`, in an environment with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from jobshop_pyjobshop import model_of, schedule_of


def main() -> None:
    """The command above; the limit is of the wall clock."""
    file, solution, limit, cores = sys.argv[1:]
    given = json.loads(Path(file).read_text())
    result = model_of(given).solve(solver="ortools", time_limit=float(limit), num_workers=int(cores), display=False)
    Path(solution).write_text(json.dumps(schedule_of(given, result)))


if __name__ == "__main__":
    main()

"""One solve as `corl solve` does it, for milp_defaults.py: `python -P tests/studies/milp_one_solve.py FILE SOLVER SEED SECONDS`.

SOLVER is NAME[:KEY=VALUE...]. The output is a line of JSON: SCIP's status and counts, the objective, and the processor seconds of
this process since its start. It imports nothing that `corl solve` does not.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import corl
from corl.solvers.milp.scip.model import Engine

__all__ = ["solved"]


def solved(path: str, solver: str, seed: int, time_limit: float) -> dict[str, Any]:
    """Solve a file; return the columns of milp_comparison.FIELDS from "status" on, without "after_root"."""
    counts = {"nodes": 0, "lp_iterations": 0, "strong_iterations": 0}
    solve = Engine.solve

    def counted(engine: Engine, report: Any) -> str:
        status, model = solve(engine, report), engine.model
        counts["nodes"] += int(model.getNTotalNodes())
        counts["lp_iterations"] += int(model.getNLPIterations())
        counts["strong_iterations"] += int(model.getNStrongbranchLPIterations())
        return status

    name, *pairs = solver.split(":")
    Engine.solve = counted  # type: ignore[method-assign]
    try:
        result = corl.solve(path, solver=name, seed=seed, time_limit=time_limit, **dict(pair.split("=", 1) for pair in pairs))
    finally:
        Engine.solve = solve  # type: ignore[method-assign]
    status = "timelimit" if result.limit == "time_limit" else result.status
    found = {"status": status, "objective": "" if result.objective is None else repr(result.objective)}
    return found | {"seconds": round(time.process_time(), 3)} | counts


if __name__ == "__main__":
    print(json.dumps(solved(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))))

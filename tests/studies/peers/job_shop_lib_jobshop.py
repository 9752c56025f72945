"""job_shop_lib with CP-SAT: `python job_shop_lib_jobshop.py INSTANCE.json SOLUTION.json SECONDS`, in an environment with it.

It solves classic job shops. CP-SAT uses all the processors that it sees; the limit is of the wall clock.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from job_shop_lib import JobShopInstance, Operation
from job_shop_lib.constraint_programming import ORToolsSolver

_REFUSED = 77


def main() -> None:
    """The command above."""
    file, solution, limit = sys.argv[1:]
    jobs = json.loads(Path(file).read_text())["jobs"]
    if not all(isinstance(job, list) and all(isinstance(operation[0], int) for operation in job) for job in jobs):
        print("it solves classic job shops only", file=sys.stderr)
        sys.exit(_REFUSED)
    instance = JobShopInstance([[Operation(machine, duration) for machine, duration in job] for job in jobs])
    schedule = ORToolsSolver(max_time_in_seconds=float(limit)).solve(instance)
    starts = [[0] * len(job) for job in jobs]
    for of_machine in schedule.schedule:
        for each in of_machine:
            starts[each.job_id][each.position_in_job] = each.start_time
    machines = [[machine for machine, _ in job] for job in jobs]
    Path(solution).write_text(json.dumps({"start": starts, "machine": machines}))


if __name__ == "__main__":
    main()

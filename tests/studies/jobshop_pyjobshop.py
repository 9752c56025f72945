"""PyJobShop on one instance file: `python tests/studies/jobshop_pyjobshop.py INSTANCE.json SECONDS`, with PyJobShop installed.

It needs nothing of corl, so that PyJobShop can have an environment of its own. The file is a job shop in corl's JSON without
set-ups or dates, with machines numbered from 0; jobs that block may exchange machines, since PyJobShop has no other rule. CP-
SAT runs with one thread for SECONDS processor seconds. The output is a line of JSON: start, machine, bound and the processor
seconds.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

__all__ = ["main", "model_of", "schedule_of"]


def model_of(given: dict[str, Any]) -> Any:
    """Return the model of an instance; breaks that never end are not supported."""
    from pyjobshop import Model

    model = Model()
    spells = given.get("unavailable", [[] for _ in range(given["machines"])])
    machines = [model.add_machine(breaks=[tuple(each) for each in of_machine]) for of_machine in spells]
    resources = [model.add_renewable(capacity) for capacity in given.get("resources", [])]  # numbered after the machines
    for job in given["jobs"]:
        entry = job if isinstance(job, dict) else {"operations": job}
        count = len(entry["operations"])
        blocking, resumable = (_flags(entry, given, key, count) for key in ("blocking", "resumable"))
        tasks, added = [], model.add_job()
        for k, choices in enumerate(_choices(entry)):
            task = model.add_task(added, allow_idle=blocking[k] and k < count - 1, allow_breaks=resumable[k])
            for machine, duration, units in choices:
                needed = [(resource, each) for resource, each in zip(resources, units) if each]
                model.add_mode(
                    task, [machines[machine], *(each[0] for each in needed)], duration, [0, *(each[1] for each in needed)]
                )
            if tasks and blocking[k - 1]:
                model.add_end_at_start(tasks[-1], task)
            elif tasks:
                model.add_end_before_start(tasks[-1], task)
            tasks.append(task)
    model.set_objective(weight_makespan=1)
    return model


def _choices(job: dict[str, Any]) -> list[list[tuple[int, int, list[int]]]]:
    """Return (machine, duration, units of each resource) for each machine of each operation of a job."""
    found = []
    for operation, needs in zip(job["operations"], job.get("needs") or [None] * len(job["operations"])):
        pairs = operation if isinstance(operation[0], list) else [operation]
        units = needs if needs and isinstance(needs[0], list) else [needs or []] * len(pairs)
        found.append([(machine, duration, each) for (machine, duration), each in zip(pairs, units)])
    return found


def _flags(job: dict[str, Any], given: dict[str, Any], key: str, count: int) -> list[bool]:
    flags = job.get(key, given.get(key, False))
    return flags if isinstance(flags, list) else [flags] * count


def schedule_of(given: dict[str, Any], result: Any) -> dict[str, list[list[int]]]:
    """Return the best schedule of a result in corl's JSON."""
    lengths = [len(job["operations"] if isinstance(job, dict) else job) for job in given["jobs"]]
    tasks = iter(result.best.tasks)
    rows = [[next(tasks) for _ in range(length)] for length in lengths]
    return {
        "start": [[task.start for task in row] for row in rows],
        "machine": [[min(task.resources) for task in row] for row in rows],
    }


def _stop_after(seconds: float) -> None:
    """Make every search of CP-SAT in this process stop after so many processor seconds."""
    from ortools.sat.python import cp_model

    solve = cp_model.CpSolver.solve

    def timed(solver: Any, *arguments: Any, **options: Any) -> Any:
        began, done = time.process_time(), threading.Event()

        def watch() -> None:
            while not done.wait(0.05):
                if time.process_time() - began > seconds:
                    solver.stop_search()
                    return

        threading.Thread(target=watch, daemon=True).start()
        status = solve(solver, *arguments, **options)
        done.set()
        return status

    cp_model.CpSolver.solve = timed


def main() -> None:
    """The command above."""
    with open(sys.argv[1]) as stream:
        given = json.load(stream)
    seconds = float(sys.argv[2])
    began = time.process_time()
    model = model_of(given)
    _stop_after(seconds - (time.process_time() - began))
    result = model.solve(time_limit=1e6, num_workers=1, display=False)
    used = time.process_time() - began
    print(json.dumps({"solution": schedule_of(given, result), "bound": result.lower_bound, "seconds": round(used, 1)}))


if __name__ == "__main__":
    main()

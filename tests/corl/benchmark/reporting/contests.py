"""Runs of a benchmark that never ran: solvers whose results differ by known steps."""

from __future__ import annotations

import numpy as np

from corl.benchmark.reporting.analysis import compare
from corl.benchmark.reporting.grid import Grid
from corl.record import Record
from corl.statistics import Resampling

__all__ = ["contest", "run", "verdict"]


def run(solver: str, instance: str, seed: int = 0, objective: float | None = 110.0, **changes) -> Record:
    """A run of ten seconds that found its objective after one."""
    ok = objective is not None
    values = {
        "suite": "s", "problem": "tsp", "instance": instance, "solver": solver, "seed": seed, "time_limit": 10.0,
        "iterations": None, "outcome": "ok" if ok else "nothing", "objective": objective, "sense": "min", "reference": 100.0,
        "reference_status": "best known", "reference_source": "a list", "runtime": 10.0, "setup_seconds": 0.5,
        "peak_bytes": 2**27, "trace": ((1.0, objective, None),) if ok else (), "solver_name": solver, "facts": {"size": 50},
        "commit": "abc",
        "versions": {"corl": "0"}, "machine": {"processor": "p", "cores": 2}, "started": "2026-01-01T00:00:00Z", "cores": (0,),
    }  # fmt: skip
    return Record(**values | changes)


def contest(instances: int = 8, seeds: int = 3, step: float = 1.0, solvers=("a", "b"), **changes) -> list[Record]:
    """Solver after solver worse by `step` on every instance, with some luck in each run."""
    random = np.random.default_rng(0)
    return [
        run(name, f"i{i}", seed, 101 + i + step * place + random.random(), **changes)
        for i in range(instances) for seed in range(seeds) for place, name in enumerate(solvers)
    ]  # fmt: skip


def verdict(records: list[Record], **keywords):
    """The comparison of the first two solvers at the longest limit."""
    grid = Grid.of(records)
    return compare(grid, Resampling(grid.slots), len(grid.limits) - 1, **keywords)[0]

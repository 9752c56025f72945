"""Branching rules beside each other: processor time, nodes and LP iterations of whole solves, as CSV that grows line by line.

The root ends, for every rule alike, when SCIP first asks for a branching: what comes before is the same whatever the rule.
Processor seconds are of this process, with one solve at a time in it; reading, generating, loading weights and compiling are
outside. milp_rules.py runs it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from run_table import RunTable, rows_of

from corl.errors import SolverError
from corl.problems.milp.generators import auctions, facility_location, independent_set, set_cover
from corl.problems.milp.instance import MilpInstance
from corl.problems.milp.problem import Milp
from corl.run import Run
from corl.solvers.milp.scip import MEASURING
from corl.solvers.milp.scip.model import Engine
from corl.solvers.milp.scip.rule import Observation, Rule
from corl.solvers.milp.scip.solver import Scip

__all__ = ["FAMILIES", "FIELDS", "by_instance", "check_optima", "compare", "solve_timed", "table"]

FAMILIES: dict[str, Callable[[int], MilpInstance]] = {
    "auctions": lambda seed: auctions(seed=seed),
    "auctions-200x1000": lambda seed: auctions(items=200, bids=1000, seed=seed),
    "facility-location": lambda seed: facility_location(seed=seed),
    "independent-set": lambda seed: independent_set(seed=seed),
    "set-cover": lambda seed: set_cover(seed=seed),
}
"""Generated at the literature's sizes; training takes seeds from 500,000 on."""
FIELDS = (
    "family", "instance", "seed", "solver", "status", "objective", "seconds", "after_root", "nodes", "lp_iterations",
    "strong_iterations",
)  # fmt: skip
_SHIFTS = {"seconds": 1.0, "after_root": 1.0, "nodes": 10.0, "iterations": 1000.0}
_SAME = 1e-6  # relative difference of two optima


class _RootClock:
    """Notes when the first branching is asked for, and leaves it to the next rule."""

    at = math.nan

    def __call__(self, node: Observation) -> int:
        if math.isnan(self.at):
            self.at = time.process_time()
        return -1


def solve_timed(
    solver: Scip, instance: MilpInstance, seed: int, time_limit: float | None = None, parameters: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What FIELDS has of one solve but family, instance, seed and solver.

    time_limit: processor seconds; parameters: of SCIP, beside the solver's own.
    """
    solver.prepare(instance)
    run = Run(Milp().with_sense_of(instance), instance, seed=seed)
    run.start()
    began = time.process_time()
    limits = {} if time_limit is None else {"timing/clocktype": 1, "limits/time": time_limit}  # 1: processor seconds
    engine = Engine(instance, run, solver.parameters() | limits | dict(parameters or {}))
    try:
        solver.plug(engine)
        clock = _RootClock()
        engine.add(Rule(engine.model, engine.callbacks, clock), "corl_root_clock", "", MEASURING)
        status = engine.solve(lambda kind, value: None)
        ended, model = time.process_time(), engine.model
        return {
            "status": status, "objective": repr(float(model.getObjVal())) if model.getNSols() else "",
            "seconds": round(ended - began, 4), "after_root": round(ended - clock.at, 4) if clock.at == clock.at else 0.0,
            "nodes": int(model.getNTotalNodes()), "lp_iterations": int(model.getNLPIterations()),
            "strong_iterations": int(model.getNStrongbranchLPIterations()),
        }  # fmt: skip
    finally:
        engine.close()


def compare(
    output: Path, family: str, solvers: Mapping[str, Any], instances: Sequence[Any], seeds: Sequence[int],
    time_limit: float | None, make: Callable[[Any], MilpInstance] | None = None,
    measure: Callable[..., dict[str, Any]] = solve_timed,
) -> None:  # fmt: skip
    """Solve every instance with each seed and solver, and append a line for each to `output`.

    `make` makes an instance of each entry of `instances`; by default the family's generator, of its seed. `measure` solves it,
    and takes the first arguments of `solve_timed`. Lines that are there already are not made again. Solvers take turns, so that
    a machine that slows down slows all.
    """
    table = RunTable(output, FIELDS, FIELDS[:4])
    for number in instances:
        instance = (make or FAMILIES[family])(number)
        for seed in seeds:
            for name, solver in solvers.items():
                key = dict(zip(FIELDS, (family, instance.name, str(seed), name)))
                if not table.has(*key.values()):
                    table.append(key | measure(solver, instance, seed, time_limit))


def _mean(values: Iterable[float], shift: float) -> float:
    """Shifted geometric mean."""
    return float(np.exp(np.mean(np.log(np.array(list(values)) + shift))) - shift)


def table(paths: Iterable[Path], base: str = "scip-relpscost") -> list[dict[str, Any]]:
    """Shifted geometric means by family and solver, over what all solvers of the family solved to optimality.

    `total` and `after` are the ratios of time to that of `base`, and of time after the root to the better of relpscost, pscost.
    `floor` is the time before the end of the root / the whole time of `base`, what `total` would be if branching took no time.
    Each has the limits of a 95 % interval over instances (bootstrap). NaN without those rules.
    Raises SolverError where two solvers' optima of one instance differ.
    """
    lines = []
    rows = [row for path in paths for row in rows_of(path)]
    for family in sorted({row["family"] for row in rows}):
        mine = [row for row in rows if row["family"] == family]
        solvers = sorted({row["solver"] for row in mine})
        runs: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
        for row in mine:
            runs.setdefault((row["instance"], row["seed"]), {})[row["solver"]] = row
        whole = [run for run in runs.values() if len(run) == len(solvers) and all(r["status"] == "optimal" for r in run.values())]
        check_optima(whole)
        if not whole:
            continue
        means = {solver: _means([run[solver] for run in whole]) for solver in solvers}
        known = [name for name in ("scip-relpscost", "scip-pscost") if name in means]
        bar = min(known, key=lambda name: means[name]["after_root"], default="")
        for solver in solvers:
            rounded = {name: round(value, 3) for name, value in means[solver].items()}
            lines.append({"family": family, "solver": solver, "runs": len(whole), **rounded, **_ratios(whole, solver, base, bar)})
    return lines


def _ratios(runs: list[dict[str, dict[str, str]]], solver: str, base: str, bar: str) -> dict[str, float]:
    """`total`, `after` and `floor` of `table`, each with `_low` and `_high`; NaN where `bar` or `base` is missing."""
    pairs = {}
    if base in runs[0]:
        whole = _seconds(runs, base, "seconds")
        pairs["total"] = _seconds(runs, solver, "seconds"), whole
        pairs["floor"] = _seconds(runs, solver, "seconds") - _seconds(runs, solver, "after_root"), whole
    if bar and _seconds(runs, bar, "after_root").any():
        pairs["after"] = _seconds(runs, solver, "after_root"), _seconds(runs, bar, "after_root")
    names = [run[solver]["instance"] for run in runs]
    groups = [np.array([k for k, name in enumerate(names) if name == one]) for one in dict.fromkeys(names)]
    random = np.random.default_rng(0)
    draws = [np.concatenate([groups[g] for g in draw]) for draw in random.integers(len(groups), size=(1000, len(groups)))]
    found = {}
    for name in ("total", "after", "floor"):
        above, below = pairs.get(name, (np.full(len(runs), np.nan),) * 2)
        ratios = [_mean(above[draw], 1.0) / max(_mean(below[draw], 1.0), 1e-9) for draw in (np.arange(len(runs)), *draws)]
        values = (ratios[0], *np.percentile(ratios[1:], [2.5, 97.5]))
        found |= {name + end: round(float(value), 2) for end, value in zip(("", "_low", "_high"), values)}
    return found


def _seconds(runs: list[dict[str, dict[str, str]]], solver: str, name: str) -> np.ndarray:
    return np.array([float(run[solver][name]) for run in runs])


def by_instance(paths: Iterable[Path], base: str) -> list[dict[str, Any]]:
    """Seconds of every solver (shifted geometric means over seeds) on each instance, and their ratios to `base`'s, both shifted.

    What ended at its limit counts with the seconds that it had; `unsolved` is how many such runs there are. The last line has the
    means over all. Raises SolverError as `table` does.
    """
    rows = [row for path in paths for row in rows_of(path)]
    solvers = sorted({row["solver"] for row in rows}, key=lambda name: (name != base, name))
    grouped: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        grouped.setdefault(row["instance"], []).append(row)
    lines = []
    for instance, mine in [*grouped.items(), ("all", rows)]:
        solved = [row for row in mine if row["status"] == "optimal"]
        if instance != "all":
            check_optima([{str(k): row for k, row in enumerate(solved)}])
        seconds = {name: _mean([float(row["seconds"]) for row in mine if row["solver"] == name], 1.0) for name in solvers}
        line: dict[str, Any] = {"instance": instance, "runs": len(mine), "unsolved": len(mine) - len(solved)}
        line |= {name: round(value, 2) for name, value in seconds.items()}
        shifted = {name: (value + 1.0) / (seconds[base] + 1.0) for name, value in seconds.items() if name != base}
        lines.append(line | {f"{name} / {base}": round(value, 2) for name, value in shifted.items()})
    return lines


def _means(rows: list[dict[str, str]]) -> dict[str, float]:
    iterations = [float(row["lp_iterations"]) + float(row["strong_iterations"]) for row in rows]
    columns = {name: [float(row[name]) for row in rows] for name in ("seconds", "after_root", "nodes")}
    columns["iterations"] = iterations
    return {name: _mean(values, _SHIFTS[name]) for name, values in columns.items()}


def check_optima(runs: list[dict[str, dict[str, str]]]) -> None:
    """Raise SolverError if the objectives of one run's rows differ; each run has the rows of one program by solver."""
    for run in runs:
        values = [float(row["objective"]) for row in run.values()]
        if values and max(values) - min(values) > _SAME * max(1.0, abs(values[0])):
            raise SolverError(f"{next(iter(run.values()))['instance']}: the solvers' optima differ: {sorted(values)}")

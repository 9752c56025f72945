"""Jobs that arrive over time: the learned dispatcher beside dispatching rules and beside re-solving with tabu search.

    python tests/studies/jobshop_arrivals.py tune                  # the look-aheads, on instances to choose on
    python tests/studies/jobshop_arrivals.py line --output NETWORK # the ablation: the policy without its hidden layer
    python tests/studies/jobshop_arrivals.py judge --line NETWORK --output FILE   # once; a row a method and instance

The split, made before anything was tuned: `corl train` draws its instances from its own seeds, 32 bits each; to choose on are
the seeds from 1,000,000 on, to judge on those from 2,000,000 on. The regime in which the policy is to win was named first as
well: 10 machines that are busy for 0.9 of the time, due dates at 3 times a job's work, 500 jobs.

Rules decide by what has arrived (schedules without delay), and so does the policy. Re-solving: whenever a job arrives, tabu
search schedules all that has not begun, starting from the plan so far, for so many milliseconds a decision (a job brings six in
the mean); what it takes to state the problem is left out, in its favour.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from run_table import RunTable

import corl
from corl.networks.architectures import network_class
from corl.problems.jobshop.generators import arrivals
from corl.problems.jobshop.instance import JobShopInstance, Schedule, from_jobs
from corl.problems.jobshop.problem import JobShop
from corl.solvers.jobshop.arriving.network import QueueNetwork
from corl.solvers.jobshop.dispatch.rules import rules_for
from corl.solvers.jobshop.tabu.solver import Tabu

CHOOSE, JUDGE = 1_000_000, 2_000_000
NAMED = (0.9, 3.0)
REGIMES = [(load, tightness) for load in (0.8, 0.9, 0.95) for tightness in (2.0, 3.0, 4.0)]
JOBS, MACHINES = 500, 10
GRID = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0)
LOOK_AHEADS = {"atc": (12.0, 4.0, 4.0, 6.0, 6.0, 6.0, 12.0, 6.0, 6.0), "covert": (3.0, 3.0, 3.0, 3.0, 3.0, 4.0, 3.0, 3.0, 4.0)}
"""As `tune --instances 12` found them, for each of REGIMES."""
POLICY = "jobshop-arrivals"
BUDGETS = (0.1, 1.0, 10.0)
"""Milliseconds a decision of re-solving."""
OPTIONS: dict[str, Any] = {
    "generator": "arrivals", "environment": "arriving", "features": "queue", "size": 200, "width": 16, "rate": 0.01,
    "spread": 0.05, "pairs": 16, "batch": 12, "watch": 48, "every": 20,
}  # fmt: skip
"""Of `corl train jobshop --recipe evolution --option network=jobshop-queue`: 468 steps, 40 minutes on a shared core."""
_DECISIONS = (2 + MACHINES) / 2  # that a job brings, in the mean


def instances(first: int, count: int, regime: tuple[float, float]) -> list[JobShopInstance]:
    """Those of the seeds from `first` on."""
    load, tightness = regime
    return [arrivals(size=JOBS, machines=MACHINES, load=load, tightness=tightness, seed=first + k) for k in range(count)]


def by_rule(instance: JobShopInstance, rule: str, look: float = 2.0) -> float:
    """What a dispatching rule comes to."""
    found = corl.solve(instance, solver="dispatch", rule=rule, look_ahead=look, iterations=1).objective
    assert found is not None
    return found


def by_policy(instance: JobShopInstance, policy: str) -> float:
    """What the learned dispatcher comes to, by its likeliest actions."""
    found = corl.solve(instance, solver="policy", policy=policy, decoder="greedy", iterations=10**9).objective
    assert found is not None
    return found


class Line(QueueNetwork):
    """The ablation: a line through the features of a job, without hidden units, trained as the policy is."""

    architecture = "jobshop-line"

    @classmethod
    def sized(cls, problem: Any, instance: Any, shape: Any) -> Line:
        return cls(0)


class Plan(NamedTuple):
    """What is to start when, of one instance; int64 [operations], of which those before `begun` of each job have started."""

    start: NDArray[np.int64]
    begun: NDArray[np.int64]
    """[jobs] how many operations have started."""


def by_resolving(instance: JobShopInstance, milliseconds: float) -> tuple[float, float]:
    """What re-solving at every arrival comes to, and how many milliseconds a decision took."""
    spent = 0.0
    plan = Plan(np.zeros(instance.operations, np.int64), np.zeros(instance.jobs, np.int64))
    for now in np.unique(instance.release).tolist():
        _go_on(instance, plan, now)
        spent += _resolve(instance, plan, instance.release <= now, now, milliseconds * _DECISIONS / 1e3)
    return JobShop().evaluate(instance, Schedule(plan.start, instance.choice_machine)), 1e3 * spent / instance.operations


def _go_on(instance: JobShopInstance, plan: Plan, now: int) -> None:
    """Count what has started before `now`; jobs that arrive are planned as if they never waited."""
    for j in np.flatnonzero(instance.release <= now):
        a, b = instance.first[j], instance.first[j + 1]
        if instance.release[j] == now:
            plan.start[a:b] = now + np.cumsum(instance.choice_duration[a:b]) - instance.choice_duration[a:b]
        else:
            plan.begun[j] = (plan.start[a:b] < now).sum()


def _resolve(instance: JobShopInstance, plan: Plan, arrived: NDArray[np.bool_], now: int, limit: float) -> float:
    """Plan anew what has not started at `now`; returns the seconds of the search.

    A machine that is at work is a job of its own that costs more than all others unless it goes first.
    """
    p, m = instance.choice_duration, instance.choice_machine
    jobs = [j for j in np.flatnonzero(arrived) if plan.begun[j] < instance.first[j + 1] - instance.first[j]]
    rows: list[list[list[tuple[int, int]]]] = []
    release, due, weight, starts, operations = [], [], [], [], []
    free = np.zeros(instance.machines, np.int64)
    for j in np.flatnonzero(arrived):
        at = instance.first[j] + plan.begun[j] - 1
        if plan.begun[j]:
            free[m[at]] = max(free[m[at]], plan.start[at] + p[at] - now)
    for machine in np.flatnonzero(free > 0):
        rows.append([[(int(machine), int(free[machine]))]])
        release, due, weight = [*release, 0], [*due, int(free[machine])], [*weight, 10**6]
        starts.append(-1)
        operations.append(-1)
    for j in jobs:
        a, b = instance.first[j] + plan.begun[j], instance.first[j + 1]
        rows.append([[(int(m[i]), int(p[i]))] for i in range(a, b)])
        ready = plan.start[a - 1] + p[a - 1] if plan.begun[j] else instance.release[j]
        release.append(max(0, int(ready) - now))
        due.append(max(0, int(instance.due[j]) - now))  # type: ignore[index]
        weight.append(int(instance.weight[j]))
        starts += (plan.start[a:b] - now).tolist()
        operations += range(a, b)
    known = from_jobs(rows, instance.machines, release=release, due=due, weight=weight, objective="weighted_tardiness")
    planned, seconds = _searched(known, np.array(starts), limit)
    where = np.array(operations)
    plan.start[where[where >= 0]] = planned[where >= 0] + now
    return seconds


def _searched(known: JobShopInstance, starts: NDArray[np.int64], limit: float) -> tuple[NDArray[np.int64], float]:
    """The starts that tabu search finds from the plan so far, and its seconds."""
    search = Tabu()._path_relinking(known, 0)
    plan = Schedule(starts, known.choice_machine)
    begun = time.perf_counter()
    search.start_at(plan)
    best, schedule = search.value, search.schedule()
    for rule in rules_for(known):  # a fresh start may be better than the plan
        search.start_by_rule(rule)
        if search.value < best:
            best, schedule = search.value, search.schedule()
    search.start_at(schedule)
    while best > 0 and time.perf_counter() - begun < limit:
        search.step(20)
        if search.value < best:
            best, schedule = search.value, search.schedule()
    return schedule.start, time.perf_counter() - begun


def tune(count: int) -> None:
    """Print the mean of each rule and look-ahead in each regime, on instances to choose on."""
    for load, tightness in REGIMES:
        shops = instances(CHOOSE, count, (load, tightness))
        for rule in LOOK_AHEADS:
            means = [float(np.mean([by_rule(shop, rule, look) for shop in shops])) for look in GRID]
            told = "  ".join(f"{look:g}: {mean:.0f}" for look, mean in zip(GRID, means))
            print(f"load {load}  tightness {tightness}  {rule}  best {GRID[int(np.argmin(means))]:g}   {told}", flush=True)


def judge(count: int, resolved: int, policies: dict[str, str], output: Path) -> None:
    """Write a row a regime, instance and method; the first `resolved` instances of the named regime are re-solved as well.

    A file that is there is continued: what it has is not run again.
    """
    fields = ("load", "tightness", "seed", "method", "tardiness", "ms_a_decision")
    table = RunTable(output, fields, fields[:4])
    for load, tightness in sorted(REGIMES, key=lambda regime: regime != NAMED):
        for k, shop in enumerate(instances(JUDGE, count, (load, tightness))):
            again = k < resolved and (load, tightness) == NAMED
            for method, solve in _methods(shop, (load, tightness), policies, again).items():
                if not table.has(*(where := (load, tightness, JUDGE + k, method))):
                    value, spent = solve()
                    table.append([*where, f"{value:.0f}", f"{spent:.4f}"])
    show(output)


def _methods(
    shop: JobShopInstance, regime: tuple[float, float], policies: dict[str, str], resolve: bool
) -> dict[str, Callable[[], tuple[float, float]]]:
    """What each comes to, and its milliseconds a decision, when it is called."""
    known: dict[str, Callable[[], tuple[float, float]]] = {}
    for rule in ("fdd/mwkr", "edd", "spt"):
        known[rule] = partial(_timed, shop, by_rule, rule)
    for rule, looks in LOOK_AHEADS.items():
        known[rule] = partial(_timed, shop, by_rule, rule, looks[REGIMES.index(regime)])
    for method, policy in policies.items():
        known[method] = partial(_timed, shop, by_policy, policy)
    for milliseconds in BUDGETS if resolve else ():
        known[f"re-solving {milliseconds:g} ms"] = partial(by_resolving, shop, milliseconds)
    return known


def _timed(shop: JobShopInstance, solve: Callable[..., float], *given: Any) -> tuple[float, float]:
    """What it comes to, and its milliseconds of processor time a decision, reading and judging included."""
    begun = time.process_time()
    value = solve(shop, *given)
    return value, 1e3 * (time.process_time() - begun) / shop.operations


def show(path: Path) -> None:
    """Print, for each regime, the total tardiness of each method by that of the best tuned rule, with 95 % intervals."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    for load, tightness in REGIMES:
        here = [row for row in rows if (float(row["load"]), float(row["tightness"])) == (load, tightness)]
        values: dict[str, dict[str, float]] = {}
        for row in here:
            values.setdefault(row["method"], {})[row["seed"]] = float(row["tardiness"])
        best = min(LOOK_AHEADS, key=lambda rule: sum(values[rule].values()))
        print(f"load {load}  tightness {tightness}  by {best}:")
        for method, found in values.items():
            pairs = np.array([(value, values[best][seed]) for seed, value in found.items()])
            drawn = np.random.default_rng(0).integers(0, len(pairs), (10_000, len(pairs)))
            sums = pairs[drawn].sum(axis=1)
            low, high = np.quantile(sums[:, 0] / np.maximum(1.0, sums[:, 1]), (0.025, 0.975))
            ratio = pairs[:, 0].sum() / max(1.0, pairs[:, 1].sum())
            print(f"  {method:18} {ratio:.3f} [{low:.3f}, {high:.3f}]   {len(pairs)} instances")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("tune", "line", "judge", "show"))
    parser.add_argument("--instances", type=int, default=30)
    parser.add_argument("--resolved", type=int, default=10, help="of the named regime, by tabu search at every arrival")
    parser.add_argument("--output", type=Path, default=Path("arrivals.csv"))
    parser.add_argument("--line", help="to judge: the network that `line` made")
    parser.add_argument("--steps", type=int, default=468, help="of `line`")
    given = parser.parse_args()
    if given.part == "tune":
        tune(given.instances)
    elif given.part == "line":
        corl.train("jobshop", "evolution", network=Line, steps=given.steps, output=given.output, **OPTIONS)
    elif given.part == "judge":
        network_class(Line)  # makes its checkpoints known
        policies = {"policy": POLICY} | ({"line": given.line} if given.line else {})
        judge(given.instances, given.resolved, policies, given.output)
    else:
        show(given.output)


if __name__ == "__main__":
    main()

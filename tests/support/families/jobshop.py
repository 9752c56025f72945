"""Small job shops of every kind, and the least objective by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from corl import registry
from corl.problems.jobshop.instance import JobShopInstance, from_jobs
from corl.problems.jobshop.rules import SideConstraints
from support.families import jobshop_rules

CHEAP = "dispatch"
LARGE = {
    "jobshop": ("taillard", {"jobs": 1000, "machines": 10}),
    "jobshop-flexible": ("flexible", {"jobs": 200, "machines": 20, "operations": 20}),
}


KINDS = ("classic", "ragged", "reentrant", "zeros", "flexible", "dates", "tardiness", "flexible tardiness")

BUSY = ("taillard", {"jobs": 50, "machines": 15})
MIXES = 100
MANY_MIXES = 4000
MANY_CLAIMS = 200
INTEGERS = True
PAGE = ("taillard", {"jobs": 4, "machines": 3})
HELD: list[Any] = [[[[0, 3], [1, 2]], [[1, 4], [0, 1]]], [[[[0, 3], [1, 4]], [[1, 2]]]]]
COMPILATION = 36
RECORDED = (
    "annealing",
    "cp-sat",
    "dispatch",
    "tabu",
)
GOLDENS = {
    "classic": ("taillard", {"jobs": 6, "machines": 5, "seed": 1}),
    "flexible": ("flexible", {"jobs": 5, "machines": 4, "operations": 4, "seed": 2}),
    "released": ("tardiness", {"jobs": 5, "machines": 4, "latest_release": 40, "seed": 3}),
    "tardiness": ("tardiness", {"jobs": 5, "machines": 4, "seed": 4}),
}
GOLDEN_SOLVES = """
annealing released 400
cp-agent classic 240
cp-sat classic - proof +ortools
cp-sat flexible - proof +ortools
cp-sat released - proof +ortools
dispatch classic 40 noise=0.3
dispatch flexible 40
dispatch flexible 40 noise=0.3
dispatch released 40
dispatch tardiness 40
slim classic 240
tabu classic 400
tabu flexible 400
tabu released 400
tabu tardiness 400
"""
GOLDEN_NETWORKS = "classic"


def random_instance(kind: str, jobs: int = 3, machines: int = 3, seed: int = 0, longest: int = 9) -> JobShopInstance:
    """A small instance of a kind: see KINDS."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(jobs):
        visits = random.permutation(machines)
        if kind in ("ragged", "dates", "tardiness"):
            visits = visits[: random.integers(1, machines + 1)]
        if kind == "reentrant":
            visits = random.integers(0, machines, random.integers(1, machines + 2))
        low = 0 if kind in ("zeros", "flexible tardiness") else 1
        row = []
        for machine in visits:
            able = [int(machine)]
            if "flexible" in kind:
                able = random.choice(machines, int(random.integers(1, machines + 1)), replace=False).tolist()
            idle = kind == "zeros" and random.random() < 0.4
            row.append([(m, 0 if idle else int(random.integers(low, longest + 1))) for m in able])
        rows.append(row)
    dated = kind == "dates" or "tardiness" in kind
    return from_jobs(
        rows,
        machines,
        name=f"{kind}-{seed}",
        release=random.integers(0, longest, jobs) if dated else None,
        due=random.integers(0, 2 * longest, jobs) if "tardiness" in kind else None,
        weight=random.integers(0, 4, jobs) if "tardiness" in kind else None,
        objective="weighted_tardiness" if "tardiness" in kind else "makespan",
    )


def least(instance: JobShopInstance) -> int:
    """The least objective: every order in which operations can be appended to machines, with every choice of machines."""
    jobs = list(instance.rows())
    word = [j for j, row in enumerate(jobs) for _ in row]
    best = None
    for choice in itertools.product(*(operation for row in jobs for operation in row)):
        for order in set(itertools.permutations(word)):
            ready, free, done = instance.release.tolist(), [0] * instance.machines, [0] * len(jobs)
            for j in order:
                machine, duration = choice[int(instance.first[j]) + done[j]]
                ready[j] = free[machine] = max(ready[j], free[machine]) + duration
                done[j] += 1
            if instance.objective == "makespan":
                value = max(ready)
            else:
                value = sum(w * max(0, c - d) for w, c, d in zip(instance.weight.tolist(), ready, instance.due.tolist()))
            best = value if best is None else min(best, value)
    return best


def sample(seed: int) -> JobShopInstance:
    """An instance of up to five jobs on four machines, of a kind by the seed."""
    return random_instance(KINDS[seed % len(KINDS)], 1 + seed // 100 % 5, 1 + seed // 1000 % 4, seed)


def solved(seed: int) -> tuple[JobShopInstance, float]:
    """A tiny job shop with its optimum."""
    instance = random_instance(KINDS[seed % len(KINDS)], 2, 2, seed)
    return instance, float(least(instance))


def kinds() -> dict[str, Callable[[], Any]]:
    """By a name: instances that take other ways through the solvers."""
    from corl.problems.jobshop.generators import demirkol, flexible, taillard, tardiness
    from corl.problems.jobshop.generators_rules import _RULES, workshop

    found: dict[str, Callable[[], Any]] = {
        "classic": partial(taillard, jobs=10, machines=10),
        "large": partial(demirkol, jobs=200, machines=5),
        "chosen machines": flexible,
        "late on chosen machines": partial(flexible, tightness=1.3),
        "late": tardiness,
    }
    found |= {f"a workshop with {ask}": partial(workshop, jobs=6, machines=4, ask=ask) for ask in ("", *_RULES)}
    found |= {name: partial(jobshop_rules.make_rules, name, 1) for name in jobshop_rules.RULES}
    return found | {name: partial(random_instance, name, 6, 4) for name in KINDS}


def smallest() -> list[Any]:
    """One operation; no durations; all of one machine; a job alone; everything fixed; nothing to hurry for."""
    fixed = SideConstraints(fixed_start=np.array([0, 2, 4]), fixed_machine=np.array([0, 0, 0]))
    one = [[(0, 2)]]
    return [
        from_jobs([one], 1), from_jobs([[[(0, 0)]], [[(0, 0)], [(1, 0)]]], 2), from_jobs([one] * 4, 1), from_jobs([one * 3], 1),
        from_jobs([one] * 3, 1, rules=fixed),
        from_jobs([one * 2, one], 1, rules=SideConstraints(no_wait=np.array([False, True, False]))),
        from_jobs([one] * 3, 1, due=[90] * 3, objective="weighted_tardiness"),
        from_jobs([one] * 3, 1, due=[0] * 3, weight=[0] * 3, objective="weighted_tardiness"),
        from_jobs([one, [[(0, 3), (1, 3)]]], 2),
        from_jobs([[[(0, 1), (1, 1)]]] * 3, 2, due=[9, 9, 9], objective="earliness_tardiness"),
    ]  # fmt: skip


def kernel_samples() -> list[Any]:
    """Small instances of the kinds that the solvers have kernels for."""
    problem = registry.problem("jobshop")
    make = problem.generators
    return [
        problem.adapt([[(0, 3), (1, 2)], [(1, 4), (0, 1)]]),
        problem.adapt([[(0, 3), [(1, 2), (2, 5)]]]),
        make["tardiness"](jobs=4, machines=3),
        make["flexible"](jobs=4, machines=3, tightness=1.3),
        make["workshop"](jobs=4, machines=3, ask="setups,calendars"),
        *(make["workshop"](jobs=4, machines=3, ask=ask) for ask in _SETUPS),
    ]


_SETUPS = ("setups", "choices,setups", "setups,tardiness", "choices,setups,tardiness")
EXOGENOUS = {"arrival", "down"}


def streamed(seed: int) -> JobShopInstance:
    """A small day of a shop floor, with or without set-ups, choices of machines and breakdowns."""
    from corl.problems.jobshop.generators import shop_floor

    setup, down = (0.0, 0.4)[seed % 2], (0.2, 0.0)[seed // 2 % 2]
    return shop_floor(size=6, machines=3, load=0.9, tightness=2.0, setup=setup, flexibility=0.5, down=down, seed=seed)


def futures(seed: int) -> tuple[JobShopInstance, JobShopInstance, float]:
    """Two days that differ in the jobs that arrive from a time on, and in the breakdowns from then on."""
    from dataclasses import replace

    first = streamed(seed)
    when = int(np.sort(first.release)[3])
    late = first.release >= when
    changed = np.repeat(np.repeat(late, np.diff(first.first)), np.diff(first.choice_first))
    rules = first.rules
    if rules is not None and rules.unavailable is not None:
        breaks = rules.unavailable.copy()
        rules = replace(rules, unavailable=breaks[breaks[:, 1] < when] if (breaks[:, 1] < when).any() else None)
        rules = rules if rules.names else None
    second = replace(
        first,
        choice_duration=np.where(changed, 50 - first.choice_duration, first.choice_duration).clip(1).astype(np.int32),
        weight=np.where(late, 7, first.weight),
        rules=rules,
    )
    return first, second, when - 1.0


def random_decision(stream: Any, knowledge: Any, random: np.random.Generator) -> Any:
    """Some of what can start, in any order."""
    starts, machines = [], set()
    may_wait = any(not knowledge.idle(m) for m in range(len(knowledge.machines)))
    for number in random.permutation(list(knowledge.jobs)).tolist():
        job = knowledge.jobs[number]
        if not knowledge.waits(job):
            continue
        free = [m for m, _ in job.operations[job.next] if knowledge.idle(m) and m not in machines]
        if free and (not may_wait or random.random() < 0.7):
            machines.add(machine := int(random.choice(free)))
            starts.append({"job": number, "operation": job.next, "machine": machine})
            may_wait = True
    return {"start": starts}

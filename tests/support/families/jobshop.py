"""Small job shops of every kind, and the least objective by enumeration."""

from __future__ import annotations

import itertools

import numpy as np

from corl.problems.jobshop.instance import JobShopInstance, from_jobs

CHEAP = "dispatch"
LARGE = {
    "jobshop": ("taillard", {"jobs": 1000, "machines": 10}),
    "jobshop-flexible": ("flexible", {"jobs": 200, "machines": 20, "operations": 20}),
}


KINDS = ("classic", "ragged", "reentrant", "zeros", "flexible", "dates", "tardiness", "flexible tardiness")


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

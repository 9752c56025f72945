"""Small random job shops with every rule, and their optima by enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.problems.jobshop.instance import JobShopInstance, from_jobs
from corl.problems.jobshop.rules import FOREVER, SideConstraints
from support.mixes.jobshop import least_cost

__all__ = ["RULES", "least_cost", "make_rules"]

RULES = (
    "earliest", "no wait", "calendars", "down for good", "setups", "families", "earliness", "windows", "now", "frozen",
    "earliest and calendars", "no wait and calendars", "no wait and setups", "setups and calendars", "families and earliness",
    "calendars and earliness", "no wait and windows", "frozen and setups", "frozen and calendars", "frozen and no wait",
    "now and setups and calendars", "flexible and setups", "flexible and calendars and tardiness", "flexible and no wait",
    "flexible and frozen and families", "setups and tardiness", "zeros and calendars", "flexible and windows and calendars",
    "resources", "resources and setups", "flexible and resources and calendars", "resources and no wait and tardiness",
    "resources and windows", "zeros and resources and frozen",
    "resumable and calendars", "resumable and calendars and down for good", "resumable and calendars and setups",
    "resumable and calendars and no wait", "resumable and flexible and calendars and tardiness",
    "resumable and calendars and frozen", "resumable and calendars and windows", "resumable and frozen and no wait and calendars",
    "blocking", "blocking and swap", "blocking and flexible", "blocking and swap and flexible and tardiness",
    "blocking and calendars", "blocking and setups", "blocking and swap and families and calendars", "blocking and windows",
    "blocking and no wait", "blocking and resumable and calendars", "blocking and frozen", "blocking and swap and frozen",
    "resumable and calendars and resources", "blocking and resources", "flexible and blocking and resources and no wait",
    "resumable and calendars and resources and windows", "resources and blocking and swap",
    "resources and blocking and resumable and calendars and windows",
)  # fmt: skip


def make_rules(name: str, seed: int, jobs: int = 3, machines: int = 2, longest: int = 3) -> JobShopInstance:
    """A random instance with the rules that its name tells; there may be no solution."""
    random, has = np.random.default_rng([seed, RULES.index(name)]), set(name.split(" and "))
    rows = []
    for j in range(jobs):
        row = []
        for machine in random.permutation(machines)[: 2 if j < 2 or jobs > 3 else 1].tolist():
            able = range(machines) if "flexible" in has and random.random() < 0.6 else [machine]
            row.append([(m, int(random.integers(0 if "zeros" in has else 1, longest + 1))) for m in able])
        rows.append(row)
    plain = from_jobs(rows, machines)
    dated = bool(has & {"earliness", "windows", "tardiness"})
    aims = random.integers(2, 4 * longest, jobs)
    early = has & {"earliness", "windows"}
    return from_jobs(
        rows, machines, name=f"{name}-{seed}", due=aims + random.integers(0, 3, jobs) if dated else None,
        weight=random.integers(1, 4, jobs) if dated else None, release=random.integers(0, 3, jobs),
        objective="earliness_tardiness" if early else "weighted_tardiness" if dated else "makespan",
        rules=SideConstraints(**_rules(plain, has, aims, longest, random)),
    )  # fmt: skip


def _rules(plain: JobShopInstance, has: set[str], aims: np.ndarray, longest: int, random: np.random.Generator) -> dict[str, Any]:
    o, m, jobs, rules = plain.operations, plain.machines, plain.jobs, {}
    opening = np.isin(np.arange(o), plain.first[:-1])
    if "earliest" in has:
        rules["earliest"] = random.integers(0, 2 * longest, o)
    if "no wait" in has:
        rules["no_wait"] = ~opening & (random.random(o) < 0.8)
    if "calendars" in has or "down for good" in has:
        begin = random.integers(0, 2 * longest, m)
        lines = [(k, int(b), int(b + random.integers(1, longest))) for k, b in enumerate(begin)]
        if "down for good" in has:
            lines.append((0, 5 * longest, FOREVER))
        rules["unavailable"] = np.array(sorted(lines))
    if "resumable" in has:
        rules["resumable"] = random.random(o) < 0.8
    if "blocking" in has:
        rules["blocking"] = ~np.isin(np.arange(o), plain.first[1:] - 1) & (random.random(o) < 0.9)
        rules["swap"] = "swap" in has
    if has & {"setups", "families"}:
        f = 2 if "families" in has else jobs
        rules["setups"] = random.integers(0, longest + 1, (m, f, f))
        if random.random() < 0.7:
            rules["first_setups"] = random.integers(0, longest, (m, f))
    if "families" in has:
        rules["family"] = random.integers(0, 2, o)
    if has & {"earliness", "windows"}:
        rules["earliness"] = random.integers(0, 3, jobs)
    if "windows" in has:
        rules["early"] = aims
    if has & {"now", "frozen"}:
        rules["now"] = int(random.integers(1, 4))
    if "frozen" in has:
        begun = random.choice(plain.first[:-1])
        rules["fixed_start"], rules["fixed_machine"] = np.full(o, -1), np.full(o, -1)
        rules["fixed_start"][begun] = int(random.integers(2, 5))
        rules["fixed_machine"][begun] = plain.choices(int(begun))[0][0]
    if "resources" in has:
        choices = len(plain.choice_machine)
        rules["capacity"] = np.array([2, 1])
        rules["demand"] = random.integers(0, 3, (choices, 2)) * (random.random((choices, 2)) < [0.8, 0.4])
        rules["demand"][:, 1] = np.minimum(1, rules["demand"][:, 1])
    return rules

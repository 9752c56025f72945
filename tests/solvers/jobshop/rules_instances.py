"""Small random job shops with every rule, and their optima by trying all starts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from corl.problems.jobshop.instance import JobShopInstance, from_jobs
from corl.problems.jobshop.rules import FOREVER, Rules

__all__ = ["RULES", "least_cost", "make_rules"]

RULES = (
    "earliest", "no wait", "calendars", "down for good", "setups", "families", "earliness", "windows", "now", "frozen",
    "earliest and calendars", "no wait and calendars", "no wait and setups", "setups and calendars", "families and earliness",
    "calendars and earliness", "no wait and windows", "frozen and setups", "frozen and calendars", "frozen and no wait",
    "now and setups and calendars", "flexible and setups", "flexible and calendars and tardiness", "flexible and no wait",
    "flexible and frozen and families", "setups and tardiness", "zeros and calendars", "flexible and windows and calendars",
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
        rules=Rules(**_rules(plain, has, aims, longest, random)),
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
    return rules


def least_cost(instance: JobShopInstance, horizon: int) -> float:
    """The least objective over all starts up to `horizon` and all choices of machines; inf where none is feasible."""
    best = np.inf
    for choice in itertools.product(*(operation for row in instance.rows() for operation in row)):
        best = min(best, _least_on(instance, [m for m, _ in choice], [d for _, d in choice], horizon))
    return best


def _least_on(instance: JobShopInstance, machine: list[int], length: list[int], horizon: int) -> float:
    """Every start of every operation as one large table, from which what breaks a rule is struck."""
    rules, o = instance.rules, instance.operations
    ranges = []
    for i in range(o):
        low = int(instance.release[instance.job[i]])
        free = rules.fixed_start is None or rules.fixed_start[i] < 0
        if free:
            ranges.append(np.arange(max(low, rules.now), horizon))
        elif rules.fixed_machine[i] == machine[i] and rules.fixed_start[i] >= low:
            ranges.append(rules.fixed_start[i : i + 1])
        else:
            return np.inf
        if rules.earliest is not None:
            ranges[i] = ranges[i][ranges[i] >= rules.earliest[i]]
        for m, closes, opens in [] if rules.unavailable is None else rules.unavailable.tolist():
            if m == machine[i]:
                ranges[i] = ranges[i][(ranges[i] >= opens) | (ranges[i] + length[i] <= closes)]
    table = np.zeros((0, len(ranges[0])), np.int64)
    for i in range(o):
        table = _widened(table, ranges[i], i)
        keep = np.ones(table.shape[1], bool)
        if i not in instance.first[:-1]:
            gap = table[i] - table[i - 1] - length[i - 1]
            keep &= (gap == 0) if rules.no_wait is not None and rules.no_wait[i] else (gap >= 0)
        for k in range(i):
            if machine[k] == machine[i]:
                keep &= (table[k] + length[k] <= table[i]) | (table[i] + length[i] <= table[k])
        table = table[:, keep]
    table = table[:, _set_up(instance, table, machine, length, horizon)]
    if not table.shape[1]:
        return np.inf
    ends = [table[last - 1] + length[last - 1] for last in instance.first[1:].tolist()]
    if instance.objective == "makespan":
        return float(np.max(ends, axis=0).min())
    cost = sum(w * np.maximum(0, c - d) for w, c, d in zip(instance.weight, ends, instance.due))
    if instance.objective == "earliness_tardiness":
        begins = instance.due if rules.early is None else rules.early
        weights = np.ones(instance.jobs, np.int64) if rules.earliness is None else rules.earliness
        cost = cost + sum(w * np.maximum(0, a - c) for w, a, c in zip(weights, begins, ends))
    return float(cost.min())


def _widened(table: np.ndarray, values: np.ndarray, i: int) -> np.ndarray:
    """The table with a row more: each column once with each value."""
    if i == 0:
        return values[None, :]
    return np.vstack([np.repeat(table, len(values), axis=1), np.tile(values, table.shape[1])])


def _set_up(instance: JobShopInstance, table: np.ndarray, machine: list[int], length: list[int], horizon: int) -> np.ndarray:
    """bool [columns]: whether the set-ups fit between what follows each other."""
    rules, good = instance.rules, np.ones(table.shape[1], bool)
    if rules.setups is None:
        return good
    family = instance.job if rules.family is None else rules.family
    for b in range(len(machine)):
        same = [a for a in range(len(machine)) if machine[a] == machine[b] and a != b]
        low = rules.now if rules.fixed_start is None or rules.fixed_start[b] < 0 else 0
        before = [table[a] < table[b] for a in same]
        first = ~np.any(before, axis=0) if same else good
        takes = 0 if rules.first_setups is None else rules.first_setups[machine[b], family[b]]
        good = good & (~first | (_done(rules, machine[b], int(takes), horizon)[low] <= table[b]))
        for a in same:
            follows = table[a] < table[b]
            for c in same:
                follows = follows & ((table[c] <= table[a]) | (table[c] >= table[b]))
            done = _done(rules, machine[b], int(rules.setups[machine[b], family[a], family[b]]), horizon)
            good = good & (~follows | (done[np.maximum(low, table[a] + length[a])] <= table[b]))
    return good


def _done(rules: Rules, machine: int, takes: int, horizon: int) -> np.ndarray:
    """Of each time, when a set-up that starts then or later can be done at the earliest."""
    size = 4 * horizon
    shut = np.zeros(size + takes + 1, bool)
    for m, closes, opens in [] if rules.unavailable is None else rules.unavailable.tolist():
        if m == machine:
            shut[closes : min(opens, len(shut))] = True
    done = np.full(size + 1, size + takes, np.int64)
    for t in range(size - 1, -1, -1):
        done[t] = t if takes == 0 else done[t + 1] if shut[t : t + takes].any() else t + takes
    return done

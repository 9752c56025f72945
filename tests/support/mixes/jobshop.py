"""The job shop: instances with any of the rules, and their optima by trying every machine and every sequence.

Of given sequences there is one least schedule: every rule says that something starts at some time or later, so raising starts
until nothing is violated ends at it, or beyond every horizon. What ends too early is tried at all later times up to its window.
Where a resource is overloaded, of two operations that occupy it one must end before the other starts: all such pairs are tried.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from corl.problems.jobshop.instance import JobShopInstance, from_jobs
from corl.problems.jobshop.rules import FOREVER, SideConstraints
from support.mixes import Mix

__all__ = ["RULES", "least_cost", "make"]

RULES = (
    "flexible", "zeros", "tardiness", "earliness", "windows", "weights", "release", "earliest", "no wait", "calendars",
    "down for good", "setups", "first setups", "families", "now", "fixed", "resources", "resumable", "blocking", "swap",
)  # fmt: skip

_Pairs = tuple[tuple[int, int], ...]
_PLAIN = {"flexible", "zeros", "tardiness", "weights", "release"}


# -------------------------------------------------------------------- instances
def make(seed: int) -> Mix:
    """Up to three jobs and five operations on up to three machines, up to seven rules; some instances have no schedule."""
    random = np.random.default_rng([seed, 37])
    has = set(random.choice(RULES, int(random.integers(0, 8)), replace=False).tolist())
    has -= {"zeros"} if has & {"setups", "first setups", "families", "blocking"} else set()
    has -= set() if "blocking" in has else {"swap"}
    machines, counts = int(random.integers(1, 4)), [(1,), (5,), (2, 2), (3, 2), (2, 1, 2), (1, 1, 1), (4, 1)][random.integers(7)]
    low = 0 if "zeros" in has else 1
    rows = [[_choices(machines, low, "flexible" in has, random) for _ in range(count)] for count in counts]
    jobs, dated = len(counts), has & {"tardiness", "earliness", "windows"}
    plain, aims = from_jobs(rows, machines), random.integers(1, 10, jobs)
    instance = from_jobs(
        rows, machines, name=f"mix-{seed}", release=random.integers(0, 5, jobs) if "release" in has else None,
        due=aims + random.integers(0, 4, jobs) if dated else None,
        weight=random.integers(0, 4, jobs) if dated and "weights" in has else None,
        objective="makespan" if not dated else "earliness_tardiness" if has & {"earliness", "windows"} else "weighted_tardiness",
        rules=SideConstraints(**_rules(plain, has, aims, random)) if has - _PLAIN else None,
    )  # fmt: skip
    best = least_cost(instance)
    return Mix(instance, best if math.isfinite(best) else None, tuple(sorted(has)))


def _choices(machines: int, low: int, flexible: bool, random: np.random.Generator) -> list[tuple[int, int]]:
    count = int(random.integers(1, machines + 1)) if flexible and random.random() < 0.6 else 1
    return [(int(m), int(random.integers(low, 4))) for m in random.permutation(machines)[:count]]


def _rules(plain: JobShopInstance, has: set[str], aims: np.ndarray, random: np.random.Generator) -> dict[str, object]:
    o, m, jobs = plain.operations, plain.machines, plain.jobs
    rules: dict[str, object] = {}
    if "earliest" in has:
        rules["earliest"] = random.integers(0, 7, o) * (random.random(o) < 0.5)
    if "no wait" in has:
        rules["no_wait"] = ~np.isin(np.arange(o), plain.first[:-1]) & (random.random(o) < 0.8)
    if has & {"calendars", "down for good"}:
        rules["unavailable"] = _calendars(m, "down for good" in has, random)
    if has & {"setups", "first setups", "families"}:
        f = 2 if "families" in has else jobs
        rules["setups"] = random.integers(0, 4, (m, f, f)) * (random.random((m, 1, 1)) < 0.8)
        rules |= {"first_setups": random.integers(0, 4, (m, f))} if "first setups" in has else {}
        rules |= {"family": random.integers(0, 2, o)} if "families" in has else {}
    if "windows" in has:
        rules["early"] = aims
    if has & {"earliness", "windows"} and random.random() < 0.7:
        rules["earliness"] = random.integers(0, 4, jobs)
    if "now" in has:
        rules["now"] = int(random.integers(1, 5))
    if "resumable" in has:
        rules["resumable"] = random.random(o) < 0.7
    if "blocking" in has:
        rules["blocking"] = ~np.isin(np.arange(o), plain.first[1:] - 1) & (random.random(o) < 0.8)
        rules["swap"] = "swap" in has
    if "fixed" in has:
        rules["fixed_start"], rules["fixed_machine"] = _fixed(plain, random)
    if "resources" in has:
        count, choices = int(random.integers(1, 3)), len(plain.choice_machine)
        rules["capacity"] = random.integers(1, 4, count)
        rules["demand"] = random.integers(0, 4, (choices, count)) * (random.random((choices, count)) < 0.6)
        rules["resource_names"] = ("worker", "tool")[:count] if random.random() < 0.5 else ()
    return rules


def _calendars(machines: int, for_good: bool, random: np.random.Generator) -> np.ndarray:
    lines = []
    for machine in range(machines):
        ends = np.cumsum(random.integers(0, 5, 4)).tolist()
        lines += [(machine, a, b) for a, b in (ends[:2], ends[2:]) if a < b and random.random() < 0.7]
        if for_good and random.random() < 0.5:
            lines.append((machine, ends[3] + int(random.integers(0, 12)), FOREVER))
    return np.array(lines, np.int64).reshape(-1, 3)


def _fixed(plain: JobShopInstance, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Operations of one or two jobs, mostly one after the other; often they break a rule."""
    start, machine = np.full(plain.operations, -1), np.full(plain.operations, -1)
    for j in random.permutation(plain.jobs)[: random.integers(1, 3)].tolist():
        time = int(random.integers(0, 4))
        for i in range(int(plain.first[j]), int(plain.first[j + 1])):
            able = plain.choices(i)
            m, length = able[random.integers(len(able))]
            if random.random() < 0.6:
                start[i], machine[i] = time, m
            time += length + int(random.integers(0, 2))
    return start, machine


# -------------------------------------------------------------------- the optimum
def least_cost(instance: JobShopInstance) -> float:
    """The least objective; inf where there is no schedule. For about six operations."""
    shop, best = _Shop(instance), math.inf
    for choice in itertools.product(*(operation for row in instance.rows() for operation in row)):
        for lines in shop.sequences([machine for machine, _ in choice]):
            best = min(best, shop.least(lines, [machine for machine, _ in choice], [length for _, length in choice], best))
    return best


class _Shop:
    """The rules of an instance as plain lists."""

    def __init__(self, instance: JobShopInstance) -> None:
        rules, o = instance.rules or SideConstraints(), instance.operations
        self._instance, self._rules, self._job = instance, rules, instance.job.tolist()
        self._families = self._job if rules.family is None else rules.family.tolist()
        self._fixed = [-1] * o if rules.fixed_start is None else rules.fixed_start.tolist()
        self._on = [-1] * o if rules.fixed_machine is None else rules.fixed_machine.tolist()
        self._resumable = [False] * o if rules.resumable is None else rules.resumable.tolist()
        self._blocking = [False] * o if rules.blocking is None else rules.blocking.tolist()
        self._no_wait = [False] * o if rules.no_wait is None else rules.no_wait.tolist()
        self._spells: list[list[tuple[int, int]]] = [[] for _ in range(instance.machines)]
        for machine, closes, opens in [] if rules.unavailable is None else rules.unavailable.tolist():
            self._spells[machine].append((closes, opens))
        earliest = [0] * o if rules.earliest is None else rules.earliest.tolist()
        self._lowest = [max(low, rules.now if fixed < 0 else fixed) for low, fixed in zip(earliest, self._fixed)]
        for i in instance.first[:-1].tolist():
            self._lowest[i] = max(self._lowest[i], int(instance.release[self._job[i]]))
        early = rules.early if instance.due is None or rules.early is not None else instance.due
        self._early_dates = [0] * instance.jobs if early is None else early.tolist()
        times = self._lowest + self._early_dates + [t for spells in self._spells for each in spells for t in each if t < FOREVER]
        setups = sum(0 if table is None else int(table.max()) for table in (rules.setups, rules.first_setups))
        self._horizon = max(times) + int(instance.longest.sum()) + o * setups + 1

    def sequences(self, machine: list[int]) -> Iterator[list[list[int]]]:
        """Every order of every machine in which operations of a job keep theirs."""
        lines = [[i for i, m in enumerate(machine) if m == k] for k in range(self._instance.machines)]
        if all(on in (-1, m) for on, m in zip(self._on, machine)):
            yield from filter(self._moves_have_an_order, map(list, itertools.product(*(self._orders(line) for line in lines))))

    def _moves_have_an_order(self, lines: list[list[int]]) -> bool:
        """Whether no job needs the machine of a job that needs its own, and so on around, where they may not exchange them."""
        if self._rules.swap:
            return True
        pairs = [(a, b) for line in lines for a, b in itertools.pairwise(line)]
        # operation b waits until the job of a has moved on, which is when a + 1 begins
        waits = {b: a + 1 for a, b in pairs if self._blocking[a] and b != a + 1}
        for _ in range(len(waits)):
            waits = {b: a for b, a in waits.items() if a in waits}
        return not waits

    def _orders(self, line: list[int]) -> list[list[int]]:
        return [list(order) for order in itertools.permutations(line)
                if all(a < b for a, b in itertools.combinations(order, 2) if self._job[a] == self._job[b])]  # fmt: skip

    def least(self, lines: list[list[int]], machine: list[int], length: list[int], best: float) -> float:
        """The least objective of schedules with these sequences, as far as it is less than `best`."""
        start = self._starts(lines, machine, length, self._lowest, ())
        if start is None:
            return math.inf
        ends = self._job_ends(machine, start, length)
        if self._value(ends) >= best + self._early(ends):
            return math.inf
        if self._instance.objective != "earliness_tardiness":
            return min(map(self._value, self._ends(lines, machine, length, self._lowest)), default=math.inf)
        value = math.inf
        last = (self._instance.first[1:] - 1).tolist()
        for targets in itertools.product(*(range(end, max(end, early) + 1) for end, early in zip(ends, self._early_dates))):
            low = list(self._lowest)
            for i, target in zip(last, targets):
                while self._end(machine[i], low[i], length[i], i) < target:
                    low[i] += 1
            value = min(value, *map(self._value, self._ends(lines, machine, length, low)), math.inf)
        return value

    def _end(self, machine: int, start: int, length: int, i: int) -> int:
        """When operation i ends, minute by minute where it may stop at breaks."""
        end, left = start, length
        while self._resumable[i] and left and end <= self._horizon:
            left -= not any(closes <= end < opens for closes, opens in self._spells[machine])
            end += 1
        return end + left

    def _job_ends(self, machine: list[int], start: list[int], length: list[int]) -> list[int]:
        return [self._end(machine[i], start[i], length[i], i) for i in (self._instance.first[1:] - 1).tolist()]

    def _ends(
        self, lines: list[list[int]], machine: list[int], length: list[int], low: list[int], pairs: _Pairs = ()
    ) -> Iterator[list[int]]:
        """When the jobs end in schedules that start nothing before `low`, the least ones; of `pairs` (a, b), a ends before b."""
        start = self._starts(lines, machine, length, low, pairs)
        if start is None:
            return
        running = self._overload(machine, start, length)
        if not running:
            yield self._job_ends(machine, start, length)
        for pair in itertools.permutations(running, 2):
            yield from self._ends(lines, machine, length, low, (*pairs, pair))

    def _overload(self, machine: list[int], start: list[int], length: list[int]) -> list[int]:
        """The operations that overload a resource at some time; none if none is overloaded."""
        rules, choices = self._rules, self._instance.choice_first.tolist()
        end = [self._end(m, start[i], length[i], i) for i, m in enumerate(machine)]
        for r, capacity in enumerate([] if rules.capacity is None else rules.capacity.tolist()):
            units = [int(rules.demand[choices[i] + [m for m, _ in self._instance.choices(i)].index(m), r])
                     for i, m in enumerate(machine)]  # fmt: skip
            for time in set(start):
                running = [i for i, each in enumerate(units) if each and start[i] <= time < end[i]]
                if sum(units[i] for i in running) > capacity:
                    return running
        return []

    def _starts(
        self, lines: list[list[int]], machine: list[int], length: list[int], low: list[int], pairs: _Pairs
    ) -> list[int] | None:
        """The least schedule, without regard to resources, that starts nothing before `low`; None where there is none."""
        start = list(low)
        before = {b: a for line in lines for a, b in itertools.pairwise(line)}

        def end(i: int) -> int:
            return self._end(machine[i], start[i], length[i], i)

        while True:
            old = list(start)
            for i, m in enumerate(machine):
                time = start[i]
                if i and self._job[i] == self._job[i - 1]:
                    time = max(time, end(i - 1))
                time = max([time, *(end(a) for a, b in pairs if b == i)])
                a = before.get(i, -1)
                left = 0 if a < 0 else max(end(a), start[a + 1]) if self._blocking[a] and i != a + 1 else end(a)
                time = max(time, self._set_up(m, a, i, left))
                start[i] = self._available(m, time, min(length[i], 1) if self._resumable[i] else length[i])
                if end(i) > self._horizon or (self._fixed[i] >= 0 and start[i] > self._fixed[i]):
                    return None
                while self._no_wait[i] and end(i - 1) < start[i]:
                    start[i - 1] += 1
            if start == old:
                return start

    def _set_up(self, machine: int, before: int, i: int, ends: int) -> int:
        """When the machine is ready for operation i behind `before` (-1: as its first), which leaves it at `ends`."""
        rules = self._rules
        if before < 0:
            takes = 0 if rules.first_setups is None else int(rules.first_setups[machine, self._families[i]])
        else:
            takes = 0 if rules.setups is None else int(rules.setups[machine, self._families[before], self._families[i]])
        begin = max(ends, rules.now) if self._fixed[i] < 0 else ends
        return self._available(machine, begin, takes) + takes if takes else ends

    def _available(self, machine: int, time: int, length: int) -> int:
        for closes, opens in self._spells[machine]:
            if time < opens and time + length > closes:
                time = opens
        return time

    def _early(self, ends: list[int]) -> float:
        """The cost of earliness."""
        if self._instance.objective != "earliness_tardiness":
            return 0.0
        weights = [1] * len(ends) if self._rules.earliness is None else self._rules.earliness.tolist()
        return float(sum(w * max(0, begin - end) for w, begin, end in zip(weights, self._early_dates, ends)))

    def _value(self, ends: list[int]) -> float:
        if self._instance.objective == "makespan":
            return float(max(ends))
        due, weights = self._instance.due.tolist(), self._instance.weight.tolist()
        return float(sum(w * max(0, end - d) for w, end, d in zip(weights, ends, due))) + self._early(ends)

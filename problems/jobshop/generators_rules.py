"""Random workshops with side constraints that occur in practice, such as calendars, set-ups and breakdowns. Times are minutes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError, unknown
from corl.problems.jobshop.instance import JobShopInstance, from_jobs
from corl.problems.jobshop.rules import SideConstraints

__all__ = ["workshop"]

_SHIFT = 480  # minutes of a working period, and of the break after it
_MAX_OPERATIONS = 1_000_000
_FAMILIES = 4

_Arguments = dict[str, Any]
"""Arguments of `from_jobs` ("jobs", "machines", ...), or of SideConstraints."""


def workshop(*, jobs: int = 20, machines: int = 10, ask: str = "", seed: int = 0) -> JobShopInstance:
    """Return an instance that has a feasible schedule, with the properties named in `ask`, separated by commas.

    Each job visits half to all of the machines in random order, with durations uniform in 10..99 minutes.

    blocking: a job stays on its machine until its next operation starts. breakdown: one machine is down for four hours.
    calendars: eight hours of work alternate with breaks of eight hours, shifted at random for each machine. choices: about
    half of the operations have a second machine. families: set-ups between four families of operations. nowait: about a third
    of the operations start as soon as their predecessor ends. releases: earliest starts of operations. resources: workers,
    seven for ten machines, of whom about two operations in three need one and some two; and a tool that about one operation
    in ten needs. resumable: operations stop at breaks and continue after them. running: some operations have begun before
    the present time, others are frozen. setups: set-ups between each pair of jobs. swap: blocking, but jobs may exchange
    machines. tardiness: due dates and weights. windows: due windows, with weights of earliness and tardiness.
    """
    wanted = [word for word in ask.replace(" ", "").split(",") if word]
    for word in wanted:
        if word not in _RULES:
            raise UsageError(unknown("there is no rule", word, sorted(_RULES)))
    for one, other in (("families", "setups"), ("tardiness", "windows"), ("blocking", "running"), ("swap", "running")):
        if one in wanted and other in wanted:
            raise UsageError(f"ask: {one} and {other} do not go together")
    if not (jobs >= 1 and machines >= 1 and jobs * machines <= _MAX_OPERATIONS):
        raise UsageError(
            f"jobs, machines: {jobs} x {machines} is not accepted; accepted: from 1, up to {_MAX_OPERATIONS:,} operations"
        )
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(jobs):
        order = random.permutation(machines)[: int(random.integers((machines + 1) // 2, machines, endpoint=True))]
        rows.append([[(int(machine), int(random.integers(10, 100)))] for machine in order])
    base: _Arguments = {"jobs": rows, "machines": machines}
    rules: _Arguments = {}
    for word in sorted(set(wanted)):
        rules |= _RULES[word](base, random)
    if spells := sorted(rules.pop("breakdown", []) + rules.pop("calendars", [])):
        rules["unavailable"] = np.array(spells)
    if "running" in wanted:  # a schedule exists if fixed operations have no earliest start, and their successors may wait
        is_fixed = rules["fixed_start"] >= 0
        if "demand" in rules:  # nor a need for a resource that another one occupies
            rules["demand"][np.repeat(is_fixed, [len(choices) for row in rows for choices in row])] = 0
        for name, places in (("earliest", is_fixed), ("no_wait", np.append(False, is_fixed[:-1]))):
            if name in rules:
                rules[name][places] = 0
    given = f" --option ask={','.join(wanted)}" if wanted else ""
    return from_jobs(
        **base,
        name=f"workshop-{jobs}x{machines}",
        comment=f"corl generate jobshop workshop --option jobs={jobs} --option machines={machines}{given} --seed {seed}",
        rules=SideConstraints(**rules) if rules else None,
    )


def _work(base: _Arguments) -> NDArray[np.int64]:
    """Return the sum of the durations of each job's operations, int64 [jobs]."""
    return np.array([sum(choices[0][1] for choices in row) for row in base["jobs"]])


def _blocking(base: _Arguments, random: np.random.Generator) -> _Arguments:
    return {"blocking": np.array([k < len(row) - 1 for row in base["jobs"] for k in range(len(row))], bool)}


def _breakdown(base: _Arguments, random: np.random.Generator) -> _Arguments:
    """Return a breakdown of machine 0 from minute 60 to 300, before the first break of `_calendars`."""
    return {"breakdown": [(0, 60, 300)]}


def _calendars(base: _Arguments, random: np.random.Generator) -> _Arguments:
    """Return the breaks of the machines; the first break of a machine begins at 360 or later.

    Each machine has two breaks more than there are full shifts in twice the mean work of a machine.
    """
    count = 2 + int(2 * _work(base).sum() / base["machines"] / _SHIFT)
    breaks = []
    for m in range(base["machines"]):
        begin = 360 + int(random.integers(0, _SHIFT))
        breaks += [(m, begin + 2 * _SHIFT * k, begin + 2 * _SHIFT * k + _SHIFT) for k in range(count)]
    return {"calendars": breaks}


def _choices(base: _Arguments, random: np.random.Generator) -> _Arguments:
    """Add to `base` a second machine for about half of the operations, on which they take 1 to 1.5 times as long."""
    for row in base["jobs"]:
        for choices in row:
            machine = int(random.integers(0, base["machines"]))
            if random.random() < 0.5 and machine != choices[0][0]:
                choices.append((machine, int(choices[0][1] * random.uniform(1.0, 1.5))))
    return {}


def _families(base: _Arguments, random: np.random.Generator) -> _Arguments:
    """Return set-ups of 20 to 60 minutes between families, and none within a family."""
    f, operations = _FAMILIES, sum(map(len, base["jobs"]))
    setups = random.integers(20, 61, (base["machines"], f, f))
    setups[:, np.arange(f), np.arange(f)] = 0
    return {"setups": setups, "family": random.integers(0, f, operations)}


def _nowait(base: _Arguments, random: np.random.Generator) -> _Arguments:
    flags = []
    for row in base["jobs"]:
        flags += [False] + [random.random() < 1 / 3] * (len(row) - 1)
    return {"no_wait": np.array(flags, bool)}


def _releases(base: _Arguments, random: np.random.Generator) -> _Arguments:
    operations = sum(map(len, base["jobs"]))
    return {"earliest": np.where(random.random(operations) < 0.2, random.integers(0, 600, operations), 0)}


def _resources(base: _Arguments, random: np.random.Generator) -> _Arguments:
    """Return workers and a tool, and the units of them that each operation needs, the same on all its machines."""
    workers, choices = max(1, round(0.7 * base["machines"])), [len(choices) for row in base["jobs"] for choices in row]
    units = random.choice([0, 1, min(2, workers)], len(choices), p=[1 / 3, 1 / 2, 1 / 6])
    tool = (random.random(len(choices)) < 0.1).astype(np.int64)
    demand = np.repeat(np.column_stack([units, tool]), choices, axis=0)
    return {"capacity": np.array([workers, 1]), "demand": demand, "resource_names": ("workers", "tool")}


def _resumable(base: _Arguments, random: np.random.Generator) -> _Arguments:
    return {"resumable": np.ones(sum(map(len, base["jobs"])), bool)}


def _running(base: _Arguments, random: np.random.Generator) -> _Arguments:
    """Return the present time, minute 30, and fixed operations.

    Two operations are fixed on every third machine, both the first of their jobs: one began 1 to 9 minutes ago, the other is
    frozen to start 200 minutes after the first. There may be fewer if too few jobs begin on the machine.
    """
    first = np.cumsum([0, *(len(row) for row in base["jobs"])])
    start, machine, starts_on = np.full(first[-1], -1), np.full(first[-1], -1), dict[int, list[int]]()
    for j, row in enumerate(base["jobs"]):
        m, _ = row[0][0]
        starts = starts_on.setdefault(m, [])
        if m % 3 == 1 and len(starts) < 2:
            starts.append(starts[0] + 200 if starts else 30 - int(random.integers(1, 10)))
            start[first[j]], machine[first[j]] = starts[-1], m
    return {"now": 30, "fixed_start": start, "fixed_machine": machine}


def _setups(base: _Arguments, random: np.random.Generator) -> _Arguments:
    """Return set-ups of 5 to 50 minutes between jobs, and of 5 to 20 before a machine's first operation."""
    n, m = len(base["jobs"]), base["machines"]
    return {"setups": random.integers(5, 51, (m, n, n)), "first_setups": random.integers(5, 21, (m, n))}


def _swap(base: _Arguments, random: np.random.Generator) -> _Arguments:
    return _blocking(base, random) | {"swap": True}


def _tardiness(base: _Arguments, random: np.random.Generator) -> _Arguments:
    """Add to `base` the weighted tardiness with due dates, a random multiple of each job's work, and weights 1 to 4."""
    n = len(base["jobs"])
    factor = random.uniform(1.0, 1.0 + 2.0 * n / base["machines"], n)
    base |= {"due": np.floor(_work(base) * factor).astype(np.int64), "weight": random.integers(1, 5, n)}
    base["objective"] = "weighted_tardiness"
    return {}


def _windows(base: _Arguments, random: np.random.Generator) -> _Arguments:
    """Return a due window of one hour for each job; a minute of earliness weighs 1, a minute of tardiness 1 to 4."""
    _tardiness(base, random)
    base["objective"] = "earliness_tardiness"
    return {"early": np.maximum(0, base["due"] - 60), "earliness": np.ones(len(base["jobs"]), np.int64)}


_RULES: dict[str, Callable[[_Arguments, np.random.Generator], _Arguments]] = {
    "blocking": _blocking, "breakdown": _breakdown, "calendars": _calendars, "choices": _choices, "families": _families,
    "nowait": _nowait, "releases": _releases, "resources": _resources, "resumable": _resumable, "running": _running,
    "setups": _setups, "swap": _swap, "tardiness": _tardiness, "windows": _windows,
}  # fmt: skip

"""Random workshops with the rules that real ones have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError, unknown
from corl.problems.jobshop.instance import JobShopInstance, from_jobs
from corl.problems.jobshop.rules import Rules

__all__ = ["workshop"]

_DAY = 480  # minutes of work, then as many off
_LARGEST = 1_000_000  # operations
_FAMILIES = 4

_Made = dict[str, Any]


def workshop(*, jobs: int = 20, machines: int = 10, ask: str = "", seed: int = 0) -> JobShopInstance:
    """A workshop with the rules in `ask`, separated by commas: what real ones have, and can be scheduled.

    Each job goes through half to all of the machines in random order, 10 to 99 minutes each. To ask for: breakdown (a machine is
    down for a while), calendars (eight hours of work, eight off, machine by machine later), choices (a second machine for half
    of the operations), families (set-ups between four families), nowait (of a third of the jobs), releases (of operations),
    running (operations begun before now, and frozen), setups (by pairs of jobs), tardiness, windows (earliness and tardiness).
    """
    wanted = [word for word in ask.replace(" ", "").split(",") if word]
    for word in wanted:
        if word not in _RULES:
            raise UsageError(unknown("there is no rule", word, sorted(_RULES)))
    for one, other in (("families", "setups"), ("tardiness", "windows")):
        if one in wanted and other in wanted:
            raise UsageError(f"ask: {one} and {other} do not go together")
    if not (jobs >= 1 and machines >= 1 and jobs * machines <= _LARGEST):
        raise UsageError(f"jobs, machines: {jobs} x {machines} is not accepted; accepted: from 1, up to {_LARGEST:,} operations")
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(jobs):
        order = random.permutation(machines)[: int(random.integers((machines + 1) // 2, machines, endpoint=True))]
        rows.append([[(int(machine), int(random.integers(10, 100)))] for machine in order])
    made: _Made = {"jobs": rows, "machines": machines}
    rules: _Made = {}
    for word in sorted(set(wanted)):
        rules |= _RULES[word](made, random)
    if spells := sorted(rules.pop("breakdown", []) + rules.pop("calendars", [])):
        rules["unavailable"] = np.array(spells)
    if "running" in wanted:  # what is begun was released, and what follows it may wait
        begun = rules["fixed_start"] >= 0
        for name, places in (("earliest", begun), ("no_wait", np.append(False, begun[:-1]))):
            if name in rules:
                rules[name][places] = 0
    given = f" --option ask={','.join(wanted)}" if wanted else ""
    return from_jobs(
        **made,
        name=f"workshop-{jobs}x{machines}",
        comment=f"corl generate jobshop workshop --option jobs={jobs} --option machines={machines}{given} --seed {seed}",
        rules=Rules(**rules) if rules else None,
    )


def _work(made: _Made) -> NDArray[np.int64]:
    return np.array([sum(choices[0][1] for choices in row) for row in made["jobs"]])


def _breakdown(made: _Made, random: np.random.Generator) -> _Made:
    """Machine 0 is down from an hour after the beginning, for four hours; breaks of calendars come later."""
    return {"breakdown": [(0, 60, 300)]}


def _calendars(made: _Made, random: np.random.Generator) -> _Made:
    """As many days as twice the mean work of a machine takes; the first break is at 360 or later."""
    days = 2 + int(2 * _work(made).sum() / made["machines"] / _DAY)
    lines = []
    for m in range(made["machines"]):
        begin = 360 + int(random.integers(0, _DAY))
        lines += [(m, begin + 2 * _DAY * day, begin + 2 * _DAY * day + _DAY) for day in range(days)]
    return {"calendars": lines}


def _choices(made: _Made, random: np.random.Generator) -> _Made:
    for row in made["jobs"]:
        for choices in row:
            machine = int(random.integers(0, made["machines"]))
            if random.random() < 0.5 and machine != choices[0][0]:
                choices.append((machine, int(choices[0][1] * random.uniform(1.0, 1.5))))
    return {}


def _families(made: _Made, random: np.random.Generator) -> _Made:
    """Set-ups of 20 to 60 minutes between families, none within one."""
    f, operations = _FAMILIES, sum(map(len, made["jobs"]))
    setups = random.integers(20, 61, (made["machines"], f, f))
    setups[:, np.arange(f), np.arange(f)] = 0
    return {"setups": setups, "family": random.integers(0, f, operations)}


def _nowait(made: _Made, random: np.random.Generator) -> _Made:
    flags = []
    for row in made["jobs"]:
        flags += [False] + [random.random() < 1 / 3] * (len(row) - 1)
    return {"no_wait": np.array(flags, bool)}


def _releases(made: _Made, random: np.random.Generator) -> _Made:
    operations = sum(map(len, made["jobs"]))
    return {"earliest": np.where(random.random(operations) < 0.2, random.integers(0, 600, operations), 0)}


def _running(made: _Made, random: np.random.Generator) -> _Made:
    """Now is 30; on every third machine a job's first operation began 1 to 9 minutes ago, another is frozen 200 minutes later."""
    first = np.cumsum([0, *(len(row) for row in made["jobs"])])
    start, machine, begun = np.full(first[-1], -1), np.full(first[-1], -1), dict[int, list[int]]()
    for j, row in enumerate(made["jobs"]):
        m, _ = row[0][0]
        earlier = begun.setdefault(m, [])
        if m % 3 == 1 and len(earlier) < 2:
            earlier.append(earlier[0] + 200 if earlier else 30 - int(random.integers(1, 10)))
            start[first[j]], machine[first[j]] = earlier[-1], m
    return {"now": 30, "fixed_start": start, "fixed_machine": machine}


def _setups(made: _Made, random: np.random.Generator) -> _Made:
    """From every job to every other, 5 to 50 minutes, and 5 to 20 before the first."""
    n, m = len(made["jobs"]), made["machines"]
    return {"setups": random.integers(5, 51, (m, n, n)), "first_setups": random.integers(5, 21, (m, n))}


def _tardiness(made: _Made, random: np.random.Generator) -> _Made:
    n = len(made["jobs"])
    slack = random.uniform(1.0, 1.0 + 2.0 * n / made["machines"], n)
    made |= {"due": np.floor(_work(made) * slack).astype(np.int64), "weight": random.integers(1, 5, n)}
    made["objective"] = "weighted_tardiness"
    return {}


def _windows(made: _Made, random: np.random.Generator) -> _Made:
    """An hour in which each job may end; a minute too early weighs 1, one too late 1 to 4."""
    _tardiness(made, random)
    made["objective"] = "earliness_tardiness"
    return {"early": np.maximum(0, made["due"] - 60), "earliness": np.ones(len(made["jobs"]), np.int64)}


_RULES: dict[str, Callable[[_Made, np.random.Generator], _Made]] = {
    "breakdown": _breakdown, "calendars": _calendars, "choices": _choices, "families": _families, "nowait": _nowait,
    "releases": _releases, "running": _running, "setups": _setups, "tardiness": _tardiness, "windows": _windows,
}  # fmt: skip

"""Random workshops with the side constraints of real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError, unknown
from corl.problems.jobshop.instance import JobShopInstance, from_jobs
from corl.problems.jobshop.rules import SideConstraints

__all__ = ["workshop"]

_DAY = 480  # minutes of work, then as many off
_LARGEST = 1_000_000  # operations
_FAMILIES = 4

_Made = dict[str, Any]


def workshop(*, jobs: int = 20, machines: int = 10, ask: str = "", seed: int = 0) -> JobShopInstance:
    """Return a feasible workshop with the side constraints in `ask`, names separated by commas.

    Each job visits half to all of the machines in random order, with durations uniform in 10..99 minutes. Names: breakdown (one
    machine is down for four hours), calendars (eight hours of work alternate with eight off, shifted at random for each machine),
    choices (a second machine for about half of the operations), families (set-ups between four families), nowait (about a third
    of the operations follow without waiting), releases (earliest starts of operations), running (operations begun before now, and
    frozen ones), setups (by pairs of jobs), tardiness, windows (earliness and tardiness).
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
    if "running" in wanted:  # operations that have begun were released, and their successors may wait
        begun = rules["fixed_start"] >= 0
        for name, places in (("earliest", begun), ("no_wait", np.append(False, begun[:-1]))):
            if name in rules:
                rules[name][places] = 0
    given = f" --option ask={','.join(wanted)}" if wanted else ""
    return from_jobs(
        **made,
        name=f"workshop-{jobs}x{machines}",
        comment=f"corl generate jobshop workshop --option jobs={jobs} --option machines={machines}{given} --seed {seed}",
        rules=SideConstraints(**rules) if rules else None,
    )


def _work(made: _Made) -> NDArray[np.int64]:
    return np.array([sum(choices[0][1] for choices in row) for row in made["jobs"]])


def _breakdown(made: _Made, random: np.random.Generator) -> _Made:
    """Return a breakdown of machine 0 for four hours, one hour after the beginning; breaks of calendars begin later."""
    return {"breakdown": [(0, 60, 300)]}


def _calendars(made: _Made, random: np.random.Generator) -> _Made:
    """Return breaks for two days plus twice the mean work of a machine; the first break begins at 360 or later."""
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
    """Return set-ups of 20 to 60 minutes between families, and none within a family."""
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
    """Return the present time 30, and fixed operations.

    On every third machine the first operation of a job began 1 to 9 minutes ago, and one of another job is frozen 200 minutes
    after that.
    """
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
    """Return set-ups of 5 to 50 minutes between jobs, and of 5 to 20 before the first."""
    n, m = len(made["jobs"]), made["machines"]
    return {"setups": random.integers(5, 51, (m, n, n)), "first_setups": random.integers(5, 21, (m, n))}


def _tardiness(made: _Made, random: np.random.Generator) -> _Made:
    n = len(made["jobs"])
    slack = random.uniform(1.0, 1.0 + 2.0 * n / made["machines"], n)
    made |= {"due": np.floor(_work(made) * slack).astype(np.int64), "weight": random.integers(1, 5, n)}
    made["objective"] = "weighted_tardiness"
    return {}


def _windows(made: _Made, random: np.random.Generator) -> _Made:
    """Return a due window of one hour for each job; a minute of earliness weighs 1, a minute of tardiness 1 to 4."""
    _tardiness(made, random)
    made["objective"] = "earliness_tardiness"
    return {"early": np.maximum(0, made["due"] - 60), "earliness": np.ones(len(made["jobs"]), np.int64)}


_RULES: dict[str, Callable[[_Made, np.random.Generator], _Made]] = {
    "breakdown": _breakdown, "calendars": _calendars, "choices": _choices, "families": _families, "nowait": _nowait,
    "releases": _releases, "running": _running, "setups": _setups, "tardiness": _tardiness, "windows": _windows,
}  # fmt: skip

"""Random shop floors: jobs that arrive over time, set-ups between families, choices of machines, and breakdowns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.jobshop.instance import JobShopInstance, from_jobs
from corl.problems.jobshop.rules import SideConstraints

__all__ = ["shop_floor"]

_MAX_OPERATIONS = 1_000_000
_LOAD_RANGE, _TIGHTNESS_RANGE, _SETUP_RANGE = (0.8, 0.95), (2.0, 5.0), (0.1, 0.7)
_FAMILIES = 5
_MEAN_DURATION = 25.0
_SLOWEST = 1.5  # the longest duration on a second machine, divided by that on the first
_REPAIR = 125.0  # the mean length of a breakdown


def shop_floor(
    *, size: int = 100, machines: int = 10, load: float = 0.0, tightness: float = 0.0, setup: float = -1.0,
    flexibility: float = 0.5, down: float = 0.05, seed: int = 0,
) -> JobShopInstance:  # fmt: skip
    """Return a day of a shop floor for the total weighted tardiness. The environment "floor" reveals it over time.

    A job has 2 to `machines` operations on different machines, with durations uniform in 1..49, and belongs to one of 5 set-up
    families. The times between arrivals, between breakdowns and of repairs are exponential; the mean repair is 125. Weights are
    1, 2 or 4, with probabilities 0.2, 0.6 and 0.2.

    Args:
        size: The number of jobs.
        machines: The number of machines.
        load: The share of the time for which a machine is busy, set up or down in the long run if sequences ignore set-ups and
            operations are on their first machines; if 0, uniform in 0.8..0.95.
        tightness: The time from a job's arrival to its due date, divided by the job's total duration; if 0, uniform in 2..5, one
            value for all jobs.
        setup: The mean set-up time between two families, divided by the mean duration; if negative, uniform in 0.1..0.7.
        flexibility: The probability that an operation has a second machine, on which it takes 1 to 1.5 times as long.
        down: The share of the time for which a machine is down.
        seed: The seed of all random numbers.
    """
    _check(size, machines, load, tightness, setup, flexibility, down)
    random = np.random.default_rng(seed)
    random_load, random_tightness, random_setup = (random.uniform(*low_high) for low_high in _RANGES)
    busy_share, due_factor, share = load or random_load, tightness or random_tightness, random_setup if setup < 0 else setup
    rows = [_job(machines, flexibility, random) for _ in range(size)]
    work = np.array([sum(choices[0][1] for choices in row) for row in rows])
    lengths = np.array([len(row) for row in rows])
    mean_time = _MEAN_DURATION * (1.0 + share * (_FAMILIES - 1) / _FAMILIES)  # of an operation, with its set-up
    mean_work = mean_time * (min(2, machines) + machines) / 2.0
    release = np.cumsum(random.exponential(mean_work / (machines * max(0.01, busy_share - down)), size)).astype(np.int64)
    due = release + np.floor(due_factor * work).astype(np.int64)
    weight = random.choice([1, 2, 2, 2, 4], size)
    family = np.repeat(random.integers(0, _FAMILIES, size), lengths)
    end = int(1.5 * (release[-1] + mean_time * lengths.sum() / machines) + 10 * _REPAIR)
    rules: dict[str, Any] = {"setups": _setups(machines, share, random), "family": family} if share > 0 else {}
    if len(breaks := _breaks(machines, down, end, random)):
        rules["unavailable"] = breaks
    comment = f"corl generate jobshop shop-floor --option size={size} --option machines={machines} --option load={load} "
    comment += f"--option tightness={tightness} --option setup={setup} --option flexibility={flexibility} --option down={down} "
    return from_jobs(
        rows,
        machines,
        name=f"shop-floor-{size}x{machines}",
        release=release,
        due=due,
        weight=weight,
        objective="weighted_tardiness",
        comment=f"{comment}--seed {seed}",
        rules=SideConstraints(**rules) if rules else None,
    )


_RANGES = (_LOAD_RANGE, _TIGHTNESS_RANGE, _SETUP_RANGE)


def _check(size: int, machines: int, load: float, tightness: float, setup: float, flexibility: float, down: float) -> None:
    """Raise UsageError for an option out of its range."""
    if not (size >= 1 and machines >= 1 and size * machines <= _MAX_OPERATIONS):
        raise UsageError(
            f"size, machines: {size} x {machines} is not accepted; accepted: from 1, up to {_MAX_OPERATIONS:,} operations"
        )
    if not (load == 0.0 or 0.01 <= load <= 2.0):
        raise UsageError(f"load: {load} is not accepted; accepted: 0.01 to 2, or 0")
    for name, value, high in (("tightness", tightness, 1000.0), ("flexibility", flexibility, 1.0), ("down", down, 0.5)):
        if not 0.0 <= value <= high:
            raise UsageError(f"{name}: {value} is not accepted; accepted: 0 to {high:g}")
    if not setup <= 100.0:
        raise UsageError(f"setup: {setup} is not accepted; accepted: up to 100")


def _job(machines: int, flexibility: float, random: np.random.Generator) -> list[list[tuple[int, int]]]:
    """Return the operations of a random job, each as [(machine, duration), ...] with one or two machines."""
    job = []
    for machine in random.permutation(machines)[: int(random.integers(min(2, machines), machines, endpoint=True))].tolist():
        duration, other = int(random.integers(1, 50)), int(random.integers(0, machines))
        factor, has_other = random.uniform(1.0, _SLOWEST), random.random() < flexibility and other != machine
        job.append([(machine, duration), *([(other, int(np.ceil(factor * duration)))] if has_other else [])])
    return job


def _setups(machines: int, share: float, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the set-up times between families, int64 [M, F, F], none within a family, uniform around their mean."""
    mean = share * _MEAN_DURATION
    setups = np.rint(random.uniform(0.2 * mean, 1.8 * mean, (machines, _FAMILIES, _FAMILIES))).astype(np.int64)
    setups[:, np.arange(_FAMILIES), np.arange(_FAMILIES)] = 0
    return setups


def _breaks(machines: int, down: float, end: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the breakdowns that begin before the time `end`, int64 [breakdowns, 3]: machine, from, to."""
    found: list[tuple[int, int, int]] = []
    for machine in range(machines if down > 0 else 0):
        time = 0.0
        while (time := time + random.exponential(_REPAIR * (1.0 - down) / down)) < end:
            begin, until = int(np.ceil(time)), int(np.ceil(time + max(1.0, random.exponential(_REPAIR))))
            found.append((machine, begin, until))
            time = float(until)
    return np.array(found, np.int64).reshape(-1, 3)

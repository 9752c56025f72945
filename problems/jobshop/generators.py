"""Random instances: the generators of Taillard and of Demirkol, instances with due dates, and flexible instances.

`taillard` and `demirkol` reproduce the published files from the published seeds. Like `mixed` and `tardiness`, they draw times
and machines from the congruential generator of Bratley, Fox and Schrage that E. Taillard gives (Benchmarks for basic scheduling
problems, EJOR 64, 1993, section 2). The others use NumPy's PCG64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.jobshop.generators_arrivals import arrivals
from corl.problems.jobshop.generators_floor import shop_floor
from corl.problems.jobshop.generators_hybrid import hybrid
from corl.problems.jobshop.generators_rules import workshop
from corl.problems.jobshop.instance import HORIZON, JobShopInstance, from_jobs

__all__ = ["GENERATORS", "arrivals", "demirkol", "flexible", "hybrid", "mixed", "shop_floor", "taillard", "tardiness", "workshop"]

_MAX_OPERATIONS = 1_000_000
_MIN_MACHINES, _MAX_MACHINES = 15, 20  # of `mixed` with many jobs; Taillard's instances have 15 or 20
_MAX_SEED = 2**31 - 2


class _Lehmer:
    """The congruential generator x <- 16807 x mod (2^31 - 1)."""

    def __init__(self, seed: int) -> None:
        self._x = seed

    def raw(self) -> int:
        """Return the next state, 1..2^31 - 2."""
        self._x = 16807 * self._x % (2**31 - 1)
        return self._x

    def uniform(self, low: int, high: int) -> int:
        """Return an integer in low..high, with the rounding that Taillard prescribes."""
        return low + int(self.raw() / (2**31 - 1) * (high - low + 1))


def taillard(
    *, jobs: int = 15, machines: int = 15, time_seed: int | None = None, machine_seed: int | None = None, seed: int = 0
) -> JobShopInstance:
    """Return an instance by Taillard's scheme (1993, section 5).

    Durations are uniform in 1..99; each job visits all machines in random order. With the published `time_seed` and
    `machine_seed` the instance is one of ta01-ta80; if one of the two is not given, it is drawn from `seed`.
    """
    _check_size(jobs, machines)
    drawn = [int(value) for value in np.random.default_rng(seed).integers(1, _MAX_SEED + 1, 2)]
    time_seed, machine_seed = drawn[0] if time_seed is None else time_seed, drawn[1] if machine_seed is None else machine_seed
    _check_seed("time_seed", time_seed)
    _check_seed("machine_seed", machine_seed)
    comment = f"corl generate jobshop taillard --option jobs={jobs} --option machines={machines} "
    comment += f"--option time_seed={time_seed} --option machine_seed={machine_seed}"
    rows = _taillard_rows(jobs, machines, time_seed, machine_seed)
    return from_jobs(rows, machines, name=f"taillard-{jobs}x{machines}", comment=comment)


def _taillard_rows(jobs: int, machines: int, time_seed: int, machine_seed: int) -> list[list[list[tuple[int, int]]]]:
    """Return [[(machine, duration)], ...] for each job, by Taillard's procedure: all durations are drawn before all orders."""
    times, visits = _Lehmer(time_seed), _Lehmer(machine_seed)
    rows = [[times.uniform(1, 99) for _ in range(machines)] for _ in range(jobs)]
    orders = []
    for _ in range(jobs):
        order = list(range(machines))
        for i in range(machines):
            k = visits.uniform(i, machines - 1)
            order[i], order[k] = order[k], order[i]
        orders.append(order)
    return [[[choice] for choice in zip(order, row)] for order, row in zip(orders, rows)]


def mixed(*, size: int = 10, seed: int = 0) -> JobShopInstance:
    """Return a training instance of `size` jobs by Taillard's scheme.

    The number of machines is uniform from min(size / 2 rounded up, 15) to min(size, 20).
    """
    if not 1 <= size <= _MAX_OPERATIONS // _MAX_MACHINES:
        raise UsageError(f"size: {size} is not accepted; accepted: 1 to {_MAX_OPERATIONS // _MAX_MACHINES:,}")
    random = np.random.default_rng(seed)
    machines = int(random.integers(min((size + 1) // 2, _MIN_MACHINES), min(size, _MAX_MACHINES), endpoint=True))
    time_seed, machine_seed = (int(value) for value in random.integers(1, _MAX_SEED + 1, 2))
    rows = _taillard_rows(size, machines, time_seed, machine_seed)
    comment = f"corl generate jobshop mixed --option size={size} --seed {seed}"
    return from_jobs(rows, machines, name=f"mixed-{size}x{machines}", comment=comment)


def demirkol(
    *, jobs: int = 20, machines: int = 15, two_sets: bool = False, lehmer_seed: int | None = None, seed: int = 0
) -> JobShopInstance:
    """Return an instance by the scheme of Demirkol, Mehta and Uzsoy (EJOR 109, 1998).

    Durations are uniform in 1..200; each job visits all machines in random order. With `two_sets` every job visits the first half
    of the machines before the second half, as in the harder dmu41-dmu80. The published seeds, given as `lehmer_seed`, reproduce
    78 of the 80 files (not dmu29 and dmu59); if none is given, it is drawn from `seed`. For each job, one random number per
    machine defines the order; then the durations are drawn.
    """
    _check_size(jobs, machines)
    given = int(np.random.default_rng(seed).integers(1, _MAX_SEED + 1)) if lehmer_seed is None else lehmer_seed
    _check_seed("lehmer_seed", given)
    random, half, rows = _Lehmer(given), machines // 2, []
    for _ in range(jobs):
        keys = [(two_sets and machine >= half, random.raw(), machine) for machine in range(machines)]
        rows.append([[(machine, random.uniform(1, 200))] for *_, machine in sorted(keys)])
    comment = f"corl generate jobshop demirkol --option jobs={jobs} --option machines={machines} "
    comment += f"--option two_sets={str(two_sets).lower()} --option lehmer_seed={given}"
    return from_jobs(rows, machines, name=f"demirkol-{jobs}x{machines}", comment=comment)


def tardiness(
    *, jobs: int = 10, machines: int = 10, tightness: float = 1.3, latest_release: int = 0, seed: int = 0
) -> JobShopInstance:
    """Return an instance for the total weighted tardiness, after Singer and Pinedo (1998).

    Durations and orders of machines are Taillard's. Release dates are uniform in 0..latest_release. The time from a job's
    release date to its due date is `tightness` times the job's total duration. The first fifth of the jobs have weight 4, the
    last fifth 1, the others 2.
    """
    _check_size(jobs, machines)
    if not 0 <= latest_release <= HORIZON // 2:
        raise UsageError(f"latest_release: {latest_release} is not accepted; accepted: 0 to {HORIZON // 2:,}")
    random = np.random.default_rng(seed)
    time_seed, machine_seed = (int(value) for value in random.integers(1, _MAX_SEED + 1, 2))
    rows = _taillard_rows(jobs, machines, time_seed, machine_seed)
    release = random.integers(0, latest_release, jobs, endpoint=True)
    comment = f"corl generate jobshop tardiness --option jobs={jobs} --option machines={machines} "
    comment += f"--option tightness={tightness} --option latest_release={latest_release} --seed {seed}"
    return from_jobs(
        rows,
        machines,
        name=f"tardiness-{jobs}x{machines}",
        release=release,
        comment=comment,
        **_dates(rows, release, tightness),
    )


def _dates(rows: list[list[list[tuple[int, int]]]], release: NDArray[np.int64], tightness: float) -> dict[str, Any]:
    """Return the arguments due, weight and objective of `from_jobs`, after Singer and Pinedo (1998).

    The work of a job is the sum of the durations of its operations on their fastest machines.
    """
    if not 0.0 <= tightness <= 1000.0:
        raise UsageError(f"tightness: {tightness} is not accepted; accepted: 0 to 1000")
    jobs = len(rows)
    work = np.array([sum(min(duration for _, duration in choices) for choices in row) for row in rows])
    weight = np.full(jobs, 2)
    weight[: jobs // 5], weight[jobs - jobs // 5 :] = 4, 1
    due = release + np.floor(tightness * work).astype(np.int64)
    return {"due": due, "weight": weight, "objective": "weighted_tardiness"}


def flexible(
    *,
    jobs: int = 10,
    machines: int = 6,
    operations: int = 6,
    choices: int = 3,
    spread: float = 0.2,
    tightness: float = 0.0,
    seed: int = 0,
) -> JobShopInstance:
    """Return an instance whose operations have a choice of machines.

    The number of operations of a job is uniform in 1..2 * operations - 1, the number of machines of an operation in
    1..2 * choices - 1. The duration of an operation is uniform in 1..99; on each machine it is multiplied by a factor uniform in
    1 - spread..1 + spread. With a `tightness` above 0 the objective is the weighted tardiness, with due dates and weights as in
    `tardiness`.
    """
    _check_size(jobs, machines)
    if not (operations >= 1 and jobs * operations <= _MAX_OPERATIONS):
        raise UsageError(f"operations: {operations} is not accepted; accepted: from 1, up to {_MAX_OPERATIONS:,} in all")
    if not 1 <= choices <= machines:
        raise UsageError(f"choices: {choices} is not accepted; accepted: 1 to machines")
    if not 0.0 <= spread <= 1.0:
        raise UsageError(f"spread: {spread} is not accepted; accepted: 0 to 1")
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(jobs):
        row = []
        for _ in range(int(random.integers(1, 2 * operations))):
            able = random.choice(machines, min(machines, int(random.integers(1, 2 * choices))), replace=False)
            duration = int(random.integers(1, 100))
            factor = 1.0 + spread * (2.0 * random.random(len(able)) - 1.0)
            row.append([(int(m), max(1, round(duration * float(f)))) for m, f in zip(np.sort(able), factor)])
        rows.append(row)
    comment = f"corl generate jobshop flexible --option jobs={jobs} --option machines={machines} "
    comment += f"--option operations={operations} --option choices={choices} --option spread={spread} --seed {seed}"
    dates = {}
    if tightness != 0.0:
        comment = comment.replace(" --seed", f" --option tightness={tightness} --seed")
        dates = _dates(rows, np.zeros(jobs, np.int64), tightness)
    return from_jobs(rows, machines, name=f"flexible-{jobs}x{machines}", first_machine=1, comment=comment, **dates)


def _check_size(jobs: int, machines: int) -> None:
    if not (jobs >= 1 and machines >= 1 and jobs * machines <= _MAX_OPERATIONS):
        raise UsageError(
            f"jobs, machines: {jobs} x {machines} is not accepted; accepted: from 1, up to {_MAX_OPERATIONS:,} operations"
        )


def _check_seed(field: str, seed: int) -> None:
    if not 1 <= seed <= _MAX_SEED:
        raise UsageError(f"{field}: {seed} is not accepted; accepted: 1 to {_MAX_SEED:,}")


GENERATORS: dict[str, Callable[..., Any]] = {
    "taillard": taillard,
    "demirkol": demirkol,
    "tardiness": tardiness,
    "flexible": flexible,
    "hybrid": hybrid,
    "mixed": mixed,
    "workshop": workshop,
    "arrivals": arrivals,
    "shop-floor": shop_floor,
}

"""Random instances: Taillard's, with or without the set-ups of Ruiz et al., and instances of mixed shapes for training.

Durations are drawn as E. Taillard describes (Benchmarks for basic scheduling problems, EJOR 64, 1993, sections 2 and 3), so that
his published seeds reproduce his instances. Set-ups are drawn as in the instances SDST10, 50, 100 and 125 of R. Ruiz, C. Maroto
and J. Alcaraz (EJOR 165, 2005), by a second generator that begins with the same seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.flowshop.instance import LARGEST_SETUPS, FlowShopInstance

__all__ = ["GENERATORS", "mixed", "taillard"]

_MAX_OPERATIONS = 1_000_000
_MODULUS = 2**31 - 1  # of Taillard's congruential generator
_Objective = Literal["makespan", "total_completion_time"]


def taillard(
    *, jobs: int = 20, machines: int = 5, time_seed: int | None = None, setups: int = 0, objective: _Objective = "makespan",
    seed: int = 0,
) -> FlowShopInstance:  # fmt: skip
    """Return an instance with durations uniform in 1..99 and, if `setups` > 0, set-ups uniform in 1..setups.

    Args:
        jobs: The number of jobs.
        machines: The number of machines.
        time_seed: The seed of Taillard's generator; the published ones give ta001-ta120. By default it is drawn from `seed`.
        setups: The longest set-up: 9, 49, 99 and 124 for SDST10, 50, 100 and 125; 0 for no set-ups.
        objective: The objective.
        seed: The seed from which `time_seed` is drawn if that is not given.
    """
    _check(jobs, machines)
    given = int(np.random.default_rng(seed).integers(1, _MODULUS)) if time_seed is None else time_seed
    if not 1 <= given < _MODULUS:
        raise UsageError(f"time_seed: {given} is not accepted; accepted: 1 to {_MODULUS - 1:,}")
    if not 0 <= setups <= 1000 or (setups and machines * (jobs + 1) * jobs > LARGEST_SETUPS):
        accepted = f"0 to 1,000, and up to {LARGEST_SETUPS:,} set-ups in all"
        raise UsageError(f"setups: {setups} is not accepted for {jobs} jobs on {machines} machines; accepted: {accepted}")
    duration = _uniform(given, 99, machines * jobs).reshape(machines, jobs).T
    setup = None
    if setups:
        setup = np.zeros((machines, jobs + 1, jobs), np.int64)
        drawn = _uniform(given, setups, machines * jobs * (jobs - 1))
        setup[:, :jobs][:, ~np.eye(jobs, dtype=bool)] = drawn.reshape(machines, -1)
    comment = f"corl generate flowshop taillard --option jobs={jobs} --option machines={machines} --option time_seed={given} "
    comment += f"--option setups={setups} --option objective={objective}"
    return FlowShopInstance(f"taillard-{jobs}x{machines}", duration, setup, objective, comment)


def mixed(*, size: int = 10, setups: int = 0, objective: _Objective = "makespan", seed: int = 0) -> FlowShopInstance:
    """Return a training instance of `size` jobs on 3 to 20 machines, by Taillard's scheme. `setups` is as in `taillard`."""
    _check(size, 20)
    random = np.random.default_rng(seed)
    machines, time_seed = int(random.integers(3, 20, endpoint=True)), int(random.integers(1, _MODULUS))
    made = taillard(jobs=size, machines=machines, time_seed=time_seed, setups=setups, objective=objective)
    comment = f"corl generate flowshop mixed --option size={size} --option setups={setups} --option objective={objective}"
    return FlowShopInstance(f"mixed-{size}x{machines}", made.duration, made.setup, objective, f"{comment} --seed {seed}")


def _uniform(seed: int, high: int, count: int) -> NDArray[np.int64]:
    """Return `count` integers in 1..high by x <- 16807 x mod (2^31 - 1), with the rounding that Taillard prescribes."""
    x, factor = np.array([16807 * seed % _MODULUS], np.uint64), 16807
    while len(x) < count:  # doubles the array: `factor` = 16807^len(x) advances each number by len(x) steps
        x, factor = np.concatenate([x, x * np.uint64(factor) % np.uint64(_MODULUS)]), factor * factor % _MODULUS
    return 1 + (x[:count] / _MODULUS * high).astype(np.int64)


def _check(jobs: int, machines: int) -> None:
    if not (jobs >= 1 and machines >= 1 and jobs * machines <= _MAX_OPERATIONS):
        raise UsageError(
            f"jobs, machines: {jobs} x {machines} is not accepted; accepted: from 1, up to {_MAX_OPERATIONS:,} operations"
        )


GENERATORS: dict[str, Callable[..., FlowShopInstance]] = {"taillard": taillard, "mixed": mixed}

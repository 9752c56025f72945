"""Dispatching while jobs arrive, as a Markov decision process: who goes next on a machine that is free.

Schedules without delay can be made while jobs arrive: whenever a machine is free and jobs wait for it, one of these begins.
Nothing that is observed here is known before its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.environment import JobShopEnvironment
from corl.problems.jobshop.environments.arriving.features import OF_JOBS, OF_SHOP, observe
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["ArrivingEnvironment"]


class ArrivingEnvironment(JobShopEnvironment):
    """A pool of partial schedules. An action is a choice (an index into `choice_machine`): a job that waits for the machine which
    is free first begins its next operation there at once. Rewards and bases are those of JobShopEnvironment."""

    def __init__(self, instances: Sequence[JobShopInstance], rows: int, width: int = 128) -> None:
        super().__init__(instances, rows, "arriving", width)

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """What is known when the decision falls. Arrays of the first two lines are [R, K], empty slots are 0.

        action: int32, as `actions` lists them, -1 where there are fewer; mask: bool, whether there is one.
        job, duration, rest, left, due, weight: int64, as in JobShopEnvironment; ready, release: int64, when the job came to
        this machine and when it arrived; following: int64, the least duration of its next operation (0: it has none);
        queue: int64, for how long the machine of that one has work, on it and waiting for it (the least of several machines).
        now: int64 [R], the time; machine: int64 [R]; present: int64 [R], how many jobs have arrived and are not done; load: int64
        [R], the least durations of all that they have to do.
        tardy: int64 [R], 1 where the objective is the weighted tardiness.
        """
        jobs = np.zeros((*actions.shape, len(OF_JOBS)), np.int64)
        shop = np.zeros((len(rows), len(OF_SHOP)), np.int64)
        observe(self.state, rows, actions, jobs, shop)
        seen: dict[str, NDArray[Any]] = {"action": actions, "mask": actions >= 0}
        seen |= {name: jobs[:, :, k] for k, name in enumerate(OF_JOBS)}
        seen |= {name: shop[:, k] for k, name in enumerate(OF_SHOP)}
        return seen

"""Dispatching while jobs arrive, as a Markov decision process: which job is next on a machine that is free.

Non-delay schedules can be built while jobs arrive: whenever a machine is free and jobs wait for it, one of these starts. An
observation contains only what is known at the time of the decision.
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
    """A pool of partial schedules.

    An action is a choice (an index into `choice_machine`): a job that waits for the machine that is free first starts its next
    operation there at once. Rewards and base values are those of JobShopEnvironment.
    """

    def __init__(self, instances: Sequence[JobShopInstance], rows: int, width: int = 128) -> None:
        super().__init__(instances, rows, "arriving", width)

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what is known at the time of the decision. Arrays are [R, K] unless stated otherwise; empty slots are 0.

        Returns:
            action: int32, the actions as `actions` lists them, -1 in empty slots.
            mask: bool, whether the slot holds an action.
            job, duration, rest, left, due, weight: int64, as in JobShopEnvironment.
            ready: int64, when the job reached this machine.
            release: int64, when the job arrived.
            following: int64, the least duration of the job's following operation; 0 if there is none.
            queue: int64, the work on and waiting for the machine of the following operation (the least of several machines).
            now: int64 [R], the present time.
            machine: int64 [R], the free machine.
            present: int64 [R], the number of jobs that have arrived and are not finished.
            load: int64 [R], the sum of the least durations of all their remaining operations.
            tardy: int64 [R], 1 if the objective is the weighted tardiness.
        """
        jobs = np.zeros((*actions.shape, len(OF_JOBS)), np.int64)
        shop = np.zeros((len(rows), len(OF_SHOP)), np.int64)
        observe(self.state, rows, actions, jobs, shop)
        observed: dict[str, NDArray[Any]] = {"action": actions, "mask": actions >= 0}
        observed |= {name: jobs[:, :, k] for k, name in enumerate(OF_JOBS)}
        observed |= {name: shop[:, k] for k, name in enumerate(OF_SHOP)}
        return observed

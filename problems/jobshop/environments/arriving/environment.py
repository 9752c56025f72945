"""Dispatching while jobs arrive, as a Markov decision process: whenever a machine is free and jobs wait, one of them starts.

Schedules that are built in this way are non-delay schedules; this needs no knowledge of the future. An observation contains only
what is known at the time of the decision: nothing about jobs that have not arrived.
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

    An action is a choice, an index into the instance's `choice_machine`. Each decision is about the machine on which an operation
    can start first: one of the jobs that wait for this machine starts its next operation there at once. Rewards and base values
    are those of JobShopEnvironment.
    """

    def __init__(self, instances: Sequence[JobShopInstance], rows: int, width: int = 128) -> None:
        super().__init__(instances, rows, "arriving", width)

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what is known at the time of the decision. Arrays are [R, K] unless stated otherwise; empty slots are 0.

        Returns:
            action: int32, the actions as `actions` lists them, -1 in empty slots.
            mask: bool, whether the slot holds an action.
            job, duration, rest, left, due, weight: int64, as in `JobShopEnvironment._observe`.
            ready: int64, when the job began to wait for this machine.
            release: int64, when the job arrived.
            following: int64, the duration of the job's operation after this one, on its fastest machine; 0 if there is none.
            queue: int64, for the machine of the job's operation after this one: how long it needs for the operations that run or
                wait there now; the minimum if that operation has several machines, 0 if there is no such operation.
            now: int64 [R], the present time.
            machine: int64 [R], the free machine.
            present: int64 [R], the number of jobs that have arrived and are not finished.
            load: int64 [R], the time that all present jobs together still need, on the fastest machines.
            tardy: int64 [R], 1 if the objective is the weighted tardiness.
        """
        jobs = np.zeros((*actions.shape, len(OF_JOBS)), np.int64)
        shop = np.zeros((len(rows), len(OF_SHOP)), np.int64)
        observe(self.state, rows, actions, jobs, shop)
        observed: dict[str, NDArray[Any]] = {"action": actions, "mask": actions >= 0}
        observed |= {name: jobs[:, :, k] for k, name in enumerate(OF_JOBS)}
        observed |= {name: shop[:, k] for k, name in enumerate(OF_SHOP)}
        return observed

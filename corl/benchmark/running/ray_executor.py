"""RayExecutor: the same processes, started by the workers of an existing Ray cluster (extra "distributed").

A Ray task does what a thread of the local executor does: it starts the run's own process on its node, pinned there to
processors that no other run of ours holds. Ray itself only places tasks and brings the answers back.
"""

from __future__ import annotations

import contextlib
from typing import Any

from corl.benchmark.running.process import Ended, run_process
from corl.errors import UsageError, described
from corl.processes.ray import Cluster

__all__ = ["RayExecutor"]


class RayExecutor:
    """Runs on a cluster; `address` as `ray.init` takes it, None for the cluster that Ray finds."""

    local = False

    def __init__(self, address: str | None = None, jobs: int | None = None) -> None:
        self._cluster = Cluster(address or "auto", "--address")
        self._ray, self._total = self._cluster.ray, self._cluster.processors
        self.jobs = self._total if jobs is None else jobs
        self._running: dict[Any, tuple[int, int]] = {}  # Ray's reference -> (number, cores)
        self._function = self._ray.remote(max_retries=0)(run_process)

    def room(self, cores: int) -> bool:
        if cores > self._total:
            raise UsageError(f"a solver asks for {cores} processors; the cluster has {self._total}")
        return len(self._running) < self.jobs and sum(taken for _, taken in self._running.values()) + cores <= self._total

    def submit(self, number: int, task: bytes, cores: int, hard_limit: float) -> None:
        reference = self._function.options(num_cpus=cores).remote(task, cores, hard_limit)
        self._running[reference] = number, cores

    def next(self) -> tuple[int, Ended]:
        ready: list[Any] = []
        while not ready:
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=1.0)
        number, _ = self._running.pop(ready[0])
        try:
            return number, self._ray.get(ready[0])
        except self._ray.exceptions.RayTaskError as error:  # our own code failed there
            return number, Ended(fault="crash", reason=f"the run could not be supervised: {described(error.cause or error)}")
        except self._ray.exceptions.RayError as error:  # a worker or a node is gone
            return number, Ended(fault="lost", reason=f"the worker is lost: {type(error).__name__}")

    def close(self) -> None:
        for reference in self._running:
            with contextlib.suppress(self._ray.exceptions.RayError, ValueError):
                self._ray.cancel(reference, force=True)
        self._running.clear()
        self._cluster.close()

"""Ray: an Executor whose workers run on a Ray cluster instead of this machine (extra "distributed")."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from corl.errors import CorlError, UsageError, described
from corl.processes.child import search_path
from corl.processes.executor import WAKE, Outcome
from corl.processes.task_worker import Answering

__all__ = ["Cluster", "Ray", "imported"]


def imported() -> Any:
    """Return the package ray. Raises UsageError, with the command that installs it, if it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise UsageError(f'--executor ray needs the package ray: in a checkout pip install ".[distributed]" ({error})') from error
    return ray


class Cluster:
    """A connection to a Ray cluster: the one that this process has already, otherwise a new one until `close`."""

    def __init__(self, address: str, option: str, processors: int | None = None) -> None:
        """Connect to a cluster. Raises UsageError if there is none.

        Args:
            address: The address of a new connection, as for `ray.init`; "local" starts Ray on this machine, "auto" lets Ray find
                a cluster.
            option: The option by which a user sets the address; errors name this option.
            processors: The number of processors of a local cluster.
        """
        self.ray = imported()
        self._own = not self.ray.is_initialized()
        if self._own:
            keywords: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
            if address == "local":
                environment = {"env_vars": {"PYTHONPATH": search_path()}}
                keywords |= {"num_cpus": processors, "include_dashboard": False, "runtime_env": environment}
            try:
                self.ray.init(address=address, **keywords)
            except (ConnectionError, ValueError, RuntimeError, OSError) as error:
                place = "the default address" if address == "auto" else address
                raise UsageError(f"{option}: no Ray cluster at {place}: {described(error)}") from error
        self.processors = int(self.ray.cluster_resources().get("CPU", 0))

    def close(self) -> None:
        """Disconnect, unless other code has made the connection."""
        if self._own:
            self.ray.shutdown()


class Ray:
    """An Executor on a Ray cluster; `actors` and `tasks` create one."""

    def __init__(self, cluster: Cluster, start: Callable[[Any, int], Any], actors: Sequence[Any] = ()) -> None:
        """Create an executor on a cluster.

        Args:
            cluster: The cluster.
            start: Starts the work on a payload, given the payload and its number of processors; returns Ray's reference to the
                future Outcome.
            actors: The actors that `close` kills; if there are none, `close` cancels the running tasks.
        """
        self.processors = cluster.processors
        """The number of processors of the cluster."""
        self._cluster, self._ray, self._start, self._actors = cluster, cluster.ray, start, actors
        self._running: dict[Any, int] = {}  # Ray's reference -> number of the payload

    @classmethod
    def actors(cls, count: int, task: bytes) -> Ray:
        """Return an executor with `count` actors, each an `Answering(task)` on one processor. Raises UsageError.

        The actors run on the cluster that this process is connected to, otherwise on the cluster at RAY_ADDRESS if this
        environment variable is set, otherwise on this machine.
        """
        cluster = Cluster(os.environ.get("RAY_ADDRESS") or "local", "--executor ray (RAY_ADDRESS)", count)
        if count > cluster.processors:
            cluster.close()
            raise UsageError(f"--workers: {count} is not accepted; the Ray cluster has {cluster.processors} processors")
        kind = cluster.ray.remote(num_cpus=1, max_restarts=0)(Answering)
        actors = [kind.remote(task) for _ in range(count)]
        turns = itertools.cycle(actors)
        return cls(cluster, lambda payload, _: next(turns).answer.remote(pickle.dumps(payload, protocol=5)), actors)

    @classmethod
    def tasks(cls, address: str | None, function: Callable[[Any], Outcome]) -> Ray:
        """Return an executor that calls `function` for each payload in a task of Ray.

        Args:
            address: The address of the cluster, as for `ray.init`; None: the cluster that Ray finds.
            function: Returns the outcome of a payload.
        """
        cluster = Cluster(address or "auto", "--address")
        task = cluster.ray.remote(max_retries=0)(function)
        return cls(cluster, lambda payload, cores: task.options(num_cpus=cores).remote(payload))

    def submit(self, number: int, payload: Any, cores: int = 1) -> None:
        """Start the work on a payload; an actor works on its payloads one by one."""
        self._running[self._start(payload, cores)] = number

    def take(self, number: int | None = None, timeout: float = WAKE) -> tuple[int, Outcome] | None:
        references = [reference for reference, each in self._running.items() if number in (None, each)]
        ready, _ = self._ray.wait(references, num_returns=1, timeout=timeout)
        if not ready:
            return None
        number = self._running.pop(ready[0])
        try:
            return number, self._ray.get(ready[0])
        except self._ray.exceptions.RayTaskError as error:  # the function raised an exception
            return number, ("failed", error.cause or error)
        except self._ray.exceptions.RayError as error:  # a worker or a node is gone
            return number, ("lost", CorlError(f"a worker is lost: {type(error).__name__}"))

    def cancel(self, number: int) -> None:
        """End the task of a payload, whose outcome is then "lost"."""
        for reference, each in self._running.items():
            if each == number:
                self._ray.cancel(reference, force=True)

    def close(self) -> None:
        """End the actors or tasks, then the connection."""
        end: Callable[[Any], object] = self._ray.kill if self._actors else partial(self._ray.cancel, force=True)
        for each in self._actors or self._running:
            with contextlib.suppress(self._ray.exceptions.RayError, ValueError):
                end(each)
        self._running.clear()
        self._cluster.close()

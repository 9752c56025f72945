"""Ray: a cluster to work on in place of this machine (extra "distributed"), and workers that are its actors."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
from collections.abc import Callable
from typing import Any

from corl.errors import CorlError, UsageError, described
from corl.processes.answering import Answering
from corl.processes.child import search_path

__all__ = ["Actors", "Cluster", "imported"]


def imported() -> Any:
    """The package ray. Raises UsageError, saying how to install it, where it is missing."""
    try:
        import ray
    except ImportError as error:
        raise UsageError(f'--executor ray needs the package ray: in a checkout pip install ".[distributed]" ({error})') from error
    return ray


class Cluster:
    """The Ray that this process is connected to, else the one at an address until `close`."""

    def __init__(self, address: str, option: str, processors: int | None = None) -> None:
        """`address`: as `ray.init` takes it; "local" starts a Ray of this machine, with so many processors, and "auto" is the
        cluster that Ray finds. `option`: what the user gave it by. Raises UsageError where there is none."""
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
        """Disconnect, unless somebody else has connected."""
        if self._own:
            self.ray.shutdown()


class Actors:
    """`count` actors, one processor each, on the cluster that is connected, else at RAY_ADDRESS, else on this machine."""

    def __init__(self, count: int, task: bytes) -> None:
        self._cluster = Cluster(os.environ.get("RAY_ADDRESS") or "local", "--executor ray (RAY_ADDRESS)", count)
        self._ray = self._cluster.ray
        if count > (total := self._cluster.processors):
            raise UsageError(f"--workers: {count} is not accepted; the Ray cluster has {total} processors")
        kind = self._ray.remote(num_cpus=1, max_restarts=0)(_Actor)
        self._actors = [kind.remote(task) for _ in range(count)]
        self._submitted: dict[int, Any] = {}  # number -> Ray's reference
        self._next = 0

    def submit(self, number: int, payload: Any) -> None:
        """In turn: an actor works through its payloads one by one."""
        actor = self._actors[self._next]
        self._next = (self._next + 1) % len(self._actors)
        self._submitted[number] = actor.answer.remote(pickle.dumps(payload, protocol=5))

    def take(self, number: int, look: Callable[[], object] | None) -> Any:
        """Wait for an answer, without a look meanwhile. Raises what the worker raised, or CorlError for one that is lost."""
        try:
            kind, value = self._ray.get(self._submitted.pop(number))
        except self._ray.exceptions.RayError as error:  # an actor or a node is gone
            raise CorlError(f"a worker is lost: {type(error).__name__}") from error
        if kind == "failed":
            raise value
        return value

    def close(self) -> None:
        """End the actors, and the connection."""
        for actor in self._actors:
            with contextlib.suppress(self._ray.exceptions.RayError, ValueError):
                self._ray.kill(actor)
        self._submitted.clear()
        self._cluster.close()


class _Actor:
    def __init__(self, task: bytes) -> None:
        self._answering = Answering(task)

    def answer(self, payload: bytes) -> tuple[str, Any]:
        return self._answering(payload)

"""Actors: the workers of a training run as actors of a Ray cluster (extra "distributed")."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import sys
from typing import Any

from corl.errors import CorlError, UsageError, described
from corl.learning.workers import Answering

__all__ = ["Actors"]


class Actors:
    """`count` actors, one processor each, on the cluster that is connected, else at RAY_ADDRESS, else on this machine."""

    def __init__(self, count: int, task: bytes) -> None:
        try:
            import ray
        except ImportError as error:
            raise UsageError(f'--executor ray needs the package ray: pip install "corl[distributed]" ({error})') from error
        self._ray: Any = ray
        self._own = not ray.is_initialized()
        if self._own:
            _connect(ray, count)
        if count > (total := int(self._ray.cluster_resources().get("CPU", 0))):
            raise UsageError(f"--workers: {count} is not accepted; the Ray cluster has {total} processors")
        kind = self._ray.remote(num_cpus=1, max_restarts=0)(_Actor)
        self._actors = [kind.remote(task) for _ in range(count)]
        self._flying: dict[int, Any] = {}
        self._next = 0

    def submit(self, number: int, payload: Any) -> None:
        """In turn: an actor works through its payloads one by one."""
        actor = self._actors[self._next]
        self._next = (self._next + 1) % len(self._actors)
        self._flying[number] = actor.answer.remote(pickle.dumps(payload, protocol=5))

    def take(self, number: int) -> Any:
        try:
            kind, value = self._ray.get(self._flying.pop(number))
        except self._ray.exceptions.RayError as error:  # an actor or a node is gone
            raise CorlError(f"a worker is lost: {type(error).__name__}") from error
        if kind == "failed":
            raise value
        return value

    def close(self) -> None:
        for actor in self._actors:
            with contextlib.suppress(self._ray.exceptions.RayError, ValueError):
                self._ray.kill(actor)
        self._flying.clear()
        if self._own:
            self._ray.shutdown()


class _Actor:
    def __init__(self, task: bytes) -> None:
        self._answering = Answering(task)

    def answer(self, payload: bytes) -> tuple[str, Any]:
        return self._answering(payload)


def _connect(ray: Any, count: int) -> None:
    """To the cluster at RAY_ADDRESS, which Ray's own tools read too; without one a Ray of this machine is started."""
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
    address = os.environ.get("RAY_ADDRESS") or "local"
    if address == "local":
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        quiet |= {"num_cpus": count, "include_dashboard": False, "runtime_env": {"env_vars": {"PYTHONPATH": path}}}
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise UsageError(f"--executor ray: no Ray at {address} (RAY_ADDRESS): {described(error)}") from error

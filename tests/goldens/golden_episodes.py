"""Golden rows of environments: hashes of all that a seeded random episode shows, and what it is worth."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from golden_cases import instance
from numpy.typing import NDArray

from corl import UsageError, registry

_ROWS, _KEYS = 3, (0, 0, 1)
_MOST = 30  # steps


def environments() -> list[str]:
    """The problems that have one, sorted."""
    return [name for name in registry.problems() if registry.problem(name).has_environment]


def row(problem: str, name: str) -> dict[str, Any]:
    """What the golden file says of three rows that are played at random: the third begins with another key."""
    adapter = registry.problem(problem)
    try:
        environment, bases = begun(problem, name)
    except UsageError:
        return {"refused": True}
    seen = _Hashes()
    worth = bases.copy()
    steps = 0
    for rows, chosen in played(environment):
        seen.add("actions", environment.actions(rows))
        observation = environment.observe(rows)
        for key, array in sorted(observation.items()):
            seen.add(f"observation {key}", array)
        for features, function in adapter.features.items():
            with contextlib.suppress(UsageError):  # for instances of another kind
                for key, array in function(observation)._asdict().items():
                    seen.add(f"features {features} {key}", array)
        rewards = environment.step(rows, rows, chosen)
        seen.add("rewards", rewards)
        worth[rows] += rewards
        steps += len(rows)
    over = np.flatnonzero(environment.actions(range(_ROWS))[:, 0] < 0).tolist()
    judged = [(adapter.realised_instance(instance(problem, name), _KEYS[at]), environment.solution(at)) for at in over]
    solutions = [json.dumps(adapter.to_json(*pair), sort_keys=True) for pair in judged]
    return {
        "hashes": seen.digests(),
        "shapes": seen.shapes,
        "solutions": hashlib.sha256("".join(solutions).encode()).hexdigest()[:16],
        "steps": steps,
        "width": environment.width,
        "worth": worth.tolist(),
    }


def begun(problem: str, name: str, played: str = "") -> tuple[Any, NDArray[np.float64]]:
    """An environment, the one called `played`, whose rows begin with the keys 0, 0 and 1, and their bases."""
    environment = registry.problem(problem).environment([instance(problem, name)], _ROWS, name=played)
    return environment, environment.reset(range(_ROWS), 0, np.array(_KEYS, np.uint64))


def played(environment: Any) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows that are not over and a random action of each, to be made before the next is asked for; the same on any machine."""
    random = np.random.default_rng(1)
    for _ in range(_MOST):
        listed = environment.actions(range(environment.rows))
        there = (listed >= 0).sum(1)
        rows = np.flatnonzero(there)
        if not len(rows):
            return
        draws = random.random(environment.rows)[rows]
        yield rows, listed[rows, (draws * there[rows]).astype(np.int64)].astype(np.int64)


class _Hashes:
    """A running hash of all arrays of a name; the type and shape of the first."""

    def __init__(self) -> None:
        self.shapes: dict[str, str] = {}
        self._running: dict[str, Any] = {}

    def add(self, name: str, array: NDArray[Any] | None) -> None:
        if array is None:
            return
        self.shapes.setdefault(name, f"{array.dtype} {'x'.join(map(str, array.shape))}")
        running = self._running.setdefault(name, hashlib.sha256())
        running.update(f"{array.dtype} {array.shape}".encode())
        running.update(np.ascontiguousarray(array).tobytes())

    def digests(self) -> dict[str, str]:
        return {name: running.hexdigest()[:16] for name, running in self._running.items()}

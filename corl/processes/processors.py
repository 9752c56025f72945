"""Processors: those that this process may use, and the largest number of worker processes on them."""

from __future__ import annotations

import os

from corl.errors import UsageError

__all__ = ["available", "check_workers"]

_PER_PROCESSOR = 4  # workers; more would only cost memory and slow each other


def available() -> list[int]:
    """Return the numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def check_workers(workers: int, name: str = "workers") -> None:
    """Raise UsageError, about the argument `name`, for more worker processes than four for each processor."""
    count = len(available())
    if workers > (most := _PER_PROCESSOR * count):
        owner = "the one processor" if count == 1 else f"each of {count} processors"
        raise UsageError(f"{name}: {workers} is not accepted; it takes up to {most}, {_PER_PROCESSOR} for {owner}")

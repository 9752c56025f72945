"""`Task`, an operation on one of its eligible machines in the CP-SAT model."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Task"]


class Task(NamedTuple):
    """An operation on one of its eligible machines: its number in the instance, and CP-SAT variables."""

    operation: int
    start: Any
    end: Any
    interval: Any
    """The time in which the operation is processed without a break; None if it is resumable."""
    literal: Any
    """True if the operation is processed on this machine; None if it has no other machine."""
    leaves: Any
    """When its job leaves the machine: at `end` or, if it blocks, when the job's next operation starts."""
    runs: Any
    """The interval from `start` to `end`, with the breaks of a resumable operation; `interval` itself for others."""
    occupied: Any
    """The interval from `start` to `leaves`; `interval` itself if both are the same."""

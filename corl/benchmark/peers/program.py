"""The messages between a solver that is a program and the process that runs this program (corl.benchmark.peers.guard)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Ended", "Task"]


@dataclass(frozen=True)
class Task:
    """A program to run."""

    command: Sequence[str]
    folder: str
    """The working folder; standard output and standard error go to the files "output" and "errors" in it."""
    environment: Mapping[str, str]
    kill_after: float
    """Seconds of the wall clock after which the program is killed."""
    kill_after_cpu: float | None = None
    """Processor seconds after which each of its processes is killed; None: no such limit."""


@dataclass(frozen=True)
class Ended:
    """The end of a program."""

    exit_code: int
    """Negative for a signal."""
    killed: bool
    """Whether it was killed because it took too long."""
    wall_seconds: float
    cpu_seconds: float
    """Processor seconds of the program and of all processes that it started."""

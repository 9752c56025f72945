"""Record: one finished run of a benchmark, as it is stored and reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Record"]


@dataclass(frozen=True)
class Record:
    """One run: what was asked, what came of it, and under what circumstances. JSON values throughout."""

    suite: str
    problem: str
    instance: str
    """The instance's label within the suite; unique there."""
    solver: str
    """The line-up's label of a solver with its options; unique in the suite."""
    seed: int
    time_limit: float | None
    """Seconds asked for; None where `iterations` were."""
    iterations: int | None
    outcome: str
    """ok, nothing (no solution in time), refused (the solver does not take the instance), crash, timeout, wrong or lost."""
    reason: str = ""
    """Why, where the outcome is not ok: one line."""
    objective: float | None = None
    """As the parent evaluated it, not as the child claimed."""
    bound: float | None = None
    sense: str = "min"
    reference: float | None = None
    reference_status: str = ""
    """proven or best known."""
    reference_source: str = ""
    limit: str = ""
    """What ended the run (Result.limit)."""
    runtime: float | None = None
    """Seconds on the solver's clock."""
    setup_seconds: float | None = None
    wall_seconds: float | None = None
    """From the child's start to its end, imports and compilation included."""
    cpu_seconds: float | None = None
    peak_bytes: int | None = None
    trace: tuple[tuple[float, float | None, float | None], ...] = ()
    """(seconds, objective, bound) at each improvement."""
    solution: Any = None
    """In the problem's JSON form; None where it was not kept."""
    solver_name: str = ""
    """The registered name of the solver that ran (auto's choice)."""
    options: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the solver or the instance adds: size, nodes, ..."""
    cores: tuple[int, ...] = ()
    """Processor numbers the child was pinned to."""
    started: str = ""
    """UTC, ISO 8601."""
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    """Processor, cores, memory, operating system."""
    commit: str = ""
    """git commit of the sources, "+" appended where they were changed; "" outside a checkout."""

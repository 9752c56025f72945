"""Record: one finished run of a benchmark, as the store (corl.store) keeps it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["Record", "check_types"]


@dataclass(frozen=True)
class Record:
    """One run: the request, the outcome, and the circumstances. All fields are JSON values.

    A benchmark runs each solver in a child process; the parent process measures it and evaluates its solution.
    """

    suite: str
    problem: str
    instance: str
    """The instance's label, unique in the suite."""
    solver: str
    """The label of a solver with its options, unique in the suite."""
    seed: int
    time_limit: float | None
    """The requested limit in seconds; None if `iterations` are given."""
    iterations: int | None
    """The requested limit in the solver's iterations; None if there is none."""
    outcome: str
    """"ok", "nothing" (no solution in time), "refused" (the solver does not accept the instance), "crash", "timeout", "wrong"
    (a false report) or "lost" (the machine or process that supervised it is gone)."""
    reason: str = ""
    """Why the outcome is not "ok", in one line."""
    objective: float | None = None
    """The objective value of the solution, as evaluated by the parent process."""
    bound: float | None = None
    """The best bound of the objective value that the solver proved."""
    sense: str = "min"
    reference: float | None = None
    """The value that gaps are measured from."""
    reference_status: str = ""
    """"proven" or "best known"."""
    reference_source: str = ""
    """Where the reference value was published, or the name of its file."""
    limit: str = ""
    """The reason that ended the run (Result.limit)."""
    runtime: float | None = None
    """Seconds on the solver's clock."""
    setup_seconds: float | None = None
    """Seconds for imports, weights and compilation, before the solver's clock starts."""
    wall_seconds: float | None = None
    """From the child's start to its end, including imports and compilation."""
    cpu_seconds: float | None = None
    """Processor seconds of the child."""
    peak_bytes: int | None = None
    """The largest memory of the child."""
    trace: tuple[tuple[float, float | None, float | None], ...] = ()
    """(seconds, objective, bound) at each improvement."""
    solution: Any = None
    """The solution in the problem's JSON form; None if it was not kept."""
    solver_name: str = ""
    """The registered name of the solver that ran; for "auto", the one that was chosen."""
    options: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Additional values of the solver or the instance: size, nodes, ..."""
    cores: tuple[int, ...] = ()
    """The processor numbers to which the child was pinned."""
    started: str = ""
    """The time of the start, in UTC, as ISO 8601."""
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    """Processor, cores, memory, operating system."""
    commit: str = ""
    """The git commit of the sources, followed by "+" if they were changed; "" outside a checkout."""


_TYPES: dict[str, set[type]] = {
    "str": {str}, "int": {int}, "int | None": {int, type(None)}, "float | None": {int, float, type(None)},
    "Mapping[str, Any]": {dict}, "Mapping[str, str]": {dict},
}  # fmt: skip
_FROM_ZERO = ("iterations", "runtime", "setup_seconds", "wall_seconds", "cpu_seconds", "peak_bytes")


def check_types(records: Sequence[Record]) -> None:
    """Raise ValueError if a field of some record has an invalid value, as may happen if another program wrote the file."""
    for each in fields(Record):
        if each.type in _TYPES and (wrong := {type(getattr(record, each.name)) for record in records} - _TYPES[each.type]):
            raise ValueError(f"{each.name} holds a {wrong.pop().__name__}")
        if each.type == "float | None" and not all(math.isfinite(getattr(record, each.name) or 0.0) for record in records):
            raise ValueError(f"{each.name} is not finite")
    for name in _FROM_ZERO:
        if (least := min((value for record in records if (value := getattr(record, name)) is not None), default=0)) < 0:
            raise ValueError(f"{name} is {least}")
    if any(record.time_limit is not None and record.time_limit <= 0 for record in records):
        raise ValueError("a time_limit is not above 0")

"""The settings of a tuning, and the checks of the arguments that give them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from corl import arguments
from corl.errors import UsageError
from corl.processes.processors import available
from corl.tuning.costs import OBJECTIVES
from corl.tuning.sampling import SAMPLERS

__all__ = ["Settings", "check", "seconds_of"]

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d*)?)\s*([a-z]*)")


@dataclass(frozen=True)
class Settings:
    """The settings of a tuning; see `corl.tuning.tuner.tune`."""

    budget: float
    """Processor seconds."""
    time_limit: float | None
    iterations: int | None
    objective: str
    sampler: str
    seed: int
    jobs: int

    @property
    def limit(self) -> str:
        """The limit of a run, in words."""
        return f"{self.iterations:,} iterations" if self.time_limit is None else f"{self.time_limit:g} s"


def seconds_of(of: str, value: Any) -> float:
    """Return a duration in seconds: a number of them, or a text such as "90s", "30m" or "2h". Raises UsageError."""
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is not None and match[2] in _UNITS:
        value = float(match[1]) * _UNITS[match[2]]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    raise arguments.refusal(of, value, "seconds above 0, or a text such as 90s, 30m or 2h")


def check(
    solver: Any, budget: Any, time_limit: Any, iterations: Any, objective: Any, sampler: Any, seed: Any, jobs: Any
) -> Settings:
    """Return the settings from arguments of `tune`; `solver`: the class of the solver. Raises UsageError for a wrong argument."""
    if (time_limit is None) == (iterations is None):
        raise UsageError("tuning needs the limit of a run; accepted: either a time_limit or iterations")
    if iterations is not None and not solver.iteration:
        raise UsageError(f"iterations: {solver.__name__} has no iterations to count; accepted: a time_limit")
    if arguments.choice("objective", objective, OBJECTIVES) == "anytime" and time_limit is None:
        raise UsageError("objective: 'anytime' depends on the clock; accepted: 'final', or a time_limit")
    return Settings(
        seconds_of("budget", budget),
        None if time_limit is None else seconds_of("time_limit", time_limit),
        None if iterations is None else arguments.integer("iterations", iterations, 1),
        objective, arguments.choice("sampler", sampler, SAMPLERS), arguments.integer("seed", seed),
        arguments.integer("jobs", jobs, 1, len(available())),
    )  # fmt: skip

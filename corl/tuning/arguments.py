"""The settings of a tuning, and the checks of the arguments that give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corl import arguments
from corl.errors import UsageError
from corl.processes.processors import available
from corl.tuning.costs import OBJECTIVES
from corl.tuning.sampling import SAMPLERS

__all__ = ["Settings", "check"]


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


def check(
    solver: Any, budget: Any, time_limit: Any, iterations: Any, objective: Any, sampler: Any, seed: Any, jobs: Any
) -> Settings:
    """Return the settings from arguments of `tune`; `solver`: the class of the solver. Raises UsageError for a wrong argument."""
    if (time_limit is None) == (iterations is None):
        raise UsageError("tuning needs the limit of a run; accepted: either a time_limit or iterations")
    if iterations is not None and not solver.iteration:
        raise UsageError("iterations: this solver has no iterations to count; accepted: a time_limit")
    if arguments.choice("objective", objective, OBJECTIVES) == "anytime" and time_limit is None:
        raise UsageError("objective: 'anytime' depends on the clock; accepted: 'final', or a time_limit")
    return Settings(
        arguments.duration("budget", budget),
        None if time_limit is None else arguments.duration("time_limit", time_limit),
        None if iterations is None else arguments.integer("iterations", iterations, 1),
        objective, arguments.choice("sampler", sampler, SAMPLERS), arguments.integer("seed", seed),
        arguments.integer("jobs", jobs, 1, len(available())),
    )  # fmt: skip

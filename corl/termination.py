"""The reasons that end a run, and the statuses of its solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

__all__ = ["LIMITS", "STATUSES", "Limit", "Status"]

Status = Literal["optimal", "feasible", "infeasible", "unbounded", "no_solution"]
Limit = Literal[
    "time_limit", "iterations", "target", "patience", "optimal", "infeasible", "unbounded", "interrupted", "failed", "finished"
]  # fmt: skip

STATUSES: Mapping[Status, str] = {
    "optimal": "the solution is the best, as the bound proves (to 1e-9 of its value)",
    "feasible": "there is a solution; whether it is the best is not known",
    "infeasible": "proven: there is no solution",
    "unbounded": "proven: solutions improve without limit; one may have been found",
    "no_solution": "none was found, and it is not proven that there is none",
}
"""Every value of `Result.status`, with its meaning."""
LIMITS: Mapping[Limit, str] = {
    "time_limit": "the time limit was reached",
    "iterations": "all iterations were done",
    "target": "the target was reached",
    "patience": "there was no better solution or bound for the seconds given as patience",
    "optimal": "the solution was proven to be the best",
    "infeasible": "it was proven that there is no solution",
    "unbounded": "it was proven that there is no best solution",
    "interrupted": "Ctrl-C or SIGTERM",
    "failed": "the solver failed; what it had found by then is kept",
    "finished": "the solver had nothing left to do",
}
"""Every value of `Result.limit`, with its meaning."""

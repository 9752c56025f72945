"""Dispatching rules: priorities of the operations that compete for a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.jit import kernel

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["ATC", "COVERT", "LOOK_AHEAD", "RULES", "priority", "rules_for"]

RULES = ("spt", "lpt", "mwkr", "mor", "fifo", "fdd/mwkr", "edd", "atc", "covert")
"""The names of the rules.

spt, lpt: shortest, longest processing time. mwkr, mor: most work, most operations remaining. fifo: first in, first out. fdd/mwkr:
the ratio of flow due date to most work remaining (Sels, Gheysen and Vanhoucke, IJPR 50, 2012). edd: earliest due date. atc:
apparent tardiness cost (Vepsalainen and Morton, Management Science 33, 1987). covert: cost over time (Carroll, 1965), with the
weights and the expected waiting time of Vepsalainen and Morton. The mean duration in atc is over the machine's queue; if
operations have choices of machines, over all operations that compete.
"""
SPT, LPT, MWKR, MOR, FIFO, FDD_MWKR, EDD, ATC, COVERT = range(len(RULES))
LOOK_AHEAD = 2.0
"""The default look-ahead factor of atc and covert, from Vepsalainen and Morton."""


def rules_for(instance: JobShopInstance) -> tuple[int, ...]:
    """Return the indices of the rules for the instance's objective: all, or for the makespan all but edd, atc and covert."""
    return tuple(range(len(RULES) if instance.objective != "makespan" else EDD))


@kernel
def priority(
    rule: int,
    duration: float,
    work_left: float,
    operations_left: int,
    ready: float,
    job_end: float,
    due: float,
    weight: float,
    now: float,
    mean: float,
    look_ahead: float,
) -> Any:
    """Return the priority of an operation, a positive number; the operation of the largest priority is started first.

    Args:
        rule: Index into RULES.
        duration: Duration of the operation.
        work_left: Sum of the durations of the job's operations from this one on.
        operations_left: Number of the job's operations from this one on.
        ready: When the operation's job predecessor ends, or the job's release date.
        job_end: When the job would end if it never waited.
        due: Due date of the job.
        weight: Weight of the job.
        now: The present time.
        mean: Mean duration of the competing operations.
        look_ahead: The time that a job is expected to wait, in mean durations (atc) or as a multiple of its `work_left` (covert).
    """
    if rule == SPT:
        return 1.0 / (1.0 + duration)
    if rule == LPT:
        return 1.0 + duration
    if rule == MWKR:
        return 1.0 + work_left
    if rule == MOR:
        return 1.0 + operations_left
    if rule == FIFO:
        return 1.0 / (1.0 + ready)
    if rule == FDD_MWKR:  # the denominator is the flow due date: when the operation would end if its job never waited
        return (1.0 + work_left) / (1.0 + job_end - work_left + duration)
    if rule == EDD:
        return 1.0 / (1.0 + due)
    slack = max(0.0, float(due - work_left - now))
    if rule == COVERT:  # the last term ranks jobs of priority 0 by their slack
        return weight / (1.0 + duration) * max(0.0, 1.0 - slack / (look_ahead * (1.0 + work_left))) + 1e-9 / (1.0 + slack)
    return weight / (1.0 + duration) * np.exp(-slack / (look_ahead * (1.0 + mean))) + 1e-300

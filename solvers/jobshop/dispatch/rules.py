"""Dispatching rules: priorities of the operations that compete for a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corl.jit import kernel

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["ATC", "COVERT", "LOOK_AHEAD", "RULES", "priority", "rules_for"]

RULES = ("spt", "lpt", "mwkr", "mor", "fifo", "fdd/mwkr", "edd", "atc", "covert")
"""Shortest and longest processing time; most work and most operations remaining; first in, first out; flow due date by most
work remaining (Sels, Gheysen and Vanhoucke, IJPR 50, 2012); earliest due date; apparent tardiness cost (Vepsalainen and
Morton, Management Science 33, 1987; the mean is over the machine's own queue, with choices over all that can start); cost over
time (Carroll, 1965; weighted as by Vepsalainen and Morton, a job expected to wait for a multiple of the work left in it)."""
SPT, LPT, MWKR, MOR, FIFO, FDD_MWKR, EDD, ATC, COVERT = range(len(RULES))
LOOK_AHEAD = 2.0
"""The look-ahead of atc and covert, from Vepsalainen and Morton."""


def rules_for(instance: JobShopInstance) -> tuple[int, ...]:
    """Return the indices of the rules that fit the objective: without due dates there is no edd, atc or covert."""
    return tuple(range(len(RULES) if instance.objective != "makespan" else EDD))


@kernel
def priority(
    rule: int,
    p: float,
    rest: float,
    left: int,
    ready: float,
    whole: float,
    due: float,
    weight: float,
    now: float,
    mean: float,
    look_ahead: float,
) -> Any:
    """Return the priority of an operation, above 0; the greatest goes first.

    Args:
        rule: Index into RULES.
        p: Duration of the operation.
        rest: Work left in the job, that of the operation included.
        left: Operations left in the job, this one included.
        ready: When the operation's job predecessor ends, or the job's release date.
        whole: When the job would end if it never waited.
        due: Due date of the job.
        weight: Weight of the job.
        now: The present time.
        mean: Mean duration of the competing operations.
        look_ahead: How many mean durations (atc), or times the work left (covert), a job is expected to wait.
    """
    if rule == SPT:
        return 1.0 / (1.0 + p)
    if rule == LPT:
        return 1.0 + p
    if rule == MWKR:
        return 1.0 + rest
    if rule == MOR:
        return 1.0 + left
    if rule == FIFO:
        return 1.0 / (1.0 + ready)
    if rule == FDD_MWKR:  # the flow due date: when the operation would end if its job never waited
        return (1.0 + rest) / (1.0 + whole - rest + p)
    if rule == EDD:
        return 1.0 / (1.0 + due)
    slack = max(0.0, float(due - rest - now))
    if rule == COVERT:
        return weight / (1.0 + p) * max(0.0, 1.0 - slack / (look_ahead * (1.0 + rest))) + 1e-9 / (1.0 + slack)
    return weight / (1.0 + p) * np.exp(-slack / (look_ahead * (1.0 + mean))) + 1e-300

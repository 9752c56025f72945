"""Dispatching rules: which operation goes first, of those that compete for a machine."""

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
"""Of atc and covert, as Vepsalainen and Morton have it."""


def rules_for(instance: JobShopInstance) -> tuple[int, ...]:
    """The numbers of the rules that make sense of an instance's objective: without due dates there is no edd, atc or covert."""
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
    look: float,
) -> Any:
    """The priority, above 0, of an operation of duration p by the rule of this number.

    rest, left: work and operations left in its job, its own counted; whole: when the job would end if it never waited;
    now, mean: the time, and the mean duration of those it competes with; look: the look-ahead of atc and covert.
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
        return weight / (1.0 + p) * max(0.0, 1.0 - slack / (look * (1.0 + rest))) + 1e-9 / (1.0 + slack)
    return weight / (1.0 + p) * np.exp(-slack / (look * (1.0 + mean))) + 1e-300

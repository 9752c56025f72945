"""Dispatching rules: greedy policies of the dispatching environment, as kernels on its pool of states."""

from __future__ import annotations

import numpy as np

from corl.jit import kernel
from corl.problems.jobshop.transitions import JobShopState
from corl.rng import uniform
from corl.search import hooks

__all__ = ["MAKESPAN_RULES", "RULES", "dispatch"]

RULES = ("spt", "lpt", "mwkr", "mor", "fifo", "fdd/mwkr", "edd", "atc")
"""Shortest and longest processing time; most work and most operations remaining; first in, first out; flow due date by most
work remaining (Sels, Gheysen and Vanhoucke, IJPR 50, 2012); earliest due date; apparent tardiness cost (Vepsalainen and
Morton, Management Science 33, 1987, with its look-ahead of 2)."""

MAKESPAN_RULES = tuple(range(RULES.index("edd")))
"""The numbers of the rules that need no due dates."""

_LOOK_AHEAD = 2.0


@kernel
def dispatch(state: JobShopState, row, rule, noise, random, listed, starts):
    """Build a schedule in `row`, always by the legal choice of the highest priority; returns the objective.

    rule: an index into RULES. Priorities are multiplied by 1 to 1 + noise at random. Ties go to what `actions` lists first.
    listed: int32 [K] scratch. starts: int64 [O], what operations start at.
    """
    instance = state.instance[row]
    while True:
        count = hooks.actions(state, row, listed)
        if count == 0:
            break
        best, chosen = -1.0, -1
        now, mean = _clock(state, row, listed, count)
        for k in range(count):
            value = _priority(state, row, rule, listed[k], now, mean)
            if noise > 0.0:
                value *= 1.0 + noise * uniform(random)
            if value > best:
                best, chosen = value, listed[k]
        hooks.step(state, row, row, chosen)
    n = state.operations[instance]
    starts[:n] = state.start[row, :n]
    return state.estimate[row]


@kernel
def _clock(state, row, listed, count):
    """The earliest start and the mean duration of the listed choices."""
    base, now, total = state.choice_at[state.instance[row]], 2**62, 0
    for k in range(count):
        c = base + listed[k]
        job = state.job[state.operation_at[state.instance[row]] + state.owner[c]]
        now = min(now, max(state.ready[row, job], state.free[row, state.machine[c]]))
        total += state.duration[c]
    return now, total / count


@kernel
def _priority(state, row, rule, choice, now, mean):
    """The priority of a choice, above 0."""
    instance = state.instance[row]
    c = state.choice_at[instance] + choice
    operation = state.operation_at[instance] + state.owner[c]
    job = state.job[operation]
    at = state.job_at[instance] + job
    p, rest = state.duration[c], state.rest[operation]
    if rule == 0:
        return 1.0 / (1.0 + p)
    if rule == 1:
        return 1.0 + p
    if rule == 2:
        return 1.0 + rest
    if rule == 3:
        return 1.0 + (state.closing[at] - state.owner[c])
    if rule == 4:
        return 1.0 / (1.0 + state.ready[row, job])
    if rule == 5:  # the flow due date: when the operation would end if its job never waited
        whole = state.rest[state.operation_at[instance] + state.opening[at]]
        return (1.0 + rest) / (1.0 + state.release[at] + whole - rest + p)
    if rule == 6:
        return 1.0 / (1.0 + state.due[at])
    slack = max(0.0, float(state.due[at] - rest - now))
    return state.weight[at] / (1.0 + p) * np.exp(-slack / (_LOOK_AHEAD * (1.0 + mean))) + 1e-300

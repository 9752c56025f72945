"""Simulated annealing over the sequence in which units are placed, and over the machines of operations that have a choice."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.kernels.annealing import allowance, geometric
from corl.kernels.rotate import rotate
from corl.rng import below
from corl.solvers.jobshop.placing.building import decode

__all__ = ["BEST", "CURRENT", "anneal", "sample_increases"]

CURRENT, BEST = 0, 1  # entries of `values`
_CHOICES = 4  # one in this many candidates changes a machine, if there are choices
_MACHINE = 3  # one in this many changes of a machine returns to the machine where the operation ends first


@kernel
def anneal(shop, base, plan, fixed, state, values, cooling, done, units, random):
    """Run `units` steps of annealing, from step `done` of a cooling on.

    Args:
        shop: Shop of the instance.
        base: PartialSchedule with the fixed operations alone.
        plan: PartialSchedule, overwritten.
        fixed: int64 [K], the fixed operations by start time.
        state: (current sequence [L], current requested choices [O], best sequence [L], best requested choices [O], operations
            that have a choice), int64 arrays; all but the last are updated in place.
        values: float64 [2], CURRENT and BEST: their objective values, updated in place.
        cooling: (first temperature, last temperature, steps of the cooling).
        done: Steps of the cooling made before.
        units: Steps to make.
        random: uint64 [1], the state of the random number generator.
    """
    sequence, requested, best_sequence, best_requested, free = state
    first, last, changes = cooling
    for unit in range(done, done + units):
        temperature = geometric(first, last, unit / changes)
        allowed = values[CURRENT] + allowance(temperature, random)
        if len(free) > 0 and below(random, _CHOICES) == 0:
            i = free[below(random, len(free))]
            before = requested[i]
            count = shop.choice_at[i + 1] - shop.choice_at[i]
            requested[i] = -1 if below(random, _MACHINE) == 0 else shop.choice_at[i] + below(random, count)
            value = decode(shop, base, plan, fixed, sequence, requested)
            if value > allowed:
                requested[i] = before
                continue
        else:
            p, q = _positions(shop, sequence, random)
            rotate(sequence, p, q)
            value = decode(shop, base, plan, fixed, sequence, requested)
            if value > allowed:
                rotate(sequence, q, p)
                continue
        values[CURRENT] = value
        if value < values[BEST]:
            values[BEST] = value
            best_sequence[:], best_requested[:] = sequence, requested


@kernel
def sample_increases(shop, base, plan, fixed, sequence, requested, value, tries, costs, random):
    """Try `tries` random candidates, and add the increases of those that are worse to costs[0] and their number to costs[1].

    Args:
        shop: Shop of the instance.
        base: PartialSchedule with the fixed operations alone.
        plan: PartialSchedule, overwritten.
        fixed: int64 [K], the fixed operations by start time.
        sequence: int64 [L], the current sequence; unchanged afterwards.
        requested: int64 [O], the current requested choices.
        value: Their objective value.
        tries: The number of candidates.
        costs: float64 [2], updated in place.
        random: uint64 [1], the state of the random number generator.
    """
    for _ in range(tries):
        p, q = _positions(shop, sequence, random)
        rotate(sequence, p, q)
        changed = decode(shop, base, plan, fixed, sequence, requested)
        rotate(sequence, q, p)
        if value < changed < 1e17:
            costs[0], costs[1] = costs[0] + changed - value, costs[1] + 1.0


@kernel(borrow=True)
def _positions(shop, sequence, random):
    """Draw a move in `sequence` [L] as (from, to): positions of different jobs, at most 2 J apart."""
    n, reach = len(sequence), 2 * len(shop.due)
    p = below(random, n)
    for _ in range(20):
        q = p + 1 + below(random, reach)
        if below(random, 2) == 0:
            q = 2 * p - q
        if 0 <= q < n and sequence[q] != sequence[p]:
            return p, q
    return p, p

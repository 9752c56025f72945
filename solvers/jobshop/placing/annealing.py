"""Simulated annealing over the order in which units are placed, and over the machines of operations that have a choice."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.kernels.annealing import allowance, geometric
from corl.kernels.rotate import rotate
from corl.rng import below
from corl.solvers.jobshop.placing.building import decode

__all__ = ["BEST", "CURRENT", "anneal", "spread"]

CURRENT, BEST = 0, 1  # of `values`
_CHOICES = 4  # of so many changes one is of a machine, where there are choices
_MACHINE = 3  # of so many changes of a machine one goes back to where the operation ends first


@kernel
def anneal(shop, base, plan, fixed, state, values, cooling, done, units, random):
    """So many changes from `done` on. state: (word, wanted, best word, best wanted, operations with a choice).

    cooling: float64 [2]: the first and the last temperature, int changes: done runs from 0 to `changes` in one cooling.
    """
    word, wanted, best_word, best_wanted, free = state
    first, last, changes = cooling
    for unit in range(done, done + units):
        temperature = geometric(first, last, unit / changes)
        allowed = values[CURRENT] + allowance(temperature, random)
        if len(free) > 0 and below(random, _CHOICES) == 0:
            i = free[below(random, len(free))]
            before = wanted[i]
            count = shop.begin[i + 1] - shop.begin[i]
            wanted[i] = -1 if below(random, _MACHINE) == 0 else shop.begin[i] + below(random, count)
            value = decode(shop, base, plan, fixed, word, wanted)
            if value > allowed:
                wanted[i] = before
                continue
        else:
            p, q = _positions(shop, word, random)
            rotate(word, p, q)
            value = decode(shop, base, plan, fixed, word, wanted)
            if value > allowed:
                rotate(word, q, p)
                continue
        values[CURRENT] = value
        if value < values[BEST]:
            values[BEST] = value
            best_word[:], best_wanted[:] = word, wanted


@kernel
def spread(shop, base, plan, fixed, word, wanted, value, tries, costs, random):
    """Add what changes that are for the worse cost, of so many random ones, and how many they are, to costs [2]."""
    for _ in range(tries):
        p, q = _positions(shop, word, random)
        rotate(word, p, q)
        changed = decode(shop, base, plan, fixed, word, wanted)
        rotate(word, q, p)
        if value < changed < 1e17:
            costs[0], costs[1] = costs[0] + changed - value, costs[1] + 1.0


@kernel(borrow=True)
def _positions(shop, word, random):
    """From where to where a unit moves: past another job's unit, at most about two rounds of all jobs away."""
    n, reach = len(word), 2 * len(shop.due)
    p = below(random, n)
    for _ in range(20):
        q = p + 1 + below(random, reach)
        if below(random, 2) == 0:
            q = 2 * p - q
        if 0 <= q < n and word[q] != word[p]:
            return p, q
    return p, p

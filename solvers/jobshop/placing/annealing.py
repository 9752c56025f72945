"""Simulated annealing over the sequence in which units are placed, and over the machines of operations that have a choice.

Units, sequences and requested choices are explained in building.py.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.kernels.annealing import allowance, geometric
from corl.kernels.rotate import rotate
from corl.rng import below
from corl.solvers.jobshop.placing.building import place_sequence

__all__ = ["BEST", "CURRENT", "anneal", "sample_increases"]

CURRENT, BEST = 0, 1
"""Indices into `values`: the objective values of the current and of the best solution."""
_MACHINE_MOVES = 4  # one candidate in 4 changes the machine of an operation, if operations have choices
_RESETS = 3  # one such change in 3 requests no machine, so that the operation is placed where it ends first


@kernel
def anneal(shop, base, plan, fixed, state, values, cooling, first_step, steps, random):
    """Do `steps` steps of annealing, from step `first_step` of a cooling on; a step evaluates one candidate.

    Args:
        shop: The Shop of the instance.
        base: A PartialSchedule with the fixed operations and their units only.
        plan: A PartialSchedule, overwritten.
        fixed: int64 [K], the fixed operations by start time.
        state: (current sequence [L], current requested choices [O], best sequence [L], best requested choices [O], operations
            that have a choice), int64 arrays; all but the last are updated in place.
        values: float64 [2], the objective values CURRENT and BEST, updated in place.
        cooling: (first temperature, last temperature, number of steps of the cooling).
        first_step: The number of steps of the cooling made before.
        steps: The number of steps to do.
        random: uint64 [1], the state of the random number generator.
    """
    sequence, requested, best_sequence, best_requested, with_choice = state
    first, last, cooling_steps = cooling
    for step in range(first_step, first_step + steps):
        temperature = geometric(first, last, step / cooling_steps)
        accepted_value = values[CURRENT] + allowance(temperature, random)
        if len(with_choice) > 0 and below(random, _MACHINE_MOVES) == 0:
            i = with_choice[below(random, len(with_choice))]
            before = requested[i]
            count = shop.choice_offset[i + 1] - shop.choice_offset[i]
            requested[i] = -1 if below(random, _RESETS) == 0 else shop.choice_offset[i] + below(random, count)
            value = place_sequence(shop, base, plan, fixed, sequence, requested)
            if value > accepted_value:
                requested[i] = before
                continue
        else:
            p, q = _positions(shop, sequence, random)
            rotate(sequence, p, q)
            value = place_sequence(shop, base, plan, fixed, sequence, requested)
            if value > accepted_value:
                rotate(sequence, q, p)
                continue
        values[CURRENT] = value
        if value < values[BEST]:
            values[BEST] = value
            best_sequence[:], best_requested[:] = sequence, requested


@kernel
def sample_increases(shop, base, plan, fixed, sequence, requested, value, tries, increases, random):
    """Evaluate random candidates; record the increases of the objective value by those that are worse than the current solution.

    Args:
        shop: The Shop of the instance.
        base: A PartialSchedule with the fixed operations and their units only.
        plan: A PartialSchedule, overwritten.
        fixed: int64 [K], the fixed operations by start time.
        sequence: int64 [L], the current sequence, unchanged after the call.
        requested: int64 [O], the current requested choices.
        value: The current objective value.
        tries: The number of candidates.
        increases: float64 [2], the sum and the number of the increases, updated in place.
        random: uint64 [1], the state of the random number generator.
    """
    for _ in range(tries):
        p, q = _positions(shop, sequence, random)
        rotate(sequence, p, q)
        candidate_value = place_sequence(shop, base, plan, fixed, sequence, requested)
        rotate(sequence, q, p)
        if value < candidate_value < 1e17:  # infeasible candidates have MISSING = 1e18 or more
            increases[0], increases[1] = increases[0] + candidate_value - value, increases[1] + 1.0


@kernel(borrow=True)
def _positions(shop, sequence, random):
    """Draw two positions (from, to) of different jobs in `sequence`; their distance is at most twice the number of jobs.

    After 20 tries without success, both positions are the same.
    """
    n, reach = len(sequence), 2 * len(shop.due)
    p = below(random, n)
    for _ in range(20):
        q = p + 1 + below(random, reach)
        if below(random, 2) == 0:
            q = 2 * p - q
        if 0 <= q < n and sequence[q] != sequence[p]:
            return p, q
    return p, p

"""The generations of edge assembly crossover (EAX): pairs of tours are mated, and the best child replaces its parent A.

To mate parents A and B is to try children of A: each has, instead of some edges of A, edges of B (an E-set, which consists of
AB-cycles: ab_cycles.py). Children are made and measured in assembly.py.

Nagata & Kobayashi, INFORMS J. Computing 25 (2013): sections 2.1 (generation model), 3.1 (stage 1, single AB-cycles),
3.2 (selection by entropy) and, simplified, 3.3 (stage 2, blocks of AB-cycles).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy_rows
from corl.rng import next_u64, shuffle
from corl.solvers.tsp.eax.ab_cycles import Cycles, cycles_of, find_cycles
from corl.solvers.tsp.eax.assembly import Assembly, apply, assemble, assembly_of, order_of
from corl.solvers.tsp.eax.population import count_changes, gain_per_entropy

__all__ = ["Mating", "begin_generation", "mate", "mating_of"]

# Stage 2 adds to a first AB-cycle, the centre, cycles through its cities or through so many nearest neighbours of each (tuned).
_NEAREST = 5


class Mating(NamedTuple):
    """Memory for matings of tours of n cities."""

    cycles: Cycles
    """The AB-cycles of the current pair."""
    work: Assembly
    """The current E-set and child."""
    shuffled: NDArray[np.int32]
    """[n + 2] AB-cycles in random order."""
    owner: NDArray[np.int32]
    """[n, 2] stage 2: up to two AB-cycles that pass through each city; -1 for none. All -1 between matings."""
    marked: NDArray[np.int32]
    """[n + 2] stage 2: the number of the last E-set for which each cycle was considered."""
    members: NDArray[np.int32]
    """[n + 2] the AB-cycles of an E-set."""
    tally: NDArray[np.int64]
    """[2] in this generation: the number of children that replaced their parent, and the number of AB-cycles found."""


def mating_of(n: int) -> Mating:
    """Return the memory for matings of tours of n cities."""
    shuffled, marked, members = (np.zeros(n + 2, np.int32) for _ in range(3))
    return Mating(cycles_of(n), assembly_of(n), shuffled, np.full((n, 2), -1, np.int32), marked, members, np.zeros(2, np.int64))


@kernel
def begin_generation(population, mating, state):
    """Draw the order of the matings and set the tally to zero."""
    shuffle(state, population.turn)
    mating.tally[:] = 0


@kernel(nogil=True)
def mate(metric, neighbours, lengths, population, mating, first, count, stage, children, most_accepted, tolerance, state):
    """Do matings first .. first + count - 1 of this generation, in place.

    Args:
        metric: Metric of n cities.
        neighbours: int32 [n, K], candidate neighbours, nearest first.
        lengths: float64 [n, K], their distances.
        population: Population; parents are replaced by better children.
        mating: Mating of n cities.
        first: The first mating.
        count: The number of matings.
        stage: 1: an E-set is one AB-cycle; 2: it is a block of AB-cycles.
        children: The greatest number of children tried before the best of them is accepted.
        most_accepted: The greatest number of children accepted in a mating, one after another, each from AB-cycles that begin
            with another centre; an E-set that no longer fits the changed tour is skipped.
        tolerance: Gains up to this are treated as rounding errors.
        state: uint64 [1], the state of the random numbers.
    """
    size = len(population.turn)
    for i in range(first, first + count):
        a, b = population.turn[i], population.turn[i + 1 if i + 1 < size else 0]
        links = population.links[a]
        found = find_cycles(links, population.links[b], mating.cycles, state)
        mating.tally[1] += found
        if found < stage:
            continue
        if stage == 2:
            _own_cities(mating, found)
        gain = _breed(
            metric, neighbours, lengths, population, mating, links, found, stage, children, most_accepted, tolerance, state
        )
        population.lengths[a] -= gain
        if stage == 2:
            _disown_cities(mating, found)


@kernel
def _breed(metric, neighbours, lengths, population, mating, links, found, stage, children, most_accepted, tolerance, state):
    """Replace parent A (`links`) by its best child in place, up to `most_accepted` times; return the total gain.

    The best child has the largest ratio of gain to lost entropy. `found` is the number of AB-cycles.
    """
    work = mating.work
    order_of(links, work.order, work.position)
    shuffled = mating.shuffled[:found]
    for c in range(found):
        shuffled[c] = c
    shuffle(state, shuffled)
    total, c, accepted = 0.0, 0, 0
    while c < found and accepted < most_accepted:
        best, best_gain, best_count, tried = 0.0, 0.0, 0, 0
        while c < found and tried < children:
            size = 1
            mating.members[0] = shuffled[c]
            if stage == 2:
                size = _block(neighbours, mating, c + 1, state)
            c += 1
            if size < stage:  # stage 2: single cycles were tried in stage 1
                continue
            length = _collect(links, mating, size, accepted > 0)
            if length == 0:
                continue
            tried += 1
            gain, count = assemble(metric, neighbours, lengths, links, work, length, tolerance)
            if count == 0:
                continue
            value = gain_per_entropy(population, work.changes, count, gain)
            if value > best:
                best, best_gain, best_count = value, gain, count
                copy_rows(work.changes, work.chosen, count)
        if best_count > 0:
            apply(links, work.chosen, best_count)
            count_changes(population, work.chosen, best_count)
            total += best_gain
            accepted += 1
            if c < found and accepted < most_accepted:
                order_of(links, work.order, work.position)
    mating.tally[0] += accepted
    return total


@kernel
def _collect(links, mating, size, changed):
    """Write the E-set that consists of the AB-cycles mating.members[:size] to mating.work.

    Returns the number of cities in these AB-cycles; a city at two removed edges occurs, and counts, twice.
    Returns 0 if parent A has `changed` since the AB-cycles were found and the E-set no longer fits it.
    """
    cities, starts, work = mating.cycles.cities, mating.cycles.starts, mating.work
    length = 0
    for m in range(size):
        start, stop = starts[mating.members[m]], starts[mating.members[m] + 1]
        first = length
        for i in range(start, stop, 2):
            u, v = cities[i], cities[i + 1]
            if changed:
                w = cities[i + 2 if i + 2 < stop else start]
                if (links[u, 0] != v and links[u, 1] != v) or links[v, 0] == w or links[v, 1] == w:
                    return 0
            work.city[length], work.city[length + 1] = u, v
            work.partner[length], work.partner[length + 1] = length - 1, length + 2
            length += 2
        work.partner[first], work.partner[length - 1] = length - 1, first
    return length


# ---------------------------------------------------------------- stage 2
@kernel
def _own_cities(mating, found):
    """Write to `owner` the AB-cycles, at most two, that pass through each city; reset `marked`."""
    cities, starts, owner = mating.cycles.cities, mating.cycles.starts, mating.owner
    for c in range(found):
        mating.marked[c] = 0
        for i in range(starts[c], starts[c + 1]):
            if owner[cities[i], 0] < 0:
                owner[cities[i], 0] = c
            elif owner[cities[i], 0] != c:
                owner[cities[i], 1] = c


@kernel
def _disown_cities(mating, found):
    """Reset `owner` to -1 for the cities of all AB-cycles."""
    for i in range(mating.cycles.starts[found]):
        mating.owner[mating.cycles.cities[i]] = -1


@kernel
def _block(neighbours, mating, stamp, state):
    """Add to the centre cycle members[0] each cycle through its cities or their nearest neighbours, with probability 1/2.

    Returns the number of cycles. `stamp` is the number of the E-set; it marks the cycles considered for this E-set. This is a
    simple substitute for the paper's Block2 strategy, whose tabu search takes more time than it saves in runs of seconds.
    """
    cities, starts, members, marked = mating.cycles.cities, mating.cycles.starts, mating.members, mating.marked
    centre = members[0]
    marked[centre] = stamp
    size = 1
    listed = min(_NEAREST, neighbours.shape[1])
    for i in range(starts[centre], starts[centre + 1]):
        for k in range(-1, listed):
            city = cities[i] if k < 0 else neighbours[cities[i], k]
            for h in range(2):
                c = mating.owner[city, h]
                if c >= 0 and marked[c] != stamp:
                    marked[c] = stamp
                    if next_u64(state) >> np.uint64(63):
                        members[size] = c
                        size += 1
    return size

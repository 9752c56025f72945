"""One tabu search for the total weighted tardiness: swaps on the critical paths of late jobs, and moves to other machines.

A swap of two operations that are adjacent on a machine can reduce the tardiness of a job only if both lie on a longest path to
the job's end (the neighbourhood of Mati, Dauzere-Peres and Lahlou, European Journal of Operational Research 212, 2011). In a
flexible shop an operation on such a path may also move to another machine, near the position at which it does not have to wait. A
move is evaluated exactly: it is made, the objective value is computed, and the move is undone. An estimate would need the tail of
each operation for each job.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.rng import below
from corl.solvers.jobshop.tabu.longest_paths import recompute_ends, reorder_forward
from corl.solvers.jobshop.tabu.makespan_search import IDLE, MOVES, NOW, VALUE, WRAP, TabuState
from corl.solvers.jobshop.tabu.reassignment import Choices, earliest_place, reassign
from corl.solvers.jobshop.tabu.selection import link, rebuild
from corl.solvers.jobshop.tabu.setups import after_setup

__all__ = ["advance_tardiness", "begin_tardiness", "late_moves", "move", "swap", "tardiness"]

_MAX_EVALUATED = 64  # moves evaluated per step, drawn at random; in large instances most operations are on a late job's path


@kernel(borrow=True)
def tardiness(last, end, due, weight):
    """Return the total weighted tardiness.

    Args:
        last: uint32 [J], the last operation of each job.
        end: int32, the end of each operation (`Selection.end`).
        due: int64 [J], due dates.
        weight: int64 [J], weights of the jobs.
    """
    total = np.int64(0)
    for j in range(len(last)):
        total += weight[j] * max(np.int64(0), end[last[j]] - due[j])
    return total


@kernel
def begin_tardiness(search: TabuState, choices: Choices, due: NDArray[np.int64], weight: NDArray[np.int64]) -> None:
    """Start the search from the choices `choices.taken` and the machine orders in `search.selection.sequence`."""
    rebuild(search.shop, search.selection)
    search.counts[NOW] = search.counts[VALUE] = tardiness(search.shop.last, search.selection.end, due, weight)
    search.counts[IDLE] = 0
    copy(search.selection.sequence, search.best, len(search.selection.sequence))
    copy(choices.taken, choices.best, len(choices.taken))


@kernel(nogil=True)
def advance_tardiness(
    search: TabuState,
    choices: Choices,
    due: NDArray[np.int64],
    weight: NDArray[np.int64],
    cut: int,
    shortest: int,
    longest: int,
    units: int,
) -> int:
    """Make up to `units` moves, each the best that is not tabu; end earlier after `cut` moves without an improvement.

    Args:
        search: The state, updated in place; its objective values are total weighted tardinesses.
        choices: The assignment of operations to machines, updated in place.
        due: int64 [J], due dates.
        weight: int64 [J], weights of the jobs.
        cut: The number of moves without an improvement after which the search ends.
        shortest: The minimum tenure: the number of moves for which a swapped pair, or a changed machine, is not changed back. A
            tenure is drawn uniformly from shortest..longest.
        longest: The maximum tenure.
        units: The maximum number of moves.

    Returns:
        `units` minus the number of moves made.
    """
    counts, shop, selection, tabu, random = search.counts, search.shop, search.selection, search.tabu, search.random
    while units > 0 and counts[IDLE] < cut:
        units -= 1
        counts[MOVES] += 1
        if counts[MOVES] % WRAP == 0:
            tabu[:] = 0
            choices.tabu[:] = 0
        now = counts[MOVES] % WRAP
        at, v, c = _choose(shop, selection, choices, tabu, now, counts[VALUE], due, weight, random)
        if at < 0:  # no late job waits for a machine, or no move is provably feasible
            counts[IDLE] = cut
            break
        until = now + shortest + below(random, longest - shortest + 1)
        if c >= 0:
            choices.tabu[v] = until
            move(shop, selection, choices, v, c, at)
        else:
            tabu[_pair_index(shop, selection.sequence[at], selection.sequence[at + 1])] = until
            swap(shop, selection, at)
        counts[NOW] = tardiness(shop.last, selection.end, due, weight)
        counts[IDLE] += 1
        if counts[NOW] < counts[VALUE]:
            counts[VALUE], counts[IDLE] = counts[NOW], 0
            copy(selection.sequence, search.best, len(selection.sequence))
            copy(choices.taken, choices.best, len(choices.taken))
    return units


@kernel(borrow=True)
def _choose(shop, selection, choices, tabu, now, best, due, weight, random):
    """Evaluate up to _MAX_EVALUATED random moves, and return the best that is not tabu, or a random one if all are tabu.

    A move is tabu if its entry in `tabu` or `choices.tabu` exceeds `now`, unless the tardiness after it is below `best`. Ties are
    broken at random.

    Returns:
        (at, operation, choice): the operation takes the choice and is inserted before the operation at place `at`. If the choice
        is -1, the operations at places `at` and `at` + 1 are swapped instead. `at` is -1 if there is no move.
    """
    sequence, found, n = selection.sequence, choices.moves, len(shop.job_pred)
    count = late_moves(shop, selection, choices, due, found, random)
    no_move = (np.int64(-1), np.uint32(0), np.int64(-1))
    chosen, tabu_move, least, ties = no_move, no_move, np.int64(2**62), 0
    for k in range(min(count, _MAX_EVALUATED)):
        other = k + below(random, count - k)
        found[k], found[other] = found[other], found[k]
        v, c = np.uint32(found[k] % n), np.int64(-1)
        if found[k] < n:
            at = np.int64(selection.place[v]) - 1
            free = tabu[_pair_index(shop, sequence[at + 1], sequence[at])] <= now
            swap(shop, selection, at)
            value = tardiness(shop.last, selection.end, due, weight)
            swap(shop, selection, at)
        else:
            c = _other_choice(choices, v, random)
            at, free = _random_place(shop, selection, v, choices.machine[c], random), choices.tabu[v] <= now
            if at < 0:
                continue
            value = _value_after(shop, selection, choices, v, c, at, due, weight)
        if not free and value >= best:
            tabu_move = (at, v, c)  # moves are evaluated in random order, so the last tabu move is a random one
            continue
        ties = 1 if value < least else ties + (value == least)
        if value < least or (value == least and below(random, ties) == 0):
            chosen, least = (at, v, c), value
    return chosen if chosen[0] >= 0 else tabu_move


@kernel(borrow=True)
def _other_choice(choices, v, random):
    """Return a random choice of v other than the current one; v must have at least two choices."""
    c = np.int64(choices.first[v]) + below(random, choices.first[v + 1] - choices.first[v] - 1)
    return c + (c >= choices.taken[v])


@kernel(borrow=True)
def _random_place(shop, selection, v, m, random):
    """Return a place for v on machine m: at random before or behind the first operation that ends later than v could start.

    Returns -1 if the move might create a cycle.
    """
    n, end, job_next = len(shop.job_pred), selection.end, shop.job_succ[v]
    at = earliest_place(shop, selection, m, end[shop.job_pred[v]])
    if at < shop.first[m + 1]:
        at += below(random, 2)
    if at == shop.first[m] or job_next >= n:
        return at
    x = selection.sequence[at - 1]
    return at if x != job_next and end[x] - shop.duration[x] < end[job_next] else np.int64(-1)


@kernel(borrow=True)
def _value_after(shop, selection, choices, v, c, to, due, weight):
    """Return the total weighted tardiness with v on choice c before the operation at place `to`; the move is undone."""
    taken, place = choices.taken[v], np.int64(selection.place[v])
    move(shop, selection, choices, v, c, to)
    value = tardiness(shop.last, selection.end, due, weight)
    move(shop, selection, choices, v, taken, place + (selection.place[v] < place))
    return value


@kernel(borrow=True)
def move(shop, selection, choices, v, c, to):
    """Move operation v to choice c before the operation at place `to`, in place; `end` is recomputed, `to_end` is not."""
    lowest, _ = reassign(shop, selection, choices, v, c, to)
    recompute_ends(
        selection.order,
        shop.job_pred,
        selection.machine_pred,
        selection.end,
        shop.duration,
        shop.setups,
        lowest,
        len(selection.order),
    )


@kernel(borrow=True)
def _pair_index(shop, x, y):
    """Return the index of the ordered pair (x, y) of operations of a machine in `TabuState.tabu`."""
    m = shop.machine[x]
    return shop.pair[m] + shop.member[x] * np.int64(shop.eligible[m]) + shop.member[y]


@kernel(borrow=True)
def late_moves(shop, selection, choices, due, found, random):
    """Write the moves on critical paths of late jobs to `found`, and return their number.

    From the end of each late job one longest path is followed back, at random at forks, until it reaches an operation that was
    visited before.

    Args:
        shop: The Shop of the instance.
        selection: The Selection; `end` is exact, `marked` is used as a work array.
        choices: The Choices.
        due: int64 [J], due dates.
        found: uint32 [2 N], overwritten: i stands for a swap of operation i with its machine predecessor, N + i for a move of
            operation i to another machine.
        random: uint64 [1], the state of the random number generator.
    """
    job_pred, job_succ, machine_pred, end, p = shop.job_pred, shop.job_succ, selection.machine_pred, selection.end, shop.duration
    n, visited, count = len(selection.sequence), selection.marked, 0
    for j in range(len(shop.last)):
        i = shop.last[j]
        if end[i] <= due[j]:
            continue
        while i < n and not visited[i]:
            visited[i] = 1
            x, y, start = job_pred[i], machine_pred[i], end[i] - p[i]
            by_job = x < n and end[x] == start
            by_machine = y < n and after_setup(end[y], shop.setups, i, y, i) == start
            if by_job and by_machine and x != y:
                by_machine = below(random, 2) == 0
            if by_machine and x != y:
                z = job_succ[y]
                if z >= n or x >= n or end[z] > end[x]:  # then the only path from y to i is their arc
                    found[count] = i
                    count += 1
            if choices.first[i + 1] - choices.first[i] > 1:
                found[count] = n + i
                count += 1
            if by_machine:
                i = y
            else:
                i = x if by_job else np.uint32(n)
    visited[:] = 0
    return count


@kernel(borrow=True)
def swap(shop, selection, at):
    """Swap the operations at places `at` and `at` + 1 of one machine, in place; `end` is recomputed, `to_end` is not.

    The only path between the two must be the arc between them. The same call undoes the swap.
    """
    sequence, machine_pred, rank = selection.sequence, selection.machine_pred, selection.rank
    u, v = sequence[at], sequence[at + 1]
    m, k = shop.machine[u], np.int64(rank[u])
    sequence[at], sequence[at + 1] = v, u
    link(sequence, selection.place, machine_pred, selection.machine_succ, at, at + 1, shop.first[m], shop.first[m + 1])
    reorder_forward(shop.job_pred, machine_pred, selection.order, rank, selection.marked, selection.scratch, u, v)
    recompute_ends(selection.order, shop.job_pred, machine_pred, selection.end, shop.duration, shop.setups, k, len(sequence))

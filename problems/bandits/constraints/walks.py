"""The sets of places that closed walks of limited length can visit in a graph.

The search is over states. A state is a place, and the set of places on a walk from the source to this place. A set is a row of
uint64 words; place p is bit p % 64 of word p // 64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.jit import kernel
from corl.rng import mix

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["largest_visits"]

_AT_ONCE = 4_000  # states or sets between two checks of the deadline
_ONE, _WORD_BITS = np.uint64(1), 64
_BIT_COUNTS = np.array([number.bit_count() for number in range(256)], np.uint8)


def largest_visits(graph: nx.Graph, source: int, length: int, most: int) -> NDArray[np.bool_] | None:
    """Return the maximal sets of places on closed walks of at most `length` steps, bool [V, places], the largest first.

    None if the search meets more than `most` states.
    """
    sets = _closed_walks(graph, source, length, most)
    if sets is None:
        return None
    size = _BIT_COUNTS[sets.view(np.uint8)].sum(axis=1, dtype=np.int64)
    sets = sets[np.lexsort((*sets.T, -size))]  # largest first; equal sizes by value
    kept, count = np.empty_like(sets), 0
    for begin in range(0, len(sets), _AT_ONCE):
        seconds_left()
        count = _keep_widest(sets[begin : begin + _AT_ONCE], kept, count)
    bits = np.unpackbits(kept[:count].astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return np.ascontiguousarray(bits[:, : len(graph)].astype(np.bool_))


def _closed_walks(graph: nx.Graph, source: int, length: int, most: int) -> NDArray[np.uint64] | None:
    """Return the different sets of places on closed walks, uint64 [n, words], by breadth-first search over the states.

    None if there are more than `most` states.
    """
    import networkx as nx

    reached = nx.single_source_shortest_path_length(graph, source)
    steps_back = np.array([reached[node] for node in range(len(graph))], np.int64)
    neighbours = [sorted(graph[node]) for node in range(len(graph))]
    first = np.cumsum([0, *map(len, neighbours)]).astype(np.int64)
    neighbour_list = np.array([other for each in neighbours for other in each], np.int64)
    nodes, sets = np.zeros(1, np.int32), np.zeros((1, -(-len(graph) // _WORD_BITS)), np.uint64)
    nodes[0], sets[0, source // _WORD_BITS] = source, _ONE << np.uint64(source % _WORD_BITS)
    slots, count, end = _table(nodes, sets, 1), 1, 0
    max_new = _AT_ONCE * max(map(len, neighbours))
    for step in range(1, length + 1):
        begin, end = end, count
        for at in range(begin, end, _AT_ONCE):
            seconds_left()
            if count > most:
                return None
            if count + max_new > len(nodes):
                room = count + 2 * max_new
                nodes = np.concatenate([nodes[:count], np.empty(room, np.int32)])
                sets = np.concatenate([sets[:count], np.empty((room, sets.shape[1]), np.uint64)])
                slots = _table(nodes, sets, count)
            until = min(at + _AT_ONCE, end)
            count = _walk_on(first, neighbour_list, steps_back, length - step, at, until, nodes, sets, count, slots)
    return None if count > most else sets[:count][nodes[:count] == source]


def _table(nodes: NDArray[np.int32], sets: NDArray[np.uint64], count: int) -> NDArray[np.int32]:
    """Return a hash table of the first `count` states, large enough for all states that the arrays can hold."""
    slots = np.full(1 << (3 * len(nodes) // 2).bit_length(), -1, np.int32)
    for begin in range(0, count, _AT_ONCE):
        seconds_left()
        _enter(nodes, sets, begin, min(begin + _AT_ONCE, count), slots)
    return slots


@kernel
def _slot(nodes: Any, sets: Any, state: Any, slots: Any) -> Any:
    """Return the slot in the hash table that holds an equal state, or the free slot where the state belongs.

    A slot holds the index of a state, or -1 if it is free.
    """
    code = mix(np.uint64(nodes[state]))
    for w in range(sets.shape[1]):
        code = mix(code ^ sets[state, w])
    mask = len(slots) - 1
    slot = np.int64(code & np.uint64(mask))
    while slots[slot] >= 0:
        occupant = slots[slot]
        same = nodes[occupant] == nodes[state]
        for w in range(sets.shape[1]):
            same &= sets[occupant, w] == sets[state, w]
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@kernel
def _enter(nodes: Any, sets: Any, begin: Any, end: Any, slots: Any) -> None:
    """Enter the states begin..end-1 in the hash table `slots`, in place; its length is a power of 2."""
    for state in range(begin, end):
        slots[_slot(nodes, sets, state, slots)] = state


@kernel
def _walk_on(
    first: Any, others: Any, back: Any, left: Any, begin: Any, end: Any, nodes: Any, sets: Any, count: Any, slots: Any
) -> Any:
    """Extend the states begin..end-1 by one step and append the new states, in place.

    A step is possible to every neighbour from which the source can be reached in `left` steps.

    Args:
        first: int64 [n + 1], index of each place's first neighbour in `others`.
        others: int64 [2 edges], the neighbours of all places.
        back: int64 [n], the fewest steps from each place to the source.
        left: The number of steps that remain after this one.
        begin: The first state to extend.
        end: One more than the last state to extend.
        nodes: int32 [capacity], the place of each state.
        sets: uint64 [capacity, words], the places visited by each state's walk.
        count: The number of states in these arrays.
        slots: int32, the hash table of the states.

    Returns:
        The new number of states.
    """
    for state in range(begin, end):
        for k in range(first[nodes[state]], first[nodes[state] + 1]):
            other = others[k]
            if back[other] > left:
                continue
            nodes[count] = other
            for w in range(sets.shape[1]):
                sets[count, w] = sets[state, w]
            sets[count, other // _WORD_BITS] |= _ONE << np.uint64(other % _WORD_BITS)
            at = _slot(nodes, sets, count, slots)
            if slots[at] < 0:
                slots[at] = count
                count += 1
    return count


@kernel
def _keep_widest(sets: Any, kept: Any, count: Any) -> Any:
    """Append to the first `count` rows of `kept`, in place, those of `sets` that no set in `kept` contains; return the new count.

    `sets` are sorted by decreasing size, so that a set can only be contained in an earlier one.
    """
    for i in range(len(sets)):
        contained = False
        for q in range(count):
            contained = True
            for w in range(sets.shape[1]):
                if sets[i, w] & ~kept[q, w]:
                    contained = False
                    break
            if contained:
                break
        if not contained:
            for w in range(sets.shape[1]):
                kept[count, w] = sets[i, w]
            count += 1
    return count

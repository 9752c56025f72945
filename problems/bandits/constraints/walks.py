"""Sets of places on closed walks in a graph. A set is a row of words; place p is the bit p % 64 of word p // 64."""

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

_AT_ONCE = 4_000  # states or sets between two time checks
_ONE, _WORD = np.uint64(1), 64
_BITS = np.array([number.bit_count() for number in range(256)], np.uint8)


def largest_visits(graph: nx.Graph, source: int, length: int, most: int) -> NDArray[np.bool_] | None:
    """Return the maximal sets of places on closed walks of at most `length` steps, the largest first.

    bool [V, places]; None if there are more than `most` states of walks, each a place and the set of those visited.
    """
    sets = _closed_walks(graph, source, length, most)
    if sets is None:
        return None
    size = _BITS[sets.view(np.uint8)].sum(axis=1, dtype=np.int64)
    sets = sets[np.lexsort((*sets.T, -size))]  # ties by value, the first word the least significant
    kept, count = np.empty_like(sets), 0
    for begin in range(0, len(sets), _AT_ONCE):
        seconds_left()
        count = _keep_widest(sets[begin : begin + _AT_ONCE], kept, count)
    bits = np.unpackbits(kept[:count].astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return np.ascontiguousarray(bits[:, : len(graph)].astype(np.bool_))


def _closed_walks(graph: nx.Graph, source: int, length: int, most: int) -> NDArray[np.uint64] | None:
    """Return the different sets of closed walks, uint64 [n, words], by breadth-first search over states; None: too many."""
    import networkx as nx

    reached = nx.single_source_shortest_path_length(graph, source)
    back = np.array([reached[node] for node in range(len(graph))], np.int64)
    near = [sorted(graph[node]) for node in range(len(graph))]
    first = np.cumsum([0, *map(len, near)]).astype(np.int64)
    others = np.array([other for each in near for other in each], np.int64)
    nodes, sets = np.zeros(1, np.int32), np.zeros((1, -(-len(graph) // _WORD)), np.uint64)
    nodes[0], sets[0, source // _WORD] = source, _ONE << np.uint64(source % _WORD)
    slots, count, end = _table(nodes, sets, 1), 1, 0
    added = _AT_ONCE * max(map(len, near))
    for step in range(1, length + 1):
        begin, end = end, count
        for at in range(begin, end, _AT_ONCE):
            seconds_left()
            if count > most:
                return None
            if count + added > len(nodes):
                more = count + 2 * added
                nodes = np.concatenate([nodes[:count], np.empty(more, np.int32)])
                sets = np.concatenate([sets[:count], np.empty((more, sets.shape[1]), np.uint64)])
                slots = _table(nodes, sets, count)
            until = min(at + _AT_ONCE, end)
            count = _walk_on(first, others, back, length - step, at, until, nodes, sets, count, slots)
    return None if count > most else sets[:count][nodes[:count] == source]


def _table(nodes: NDArray[np.int32], sets: NDArray[np.uint64], count: int) -> NDArray[np.int32]:
    """Return a hash table of the first `count` states, with free slots for as many as the arrays can hold."""
    slots = np.full(1 << (3 * len(nodes) // 2).bit_length(), -1, np.int32)
    for begin in range(0, count, _AT_ONCE):
        seconds_left()
        _enter(nodes, sets, begin, min(begin + _AT_ONCE, count), slots)
    return slots


@kernel
def _slot(nodes: Any, sets: Any, state: Any, slots: Any) -> Any:
    """Return the slot of a state in the hash table (of state numbers, -1 if free), or the free slot where it belongs."""
    code = mix(np.uint64(nodes[state]))
    for w in range(sets.shape[1]):
        code = mix(code ^ sets[state, w])
    last = len(slots) - 1
    at = np.int64(code & np.uint64(last))
    while slots[at] >= 0:
        other = slots[at]
        same = nodes[other] == nodes[state]
        for w in range(sets.shape[1]):
            same &= sets[other, w] == sets[state, w]
        if same:
            break
        at = (at + 1) & last
    return at


@kernel
def _enter(nodes: Any, sets: Any, begin: Any, end: Any, slots: Any) -> None:
    """Enter the states `begin` to `end` in a table, in place; its length is a power of 2."""
    for state in range(begin, end):
        slots[_slot(nodes, sets, state, slots)] = state


@kernel
def _walk_on(
    first: Any, others: Any, back: Any, left: Any, begin: Any, end: Any, nodes: Any, sets: Any, count: Any, slots: Any
) -> Any:
    """Extend the states begin..end-1 by one step to every place from which `left` steps lead back; append new states, in place.

    Args:
        first: int64 [n + 1], index of a place's first neighbour in `others`.
        others: int64 [edges], neighbours.
        back: int64 [n], steps back to the source.
        left: Steps that remain after this one.
        begin: The first state to extend.
        end: The state after the last.
        nodes: int32 [states], the place of each state.
        sets: uint64 [states, words], its set.
        count: The number of states.
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
            sets[count, other // _WORD] |= _ONE << np.uint64(other % _WORD)
            at = _slot(nodes, sets, count, slots)
            if slots[at] < 0:
                slots[at] = count
                count += 1
    return count


@kernel
def _keep_widest(sets: Any, kept: Any, count: Any) -> Any:
    """Append to the `count` sets of `kept` those that none of them contains, the largest first, in place; return the count."""
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

"""Depth-first search over skylines for an allocation within a capacity.

In every allocation buffers can be lowered until each lies at offset 0, at its fixed offset or on another buffer. So an allocation
can be built from below. The state is the skyline: the floor of each section, where a section is a span of time in which the same
buffers are alive. A niche is a row of successive sections with the same floor, which is lower than that of their neighbours.

A decision is about one section of a niche. Its branches are the buffers that can lie exactly on the floor of the section, and
last, that none does. In that case the floor rises to a lower bound on the offset of the next buffer over the section: this buffer
lies at least as high as the floor of the lower neighbour of the niche, or on another buffer of the niche. The section with the
fewest branches relative to its failures so far is chosen, as constraint solvers choose variables (dom/wdeg, Boussemart et al.,
2004).

Floors rise to the lowest offset of an unplaced buffer, and the unplaced buffers of a section must fit between its floor and the
capacity (section inference, Moffitt, MiniMalloc, ASPLOS 2023). If no unplaced buffer is alive in both of two successive sections,
the search splits into parts at their border. If a part has no allocation, all decisions since the last one that affects this part
are undone. The arrays are in skyline_state.py, the effects of a choice in skyline_moves.py.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np

from corl.jit import kernel
from corl.rng import uniform
from corl.solvers.memory_static.branch_and_bound.sections import (
    CHOICES,
    DEPTH,
    FIRST_CHOICE,
    FOUND,
    FULL,
    GOING,
    INFINITE,
    LAST_CHOICE,
    LEFT,
    NEXT_CHOICE,
    NONE,
    PLACED,
    RETRY,
    RIGHT,
    STAMP,
    TRAIL,
    UNDO,
    shift,
    take_back,
    touch,
)
from corl.solvers.memory_static.branch_and_bound.skyline_moves import place, raise_floors
from corl.solvers.memory_static.branch_and_bound.skyline_state import FROM, RISE, SECTION, TO

__all__ = ["FEWEST", "TIGHT", "WEIGHTED", "advance", "restart"]

FEWEST, WEIGHTED, TIGHT = 0, 1, 2
"""Rules by which a section is chosen: fewest branches; fewest branches relative to the section's failures; the same, with a
penalty for memory that must stay free."""


@kernel
def restart(sky, capacity):
    """Return to the root of the search tree, in place; return False if the load or a fixed buffer exceeds the capacity."""
    sky.floor[:], sky.unplaced_size[:], sky.unplaced_count[:], sky.crossing[:] = 0, 0, 0, 0
    sky.top_buffer[:], sky.placed[:], sky.at[:] = -1, False, 0
    sky.marked[:] = 0
    sky.at[DEPTH] = -1
    for s in range(len(sky.weight)):
        sky.weight[s] = 1.0 + 0.5 * (sky.weight[s] - 1.0)
    for b in range(len(sky.size)):
        sky.lowest[b] = max(0, sky.fixed[b])
        if sky.lowest[b] + sky.size[b] > capacity:
            return False
        shift(sky, b, 1)
    sky.at[PLACED] = 0
    sky.at[STAMP] = 1
    for s in range(len(sky.floor)):
        touch(sky, s)
    return raise_floors(sky, capacity, 0)


@kernel(nogil=True)
def advance(sky, nodes, capacity, rule):
    """Visit up to `nodes` nodes of the tree, in place.

    Args:
        sky: A Skyline.
        nodes: The largest number of nodes to visit.
        capacity: The largest height to accept.
        rule: The rule for choosing sections: FEWEST, WEIGHTED or TIGHT.

    Returns:
        GOING, FOUND, NONE or FULL; and the number of nodes visited, at least 1.
    """
    visited = 0
    while True:
        if sky.at[RETRY] == 0:
            if sky.at[PLACED] == len(sky.size):
                return FOUND, max(1, visited)
            if visited == nodes:
                return GOING, visited
            if _arrays_full(sky):
                return FULL, max(1, visited)
            visited += 1
            _branch(sky, capacity, rule)
            sky.at[RETRY] = 1
        d = sky.at[DEPTH]
        take_back(sky, d)
        if sky.frame[d, NEXT_CHOICE] == sky.frame[d, LAST_CHOICE]:
            sky.weight[sky.frame[d, SECTION]] += 1.0
            if not _jump_back(sky):
                return NONE, max(1, visited)
        elif place(sky, d, capacity):
            sky.at[RETRY] = 0


@kernel
def _arrays_full(sky):
    """Return whether the arrays may be too short for one more node."""
    n, count = len(sky.size), len(sky.floor)
    too_deep = sky.at[DEPTH] + 2 > len(sky.frame) or sky.at[CHOICES] + n + 1 > len(sky.choice)
    return too_deep or sky.at[TRAIL] + n + 4 * count > len(sky.trail)


@kernel
def _branch(sky, capacity, rule):
    """Choose a section in the first unfinished part, and list its branches as the next decision, in place."""
    left = 0
    while sky.unplaced_count[left] == 0:
        left += 1
    right = left + 1
    while right < len(sky.floor) and sky.crossing[right] > 0:
        right += 1
    best, section, wall, low, high = np.inf, -1, 0, 0, 0
    begin = left
    while begin < right:
        level, end = sky.floor[begin], begin + 1
        while end < right and sky.floor[end] == level:
            end += 1
        before = INFINITE if begin == left else sky.floor[begin - 1]
        after = INFINITE if end == right else sky.floor[end]
        if before > level and after > level:
            for s in range(begin, end):
                score = _score(sky, s, capacity, rule)
                if score < best:
                    best, section, wall, low, high = score, s, min(before, after), begin, end
        begin = end
    d = sky.at[DEPTH] + 1
    sky.at[DEPTH] = d
    sky.buffer[d] = -1
    rise = _rise(sky, section, wall, low, high)
    first = sky.at[CHOICES]
    end = _list_buffers(sky, section, first)
    if rise < INFINITE and rise + sky.unplaced_size[section] <= capacity:
        sky.choice[end] = -1
        end += 1
    sky.at[CHOICES] = end
    row = sky.frame[d]
    row[SECTION], row[RISE], row[FIRST_CHOICE], row[LAST_CHOICE], row[NEXT_CHOICE] = section, rise, first, end, first
    row[UNDO], row[LEFT], row[RIGHT] = sky.at[TRAIL], left, right


@kernel(borrow=True)
def _score(sky, s, capacity, rule):
    """Return the score of section s: its number of branches, weighted by the rule. The lowest score is chosen."""
    level, count = sky.floor[s], 0.0
    for k in range(sky.start[s], sky.start[s + 1]):
        b = sky.member[k]
        if not sky.placed[b] and sky.lowest[b] == level:
            count += 1.0
    waste = capacity - level - sky.unplaced_size[s]
    if waste > 0:
        count += 1.0
    if rule == FEWEST:
        return count - 1e-6 * sky.weight[s]
    if rule == TIGHT:
        count += 100.0 * waste / capacity
    return count / sky.weight[s]


@kernel(borrow=True)
def _rise(sky, section, wall, low, high):
    """Return the lowest offset that the next buffer over a section can have if no buffer lies on the section's floor.

    The section belongs to the niche low..high-1, whose lower neighbour has floor `wall`.
    """
    level = sky.floor[section]
    rise = wall
    for s in range(low, high):
        for k in range(sky.start[s], sky.start[s + 1]):
            b = sky.member[k]
            if sky.placed[b]:
                continue
            if sky.lowest[b] == level:
                if sky.last[b] <= section or sky.first[b] > section:
                    rise = min(rise, level + sky.size[b])
            elif sky.first[b] <= section < sky.last[b]:
                rise = min(rise, sky.lowest[b])
            elif sky.first[b] >= low and sky.last[b] <= high:
                rise = min(rise, sky.lowest[b] + sky.size[b])
    return rise


@kernel(borrow=True)
def _list_buffers(sky, section, first):
    """Write the buffers that can lie on a section's floor to sky.choice[first:], in place; return the index after the last.

    They are in the order of decreasing priority, with noise.
    """
    end = first
    for k in range(sky.start[section], sky.start[section + 1]):
        b = sky.member[k]
        if sky.placed[b] or sky.lowest[b] != sky.floor[section] or _mirrored(sky, b, section):
            continue
        key = sky.priority[b] * (1.0 + 0.3 * uniform(sky.random))
        j = end
        while j > first and sky.key[j - first - 1] < key:
            sky.key[j - first], sky.choice[j] = sky.key[j - first - 1], sky.choice[j - 1]
            j -= 1
        sky.key[j - first], sky.choice[j] = key, b
        end += 1
    return end


@kernel(borrow=True)
def _mirrored(sky, b, section):
    """Return whether buffer b would lie on a buffer of the same lifetime and a higher number.

    Then b need not be tried: exchanging the two buffers gives an equivalent allocation, which is tried.
    """
    t = sky.top_buffer[section]
    if t <= b or sky.first[t] != sky.first[b] or sky.last[t] != sky.last[b]:
        return False
    if sky.alignment[t] > 1 or sky.alignment[b] > 1 or sky.fixed[t] >= 0 or sky.fixed[b] >= 0:
        return False
    directly_on = True
    for s in range(sky.first[b], sky.last[b]):
        directly_on = directly_on and sky.top_buffer[s] == t
    return directly_on


@kernel
def _jump_back(sky):
    """Return to the last earlier decision that changed the part of the current decision, which has no branch left, in place.

    Returns False if there is no such decision: then no allocation is within the capacity.
    """
    d = sky.at[DEPTH]
    left, right = sky.frame[d, LEFT], sky.frame[d, RIGHT]
    while True:
        sky.at[CHOICES] = sky.frame[d, FIRST_CHOICE]
        d -= 1
        sky.at[DEPTH] = d
        if d < 0:
            return False
        if sky.frame[d, FROM] < right and sky.frame[d, TO] > left:
            return True
        take_back(sky, d)

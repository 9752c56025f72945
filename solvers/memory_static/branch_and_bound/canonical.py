"""Depth-first search over canonical allocations within a capacity: buffers are placed in the order of increasing offsets.

The search is that of M. Moffitt, "MiniMalloc: a lightweight memory allocator for hardware-accelerated machine learning" (ASPLOS
2023), with two more rules. Every buffer has a rank. If there is an allocation within the capacity, one of them minimises the sum
of offset x size x (n - rank): the canonical allocation. In the canonical allocation each buffer has the lowest offset that the
buffers below it allow. So the search places buffers by increasing offset, and buffers with equal offsets by rank. The rules are:
- A buffer is placed at the lowest offset that the buffers placed before allow; this must not be below their offsets.
- The offset is less than offset + size of every unplaced buffer: otherwise that buffer would fit beneath (dominance).
- If no unplaced buffer is alive at the same time as the buffer chosen, no other choice is tried at this node.
- A buffer that could have been placed, but was not, must lie on a buffer that is still unplaced. So its lowest offset is raised
  to the lowest possible end of such a buffer (our addition).
- Of two buffers with the same lifetime, one directly on the other, the buffer of lower rank is below. Of two identical buffers,
  the one of lower rank is placed first (our addition).
- The unplaced buffers of a section must fit between the section's floor and the capacity (section inference). A section is a span
  of time in which the same buffers are alive; its floor is a lower bound on the offsets of its unplaced buffers.
If no unplaced buffer is alive in both of two successive sections, the search splits into parts at their border. The buffers of a
part are ranked separately. If a part has no allocation, all decisions since the last one that affects this part are undone. The
arrays are in canonical_state.py, the effects of a choice in canonical_moves.py.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.solvers.memory_static.branch_and_bound.canonical_moves import place, raise_floors
from corl.solvers.memory_static.branch_and_bound.canonical_state import BEGIN, BOUND, END, FINAL, LISTED, POSITION, by_load
from corl.solvers.memory_static.branch_and_bound.sections import (
    CHOICES,
    DEPTH,
    FIRST_CHOICE,
    FOUND,
    FULL,
    GOING,
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

__all__ = ["advance", "restart"]


@kernel
def restart(tree, capacity):
    """Return to the root of the search tree, in place; return False if the load or a fixed buffer exceeds the capacity."""
    tree.floor[:], tree.unplaced_size[:], tree.unplaced_count[:], tree.crossing[:] = 0, 0, 0, 0
    tree.marked[:], tree.placed[:], tree.at[:], tree.top_buffer[:] = 0, False, 0, -1
    tree.at[DEPTH] = -1
    for b in range(len(tree.size)):
        tree.lowest[b] = max(0, tree.fixed[b])
        if tree.lowest[b] + tree.size[b] > capacity:
            return False
        shift(tree, b, 1)
    tree.at[PLACED] = 0
    tree.at[STAMP] = 1
    for s in range(len(tree.floor)):
        touch(tree, s)
    return raise_floors(tree, capacity)


@kernel(nogil=True)
def advance(tree, nodes, capacity, leading):
    """Visit up to `nodes` nodes of the tree, in place.

    Args:
        tree: A Tree.
        nodes: The largest number of nodes to visit.
        capacity: The largest height to accept.
        leading: Whether the buffers of a part are ranked first by the largest unplaced load during their lifetimes, and then by
            `tree.rank`; False: only by `tree.rank`.

    Returns:
        GOING, FOUND, NONE or FULL; and the number of nodes visited, at least 1.
    """
    visited = 0
    while True:
        if tree.at[RETRY] == 0:
            if tree.at[PLACED] == len(tree.size):
                return FOUND, max(1, visited)
            if visited == nodes:
                return GOING, visited
            if _arrays_full(tree):
                return FULL, max(1, visited)
            visited += 1
            _branch(tree, capacity, leading)
            tree.at[RETRY] = 1
        d = tree.at[DEPTH]
        take_back(tree, d)
        if tree.frame[d, NEXT_CHOICE] == tree.frame[d, LAST_CHOICE] or tree.frame[d, FINAL] == 1:
            if not _jump_back(tree):
                return NONE, max(1, visited)
        elif place(tree, d, capacity):
            tree.at[RETRY] = 0


@kernel
def _arrays_full(tree):
    """Return whether the arrays may be too short for one more node."""
    n, count = len(tree.size), len(tree.floor)
    full = tree.at[CHOICES] + n > len(tree.choice) or tree.at[LISTED] + n > len(tree.listed)
    return full or tree.at[DEPTH] + 2 > len(tree.frame) or tree.at[TRAIL] + 3 * n + 4 * count > len(tree.trail)


@kernel
def _branch(tree, capacity, leading):
    """Make a decision on the first unfinished part, in place: list the buffers that may be placed next, first choice first."""
    d = tree.at[DEPTH] + 1
    tree.at[DEPTH] = d
    row = tree.frame[d]
    row[UNDO], row[FINAL] = tree.at[TRAIL], 0
    if d > 0 and not _splits(tree, d - 1):
        for column in (LEFT, RIGHT, BEGIN, END):
            row[column] = tree.frame[d - 1, column]
        row[BOUND], row[POSITION] = tree.offset[tree.buffer[d - 1]], tree.where[tree.buffer[d - 1]]
    else:
        _open_part(tree, d, leading)
    tree.buffer[d] = -1
    _list_choices(tree, row, capacity)


@kernel
def _list_choices(tree, row, capacity):
    """List the choices of the decision `row` (of `tree.frame`), in place: buffers by lowest offset, then by rank.

    A buffer is excluded if its lowest offset is below the offset of the previous decision, or so high that another buffer would
    fit beneath it or a section would overflow.
    """
    max_unplaced = 0
    for s in range(row[LEFT], row[RIGHT]):
        max_unplaced = max(max_unplaced, tree.unplaced_size[s])
    too_high = capacity - max_unplaced + 1
    for k in range(row[BEGIN], row[END]):
        b = tree.listed[k]
        if not tree.placed[b]:
            too_high = min(too_high, tree.lowest[b] + tree.size[b])
    first = tree.at[CHOICES]
    end = first
    for k in range(row[BEGIN], row[END]):
        b = tree.listed[k]
        low = tree.lowest[b]
        if tree.placed[b] or low >= too_high or low < row[BOUND] or (low == row[BOUND] and k < row[POSITION]):
            continue
        if (tree.twin[b] >= 0 and not tree.placed[tree.twin[b]]) or _mirrored(tree, b):
            continue
        j = end
        while j > first and tree.lowest[tree.choice[j - 1]] > low:
            tree.choice[j] = tree.choice[j - 1]
            j -= 1
        tree.choice[j] = b
        end += 1
    row[FIRST_CHOICE], row[LAST_CHOICE], row[NEXT_CHOICE], tree.at[CHOICES] = first, end, first, end


@kernel(borrow=True)
def _mirrored(tree, b):
    """Return whether buffer b would lie on a buffer of the same lifetime and a higher rank.

    Then b need not be tried: exchanging the two buffers gives an equivalent allocation, which is tried.
    """
    t = tree.top_buffer[tree.first[b]]
    if t < 0 or tree.offset[t] + tree.size[t] != tree.lowest[b] or tree.rank[t] < tree.rank[b]:
        return False
    same = tree.first[t] == tree.first[b] and tree.last[t] == tree.last[b]
    return same and max(tree.alignment[t], tree.alignment[b]) == 1 and max(tree.fixed[t], tree.fixed[b]) < 0


@kernel(borrow=True)
def _splits(tree, d):
    """Return whether placing the buffer of decision d finishes the decision's part, or splits it."""
    b = tree.buffer[d]
    for s in range(tree.first[b] + 1, tree.last[b]):
        if tree.crossing[s] == 0:
            return True
    return tree.unplaced_count[tree.first[b]] == 0 and tree.last[b] == tree.first[b] + 1


@kernel
def _open_part(tree, d, leading):
    """Start a part at decision d, in place: the first one with unplaced buffers, which are listed by rank.

    No buffer of the part may be placed below the last earlier decision that affects the part.
    """
    left = 0
    while tree.unplaced_count[left] == 0:
        left += 1
    right = left + 1
    while right < len(tree.floor) and tree.crossing[right] > 0:
        right += 1
    row = tree.frame[d]
    row[LEFT], row[RIGHT], row[BEGIN], row[BOUND], row[POSITION] = left, right, tree.at[LISTED], 0, -1
    before = d - 1
    while before >= 0 and not (tree.frame[before, LEFT] < right and tree.frame[before, RIGHT] > left):
        before -= 1
    if before >= 0:
        row[BOUND] = tree.offset[tree.buffer[before]]
    end = row[BEGIN]
    for s in range(left, right):
        for k in range(tree.start[s], tree.start[s + 1]):
            b = tree.member[k]
            if tree.first[b] == s and not tree.placed[b]:
                tree.listed[end] = b
                tree.key[b] = 0
                end += 1
                if leading:
                    for z in range(s, tree.last[b]):
                        tree.key[b] = min(tree.key[b], -tree.unplaced_size[z])
    row[END] = end
    tree.at[LISTED] = end
    by_load(tree.listed[row[BEGIN] : end], tree.key, tree.rank)
    for k in range(row[BEGIN], end):
        tree.where[tree.listed[k]] = k


@kernel
def _jump_back(tree):
    """Return to the last earlier decision that affects the part of the current decision, which has no choice left, in place.

    Returns False if there is no such decision: then no allocation is within the capacity.
    """
    d = tree.at[DEPTH]
    left, right = tree.frame[d, LEFT], tree.frame[d, RIGHT]
    while True:
        tree.at[CHOICES] = tree.frame[d, FIRST_CHOICE]
        d -= 1
        tree.at[DEPTH] = d
        if d < 0:
            return False
        tree.at[LISTED] = tree.frame[d, END]
        if tree.frame[d, LEFT] < right and tree.frame[d, RIGHT] > left:
            for k in range(tree.frame[d, BEGIN], tree.frame[d, END]):
                tree.where[tree.listed[k]] = k
            return True
        take_back(tree, d)

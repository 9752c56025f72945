"""The tree of canonical allocations: depth-first search for one within a capacity, buffers in the order of their offsets.

After M. Moffitt, "MiniMalloc: a lightweight memory allocator for hardware-accelerated machine learning" (ASPLOS 2023). If there
is an allocation within the capacity, there is one whose offsets, each times size x (n - rank), add up to the least. In that one
each buffer lies at the lowest offset that those below it leave, so it is found by placing buffers by offset, ties by rank:
- the offset of a buffer that is placed is the lowest one that the buffers placed before leave it, and not below theirs;
- it is below the least offset + size of what is not placed: that buffer would fit beneath it (dominance);
- where nothing that is not placed lives beside the buffer, no other choice need be tried in its place;
- a buffer that was passed over can only come on top of another one that is still to come (ours): it is lifted onto it;
- of two of the same lifetime, one on the other, that of the lower rank is below; and so it is of two that are alike (ours);
- over the floor of a section must fit all that is not placed there (section inference).
Where no unplaced buffer crosses from one section to the next the search falls into parts, ranked anew; a part that fails takes
back all decisions that do not touch it. What the kernels work on is in canonical_state.py, what a decision does in
canonical_moves.py.
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
    """Back to the root: nothing is placed. False where the load or a fixed offset is above the capacity already."""
    tree.floor[:], tree.total[:], tree.open[:], tree.crossing[:] = 0, 0, 0, 0
    tree.marked[:], tree.placed[:], tree.at[:], tree.under[:] = 0, False, 0, -1
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
    """Visit up to `nodes` nodes; returns (GOING, FOUND, NONE or FULL, how many were visited, at least 1).

    `leading`: parts are ranked by what is still to come beside a buffer first, then by `tree.rank`; otherwise by that alone.
    """
    visited = 0
    while True:
        if tree.at[RETRY] == 0:
            if tree.at[PLACED] == len(tree.size):
                return FOUND, max(1, visited)
            if visited == nodes:
                return GOING, visited
            if _short(tree):
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
def _short(tree):
    """Whether a node more might not find room."""
    n, count = len(tree.size), len(tree.floor)
    full = tree.at[CHOICES] + n > len(tree.choice) or tree.at[LISTED] + n > len(tree.listed)
    return full or tree.at[DEPTH] + 2 > len(tree.frame) or tree.at[TRAIL] + 3 * n + 4 * count > len(tree.trail)


@kernel
def _branch(tree, capacity, leading):
    """A node: the first part that is not done, and the choices for its next buffer in the order in which they are tried."""
    d = tree.at[DEPTH] + 1
    tree.at[DEPTH] = d
    row = tree.frame[d]
    row[UNDO], row[FINAL] = tree.at[TRAIL], 0
    if d > 0 and not _parted(tree, d - 1):
        for column in (LEFT, RIGHT, BEGIN, END):
            row[column] = tree.frame[d - 1, column]
        row[BOUND], row[POSITION] = tree.offset[tree.buffer[d - 1]], tree.where[tree.buffer[d - 1]]
    else:
        _open_part(tree, d, leading)
    tree.buffer[d] = -1
    _list_choices(tree, row, capacity)


@kernel
def _list_choices(tree, row, capacity):
    """The choices: buffers by lowest offset, then rank; not below the decision before, nor so high that something else would
    fit beneath, or that there is a section with too much still to come."""
    most = 0
    for s in range(row[LEFT], row[RIGHT]):
        most = max(most, tree.total[s])
    least = capacity - most + 1
    for k in range(row[BEGIN], row[END]):
        b = tree.listed[k]
        if not tree.placed[b]:
            least = min(least, tree.lowest[b] + tree.size[b])
    first = tree.at[CHOICES]
    end = first
    for k in range(row[BEGIN], row[END]):
        b = tree.listed[k]
        low = tree.lowest[b]
        if tree.placed[b] or low >= least or low < row[BOUND] or (low == row[BOUND] and k < row[POSITION]):
            continue
        if (tree.alike[b] >= 0 and not tree.placed[tree.alike[b]]) or _mirrored(tree, b):
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
    """Whether b would lie on a buffer of the same lifetime and a higher rank: the two may change places, once is enough."""
    t = tree.under[tree.first[b]]
    if t < 0 or tree.offset[t] + tree.size[t] != tree.lowest[b] or tree.rank[t] < tree.rank[b]:
        return False
    same = tree.first[t] == tree.first[b] and tree.last[t] == tree.last[b]
    return same and max(tree.alignment[t], tree.alignment[b]) == 1 and max(tree.fixed[t], tree.fixed[b]) < 0


@kernel(borrow=True)
def _parted(tree, d):
    """Whether the part of decision d is done, or falls into parts because of what was placed."""
    b = tree.buffer[d]
    for s in range(tree.first[b] + 1, tree.last[b]):
        if tree.crossing[s] == 0:
            return True
    return tree.open[tree.first[b]] == 0 and tree.last[b] == tree.first[b] + 1


@kernel
def _open_part(tree, d, leading):
    """List the buffers of the first part that is not done, by rank; none is below the last decision that touches the part."""
    left = 0
    while tree.open[left] == 0:
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
                        tree.key[b] = min(tree.key[b], -tree.total[z])
    row[END] = end
    tree.at[LISTED] = end
    by_load(tree.listed[row[BEGIN] : end], tree.key, tree.rank)
    for k in range(row[BEGIN], end):
        tree.where[tree.listed[k]] = k


@kernel
def _jump_back(tree):
    """The last decision has no choice left, so its part fails: back to the last one before it that touched that part.

    False where there is none: nothing is within the capacity.
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

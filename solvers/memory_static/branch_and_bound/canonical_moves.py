"""Effects of a choice in the search over canonical allocations (canonical.py), and what can be inferred from it.

Like the kernels of sections.py, these do not count references to arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel
from corl.solvers.memory_static.branch_and_bound.canonical_state import BEGIN, END, FINAL, Tree
from corl.solvers.memory_static.branch_and_bound.sections import INFINITE, NEXT_CHOICE, STAMP, TOUCHED, note, shift, touch

__all__ = ["place", "raise_floors"]


@kernel(borrow=True)
def place(tree: Tree, d: int, capacity: int) -> bool:
    """Place the buffer that is the next choice of decision d, in place; return False if no allocation can follow from it."""
    b = np.int64(tree.choice[tree.frame[d, NEXT_CHOICE]])
    tree.frame[d, NEXT_CHOICE] += 1
    offset = tree.lowest[b]
    tree.offset[b], tree.buffer[d] = offset, b
    end = offset + tree.size[b]
    shift(tree, b, -1)
    tree.at[STAMP] += 1
    tree.at[TOUCHED] = 0
    tree.frame[d, FINAL] = 1
    for s in range(tree.first[b], tree.last[b]):
        note(tree, s, tree.floor[s])
        note(tree, len(tree.floor) + s, tree.top_buffer[s])
        tree.floor[s], tree.top_buffer[s] = end, b
        touch(tree, s)
    possible = True
    for k in range(tree.neighbours_start[b], tree.neighbours_start[b + 1]):
        q = tree.neighbours[k]
        if not tree.placed[q]:
            tree.frame[d, FINAL] = 0
            if possible and tree.lowest[q] < end:
                possible = _raise_lowest(tree, q, end, capacity)
    return possible and raise_floors(tree, capacity) and _support_all(tree, d, b, capacity) and raise_floors(tree, capacity)


@kernel(borrow=True)
def _raise_lowest(tree: Tree, q: int, offset: int, capacity: int) -> Any:
    """Raise the lowest offset of buffer q to the first aligned one from `offset` on, in place; return False if it is too high.

    The sections where q had the lowest offset are to be examined: their floors may rise, too.
    """
    before = tree.lowest[q]
    note(tree, 2 * len(tree.floor) + q, before)
    after = (offset + tree.alignment[q] - 1) // tree.alignment[q] * tree.alignment[q]
    tree.lowest[q] = after
    for s in range(tree.first[q], tree.last[q]):
        if before <= tree.floor[s]:
            touch(tree, s)
    return after + tree.size[q] <= capacity and not 0 <= tree.fixed[q] < after


@kernel(borrow=True)
def _support_all(tree: Tree, d: int, b: np.int64, capacity: int) -> bool:
    """Raise the lowest offsets of buffers that were passed over by the choice of buffer b, in place.

    Such a buffer could have been placed before b. It must lie on a buffer that is still unplaced, since otherwise the canonical
    order would place it first. Returns False if there is no such buffer, or the offset is too high.
    """
    tree.at[TOUCHED] = 0
    tree.at[STAMP] += 1
    offset, position = tree.offset[b], tree.where[b]
    for k in range(tree.frame[d, BEGIN], tree.frame[d, END]):
        q = tree.listed[k]
        if tree.placed[q] or tree.lowest[q] > offset or (tree.lowest[q] == offset and k > position):
            continue
        lowest_end = INFINITE
        for j in range(tree.neighbours_start[q], tree.neighbours_start[q + 1]):
            c = tree.neighbours[j]
            if not tree.placed[c]:
                lowest_end = min(lowest_end, max(offset, tree.lowest[c]) + tree.size[c])
        if lowest_end == INFINITE or not _raise_lowest(tree, q, lowest_end, capacity):
            return False
    return True


@kernel(borrow=True)
def raise_floors(tree: Tree, capacity: int) -> bool:
    """Raise the floor of each section in `touched` to the lowest offset of its unplaced buffers, in place.

    Returns False if the unplaced buffers of a section do not fit between its floor and the capacity.
    """
    for k in range(tree.at[TOUCHED]):
        s = tree.touched[k]
        new_floor = INFINITE
        for j in range(tree.start[s], tree.start[s + 1]):
            q = tree.member[j]
            if not tree.placed[q]:
                new_floor = min(new_floor, tree.lowest[q])
        if tree.floor[s] < new_floor < INFINITE:
            note(tree, s, tree.floor[s])
            tree.floor[s] = new_floor
        if tree.floor[s] + tree.unplaced_size[s] > capacity:
            return False
    return True

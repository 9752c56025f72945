"""The effects of a decision of the search over canonical allocations, and its inferences.

The kernels do not count references to arrays, like those of sections.py.
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
    """Take the next choice of decision d, in place; return False if the inferences prove that it fails."""
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
        note(tree, len(tree.floor) + s, tree.under[s])
        tree.floor[s], tree.under[s] = end, b
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
    """Raise the lowest offset of q to this one, or the next that is aligned; return False if that is too high.

    A section is examined again if q was the lowest there; otherwise its floor stays.
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
    """Raise the buffers that the choice of b passed over onto others; return False if one has no support, or lies too high."""
    tree.at[TOUCHED] = 0
    tree.at[STAMP] += 1
    offset, position = tree.offset[b], tree.where[b]
    for k in range(tree.frame[d, BEGIN], tree.frame[d, END]):
        q = tree.listed[k]
        if tree.placed[q] or tree.lowest[q] > offset or (tree.lowest[q] == offset and k > position):
            continue
        least = INFINITE
        for j in range(tree.neighbours_start[q], tree.neighbours_start[q + 1]):
            c = tree.neighbours[j]
            if not tree.placed[c]:
                least = min(least, max(offset, tree.lowest[c]) + tree.size[c])
        if least == INFINITE or not _raise_lowest(tree, q, least, capacity):
            return False
    return True


@kernel(borrow=True)
def raise_floors(tree: Tree, capacity: int) -> bool:
    """Raise the floors of touched sections to the lowest offset of unplaced buffers; return False if a section overflows."""
    for k in range(tree.at[TOUCHED]):
        s = tree.touched[k]
        least = INFINITE
        for j in range(tree.start[s], tree.start[s + 1]):
            q = tree.member[j]
            if not tree.placed[q]:
                least = min(least, tree.lowest[q])
        if tree.floor[s] < least < INFINITE:
            note(tree, s, tree.floor[s])
            tree.floor[s] = least
        if tree.floor[s] + tree.total[s] > capacity:
            return False
    return True

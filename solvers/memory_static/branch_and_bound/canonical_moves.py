"""What a decision of the search over canonical allocations does to its tree, and what it infers.

The kernels count no references to arrays, as those of sections.py.
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
    """Take the next choice of decision d; False where it is plain to see that it leads nowhere."""
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
    for k in range(tree.beside_start[b], tree.beside_start[b + 1]):
        q = tree.beside[k]
        if not tree.placed[q]:
            tree.frame[d, FINAL] = 0
            if possible and tree.lowest[q] < end:
                possible = _lift(tree, q, end, capacity)
    return possible and raise_floors(tree, capacity) and _support_all(tree, d, b, capacity) and raise_floors(tree, capacity)


@kernel(borrow=True)
def _lift(tree: Tree, q: int, offset: int, capacity: int) -> Any:
    """The lowest offset of q becomes this one, or the next that is aligned; False where that is too high.

    A section is to be looked at if q was the lowest there: otherwise its floor stays.
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
    """Lift what was passed over by the choice of b; False where something has nothing to lie on, or lies too high."""
    tree.at[TOUCHED] = 0
    tree.at[STAMP] += 1
    offset, position = tree.offset[b], tree.where[b]
    for k in range(tree.frame[d, BEGIN], tree.frame[d, END]):
        q = tree.listed[k]
        if tree.placed[q] or tree.lowest[q] > offset or (tree.lowest[q] == offset and k > position):
            continue
        least = INFINITE
        for j in range(tree.beside_start[q], tree.beside_start[q + 1]):
            c = tree.beside[j]
            if not tree.placed[c]:
                least = min(least, max(offset, tree.lowest[c]) + tree.size[c])
        if least == INFINITE or not _lift(tree, q, least, capacity):
            return False
    return True


@kernel(borrow=True)
def raise_floors(tree: Tree, capacity: int) -> bool:
    """Raise the floors of the sections touched to the lowest offset of what may come; False where too much is to come there."""
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

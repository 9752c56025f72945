"""What a decision of the search over canonical allocations does to its tree, what it infers, and how it is taken back.

The kernels count no references to arrays (`borrow`): they are short, and called hundreds of times a node.
"""

from __future__ import annotations

from corl.jit import kernel
from corl.solvers.memory.static.canonical_state import BEGIN, END, FINAL, NEXT_CHOICE, PLACED, STAMP, TOUCHED, TRAIL, UNDO

__all__ = ["place", "raise_floors", "shift", "take_back", "touch"]

_INFINITE = 2**62


@kernel(borrow=True)
def place(tree, d, capacity):
    """Take the next choice of decision d; False where it is plain to see that it leads nowhere."""
    b = tree.choice[tree.frame[d, NEXT_CHOICE]]
    tree.frame[d, NEXT_CHOICE] += 1
    offset = tree.lowest[b]
    tree.offset[b], tree.buffer[d] = offset, b
    end = offset + tree.size[b]
    shift(tree, b, -1)
    tree.at[STAMP] += 1
    tree.at[TOUCHED] = 0
    tree.frame[d, FINAL] = 1
    for s in range(tree.first[b], tree.last[b]):
        _note(tree, s, tree.floor[s])
        _note(tree, len(tree.floor) + s, tree.under[s])
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
def take_back(tree, d):
    """Undo what the last choice of decision d did."""
    while tree.at[TRAIL] > tree.frame[d, UNDO]:
        k = tree.at[TRAIL] - 1
        tree.at[TRAIL] = k
        index, count = tree.trail[k, 0], len(tree.floor)
        if index < count:
            tree.floor[index] = tree.trail[k, 1]
        elif index < 2 * count:
            tree.under[index - count] = tree.trail[k, 1]
        else:
            tree.lowest[index - 2 * count] = tree.trail[k, 1]
    b = tree.buffer[d]
    if b >= 0:
        shift(tree, b, 1)
        tree.buffer[d] = -1


@kernel(borrow=True)
def shift(tree, b, sign):
    """Take a buffer out of those to be placed (sign -1), or put it back (1)."""
    tree.placed[b] = sign < 0
    tree.at[PLACED] -= sign
    for s in range(tree.first[b], tree.last[b]):
        tree.total[s] += sign * tree.size[b]
        tree.open[s] += sign
        if s > tree.first[b]:
            tree.crossing[s] += sign


@kernel(borrow=True)
def touch(tree, s):
    """A section is to be looked at."""
    if tree.marked[s] != tree.at[STAMP]:
        tree.marked[s], tree.touched[tree.at[TOUCHED]] = tree.at[STAMP], s
        tree.at[TOUCHED] += 1


@kernel(borrow=True)
def _lift(tree, q, offset, capacity):
    """The lowest offset of q becomes this one, or the next that is aligned; False where that is too high.

    A section is to be looked at if q was the lowest there: otherwise its floor stays.
    """
    before = tree.lowest[q]
    _note(tree, 2 * len(tree.floor) + q, before)
    after = (offset + tree.alignment[q] - 1) // tree.alignment[q] * tree.alignment[q]
    tree.lowest[q] = after
    for s in range(tree.first[q], tree.last[q]):
        if before <= tree.floor[s]:
            touch(tree, s)
    return after + tree.size[q] <= capacity and not 0 <= tree.fixed[q] < after


@kernel(borrow=True)
def _support_all(tree, d, b, capacity):
    """Lift what was passed over by the choice of b; False where something has nothing to lie on, or lies too high."""
    tree.at[TOUCHED] = 0
    tree.at[STAMP] += 1
    offset, position = tree.offset[b], tree.where[b]
    for k in range(tree.frame[d, BEGIN], tree.frame[d, END]):
        q = tree.listed[k]
        if tree.placed[q] or tree.lowest[q] > offset or (tree.lowest[q] == offset and k > position):
            continue
        least = _INFINITE
        for j in range(tree.beside_start[q], tree.beside_start[q + 1]):
            c = tree.beside[j]
            if not tree.placed[c]:
                least = min(least, max(offset, tree.lowest[c]) + tree.size[c])
        if least == _INFINITE or not _lift(tree, q, least, capacity):
            return False
    return True


@kernel(borrow=True)
def raise_floors(tree, capacity):
    """Raise the floors of the sections touched to the lowest offset of what may come; False where too much is to come there."""
    for k in range(tree.at[TOUCHED]):
        s = tree.touched[k]
        least = _INFINITE
        for j in range(tree.start[s], tree.start[s + 1]):
            q = tree.member[j]
            if not tree.placed[q]:
                least = min(least, tree.lowest[q])
        if tree.floor[s] < least < _INFINITE:
            _note(tree, s, tree.floor[s])
            tree.floor[s] = least
        if tree.floor[s] + tree.total[s] > capacity:
            return False
    return True


@kernel(borrow=True)
def _note(tree, index, value):
    """Remember a value that is about to change: by index the floor of a section, what is under it, a buffer's lowest offset."""
    k = tree.at[TRAIL]
    tree.trail[k, 0], tree.trail[k, 1] = index, value
    tree.at[TRAIL] = k + 1

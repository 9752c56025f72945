"""The effects of a decision of the search over skylines, and its inferences (section inference, MiniMalloc, ASPLOS 2023).

The kernels do not count references to arrays, like those of sections.py.
"""

from __future__ import annotations

import numpy as np

from corl.jit import kernel
from corl.solvers.memory_static.branch_and_bound.sections import INFINITE, NEXT_CHOICE, STAMP, TOUCHED, note, shift, touch
from corl.solvers.memory_static.branch_and_bound.skyline_state import FROM, RISE, SECTION, TO, Skyline

__all__ = ["place", "raise_floors"]


@kernel(borrow=True)
def place(sky: Skyline, d: int, capacity: int) -> bool:
    """Take the next choice of decision d, in place; return False if the inferences prove that it fails."""
    b = np.int64(sky.choice[sky.frame[d, NEXT_CHOICE]])
    sky.frame[d, NEXT_CHOICE] += 1
    sky.at[STAMP] += 1
    sky.at[TOUCHED] = 0
    section = sky.frame[d, SECTION]
    low, high, level = section, section + 1, sky.frame[d, RISE]
    if b >= 0:
        sky.offset[b] = sky.floor[section]
        low, high, level = sky.first[b], sky.last[b], sky.floor[section] + sky.size[b]
        shift(sky, b, -1)
        sky.buffer[d] = b
    sky.frame[d, FROM], sky.frame[d, TO] = low, high
    for s in range(low, high):
        _set_floor(sky, s, level, b)
        touch(sky, s)
    for s in range(low, high):
        for k in range(sky.start[s], sky.start[s + 1]):
            q = sky.member[k]
            if sky.placed[q] or sky.lowest[q] >= level:
                continue
            note(sky, 2 * len(sky.floor) + q, sky.lowest[q])
            sky.lowest[q] = (level + sky.alignment[q] - 1) // sky.alignment[q] * sky.alignment[q]
            if sky.lowest[q] + sky.size[q] > capacity or 0 <= sky.fixed[q] < sky.lowest[q]:
                sky.weight[s] += 1.0
                return False
            for z in range(sky.first[q], sky.last[q]):
                touch(sky, z)
    return raise_floors(sky, capacity, level)


@kernel(borrow=True)
def raise_floors(sky: Skyline, capacity: int, level: int) -> bool:
    """Raise the floors of touched sections to the lowest offset of unplaced buffers; return False if a section overflows.

    Over a section's floor all unplaced buffers must fit, and above `level` those that cannot be below it.
    """
    for k in range(sky.at[TOUCHED]):
        s = sky.touched[k]
        if sky.open[s] == 0:
            continue
        least, above = INFINITE, 0
        for j in range(sky.start[s], sky.start[s + 1]):
            q = sky.member[j]
            if not sky.placed[q]:
                least = min(least, sky.lowest[q])
                if sky.lowest[q] >= level:
                    above += sky.size[q]
        if least > sky.floor[s]:
            _set_floor(sky, s, least, -1)
        if sky.floor[s] + sky.total[s] > capacity or (above > 0 and level + above > capacity):
            sky.weight[s] += 1.0
            return False
    return True


@kernel(borrow=True)
def _set_floor(sky: Skyline, s: int, level: int, under: int | np.int64) -> None:
    """Set the floor of a section to `level`, the upper end of the buffer `under` (-1: of none), and note it in the trail."""
    note(sky, s, sky.floor[s])
    note(sky, len(sky.floor) + s, sky.under[s])
    sky.floor[s], sky.under[s] = level, under

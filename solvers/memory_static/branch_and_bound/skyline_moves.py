"""Effects of a choice in the search over skylines (skyline.py), and what can be inferred from it.

The inference is section inference (M. Moffitt, MiniMalloc, ASPLOS 2023). Like the kernels of sections.py, these do not count
references to arrays.
"""

from __future__ import annotations

import numpy as np

from corl.jit import kernel
from corl.solvers.memory_static.branch_and_bound.sections import INFINITE, NEXT_CHOICE, STAMP, TOUCHED, note, shift, touch
from corl.solvers.memory_static.branch_and_bound.skyline_state import FROM, RISE, SECTION, TO, Skyline

__all__ = ["place", "raise_floors"]


@kernel(borrow=True)
def place(sky: Skyline, d: int, capacity: int) -> bool:
    """Take the next choice of decision d, in place: place a buffer on the section's floor, or raise the floor.

    Returns False if no allocation can follow from it.
    """
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
    """Raise the floor of each section in `touched` to the lowest offset of its unplaced buffers, in place.

    Returns False if a section overflows: if its unplaced buffers do not fit between its floor and the capacity, or if those whose
    lowest offset is at least `level` do not fit between `level` and the capacity.
    """
    for k in range(sky.at[TOUCHED]):
        s = sky.touched[k]
        if sky.unplaced_count[s] == 0:
            continue
        new_floor, size_above = INFINITE, 0
        for j in range(sky.start[s], sky.start[s + 1]):
            q = sky.member[j]
            if not sky.placed[q]:
                new_floor = min(new_floor, sky.lowest[q])
                if sky.lowest[q] >= level:
                    size_above += sky.size[q]
        if new_floor > sky.floor[s]:
            _set_floor(sky, s, new_floor, -1)
        if sky.floor[s] + sky.unplaced_size[s] > capacity or (size_above > 0 and level + size_above > capacity):
            sky.weight[s] += 1.0
            return False
    return True


@kernel(borrow=True)
def _set_floor(sky: Skyline, s: int, level: int, under: int | np.int64) -> None:
    """Set the floor of section s to `level`, in place, and record the change in the trail.

    `under` is the buffer whose upper end the floor is, or -1.
    """
    note(sky, s, sky.floor[s])
    note(sky, len(sky.floor) + s, sky.top_buffer[s])
    sky.floor[s], sky.top_buffer[s] = level, under

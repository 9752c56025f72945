"""Sub-tours of an intermediate child, as sets of segments of parent A between the edges that an E-set removes.

An E-set removes some edges of parent A and adds edges of parent B, which may leave several cycles instead of one tour. See Nagata
& Kobayashi, INFORMS J. Computing 25 (2013), section 2.2, step 5; only the changed parts of a tour are examined, as in section
3.1. The functions serve symmetric and asymmetric instances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["SEARCHED", "absorb", "smallest_subtour"]

SEARCHED = 25
"""The number of cities at either end of a long segment from which joins to other sub-tours are searched (tuned)."""


@kernel(inline=True)
def smallest_subtour(size: NDArray[np.int32], subtours: int) -> int:
    """Return the first of the sub-tours with the fewest cities; a size of 0 marks a sub-tour that has been merged."""
    smallest = -1
    for s in range(subtours):
        if size[s] > 0 and (smallest < 0 or size[s] < size[smallest]):
            smallest = s
    return smallest


@kernel(inline=True)
def absorb(subtour: NDArray[np.int32], size: NDArray[np.int32], segments: int, gone: int, other: int) -> None:
    """Merge sub-tour `gone` into sub-tour `other`, in place.

    Args:
        subtour: int32 [at least segments], the sub-tour of each segment.
        size: int32 [sub-tours], the number of cities of each sub-tour.
        segments: The number of segments.
        gone: The sub-tour that disappears.
        other: The sub-tour that grows.
    """
    for r in range(segments):
        if subtour[r] == gone:
            subtour[r] = other
    size[other] += size[gone]
    size[gone] = 0

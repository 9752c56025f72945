"""Sub-tours of an intermediate child, as sets of segments of parent A between the edges that an E-set removes.

Nagata & Kobayashi, INFORMS J. Computing 25 (2013), section 2.2, step 5, localised as in section 3.1; for symmetric and for
asymmetric instances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["SEARCHED", "absorb", "smallest_subtour"]

SEARCHED = 25
"""Cities examined from either end of a long segment when a sub-tour is merged (tuned)."""


@kernel(inline=True)
def smallest_subtour(size: NDArray[np.int32], subtours: int) -> int:
    """Return the first of the sub-tours with the fewest cities; one of size 0 has been merged already."""
    smallest = -1
    for s in range(subtours):
        if size[s] > 0 and (smallest < 0 or size[s] < size[smallest]):
            smallest = s
    return smallest


@kernel(inline=True)
def absorb(subtour: NDArray[np.int32], size: NDArray[np.int32], segments: int, gone: int, other: int) -> None:
    """Make the segments of sub-tour `gone` part of sub-tour `other`, in place.

    Args:
        subtour: int32 [at least segments], the sub-tour of each segment.
        size: int32 [sub-tours], their numbers of cities.
        segments: The number of segments.
        gone: The sub-tour that ends.
        other: The sub-tour that grows.
    """
    for r in range(segments):
        if subtour[r] == gone:
            subtour[r] = other
    size[other] += size[gone]
    size[gone] = 0

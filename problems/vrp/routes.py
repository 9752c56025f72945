"""The routes of which a solution consists."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Route"]


class Route(NamedTuple):
    """The route of one vehicle: from its depot to `visits`, int32 client nodes in order, and to its last depot.

    A depot's node among the visits is a reload, between two trips.
    """

    vehicle: int
    """The vehicle type."""
    visits: NDArray[np.int32]

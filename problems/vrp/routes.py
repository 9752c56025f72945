"""The routes of which a solution consists."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Route"]


class Route(NamedTuple):
    """The route of one vehicle, from its first depot over `visits` to its last depot."""

    vehicle: int
    """The vehicle type."""
    visits: NDArray[np.int32]
    """int32 [v]: the client nodes in the order of their visits. A depot among them is a reload between two trips."""

"""What files of one's own must hold for the recipes of the TSP."""

from __future__ import annotations

from corl.errors import UsageError
from corl.problems.tsp.instance import TspInstance

__all__ = ["in_the_plane"]

_FEWEST = 12  # cities: of fewer there is little to learn, and the recipes cut tours into parts


def in_the_plane(instance: TspInstance) -> TspInstance:
    """The instance. Raises UsageError for one without coordinates in the plane, and for one of fewer than 12 cities."""
    if instance.points is None or instance.points[:, 2:].any() or instance.n < _FEWEST:
        raise UsageError(f"instances: {instance.name} is not accepted; accepted: {_FEWEST} cities or more, in the plane")
    return instance

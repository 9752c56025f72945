"""Validation of a user's instance files for training on the TSP."""

from __future__ import annotations

from corl.errors import UsageError
from corl.problems.tsp.instance import TspInstance

__all__ = ["check_planar"]

_LEAST_CITIES = 12  # smaller instances have little to learn from, and training cuts tours into parts


def check_planar(instance: TspInstance) -> TspInstance:
    """Return the instance. Raises UsageError if it has no coordinates in the plane or fewer than 12 cities."""
    if instance.points is None or instance.points[:, 2:].any() or instance.n < _LEAST_CITIES:
        raise UsageError(f"instances: {instance.name} is not accepted; accepted: {_LEAST_CITIES} cities or more, in the plane")
    return instance

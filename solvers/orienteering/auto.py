"""`auto`: the choice of a solver for an instance of the orienteering problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.orienteering.instance import OrienteeringInstance

__all__ = ["choose"]


def choose(instance: OrienteeringInstance, time_limit: float | None, iterations: int | None) -> str:
    """ruin-recreate, whatever the size and the limit."""
    return "ruin-recreate"

"""`auto`: the solver for orienteering problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.orienteering.instance import OrienteeringInstance

__all__ = ["choose"]


def choose(instance: OrienteeringInstance, time_limit: float | None, iterations: int | None) -> str:
    """Return the name of the solver: ruin-recreate for every size and limit."""
    return "ruin-recreate"

"""`auto`: the choice of a solver for an instance of vehicle routing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance

__all__ = ["choose"]


def choose(instance: VrpInstance, time_limit: float | None, iterations: int | None) -> str:
    """ruin-recreate, which is ahead of the others at every size measured."""
    return "ruin-recreate"

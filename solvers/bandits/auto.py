"""What `solver="auto"` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.bandits.instance import BanditInstance

__all__ = ["choose"]


def choose(instance: BanditInstance, time_limit: float | None, iterations: int | None) -> str:
    """`fluid`: level with Whittle's index where that exists, ahead of it on short horizons and unequal costs, and for
    interventions the only one of the two (problems/bandits/README.md, "Which solver").
    """
    return "fluid"

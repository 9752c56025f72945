"""The choice of a solver for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance

__all__ = ["choose"]


def choose(instance: MilpInstance, time_limit: float | None, iterations: int | None) -> str:
    """scip: solutions and bounds while it runs, and a proof at the end"""
    return "scip"

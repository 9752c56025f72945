"""The solver that `auto` chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.milp_branching.instance import BranchingInstance

__all__ = ["choose"]


def choose(instance: BranchingInstance, time_limit: float | None, iterations: int | None) -> str:
    """rule: it needs no network, and with pseudocosts little time per node"""
    return "rule"

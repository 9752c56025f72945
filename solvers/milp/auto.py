"""The choice of a solver by `auto`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance

__all__ = ["choose"]

_FASTER = ("milp-independent-set",)
"""Policies whose ratio to the time of SCIP with its default settings is below 0.85, and its interval below 1."""


def choose(instance: MilpInstance, time_limit: float | None, iterations: int | None) -> str:
    """learned-branching for programs like the independent sets that a shipped policy was trained on; scip for all others"""
    from corl.solvers.milp.branching.signature import family_of
    from corl.solvers.milp.branching.solver import LearnedBranching

    suits = find_spec("torch") is not None and family_of(instance) in _FASTER and not LearnedBranching().accepts(instance)
    return "learned-branching" if suits else "scip"

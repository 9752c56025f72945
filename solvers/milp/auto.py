"""The choice of a solver by `auto`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance

__all__ = ["choose"]


def choose(instance: MilpInstance, time_limit: float | None, iterations: int | None) -> str:
    """learned-branching if the program matches those that a shipped policy was trained on; scip for all others"""
    from corl.solvers.milp.branching.solver import LearnedBranching

    return "scip" if find_spec("torch") is None or LearnedBranching().accepts(instance) else "learned-branching"

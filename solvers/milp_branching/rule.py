"""`Rule`: depth-first branch and bound by a classical branching rule, a baseline of learned branching."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.milp_branching.environment import BranchingEnvironment
    from corl.problems.milp_branching.instance import BranchingInstance
    from corl.run import Run

__all__ = ["Rule", "chosen", "scores"]

_LEAST = 1e-6  # lower limit of each gain in the product of two (Achterberg 2007, section 5.3)


@dataclass(frozen=True)
class Rule(Solver):
    """Builds one complete tree. The linear programs of strong branching are not counted as nodes; they only cost time."""

    rule: Literal["most-fractional", "pseudocost", "strong"] = option(
        "pseudocost",
        "most-fractional: the LP value nearest to one half. pseudocost: the largest product of the gains, down and up, that "
        "earlier branchings on the variable promise. strong: the largest product of the true gains, from solving both "
        "children of every candidate (full strong branching of depth one).",
    )

    title: ClassVar[str] = "depth-first branch and bound by a classical branching rule"
    iteration: ClassVar[str] = "one branching"

    def prepare(self, instance: BranchingInstance) -> None:
        import scipy.optimize  # noqa: F401

        import corl.problems.milp_branching.environment  # noqa: F401

    def solve(self, instance: BranchingInstance, run: Run) -> None:
        from corl.problems.milp_branching.environment import BranchingEnvironment
        from corl.problems.milp_branching.relaxations import OutOfTime

        try:
            environment = BranchingEnvironment([instance], 1, max(1, instance.integers), remaining=lambda: run.remaining)
            while (variable := chosen(environment, 0, self.rule, lambda: run.should_stop)) >= 0:
                if not run.budget(1):
                    return
                environment.step([0], [0], [variable])
            run.report(environment.solution(0))
        except OutOfTime:  # HiGHS's clock may reach the limit slightly before the run's clock
            run.stop("time_limit")


def chosen(environment: BranchingEnvironment, row: int, rule: str, stop: Callable[[], bool] = lambda: False) -> int:
    """Return the variable on which a rule branches; -1 if the tree is complete.

    Args:
        environment: The pool of trees.
        row: The tree.
        rule: "most-fractional", "pseudocost" or "strong".
        stop: See `scores`; after an early stop, the variable is not necessarily that of the rule.

    Returns:
        The listed variable with the highest score; ties are broken in favour of the most fractional.
    """
    import numpy as np

    listed = environment.actions([row])[0]
    listed = listed[listed >= 0]
    if not len(listed):
        return -1
    return int(listed[np.argmax(scores(environment, row, rule, listed, stop))])


def scores(environment: BranchingEnvironment, row: int, rule: str, listed: Any, stop: Callable[[], bool] = lambda: False) -> Any:
    """Return the scores of the listed variables; the highest is best.

    Args:
        environment: The pool of trees.
        row: The tree.
        rule: "most-fractional", "pseudocost" or "strong".
        listed: int32 [K], the variables.
        stop: Asked before each variable by strong branching; once it returns True, the remaining variables get the lowest score.

    Returns:
        float64 [K].
    """
    import numpy as np

    from corl.problems.milp_branching.transitions import children

    relaxations, state = environment.tree(row)
    assert state.relaxation is not None
    x = state.relaxation.x[listed]
    fraction = x - np.floor(x)
    if rule == "most-fractional":
        return np.minimum(fraction, 1.0 - fraction)
    if rule == "strong":
        gains = np.zeros((len(listed), 2))
        for k, j in enumerate(listed.tolist()):
            if stop():
                break
            for side, child in enumerate(children(state, j)):
                gains[k, side] = relaxations.solve(child.lower, child.upper).objective - state.relaxation.objective
    else:
        total, count = state.pseudocosts
        known = np.where(count > 0, total / np.maximum(count, 1), 0.0)
        mean = known.sum(axis=1) / np.maximum(1, (count > 0).sum(axis=1))
        mean = np.where((count > 0).any(axis=1), mean, 1.0)
        each = np.where(count > 0, known, mean[:, None])[:, listed]
        gains = np.stack([fraction * each[0], (1.0 - fraction) * each[1]], axis=1)
    return np.prod(np.clip(gains, _LEAST, 1e100), axis=1)  # an infeasible child's gain is infinite

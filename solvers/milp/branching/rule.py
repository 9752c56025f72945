"""`Rule`: depth-first branch and bound by one of the classical rules, the baselines of learned branching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.milp.branching.environment import BranchingEnvironment
    from corl.problems.milp.branching.instance import BranchingInstance
    from corl.run import Run

__all__ = ["Rule", "Strong", "chosen", "scores"]

_LEAST = 1e-6  # below it a gain counts as this in a product of two (Achterberg 2007, section 5.3)


@dataclass(frozen=True)
class Rule(Solver):
    """One tree, grown to its end. Strong branching's own linear programs are no nodes: they cost time, which a bench shows."""

    rule: Literal["most-fractional", "pseudocost", "strong"] = "pseudocost"
    """most-fractional: the LP value nearest to one half. pseudocost: the largest product of the gains, down and up, that
    earlier branchings on the variable promise. strong: the largest product of the true gains, from solving both children of
    every candidate (full strong branching of depth one)."""

    title: ClassVar[str] = "depth-first branch and bound by a classical branching rule"
    iteration: ClassVar[str] = "one branching"

    def prepare(self, instance: BranchingInstance) -> None:
        import scipy.optimize  # noqa: F401

        import corl.problems.milp.branching.environment  # noqa: F401

    def solve(self, instance: BranchingInstance, run: Run) -> None:
        from corl.problems.milp.branching.environment import BranchingEnvironment

        environment = BranchingEnvironment([instance], 1, max(1, instance.integers))
        while (variable := chosen(environment, 0, self.rule)) >= 0:
            if not run.budget(1):
                return
            environment.step([0], [0], [variable])
        run.report(environment.solution(0))


@dataclass(frozen=True)
class Strong(Rule):
    """`Rule` with full strong branching as its default: a teacher for imitation, which takes no options."""

    rule: Literal["most-fractional", "pseudocost", "strong"] = "strong"

    title: ClassVar[str] = "depth-first branch and bound by full strong branching"


def chosen(environment: BranchingEnvironment, row: int, rule: str) -> int:
    """The variable that a rule branches on in a row, of equals the most fractional; -1 where the tree is complete."""
    import numpy as np

    listed = environment.actions([row])[0]
    listed = listed[listed >= 0]
    if not len(listed):
        return -1
    return int(listed[np.argmax(scores(environment, row, rule, listed))])


def scores(environment: BranchingEnvironment, row: int, rule: str, listed: Any) -> Any:
    """float64 [K]: the more a rule is for each of `listed`."""
    import numpy as np

    from corl.problems.milp.branching.tree import children

    relaxations, state = environment.tree(row)
    assert state.relaxation is not None
    x = state.relaxation.x[listed]
    fraction = x - np.floor(x)
    if rule == "most-fractional":
        return np.minimum(fraction, 1.0 - fraction)
    if rule == "strong":
        gains = np.array(
            [
                [
                    relaxations.solve(child.lower, child.upper).objective - state.relaxation.objective
                    for child in children(state, j)
                ]
                for j in listed.tolist()
            ]
        )
    else:
        total, count = state.pseudocosts
        known = np.where(count > 0, total / np.maximum(count, 1), 0.0)
        mean = known.sum(axis=1) / np.maximum(1, (count > 0).sum(axis=1))
        mean = np.where((count > 0).any(axis=1), mean, 1.0)
        each = np.where(count > 0, known, mean[:, None])[:, listed]
        gains = np.stack([fraction * each[0], (1.0 - fraction) * each[1]], axis=1)
    return np.prod(np.clip(gains, _LEAST, 1e100), axis=1)  # an infeasible child's gain is infinite

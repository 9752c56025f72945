"""Branching by a perceptron that sees a candidate's row of the simplex tableau too: of the best few candidates by what all have.

A row costs about 0.02 ms, more than all other features of a candidate. The perceptron scores every candidate with the tableau's
columns at their means, then the best few with what they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.milp_branching.candidates import Feature
from corl.solvers.milp.branching.policy import BranchingPolicy
from corl.solvers.milp.branching.scoring import Scorer, scores
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.candidates import candidates, features
from corl.solvers.milp.scip.rule import Observation, compile_kernel
from corl.solvers.milp.scip.tableau import Tableau, tableau_lines

__all__ = ["TableauPolicy", "branch_by_tableau", "scores_by_tableau"]

_OWN, _MORE = len(Feature), len(Tableau)


@kernel
def scores_by_tableau(model: Any, scorer: Any, variables: Any, seen: Any, most: int) -> Any:
    """float32 [k] of the candidates; all but the `most` best are -inf. seen: float64 [k, F + len(Tableau)], features filled."""
    for k in range(len(seen)):
        seen[k, _OWN:] = scorer.mean[_OWN:]
    best = np.arange(len(seen))
    found = np.zeros(len(seen), np.float32)
    if len(seen) > most:
        found = scores(scorer, seen)
        best = np.argsort(-found)[:most]
    if not tableau_lines(model, variables, best, seen[:, _OWN:]):
        return scores(scorer, seen)
    again = scores(scorer, seen[best])
    found[:] = -np.inf
    for k in range(len(best)):
        found[best[k]] = again[k]
    return found


@kernel
def branch_by_tableau(model: Any, scorer: Any, most: int) -> Any:
    """Branch at the present node on the candidate with the highest score; see scoring.branch."""
    variables = candidates(model)
    if len(variables) == 0:
        return -1, 0
    seen = features(model, variables, _MORE)
    slot = np.argmax(scores_by_tableau(model, scorer, variables, seen, most))
    return slot, scip.branch_on(model, variables[slot], 0, 0, 0)


class TableauPolicy(BranchingPolicy):
    """Features, tableau, scores and branching are one kernel."""

    def __init__(self, scorer: Scorer, most: int) -> None:
        """most: of how many candidates the tableau is looked at."""
        self.scorer, self.most = scorer, most

    def scores(self, node: Observation) -> NDArray[np.float32]:
        seen = np.zeros((len(node.candidates), _OWN + _MORE))
        seen[:, :_OWN] = node.features
        found: NDArray[np.float32] = scores_by_tableau(node.pointer, self.scorer, node.candidates, seen, self.most)
        return found

    def __call__(self, node: Observation) -> int:
        return node.done(*branch_by_tableau(node.pointer, self.scorer, self.most))

    def compile(self) -> None:
        compile_kernel(branch_by_tableau, self.scorer, self.most)

"""Branching by a perceptron that also uses features from the simplex tableau, for the best candidates.

Reading a candidate's row of the tableau takes about 0.02 ms, more than all its other features. The perceptron therefore first
scores all candidates with the mean values of the tableau's features, and then the best few with their actual values.
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

_FEATURES, _TABLEAU = len(Feature), len(Tableau)  # numbers of features without and from the tableau


@kernel
def scores_by_tableau(model: Any, scorer: Any, variables: Any, lines: Any, most: int) -> Any:
    """Return the scores of the candidates, float32 [k]: -inf for all but the `most` best, unless the LP has no tableau.

    Args:
        model: int64, a SCIP* whose LP is solved.
        scorer: The Scorer.
        variables: int64 [k], pointers to the candidates.
        lines: float64 [k, F + len(Tableau)], the features; those from the tableau are written here, in place.
        most: The number of candidates whose rows of the tableau are read.
    """
    for k in range(len(lines)):
        lines[k, _FEATURES:] = scorer.mean[_FEATURES:]
    best = np.arange(len(lines))
    result = np.zeros(len(lines), np.float32)
    if len(lines) > most:
        result = scores(scorer, lines)
        best = np.argsort(-result)[:most]
    if not tableau_lines(model, variables, best, lines[:, _FEATURES:]):
        return scores(scorer, lines)
    best_scores = scores(scorer, lines[best])
    result[:] = -np.inf
    for k in range(len(best)):
        result[best[k]] = best_scores[k]
    return result


@kernel
def branch_by_tableau(model: Any, scorer: Any, most: int) -> Any:
    """Branch at the current node on the candidate with the highest score; see scoring.branch."""
    variables = candidates(model)
    if len(variables) == 0:
        return -1, 0
    lines = features(model, variables, _TABLEAU)
    slot = np.argmax(scores_by_tableau(model, scorer, variables, lines, most))
    return slot, scip.branch_on(model, variables[slot], 0, 0, 0)


class TableauPolicy(BranchingPolicy):
    """Scores candidates by their features and the tableau; one kernel computes these and branches."""

    def __init__(self, scorer: Scorer, most: int) -> None:
        """Create a policy that reads the tableau's rows of at most `most` candidates of a node."""
        self.scorer, self.most = scorer, most

    def scores(self, node: Observation) -> NDArray[np.float32]:
        lines = np.zeros((len(node.candidates), _FEATURES + _TABLEAU))
        lines[:, :_FEATURES] = node.features
        found: NDArray[np.float32] = scores_by_tableau(node.pointer, self.scorer, node.candidates, lines, self.most)
        return found

    def __call__(self, node: Observation) -> int:
        return node.done(*branch_by_tableau(node.pointer, self.scorer, self.most))

    def compile(self) -> None:
        compile_kernel(branch_by_tableau, self.scorer, self.most)

"""Policies of the problem `milp-branching`, trained or searched with there, as branching rules in SCIP."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.networks.policy import NetworkPolicy
from corl.problems.milp_branching.features import FEATURES, TREE_FEATURES
from corl.solvers.milp.branching.policy import BranchingPolicy
from corl.solvers.milp.scip.rule import Observation

__all__ = ["SteppedPolicy"]

_LISTED = 64  # candidates of a state, as the environment lists them: the most fractional


class SteppedPolicy(BranchingPolicy):
    """The most probable of the candidates that `milp-branching` would list; SCIP's node is shown as a state of that environment.

    What SCIP knows and the environment does not (cuts, propagation) is in the numbers, not in their meaning.
    """

    def __init__(self, policy: NetworkPolicy) -> None:
        self.policy = policy.eval()

    def scores(self, node: Observation) -> NDArray[np.float32]:
        features = node.features
        listed = np.argsort(-np.minimum(features[:, 0], 1.0 - features[:, 0]), kind="stable")[:_LISTED]
        tokens = self.policy.tokens(
            {
                "mask": np.ones((1, len(listed)), bool),
                "candidates": features[listed][None, :, list(FEATURES)].astype(np.float32),
                "tree": self._tree(node.model, len(features))[None],
            }
        )
        logits, _ = self.policy.infer([{}], np.zeros(1, np.int64), tokens.arrays())
        found = np.full(len(features), -np.inf, np.float32)
        found[listed] = logits[0]
        return found

    def _tree(self, model: Any, count: int) -> NDArray[np.float32]:
        """TREE_FEATURES."""
        sizes = np.log1p([model.getNTotalNodes(), model.getNNodesLeft(), model.getDepth(), count])
        found = np.append(sizes, model.getNSols() > 0).astype(np.float32)
        assert len(found) == len(TREE_FEATURES)
        return found

    def compile(self) -> None:
        """Features and branching are read through kernels that are compiled with the rule."""

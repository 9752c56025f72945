"""`EnvironmentPolicy`: a policy that was trained in the environment of `milp-branching`, as a branching rule in SCIP."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.networks.policy import NetworkPolicy
from corl.problems.milp_branching.features import FEATURES, TREE_FEATURES
from corl.solvers.milp.branching.policy import BranchingPolicy
from corl.solvers.milp.scip.rule import Observation

__all__ = ["EnvironmentPolicy"]

_MAX_CANDIDATES = 64  # in a state of the environment: the most fractional variables


class EnvironmentPolicy(BranchingPolicy):
    """Describes SCIP's node as a state of the environment, and chooses the policy's most probable candidate.

    The features have the same definitions in SCIP as in the environment, but in SCIP they are affected by cuts and propagation.
    """

    def __init__(self, policy: NetworkPolicy) -> None:
        self.policy = policy.eval()

    def scores(self, node: Observation) -> NDArray[np.float32]:
        features = node.features
        listed = np.argsort(-np.minimum(features[:, 0], 1.0 - features[:, 0]), kind="stable")[:_MAX_CANDIDATES]
        tokens = self.policy.tokens(
            {
                "mask": np.ones((1, len(listed)), bool),
                "candidates": features[listed][None, :, list(FEATURES)].astype(np.float32),
                "tree": self._tree(node.model, len(features))[None],
            }
        )
        logits, _ = self.policy.infer([{}], np.zeros(1, np.int64), tokens.arrays())
        scores = np.full(len(features), -np.inf, np.float32)
        scores[listed] = logits[0]
        return scores

    def _tree(self, model: Any, count: int) -> NDArray[np.float32]:
        """Return the features TREE_FEATURES of a node with `count` candidates, float32 [len(TREE_FEATURES)]."""
        sizes = np.log1p([model.getNTotalNodes(), model.getNNodesLeft(), model.getDepth(), count])
        tree = np.append(sizes, model.getNSols() > 0).astype(np.float32)
        assert len(tree) == len(TREE_FEATURES)
        return tree

    def compile(self) -> None:
        """Do nothing: the kernels are compiled at their first call."""

"""`EnvironmentPolicy`: a policy trained in the environment of `milp-branching`, as a branching rule in SCIP."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.networks.policy import Policy
from corl.problems.milp_branching.features import FEATURES, TREE_FEATURES
from corl.solvers.milp.branching.policy import BranchingPolicy
from corl.solvers.milp.scip.rule import Observation

__all__ = ["EnvironmentPolicy"]

_LISTED = 64  # candidates of a state, as in the environment: the most fractional


class EnvironmentPolicy(BranchingPolicy):
    """Chooses the most probable of the candidates that `milp-branching` would list; SCIP's node becomes a state of it.

    The features mean the same in SCIP as in the environment; their values also reflect SCIP's cuts and propagation.
    """

    def __init__(self, policy: Policy) -> None:
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
        """Return TREE_FEATURES, float32 [G], of a node with `count` candidates."""
        sizes = np.log1p([model.getNTotalNodes(), model.getNNodesLeft(), model.getDepth(), count])
        found = np.append(sizes, model.getNSols() > 0).astype(np.float32)
        assert len(found) == len(TREE_FEATURES)
        return found

    def compile(self) -> None:
        """Do nothing: features and branching use kernels that are compiled at their first call."""

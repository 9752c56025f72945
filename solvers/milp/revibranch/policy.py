"""`RevivedPolicy`: a `RevivedNetwork` in SCIP, evaluated with NumPy.

A step is a vector that describes a node where the policy branched and the candidate chosen there. The policy stores the step of
every such node, because the network scores the candidates of a node given the steps of its ancestors.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from corl.solvers.milp.branching.policy import BranchingPolicy
from corl.solvers.milp.branching.scoring import CLIP
from corl.solvers.milp.scip.candidates import features
from corl.solvers.milp.scip.recorder import UPPER
from corl.solvers.milp.scip.rule import Observation, compile_kernel

__all__ = ["RevivedPolicy"]

_Floats = NDArray[np.float32]


class RevivedPolicy(BranchingPolicy):
    """Computes `RevivedNetwork.forward` for one node at a time, with stored steps of the ancestors."""

    def __init__(
        self, weights: Mapping[str, _Floats], ancestors: int, random: np.random.Generator | None = None, chance: float = 0.0
    ) -> None:  # fmt: skip
        """Create the policy of one solve.

        Args:
            weights: The weights of a RevivedNetwork, by name.
            ancestors: The largest number of ancestors whose steps are used.
            random: The generator for random candidates; None: no random candidates.
            chance: The probability that a random candidate is chosen instead of the best.
        """
        self.weights, self.ancestors, self.random, self.chance = weights, ancestors, random, chance
        self._steps: dict[int, _Floats] = {}  # SCIP's number of a node -> its step, float32 [D]

    def compile(self) -> None:
        compile_kernel(features, np.zeros(0, np.int64), 0)

    def scores(self, node: Observation) -> _Floats:
        return self._scored(node)[0]

    def __call__(self, node: Observation) -> int:
        if not len(node.candidates):
            return -1
        scores, encoded = self._scored(node)
        slot = int(np.argmax(scores))
        if self.random is not None and self.random.random() < self.chance:
            slot = int(self.random.integers(len(scores)))
        if self.ancestors:
            if node.model.getDepth() == 0:
                self._steps.clear()  # at the first root, or after a restart, when SCIP numbers the nodes from 1 again
            step = self._linear("step", np.concatenate((encoded.mean(0), encoded[slot])))
            self._steps[int(node.model.getCurrentNode().getNumber())] = step
        return slot

    def _scored(self, node: Observation) -> tuple[_Floats, _Floats]:
        """Return the scores, float32 [K], and the encodings, float32 [K, D], of the candidates."""
        w = self.weights
        x = np.clip((node.features.astype(np.float32) - w["mean"]) * w["scale"], -CLIP, CLIP)
        encoded = _relu(self._linear("second", _relu(self._linear("first", x))))
        state = encoded.mean(0)
        inputs = [encoded, np.broadcast_to(state, encoded.shape)]
        if self.ancestors:
            inputs.append(np.broadcast_to(self._revived(state, *self._above(node)), encoded.shape))
        hidden = _relu(self._linear("head", np.concatenate(inputs, 1)))
        scores: _Floats = (hidden @ w["last.weight"].T)[:, 0]
        return scores, encoded

    def _above(self, node: Observation) -> tuple[list[_Floats], list[int]]:
        """Return the steps [D] of a node's ancestors, nearest first, and for each 1 if the path to the node goes up, else 0."""
        steps: list[_Floats] = []
        ways: list[int] = []
        child = node.model.getCurrentNode()
        while len(steps) < self.ancestors and (parent := child.getParent()) is not None:
            step = self._steps.get(int(parent.getNumber()))
            if step is not None:
                steps.append(step)
                ways.append(int(child.getParentBranchings()[2][0] != UPPER))
            child = parent
        return steps, ways

    def _revived(self, state: _Floats, steps: list[_Floats], ways: list[int]) -> _Floats:
        """Return the result of attention to the steps, [D], given the state [D]."""
        w = self.weights
        tokens = w["none"][None, :]
        if steps:
            placed = np.array(steps) + w["way.weight"][ways] + w["place.weight"][: len(steps)]
            tokens = np.concatenate((tokens, placed))
        keys, values = self._linear("key", tokens), self._linear("value", tokens)
        weight = keys @ self._linear("query", state) / np.float32(np.sqrt(len(state)))
        weight = np.exp(weight - weight.max())
        found: _Floats = (weight / weight.sum()) @ values
        return found

    def _linear(self, name: str, x: _Floats) -> _Floats:
        found: _Floats = x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return found


def _relu(x: _Floats) -> _Floats:
    found: _Floats = np.maximum(x, np.float32(0.0))
    return found

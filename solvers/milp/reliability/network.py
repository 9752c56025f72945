"""`GainNetwork`: predicts the gain of a step of a branching candidate in one direction, relative to the node's others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from corl.solvers.milp.branching.network import Perceptron
from corl.solvers.milp.reliability.features import WIDTH, inputs
from corl.solvers.milp.scip.rule import Observation

__all__ = ["GainNetwork"]

_CLIP = 6.0  # of predicted logs


class GainNetwork(Perceptron):
    """Logs of the gains of a step by 1 from `inputs`, within -6..6.

    A factor that is common to a node's candidates is left open: whoever uses it scales by gains that were observed.
    """

    architecture: ClassVar[str] = "milp-gains"

    def __init__(self, problem: str = "milp", family: str = "", hidden: tuple[int, int] = (32, 16)) -> None:
        super().__init__(WIDTH, hidden)
        self.problem = problem
        self.config: dict[str, Any] = {"problem": problem, "family": family, "hidden": list(hidden)}

    def see(self, node: Observation, slots: NDArray[np.int64]) -> Mapping[str, NDArray[Any]]:
        """See Sees (scip.recorder): lines float32 [2 k, WIDTH], down and up of each candidate."""
        lines = inputs(node.pointer, node.candidates, node.features).reshape(len(node.candidates), 2, WIDTH)
        return {"lines": lines[slots].reshape(-1, WIDTH)}

    def score(self, lines: Tensor) -> Tensor:
        """Logs of gains [...] of lines [..., WIDTH]."""
        return super().score(lines).clamp(-_CLIP, _CLIP)

"""`BranchingNetwork`: the network of a branching policy in torch, for training; in SCIP, kernels evaluate it (scoring.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from corl.errors import SolverError
from corl.networks.compiled import array_of
from corl.problems.milp_branching.candidates import Feature
from corl.solvers.milp.branching.lists import Lists, lists, spread
from corl.solvers.milp.branching.policy import BranchingPolicy, PerceptronPolicy
from corl.solvers.milp.branching.scoring import CLIP, Scorer
from corl.solvers.milp.branching.tableau import TableauPolicy
from corl.solvers.milp.scip.rule import Observation
from corl.solvers.milp.scip.tableau import Tableau, tableau_lines

__all__ = ["BranchingNetwork", "Perceptron", "scorer_of"]


class Perceptron(nn.Module):
    """A perceptron with two hidden layers from standardised features to one score; kernels evaluate it as a `Scorer`."""

    mean: Tensor
    scale: Tensor

    def __init__(self, inputs: int, hidden: tuple[int, int]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("scale", torch.ones(inputs))
        self.first, self.second = nn.Linear(inputs, hidden[0]), nn.Linear(hidden[0], hidden[1])
        self.last = nn.Linear(hidden[1], 1, bias=False)

    def context(self, node: Observation) -> Mapping[str, NDArray[Any]]:
        """Return no arrays. See scip.recorder.NodeObserver."""
        return {}

    def collate(self, contexts: Sequence[Any], observed: Sequence[Mapping[str, NDArray[Any]]], which: NDArray[np.int64]) -> Lists:
        """See the method of the same name in corl.networks.policy."""
        return lists(observed, "lines", self.mean.device)

    def standardise(self, batch: Lists) -> None:
        """Set the means and scales of the inputs from training features."""
        self.mean.copy_(batch.lines.mean(0))
        self.scale.copy_(1.0 / batch.lines.std(0, correction=0).clamp(min=1e-3))

    def score(self, lines: Tensor) -> Tensor:
        """Return the scores, float [...], of features [..., F]."""
        x = ((lines - self.mean) * self.scale).clamp(-CLIP, CLIP)
        found: Tensor = self.last(torch.relu(self.second(torch.relu(self.first(x)))))
        return found.squeeze(-1)

    def forward(self, batch: Lists) -> tuple[Tensor, Tensor]:
        """Return logits [N, K], -inf in empty slots, and values [N], all 0."""
        return spread(self.score(batch.lines), batch.mask)


class BranchingNetwork(Perceptron):
    """Scores candidates by their features; the best `tableau` candidates of a node also by features from the simplex tableau."""

    architecture: ClassVar[str] = "milp-branching"

    def __init__(
        self, problem: str = "milp", family: str = "", lower: Sequence[float] = (), upper: Sequence[float] = (),
        hidden: tuple[int, int] = (32, 16), tableau: int = 0,
    ) -> None:  # fmt: skip
        """Create a network with random weights.

        Args:
            problem: The name of the problem, for checkpoints.
            family: The families of the training programs, separated by commas.
            lower: The smallest value of each number of the training programs' signatures (signature.py); empty: unknown.
            upper: The largest value of each number; empty: unknown.
            hidden: The sizes of the two hidden layers.
            tableau: The number of candidates of a node whose rows of the tableau are read; 0: no features from the tableau.
        """
        super().__init__(len(Feature) + (len(Tableau) if tableau else 0), hidden)
        self.problem, self.tableau = problem, tableau
        self.config: dict[str, Any] = {
            "problem": problem, "family": family, "lower": list(lower), "upper": list(upper), "hidden": list(hidden),
            "tableau": tableau,
        }  # fmt: skip

    def observe(self, node: Observation, slots: NDArray[np.int64]) -> Mapping[str, NDArray[Any]]:
        """See scip.recorder.NodeObserver. Raises SolverError if SCIP's LP has no tableau.

        Returns:
            lines: float32 [k, F], the features, those from the tableau last.
        """
        lines = np.zeros((len(node.candidates), len(self.mean)))
        lines[:, : len(Feature)] = node.features
        if self.tableau and not tableau_lines(node.pointer, node.candidates, slots, lines[:, len(Feature) :]):
            raise SolverError("SCIP's LP has no simplex tableau (tableau=0 does without)")
        return {"lines": lines[slots].astype(np.float32)}

    def forward(self, batch: Lists) -> tuple[Tensor, Tensor]:
        """Return logits [N, K], -inf in empty slots, and values [N], all 0.

        In training mode, a random half of the nodes has the mean values in place of the tableau's features, because in SCIP
        candidates are first scored in this way, and only the best ones with the actual values.
        """
        if not (self.tableau and self.training):
            return super().forward(batch)
        without_tableau = (torch.rand(len(batch.mask), 1, device=batch.mask.device) < 0.5).expand_as(batch.mask)[batch.mask]
        lines = batch.lines.clone()
        lines[without_tableau, len(Feature) :] = self.mean[len(Feature) :]
        return spread(self.score(lines), batch.mask)

    def branching(self) -> BranchingPolicy:
        """See policy.Branches."""
        return TableauPolicy(scorer_of(self), self.tableau) if self.tableau else PerceptronPolicy(scorer_of(self))


def scorer_of(network: Perceptron) -> Scorer:
    """Return a copy of the network's current weights, as kernels need them."""
    parts = (
        network.mean, network.scale, network.first.weight.t(), network.first.bias, network.second.weight.t(), network.second.bias,
        network.last.weight[0],
    )  # fmt: skip
    return Scorer(*map(array_of, parts))

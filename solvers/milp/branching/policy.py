"""Branching policies: branching rules for SCIP that choose the candidate with the highest score. They do not need torch."""

from __future__ import annotations

import abc
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.solvers.milp.branching.scoring import Scorer, branch, scores
from corl.solvers.milp.scip.rule import Observation, compile_kernel

__all__ = ["Branches", "BranchingPolicy", "PerceptronPolicy", "load_branching"]


class BranchingPolicy(abc.ABC):
    """A branching rule for one solve (`Choose` of scip.rule) that chooses the candidate with the highest score."""

    @abc.abstractmethod
    def scores(self, node: Observation) -> NDArray[np.float32]:
        """Return the scores of the candidates, float32 [K]."""

    def __call__(self, node: Observation) -> int:
        return int(np.argmax(self.scores(node))) if len(node.candidates) else -1

    @abc.abstractmethod
    def compile(self) -> None:
        """Compile the kernels that the policy calls at every node; called before a solve's clock starts."""


class PerceptronPolicy(BranchingPolicy):
    """Scores candidates by a perceptron on their features; one kernel computes features and scores and branches."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def scores(self, node: Observation) -> NDArray[np.float32]:
        found: NDArray[np.float32] = scores(self.scorer, node.features)
        return found

    def __call__(self, node: Observation) -> int:
        return node.done(*branch(node.pointer, self.scorer))

    def compile(self) -> None:
        compile_kernel(branch, self.scorer)


@runtime_checkable
class Branches(Protocol):
    """A network that can choose branching variables in SCIP."""

    def branching(self) -> BranchingPolicy:
        """Return a policy for one solve, with a copy of the current weights."""


def load_branching(name_or_path: str) -> BranchingPolicy:
    """Return the policy of a shipped checkpoint or of a file, for one solve. Raises UsageError, InputError."""
    from corl.networks.checkpoints import load_cached

    network: Any = load_cached(name_or_path)[0]
    if isinstance(network, Branches):
        return network.branching()
    if getattr(network, "problem", "") == "milp-branching":
        from corl.solvers.milp.branching.policy_rule import EnvironmentPolicy

        return EnvironmentPolicy(network)
    accepted = "a checkpoint of milp's recipes branching, gcnn or revibranch, or of milp-branching's"
    raise UsageError(f"policy: {name_or_path!r} is no branching policy; accepted: {accepted}")

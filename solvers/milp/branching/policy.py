"""Branching policies: what chooses in SCIP by the scores of the candidates, without torch."""

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
    """A `Choose` (scip.rule) of one solve: the candidate with the highest score."""

    @abc.abstractmethod
    def scores(self, node: Observation) -> NDArray[np.float32]:
        """[K] of the candidates."""

    def __call__(self, node: Observation) -> int:
        return int(np.argmax(self.scores(node))) if len(node.candidates) else -1

    @abc.abstractmethod
    def compile(self) -> None:
        """What it calls at every node, before the clock starts."""


class PerceptronPolicy(BranchingPolicy):
    """A perceptron on the candidates' features; features, scores and branching are one kernel."""

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
    """A network that branches in SCIP."""

    def branching(self) -> BranchingPolicy:
        """A policy for one solve, with the weights as they are now."""


def load_branching(name_or_path: str) -> BranchingPolicy:
    """The policy of a shipped network or of a checkpoint, for one solve. Raises UsageError, InputError."""
    from corl.networks.checkpoints import load_cached

    network: Any = load_cached(name_or_path)[0]
    if isinstance(network, Branches):
        return network.branching()
    if getattr(network, "problem", "") == "milp-branching":
        from corl.solvers.milp.branching.stepped import SteppedPolicy

        return SteppedPolicy(network)
    accepted = "a checkpoint of milp's recipes branching, gcnn or revibranch, or of milp-branching's"
    raise UsageError(f"policy: {name_or_path!r} is no branching policy; accepted: {accepted}")

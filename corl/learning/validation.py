"""Validation: the objective values of a policy, while it is trained, on instances that it is never trained on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corl.decoding import CountedEvaluator, Greedy, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corl.adapter import Problem
    from corl.learning.episodes import Episodes
    from corl.learning.source import Source
    from corl.networks.policy import NetworkPolicy

__all__ = ["BestWeights", "Validation", "greedy"]


class _Network(Protocol):
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> Any: ...


class BestWeights:
    """The weights with the lowest score of all that were offered, and this score; a part of snapshots (`Training.manage`)."""

    def __init__(self) -> None:
        self.score, self._weights = math.inf, dict[str, Any]()

    def offer(self, score: float, network: _Network) -> None:
        """Copy the weights of the network if its score is lower than all earlier scores."""
        if score < self.score:
            self.score = score
            self._weights = {name: tensor.detach().cpu().clone() for name, tensor in network.state_dict().items()}

    def restore(self, network: _Network) -> None:
        """Load the best weights into the network, if any were offered."""
        if self._weights:
            network.load_state_dict(self._weights)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.score, "weights": self._weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.score, self._weights = float(state["best"]), dict(state["weights"])


class Validation:
    """The mean objective values of self-play, and of the policy alone on validation instances, for the curves of a training run.

    It can keep the best weights. Their score is the mean of the validation instances' objective values, each divided by the
    magnitude of that instance's value in the first validation, so that large instances do not outweigh small ones. (The divisor
    is at least a tenth of the mean magnitude.) It is a part of snapshots (`Training.manage`).
    """

    def __init__(self, source: Source, count: int, keep: bool = False) -> None:
        """Validate on `count` instances of `source`, which may be 0; `keep`: whether to keep the best weights."""
        self.problem, self.keep = source.problem, keep
        self.instances = source.validation_instances(count)
        self._first, self._best = np.zeros(0), BestWeights()

    def __call__(self, network: NetworkPolicy, episodes: Sequence[Episodes] = ()) -> dict[str, float]:
        """Return mean objective values in the user's sense: "objective" of the episodes, if any, and "greedy" of the instances.

        If the best weights are kept, also "best", their score (lower is better).
        """
        sign, played = 1.0 if self.problem.sense == "max" else -1.0, [part.objective for part in episodes]
        values = {"objective": sign * float(np.concatenate(played).mean())} if played else {}
        if self.instances:
            objectives = greedy(self.problem, self.instances, network.eval())
            values["greedy"] = float(objectives.mean())
            network.train()
            if self.keep:
                self._offer(objectives, network)
                values["best"] = self._best.score
        return values

    def _offer(self, objectives: NDArray[np.float64], network: NetworkPolicy) -> None:
        """Score the network by its objective values on the validation instances, and keep its weights if they are the best."""
        if not len(self._first):
            first = np.abs(objectives)
            self._first = np.maximum(np.maximum(first, first.mean() / 10.0), 1e-12)
        score = float((objectives / self._first).mean()) * (-1.0 if self.problem.sense == "max" else 1.0)
        self._best.offer(score, network)

    def restore(self, network: NetworkPolicy) -> None:
        """Load the best weights into the network, if they were kept."""
        self._best.restore(network)

    def state_dict(self) -> dict[str, Any]:
        return {"first": self._first, **self._best.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._first = np.asarray(state["first"])
        self._best.load_state_dict(state)


def greedy(problem: Problem, instances: list[Any], network: NetworkPolicy) -> NDArray[np.float64]:
    """Return the objective values, float64 [E], of a policy's likeliest actions on E instances, with their usual sign."""
    environment = problem.environment(instances, len(instances), name=network.environment)
    found = decode(Greedy(), CountedEvaluator(environment, network), np.arange(len(instances)))
    total = np.empty(len(instances))
    total[found.entry] = found.total
    return total if problem.sense == "max" else -total

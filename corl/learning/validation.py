"""Validation: how well a policy does, while it is trained, on instances that it is never trained on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.decoding import CountedEvaluator, Greedy, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corl.learning.episodes import Episodes
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Policy
    from corl.problem import Problem

__all__ = ["Validation", "greedy"]


class Validation:
    """Tells the curves of a training run how well self-play does, and the policy alone on instances never trained on.

    It can remember the weights that did best on these: the least mean of their objectives, each by what it was at first. A
    snapshot holds it (`state_dict`).
    """

    def __init__(self, training: Training, source: Source, count: int, keep: bool = False) -> None:
        """On `count` instances; none where it is 0. `keep`: whether to remember the best weights."""
        self.problem, self.keep = training.problem, keep
        self.instances = source.watched(count)
        self._first, self._best, self._weights = np.zeros(0), math.inf, dict[str, Any]()

    def __call__(self, network: Policy, episodes: Sequence[Episodes] = ()) -> dict[str, float]:
        """The mean objectives, in the user's sense: "objective" of the episodes, if any, "greedy" of the instances."""
        sign, played = 1.0 if self.problem.sense == "max" else -1.0, [part.objective for part in episodes]
        seen = {"objective": sign * float(np.concatenate(played).mean())} if played else {}
        if self.instances:
            objectives = greedy(self.problem, self.instances, network.eval())
            seen["greedy"] = float(objectives.mean())
            network.train()
            if self.keep:
                self._compare(objectives, network)
                seen["best"] = self._best
        return seen

    def _compare(self, objectives: NDArray[np.float64], network: Policy) -> None:
        if not len(self._first):
            self._first = np.maximum(np.abs(objectives), 1e-12)
        score = float((objectives / self._first).mean()) * (-1.0 if self.problem.sense == "max" else 1.0)
        if score < self._best:
            self._best = score
            self._weights = {name: tensor.detach().cpu().clone() for name, tensor in network.state_dict().items()}

    def restore(self, network: Policy) -> None:
        """Give the network the best weights that were seen, if they were kept."""
        if self._weights:
            network.load_state_dict(self._weights)

    def state_dict(self) -> dict[str, Any]:
        return {"first": self._first, "best": self._best, "weights": self._weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._first, self._best, self._weights = np.asarray(state["first"]), float(state["best"]), dict(state["weights"])


def greedy(problem: Problem, instances: list[Any], network: Policy) -> NDArray[np.float64]:
    """The objectives [E] of instances solved by the likeliest actions of a policy alone, in the user's sense."""
    environment = problem.environment(instances, len(instances), name=network.environment)
    found = decode(Greedy(), CountedEvaluator(environment, network), np.arange(len(instances)))
    total = np.empty(len(instances))
    total[found.entry] = found.total
    return total if problem.sense == "max" else -total

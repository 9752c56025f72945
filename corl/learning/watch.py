"""What the loops of AlphaZero and MuZero share beside the playing: the optimiser's step, and an eye on what it brings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.learning.selfplay import Episodes, Source

if TYPE_CHECKING:
    from torch import Tensor, optim

    from corl.learning.training import Training
    from corl.networks.policy import Policy
    from corl.problem import Problem

__all__ = ["Watch", "descend", "follow", "greedy"]

_CLIP = 1.0  # largest norm of the gradient
_WATCHED = 2**30  # number of the first instance that is only watched; training's numbers stay below


class Watch:
    """Tells the curves of a training run how well self-play does, and the policy alone on instances never trained on.

    It can remember the weights that did best on these: the least mean of their objectives, each by what it was at first. A
    snapshot holds it (`state_dict`).
    """

    def __init__(self, training: Training, source: Source, count: int, keep: bool = False) -> None:
        """`count` instances are watched; none where it is 0. `keep`: whether to remember the best weights."""
        self.problem, self.keep = training.problem, keep
        self.instances = source.instances(_WATCHED, count)
        self._first, self._best, self._weights = np.zeros(0), math.inf, dict[str, Any]()

    def __call__(self, episodes: Episodes | None, network: Policy) -> dict[str, float]:
        """The mean objectives, in the user's sense: "objective" of the episodes, if any, "greedy" of the watched instances."""
        sign = 1.0 if self.problem.sense == "max" else -1.0
        seen = {} if episodes is None else {"objective": sign * float(episodes.objective.mean())}
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


def greedy(problem: Problem, instances: list[Any], network: Any) -> NDArray[np.float64]:
    """The objectives [E] of instances solved by the likeliest actions of a Policy alone, in the user's sense."""
    environment = problem.environment(instances, len(instances))
    rows = np.arange(len(instances))
    total = environment.reset(rows, rows)
    while True:
        actions = environment.actions(rows)
        live = (actions >= 0).any(axis=1)
        rows, actions = rows[live], actions[live]
        if not len(rows):
            return total if problem.sense == "max" else -total
        logits, _ = network.evaluate(environment.observe(rows))
        total[rows] += environment.step(rows, rows, actions[np.arange(len(rows)), logits.argmax(axis=1)])


def descend(optimiser: optim.Optimizer, loss: Tensor, rate: float, fraction: float) -> None:
    """One step down the gradient of `loss`, see `follow`."""
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    follow(optimiser, rate, fraction)


def follow(optimiser: optim.Optimizer, rate: float, fraction: float) -> None:
    """One step along the gradients that are there, clipped, with the rate on a cosine from `rate` at fraction 0 to 0 at 1."""
    from torch.nn.utils import clip_grad_norm_

    for group in optimiser.param_groups:
        group["lr"] = rate * (0.5 + 0.5 * math.cos(math.pi * fraction))
    clip_grad_norm_([parameter for group in optimiser.param_groups for parameter in group["params"]], _CLIP)
    optimiser.step()

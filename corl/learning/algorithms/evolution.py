"""Evolution strategies, the recipe `any.evolution`: a gradient estimated from the objective values of perturbed networks.

Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement Learning" (2017): all parameters are perturbed
by Gaussian noise and by its opposite, and the results are replaced by their ranks. No backpropagation is needed.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.learning.loop import Loop, PolicyRecipe
from corl.options import option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from corl.adapter import Problem
    from corl.decoding.play import DecisionStep
    from corl.environment import View
    from corl.learning.session import Training
    from corl.networks.policy import NetworkPolicy

__all__ = ["Evolution", "gradient", "moved", "outcomes", "parameters_of", "set_gradient"]


@dataclass(frozen=True)
class Evolution(PolicyRecipe):
    """Evolution strategies (Salimans et al., 2017), for small networks, and long episodes whose return no single action explains.

    In each step all perturbed copies of the network play the same new instances by their likeliest actions, in this process;
    workers are not used. The weights with the best validation result are saved at the end.
    """

    start: str = option("", "A checkpoint to continue from; empty: a new network of `width`, `layers` and `heads`.")
    batch: int = option(8, "New instances per step.", low=1, scale="log")
    pairs: int = option(16, "Pairs of perturbed networks per step.", low=1, scale="log")
    spread: float = option(0.05, "Standard deviation of the perturbations.", above=0, scale="log")
    every: int = option(10, "Steps between two validations.", low=1)

    title: ClassVar[str] = "evolution strategies: small networks by what whole episodes come to"
    step: ClassVar[str] = "`batch` new instances for each of 2 `pairs` networks, then an optimiser step"

    def train(self, training: Training) -> None:
        import numpy as np

        from corl.learning.optimise import optimiser_step
        from corl.networks.threads import one_thread

        # Gates (corl.learning.optimise) have the rate of the other parameters, as their gradients are as noisy here.
        loop = Loop(self, training, keep=True, decay=0.0, gate_rate=1.0)
        loop.manage()

        def estimated() -> tuple[NDArray[np.float64] | None, dict[str, float]]:
            curves = loop.validate(every=self.every)
            estimate, objective, had_choice = self._gradient(loop)
            return estimate if had_choice else None, {"objective": objective, **curves}

        def follow(estimate: NDArray[np.float64]) -> dict[str, float]:
            set_gradient(loop.network, estimate)
            optimiser_step(loop.optimiser, self.rate, training.fraction, clip=math.inf)
            return {"slope": float(np.linalg.norm(estimate))}

        with one_thread():
            loop.run(estimated, follow)

    def _gradient(self, loop: Loop) -> tuple[NDArray[np.float64], float, bool]:
        """Return a gradient estimate [D] of the expected rank, the mean objective value, and whether a state had two actions."""
        import numpy as np

        training, network = loop.training, loop.network
        instances = loop.source.instances(training.step * self.batch, self.batch)
        flat = parameters_of(network)
        noise = training.generator(3, training.step).standard_normal((self.pairs, len(flat)))
        changes = self.spread * np.concatenate([noise, -noise])
        results, had_choice = outcomes(training.problem, instances, [moved(network, flat + change) for change in changes])
        sign = 1.0 if training.problem.sense == "max" else -1.0
        deviation = np.maximum(results.std(axis=0), 1e-9 * np.maximum(1.0, np.abs(results).max(axis=0)))
        standard = (results - results.mean(axis=0)) / deviation  # so that every instance has the same weight
        costs = -standard.mean(axis=1).reshape(2, self.pairs).T
        return gradient(costs, noise, self.spread), sign * float(results.mean()), had_choice


def parameters_of(network: nn.Module) -> NDArray[np.float64]:
    """Return all parameters of a network in one vector, float64 [D]."""
    import numpy as np

    return np.concatenate([part.detach().cpu().double().numpy().ravel() for part in network.parameters()])


def moved(network: NetworkPolicy, flat: NDArray[np.float64]) -> NetworkPolicy:
    """Return a copy of a network with the parameters `flat` [D]."""
    import torch

    other = copy.deepcopy(network).eval()
    with torch.no_grad():
        for parameter, part in zip(other.parameters(), _parts(other, flat)):
            parameter.copy_(part)
    return other


def gradient(costs: NDArray[np.float64], noise: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    """Return an estimate of the gradient of the expected rank, float64 [D].

    Args:
        costs: float64 [P, 2], the costs after the parameters were changed by `spread` * noise, and by its opposite. Only their
            ranks count, from -0.5 for the lowest cost to 0.5 for the highest; equal costs get their mean rank.
        noise: float64 [P, D], standard normal.
        spread: The standard deviation of the changes.
    """
    from scipy.stats import rankdata

    ranks = (rankdata(costs, axis=None).reshape(costs.shape) - 1.0) / (costs.size - 1.0) - 0.5
    estimate: NDArray[np.float64] = (ranks[:, 0] - ranks[:, 1]) @ noise / (len(noise) * spread)
    return estimate


def set_gradient(network: nn.Module, flat: NDArray[np.float64]) -> None:
    """Set the gradients of a network's parameters to `flat`, float64 [D], in place, for an optimiser's step."""
    for parameter, part in zip(network.parameters(), _parts(network, flat)):
        parameter.grad = part


def _parts(network: nn.Module, flat: NDArray[np.float64]) -> list[Tensor]:
    """Return `flat` [D], cut into tensors with the shapes and types of the network's parameters."""
    import torch

    sizes = [parameter.numel() for parameter in network.parameters()]
    cut = torch.split(torch.from_numpy(flat), sizes)
    return [part.reshape(p.shape).to(p.device, p.dtype) for part, p in zip(cut, network.parameters())]


def outcomes(problem: Problem, instances: Sequence[Any], networks: Sequence[NetworkPolicy]) -> tuple[NDArray[np.float64], bool]:
    """Play the likeliest actions of each network on each instance, and return the results.

    All networks play at once in one pool, from the same starts. If a state has only one action, it is taken without evaluating a
    network.

    Returns:
        The results, float64 [networks, instances], higher is better; and whether any state had two actions (True if unknown).
    """
    import numpy as np

    from corl.decoding.play import play
    from corl.policy import Player

    network_count, count = len(networks), len(instances)
    environment = problem.environment(instances, network_count * count, name=networks[0].environment)
    rows = np.arange(network_count * count)
    base = environment.reset(rows, np.tile(np.arange(count), network_count))
    evaluators = [network.on(environment) for network in networks]
    players = [one for one in evaluators if isinstance(one, Player)]
    if len(players) == network_count:  # networks that play whole episodes in compiled code
        rewards = [one.play(part)[0] for one, part in zip(players, np.split(rows, network_count))]
        return base.reshape(network_count, count) + np.array(rewards), True

    def logits_of(view: View, owner: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the logits [R, K] by the networks numbered `owner` [R], ascending."""
        owners, first = np.unique(owner, return_index=True)
        cuts = [*first.tolist(), len(owner)]
        parts = zip(owners.tolist(), cuts, cuts[1:])
        return np.concatenate([evaluators[i].evaluate(view.part(slice(a, b)))[0] for i, a, b in parts])

    had_choice = False

    def choose(decision: DecisionStep) -> NDArray[np.integer]:
        nonlocal had_choice
        slots = np.zeros(len(decision.rows), np.int64)
        several = np.flatnonzero((decision.actions >= 0).sum(axis=1) > 1)  # indices of the states with several actions
        if len(several):
            had_choice = True
            view = environment.view(decision.rows[several], decision.actions[several])
            slots[several] = logits_of(view, decision.episode[several] // count).argmax(axis=1)
        return decision.taken(slots)

    totals = play(environment, rows, base, choose).totals.reshape(network_count, count)
    return totals, had_choice

"""Recipe `any.evolution`: a policy from what whole episodes of changed copies of it come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solvers.training.common import PolicyRecipe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Policy

__all__ = ["Evolution"]


@dataclass(frozen=True)
class Evolution(PolicyRecipe):
    """Evolution strategies (corl.learning.evolution): for small networks, and for episodes so long that no action can be blamed.

    The copies play by their likeliest actions, all on the same new instances, in this process; workers are not used. The weights
    that did best on the watched instances are kept.
    """

    start: str = option("", "A checkpoint to go on from; empty: a new network of `width`, `layers` and `heads`.")
    batch: int = option(8, "New instances of a step.", low=1, scale="log")
    pairs: int = option(16, "Pairs of changed networks that a step tries.", low=1, scale="log")
    spread: float = option(0.05, "Standard deviation of the changes.", above=0, scale="log")
    every: int = option(10, "Steps between two looks at the watched instances.", low=1)

    title: ClassVar[str] = "evolution strategies: small networks by what whole episodes come to"
    step: ClassVar[str] = "`batch` new instances for each of 2 `pairs` networks, then an optimiser step"

    def train(self, training: Training) -> None:
        import math

        import numpy as np

        from corl.learning.evolution import set_gradient
        from corl.learning.optimise import new_optimiser, optimiser_step
        from corl.learning.validation import Validation
        from corl.networks.threads import one_thread
        from corl.solvers.training.common import begin, check_learned, source_of

        source = source_of(self, training.problem, training.seed)
        network = begin(self, training, source)
        optimiser = new_optimiser(network, self.rate, decay=0.0, gate_rate=1.0)  # gates' gradients are as noisy as the others'
        validate = Validation(source, self.watch, keep=True)
        training.manage(network=network, optimiser=optimiser, validation=validate)
        with one_thread():
            while training.budget():
                seen = validate(network) if training.step % self.every == 0 else {}
                gradient, objective, chose = self._gradient(training, network, source)
                if chose:
                    set_gradient(network, gradient)
                    optimiser_step(optimiser, self.rate, training.fraction, clip=math.inf)
                    seen["slope"] = float(np.linalg.norm(gradient))
                else:
                    check_learned(training, optimiser)
                training.log(objective=objective, **seen)
            check_learned(training, optimiser, over=True)
            validate(network)
        validate.restore(network)
        training.save(network)

    def _gradient(self, training: Training, network: Policy, source: Source) -> tuple[NDArray[np.float64], float, bool]:
        """An estimate of the gradient of the expected rank, the mean objective, and whether there was anything to choose."""
        import numpy as np

        from corl.learning import evolution

        instances = source.instances(training.step * self.batch, self.batch)
        flat = evolution.parameters_of(network)
        noise = training.generator(3, training.step).standard_normal((self.pairs, len(flat)))
        changes = self.spread * np.concatenate([noise, -noise])
        copies = [evolution.moved(network, flat + change) for change in changes]
        found, chose = evolution.outcomes(training.problem, instances, copies)
        sign = 1.0 if training.problem.sense == "max" else -1.0
        standard = (found - found.mean(axis=0)) / np.maximum(found.std(axis=0), 1e-9 * np.maximum(1.0, np.abs(found).max(axis=0)))
        costs = -standard.mean(axis=1).reshape(2, self.pairs).T
        return evolution.gradient(costs, noise, self.spread), sign * float(found.mean()), chose

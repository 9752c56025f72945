"""Recipe `any.policy-gradient`: a policy from its own episodes, without a teacher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.errors import UsageError
from corl.learning.recipe import Recipe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.learning.policy_gradient import GreedyRollout, Starts
    from corl.learning.selfplay import Episodes, Source
    from corl.learning.training import Training
    from corl.networks.policy import Policy

__all__ = ["PolicyGradient"]

_PART = 4096  # moves that go through the network at once


@dataclass(frozen=True)
class PolicyGradient(Recipe):
    """REINFORCE on new instances in every step, with one of three baselines (corl.learning.policy_gradient).

    Episodes are played in this process, all of a step at once, on the GPU where there is one; workers are not used.
    """

    generator: str = ""
    """Which of the problem's generators makes the instances; "" for its first."""
    size: int = 20
    """Its option of that name, at least 1."""
    features: str = ""
    """Which of the problem's features the network sees; "" for the first."""
    start: str = ""
    """A checkpoint to go on from; "": a new network of the sizes below."""
    baseline: Literal["multi-start", "greedy-rollout", "remax"] = "multi-start"
    """What an episode is compared with: the mean of its instance's episodes, which begin in different states where the
    problem has several (POMO); the likeliest actions of the best policy so far (Kool et al.), or of the present one."""
    instances: int = 32
    """Of a step, at least 1."""
    samples: int = 8
    """Episodes of each, at least 1 (multi-start: 2)."""
    entropy: float = 0.0
    """What the policy's entropy counts for, from 0."""
    updates: int = 1
    """Optimiser steps on the episodes of a step, at least 1; more than one are steps of mirror descent."""
    proximity: float = 0.1
    """What the divergence from the policy that played counts for where there are more `updates` than one; above 0."""
    width: int = 64
    """Of the network's hidden vectors, a multiple of `heads`."""
    layers: int = 2
    """Of the network, at least 1."""
    heads: int = 4
    """Of its attention, at least 1."""
    rate: float = 1e-3
    """Learning rate at first, above 0; it falls to 0 as a cosine."""
    every: int = 10
    """Steps between two looks at the watched instances, at least 1."""
    watch: int = 64
    """Instances never trained on that the likeliest actions solve, for the curve "greedy" and for the test by which the
    greedy rollout's policy changes; 0 for none."""

    title: ClassVar[str] = "policy gradient: REINFORCE with a multi-start, greedy-rollout or ReMax baseline"
    step: ClassVar[str] = "`samples` episodes of each of `instances` new instances, then the optimiser steps on them"

    def __post_init__(self) -> None:
        from corl.solvers.training.common import at_least, positive

        counted = ("size", "instances", "samples", "updates", "width", "layers", "heads", "every")
        at_least(self, counted, 1)
        at_least(self, ("watch",), 0)
        positive(self, ("rate", "proximity"))
        positive(self, ("entropy",), zero=True)
        if self.baseline == "multi-start" and self.samples < 2:
            raise UsageError("samples is 1; accepted: an integer from 2 with the multi-start baseline")
        if self.baseline == "greedy-rollout" and self.watch < 2:
            raise UsageError(f"watch is {self.watch}; accepted: an integer from 2 with the greedy-rollout baseline")

    def train(self, training: Training) -> None:
        import torch

        from corl.learning.policy_gradient import GreedyRollout, roll_out
        from corl.learning.selfplay import Source
        from corl.learning.watch import Watch
        from corl.solvers.training.common import begin

        source = Source(training.problem, self.generator, {"size": self.size}, training.seed)
        network = begin(self, training, source)
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.rate)
        watch = Watch(training, source, self.watch)
        rollout = GreedyRollout(training.problem, network, watch.instances) if self.baseline == "greedy-rollout" else None
        training.manage(network=network, optimiser=optimiser, **({"rollout": rollout} if rollout else {}))
        while training.budget():
            starts = self._starts(training, source)
            episodes = roll_out(training.problem, starts, network.eval(), training.generator(2, training.step))
            baseline = self._baseline(training, starts, episodes, network, rollout)
            seen = watch(episodes, network) if training.step % self.every == 0 else {}
            loss = self._update(training, network.train(), optimiser, episodes, baseline)
            if rollout is not None and training.step % self.every == self.every - 1:
                rollout.update(network.eval())
            training.log(loss=loss, **seen)
        training.save(network)

    def _starts(self, training: Training, source: Source) -> Starts:
        """The episodes of the present step."""
        import numpy as np

        from corl.learning.policy_gradient import Starts

        instances = source.instances(training.step * self.instances, self.instances)
        which = np.repeat(np.arange(self.instances), self.samples)
        keys = np.tile(np.arange(self.samples, dtype=np.uint64), self.instances)
        if self.baseline != "multi-start":  # one rollout is compared with all episodes of an instance
            keys[:] = 0
        return Starts(instances, which, keys)

    def _baseline(
        self, training: Training, starts: Starts, episodes: Episodes, network: Policy, rollout: GreedyRollout | None
    ) -> NDArray[np.float64]:
        """What each episode is compared with, [E]."""
        from corl.learning.policy_gradient import Starts, roll_out, shared_baseline

        if self.baseline == "multi-start":
            return shared_baseline(episodes.objective, starts.which)
        once = Starts(starts.instances, starts.which[:: self.samples], starts.keys[:: self.samples])
        greedy = rollout(once) if rollout is not None else roll_out(training.problem, once, network, None).objective
        return greedy.repeat(self.samples)

    def _update(
        self, training: Training, network: Policy, optimiser: Any, episodes: Episodes, baseline: NDArray[np.float64]
    ) -> float:
        """The optimiser steps on the episodes of a step; returns the last loss, per move."""
        from corl.learning import policy_gradient
        from corl.learning.watch import follow

        gained = policy_gradient.advantages(episodes, baseline)
        proximity = self.proximity if self.updates > 1 else 0.0
        value = 0.0
        for _ in range(self.updates):
            optimiser.zero_grad()
            value = 0.0
            for first in range(0, len(gained), _PART):
                part = slice(first, first + _PART)
                moves = {name: array[part] for name, array in episodes.moves.items()}
                with training.autocast():
                    loss = policy_gradient.loss(network, moves, gained[part], entropy=self.entropy, proximity=proximity)
                (loss / len(gained)).backward()  # type: ignore[no-untyped-call]
                value += loss.item() / len(gained)
            follow(optimiser, self.rate, training.fraction)
        return value

"""Recipe `any.policy-gradient`: a policy from its own episodes, without a teacher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.errors import UsageError
from corl.options import option
from corl.solvers.training.common import PolicyRecipe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.learning.episodes import Episodes
    from corl.learning.policy_gradient import GreedyRollout, Starts
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Policy

__all__ = ["PolicyGradient"]

_PART = 4096  # moves that go through the network at once


@dataclass(frozen=True)
class PolicyGradient(PolicyRecipe):
    """REINFORCE on new instances in every step, with one of three baselines (corl.learning.policy_gradient).

    Episodes are played in this process, all of a step at once, on the GPU where there is one; workers are not used.
    """

    start: str = option("", "A checkpoint to go on from; empty: a new network of `width`, `layers` and `heads`.")
    baseline: Literal["multi-start", "greedy-rollout", "remax"] = option(
        "multi-start",
        "What an episode is compared with: the mean of its instance's episodes, which begin in different states where the "
        "problem has several (POMO); the likeliest actions of the best policy so far (Kool et al.), or of the present one.",
    )
    batch: int = option(32, "New instances of a step.", low=1, scale="log")
    samples: int = option(8, "Episodes of each instance, from 2 with the multi-start baseline.", low=1, scale="log")
    entropy: float = option(0.0, "Weight of the policy's entropy.", low=0)
    updates: int = option(1, "Optimiser steps on the episodes of a step; more than one are steps of mirror descent.", low=1)
    proximity: float = option(
        0.1,
        "Weight of the divergence from the policy that played, where there are more `updates` than one.",
        above=0,
        scale="log",
    )
    every: int = option(10, "Steps between two looks at the watched instances.", low=1)
    watch: int = option(
        64,
        'Instances never trained on that the likeliest actions solve, for the curve "greedy" and for the test by which the '
        "greedy rollout's policy changes; 0: none.",
        low=0,
    )

    title: ClassVar[str] = "policy gradient: REINFORCE with a multi-start, greedy-rollout or ReMax baseline"
    step: ClassVar[str] = "`samples` episodes of each of `batch` new instances, then the optimiser steps on them"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.baseline == "multi-start" and self.samples < 2:
            raise UsageError("option samples is 1; accepted: an integer from 2 with the multi-start baseline")
        if self.baseline == "greedy-rollout" and self.watch < 2:
            raise UsageError(f"option watch is {self.watch}; accepted: an integer from 2 with the greedy-rollout baseline")

    def train(self, training: Training) -> None:

        from corl.learning.optimise import new_optimiser
        from corl.learning.policy_gradient import GreedyRollout, roll_out
        from corl.learning.validation import Validation
        from corl.solvers.training.common import begin, check_learned, source_of

        source = source_of(self, training.problem, training.seed)
        network = begin(self, training, source)
        optimiser = new_optimiser(network, self.rate)
        validate = Validation(source, self.watch)
        rollout = GreedyRollout(training.problem, network, validate.instances) if self.baseline == "greedy-rollout" else None
        training.manage(network=network, optimiser=optimiser, **({"rollout": rollout} if rollout else {}))
        while training.budget():
            starts = self._starts(training, source)
            episodes = roll_out(training.problem, starts, network.eval(), training.generator(2, training.step))
            baseline = self._baseline(training, starts, episodes, network, rollout)
            seen = validate(network, [episodes]) if training.step % self.every == 0 else {}
            if episodes.moves:
                seen = {"loss": self._update(training, network.train(), optimiser, episodes, baseline), **seen}
            else:
                check_learned(training, optimiser)
            if rollout is not None and training.step % self.every == self.every - 1:
                rollout.update(network.eval())
            training.log(**seen)
        check_learned(training, optimiser, over=True)
        training.save(network)

    def _starts(self, training: Training, source: Source) -> Starts:
        """The episodes of the present step."""
        import numpy as np

        from corl.learning.policy_gradient import Starts

        instances = source.instances(training.step * self.batch, self.batch)
        which = np.repeat(np.arange(self.batch), self.samples)
        keys = np.tile(np.arange(self.samples, dtype=np.uint64), self.batch)
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
        import numpy as np

        from corl.learning import policy_gradient
        from corl.learning.optimise import optimiser_step
        from corl.learning.replay import Replay

        gained = policy_gradient.advantages(episodes, baseline)
        replay = Replay(len(gained))
        replay.add(episodes)
        proximity = self.proximity if self.updates > 1 else 0.0
        value = 0.0
        for _ in range(self.updates):
            optimiser.zero_grad()
            value = 0.0
            for first in range(0, len(gained), _PART):
                at = np.arange(first, min(first + _PART, len(gained)))
                slot, before = replay.field("slot", at), replay.field("policy", at)
                moves = policy_gradient.Moves(replay.seen(at), slot, before, gained[at])
                with training.autocast():
                    loss = policy_gradient.loss(network, moves, entropy=self.entropy, proximity=proximity)
                (loss / len(gained)).backward()  # type: ignore[no-untyped-call]
                value += loss.item() / len(gained)
            optimiser_step(optimiser, self.rate, training.fraction)
        return value

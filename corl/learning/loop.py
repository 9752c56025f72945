"""The training loop of the generic recipes, and the options that they share.

@dataclass(frozen=True)
class Mine(PolicyRecipe):
    def train(self, training):
        loop = Loop(self, training)              # instances, network, optimiser, validation
        loop.manage(replay=replay)               # what a snapshot holds besides the network and the optimiser
        loop.run(data, loop.minimise(loss))      # data() -> a batch, curves; loss(batch) -> a tensor, curves
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.learning.source import Source, folder_option
from corl.options import option

if TYPE_CHECKING:
    from torch import Tensor

    from corl.learning.episodes import Episodes
    from corl.learning.session import Training
    from corl.networks.policy import NetworkPolicy

__all__ = ["Loop", "PolicyRecipe", "nothing_to_learn"]

_PATIENCE = 50  # steps after which a training ends with an error if none of them had a state to learn from

Data: TypeAlias = "tuple[Any, dict[str, float]]"
"""The batch of a step, None if there is nothing to learn from, and values for the curves."""


@dataclass(frozen=True)
class PolicyRecipe(Recipe):
    """The base class of recipes that train a policy on generated instances or on instance files, with their common options."""

    generator: str = option("", "The problem's generator that makes the instances; empty: the first that takes a size.")
    size: int = option(20, "The size of the instances, an option of the generator (for bandits: the number of arms).", low=1)
    sizes: tuple[int, ...] = option((), "Several sizes, used in turn, instead of `size`.", low=1)
    instances: str = folder_option()
    network: str | type = option(
        "attention", "The architecture of a new network, an entry point of the group corl.networks; in Python also a class."
    )
    features: str = option("", "The features that the network receives, one of the problem's; empty: the first.")
    environment: str = option("", "The problem's environment, if it has several; empty: the first.")
    width: int = option(64, "Width of the network's hidden vectors, a multiple of `heads`.", low=1, high=4096, scale="log")
    layers: int = option(2, "Layers of the network.", low=1, high=100)
    heads: int = option(4, "Attention heads of the network.", low=1)
    network_options: tuple[str, ...] = option(
        (),
        "Further options of the architecture, NAME=VALUE. The architectures attention and muzero have grid=N: the last N tokens, "
        "which follow each other in time, pass through a convolution first. attention has caution=W: W times the first feature "
        "of an action, which shall say how much worse than the best it is, is subtracted from its logit.",
    )
    rate: float = option(1e-3, "Learning rate at the start; it falls to 0 along a cosine.", above=0, scale="log")
    watch: int = option(
        64,
        'Validation instances, never trained on: the policy alone solves them regularly, for the curve "greedy"; 0: none.',
        low=0,
    )

    def first_network(self, training: Training, source: Source) -> NetworkPolicy:
        """Return the network to train, on the training's device: the one in the checkpoint `start`, or a new one.

        Raises:
            UsageError: `network` is no architecture of a policy or has no such option; `start` holds no policy for the problem.
        """
        from corl.networks.architectures import network_class, network_options
        from corl.networks.checkpoints import load_policy
        from corl.networks.policy import NetworkPolicy, Shape

        start = getattr(self, "start", "")
        if start:
            network = load_policy(start)
            if not isinstance(network, NetworkPolicy) or network.problem != training.problem.name:
                raise UsageError(f"start: {start} holds no policy for {training.problem.name}")
            return network.to(training.device).train()
        kind = network_class(self.network)
        if not issubclass(kind, NetworkPolicy):
            raise UsageError(f"network: {kind.__name__} is no architecture of a policy")
        own = network_options(kind, self.network_options)
        shape = Shape(self.features, self.environment, self.width, self.layers, self.heads, own)
        return kind.sized(training.problem, source.instances(0, 1)[0], shape).to(training.device)


class Loop:
    """One training of a recipe: the instances, network, optimiser and validation that all recipes need, and the steps."""

    def __init__(
        self, recipe: PolicyRecipe, training: Training, *, keep: bool = False, decay: float = 0.01, gate_rate: float | None = None
    ) -> None:
        """Make the recipe's first network, its optimiser, the source of instances and the validation.

        Args:
            recipe: The recipe, with its options.
            training: The session.
            keep: Whether the weights with the best validation result are saved at the end, instead of the last ones.
            decay: The weight decay of the optimiser, see `new_optimiser`.
            gate_rate: The learning rate of gates, see `new_optimiser`; None: its default.
        """
        from corl.learning.optimise import GATE_RATE, new_optimiser
        from corl.learning.validation import Validation

        self.training, self.rate, self.keep = training, recipe.rate, keep
        self.source = Source(
            training.problem, recipe.generator, recipe.sizes or (recipe.size,), training.seed, recipe.instances
        )  # fmt: skip
        self.network = recipe.first_network(training, self.source)
        self.optimiser = new_optimiser(
            self.network, recipe.rate, decay=decay, gate_rate=GATE_RATE if gate_rate is None else gate_rate
        )  # fmt: skip
        self.validation = Validation(self.source, recipe.watch, keep)

    def manage(self, **parts: Any) -> None:
        """Register what a snapshot holds besides the network, the optimiser and the best weights; see `Training.manage`."""
        kept = {"validation": self.validation} if self.keep else {}
        self.training.manage(network=self.network, optimiser=self.optimiser, **kept, **parts)

    def validate(self, episodes: Sequence[Episodes] = (), *, every: int = 1) -> dict[str, float]:
        """Return the mean objective values of the validation instances and `episodes` in every `every`-th step, otherwise {}."""
        return self.validation(self.network, episodes) if self.training.step % every == 0 else {}

    def minimise(self, loss: Callable[[Any], tuple[Tensor, dict[str, float]]]) -> Callable[[Any], dict[str, float]]:
        """Return a function for `run` that makes one optimiser step down the gradient of a loss.

        Args:
            loss: Function from a batch to the loss, a scalar, and the loss's terms for the curves.
        """
        from corl.learning.optimise import gradient_step

        def learn(batch: Any) -> dict[str, float]:
            with self.training.autocast():
                value, terms = loss(batch)
            gradient_step(self.optimiser, value, self.rate, self.training.fraction)
            return {"loss": value.item(), **terms}

        return learn

    def run(self, data: Callable[[], Data], learn: Callable[[Any], dict[str, float]]) -> None:
        """Make the steps of the training until its limit, and save the network at the end.

        Args:
            data: Returns the data of the current step (`training.step`).
            learn: Receives the batch of these data and changes the network in place; returns values for the curves.

        Raises:
            UsageError: The first 50 steps, or all steps of a shorter run, had nothing to learn from.
        """
        training = self.training
        while training.budget():
            batch, values = data()
            if batch is None:
                self._check_learned(training.step + 1, is_whole_run=False)
            else:
                values = {**learn(batch), **values}
            training.log(**values)
        self._check_learned(training.step, is_whole_run=not training.interrupted)
        if self.keep:
            self.validation(self.network)
            self.validation.restore(self.network)
        training.save(self.network)

    def _check_learned(self, steps: int, *, is_whole_run: bool) -> None:
        """Raise UsageError if `steps` steps, at least 50 or the whole run, had nothing to learn from."""
        if not self.optimiser.state and (steps >= _PATIENCE or is_whole_run):
            raise nothing_to_learn(f"{steps} steps")


def nothing_to_learn(where: str) -> UsageError:
    """Return the error of a training in which no state had a choice; `where` says what was examined."""
    return UsageError(
        f"in {where} no state had two actions: nothing to learn; accepted: a generator and a size whose instances leave a choice"
    )

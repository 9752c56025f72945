"""What the generic recipes share: options, the network to begin with, the check of a teacher, what ends a futile training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.learning.source import folder_option
from corl.options import option

if TYPE_CHECKING:
    from corl.adapter import Problem
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Policy

__all__ = ["PolicyRecipe", "begin", "check_learned", "check_teacher", "futile", "source_of", "taught"]

_PATIENCE = 50  # steps at the start of a training without a state to learn from, after which there will be none


@dataclass(frozen=True)
class PolicyRecipe(Recipe):
    """The options of every recipe that trains a policy on generated instances, or on one's own."""

    generator: str = option("", "The generator of the problem that makes the instances; empty: its first with a size.")
    size: int = option(20, "Of the instances: the generator's option of that name (of bandits: arms).", low=1)
    sizes: tuple[int, ...] = option((), "Several sizes in turns, instead of `size`.", low=1)
    instances: str = folder_option()
    network: str | type = option(
        "attention", "The architecture of a new network, an entry point of the group corl.networks (from Python, or a class)."
    )
    features: str = option("", "The name of the problem's features that the network sees; empty: the first.")
    environment: str = option("", "The name of the problem's environment, where it has several; empty: the first.")
    width: int = option(64, "Of the network's hidden vectors, a multiple of `heads`.", low=1, high=4096, scale="log")
    layers: int = option(2, "Of the network.", low=1, high=100)
    heads: int = option(4, "Of its attention.", low=1)
    rate: float = option(1e-3, "Learning rate at first; it falls to 0 as a cosine.", above=0, scale="log")
    watch: int = option(
        64, 'Instances never trained on that the policy alone solves now and then, for the curve "greedy"; 0: none.', low=0
    )


def source_of(recipe: PolicyRecipe, problem: Problem, seed: int) -> Source:
    """Where a recipe's instances come from."""
    from corl.learning.source import Source

    return Source(problem, recipe.generator, recipe.sizes or (recipe.size,), seed, recipe.instances)


def begin(recipe: Any, training: Training, source: Source) -> Policy:
    """The network that a recipe trains: that of the checkpoint `recipe.start`, or a new one of its architecture and sizes."""
    from corl.networks.architectures import network_class
    from corl.networks.checkpoints import load_policy
    from corl.networks.policy import Policy, Shape

    name, instance = training.problem.name, source.instances(0, 1)[0]
    if not recipe.start:
        kind, grid = network_class(recipe.network), getattr(recipe, "grid", 0)
        if not issubclass(kind, Policy):
            raise UsageError(f"network: {kind.__name__} is no architecture of a policy")
        shape = Shape(recipe.features, recipe.environment, recipe.width, recipe.layers, recipe.heads, grid)
        return kind.sized(training.problem, instance, shape).to(training.device)
    network = load_policy(recipe.start)
    if not isinstance(network, Policy) or network.problem != name:
        raise UsageError(f"start: {recipe.start} holds no policy for {name}")
    return network.to(training.device).train()


def check_teacher(recipe: Any, problem: str) -> None:
    """Raise UsageError where a recipe's teacher is no solver of the problem that iterations can limit.

    (With a limit in seconds its lessons, and so the weights, would depend on how busy the machine is.)
    """
    from corl import registry

    if not recipe.teacher:
        return
    limited = [name for name in registry.solvers(problem) if registry.solver(problem, name).iteration]
    if recipe.teacher not in limited:
        if recipe.teacher != "auto":
            registry.solver(problem, recipe.teacher)  # an unknown name is told as such
        raise UsageError(f"teacher is {recipe.teacher}; accepted: a solver limited by iterations: {', '.join(limited) or 'none'}")


def check_learned(training: Training, optimiser: Any, *, over: bool = False) -> None:
    """Asked after a step that had nothing to learn from, which is passed over; with `over` after the last step of all.

    Raises UsageError where the first 50 steps, or all there were, taught nothing.
    """
    done = training.step if over else training.step + 1
    if not optimiser.state and (done >= _PATIENCE or (over and not training.interrupted)):
        raise futile(f"{done} steps")


def futile(where: str) -> UsageError:
    """The error of a training without anything to learn from: `where` is what was looked at."""
    return UsageError(
        f"in {where} no state had two actions: nothing to learn; accepted: a generator and a size whose instances leave a choice"
    )


def taught(recipe: Any, training: Training) -> bool:
    """Whether a recipe's teacher plays the next generation."""
    return bool(recipe.teacher) and training.fraction < recipe.taught

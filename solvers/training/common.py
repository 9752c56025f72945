"""What the generic recipes share: the network to begin with, checks of options, optimiser steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from corl.errors import UsageError

if TYPE_CHECKING:
    from corl.learning.selfplay import Source
    from corl.learning.training import Training
    from corl.networks.policy import Policy

__all__ = ["at_least", "begin", "positive", "taught"]


def at_least(recipe: Any, names: Iterable[str], least: int) -> None:
    """Raise UsageError where one of a recipe's options is below `least`."""
    for name in names:
        if getattr(recipe, name) < least:
            raise UsageError(f"{name} is {getattr(recipe, name)}; accepted: an integer from {least}")


def positive(recipe: Any, names: Iterable[str], *, zero: bool = False) -> None:
    """Raise UsageError where one of a recipe's options is not a finite number above 0 (or, with `zero`, from 0)."""
    for name in names:
        value = getattr(recipe, name)
        if not (0 < value < float("inf") or (zero and value == 0)):
            raise UsageError(f"{name} is {value}; accepted: a number {'from' if zero else 'above'} 0")


def begin(recipe: Any, training: Training, source: Source) -> Policy:
    """The network that a recipe trains: that of the checkpoint `recipe.start`, or a new AttentionPolicy of its sizes."""
    from corl.learning.selfplay import token_sizes
    from corl.networks.attention import AttentionPolicy
    from corl.networks.checkpoints import load_policy
    from corl.networks.policy import Policy

    name = training.problem.name
    if not recipe.start:
        sizes = token_sizes(training.problem, recipe.features, source.instances(0, 1)[0])
        shape = {"width": recipe.width, "layers": recipe.layers, "heads": recipe.heads, "feedforward": 2 * recipe.width}
        shape["grid"] = getattr(recipe, "grid", 0)
        return AttentionPolicy(**sizes, **shape).to(training.device)
    network = load_policy(recipe.start)
    if not isinstance(network, Policy) or network.problem != name:
        raise UsageError(f"start: {recipe.start} holds no policy for {name}")
    return network.to(training.device).train()


def taught(recipe: Any, training: Training) -> bool:
    """Whether a recipe's teacher plays the next generation."""
    return bool(recipe.teacher) and training.fraction < recipe.taught

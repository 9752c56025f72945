"""Deprecated names for user-defined recipes; they will be removed in the next version. See corl.learning.loop."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from corl.learning.loop import PolicyRecipe
from corl.learning.source import Source

if TYPE_CHECKING:
    from corl.adapter import Problem
    from corl.learning.session import Training
    from corl.networks.policy import Policy

__all__ = ["PolicyRecipe", "begin", "source_of"]

warnings.warn(
    "corl.solvers.training.common is deprecated; use corl.learning.loop (PolicyRecipe, Loop)", DeprecationWarning, stacklevel=2
)


def source_of(recipe: PolicyRecipe, problem: Problem, seed: int) -> Source:
    """Return the source of a recipe's instances."""
    return Source(problem, recipe.generator, recipe.sizes or (recipe.size,), seed, recipe.instances)


def begin(recipe: PolicyRecipe, training: Training, source: Source) -> Policy:
    """Return the initial network of a recipe."""
    return recipe.first_network(training, source)

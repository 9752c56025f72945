"""Recipe: a way to train a network for one problem family, or for any with an environment."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, ClassVar

from corl.options import Options

if TYPE_CHECKING:
    from corl.learning.session import Training

__all__ = ["Recipe"]


class Recipe(Options, abc.ABC):
    """A frozen dataclass whose fields are the recipe's options, declared by `corl.options.option`.

    Declared as an entry point of the group `corl.recipes`: PROBLEM.NAME, or any.NAME for every problem with an environment.
    """

    title: ClassVar[str] = ""
    """One line for `corl list recipes`."""
    step: ClassVar[str] = ""
    """What one step is, in which `--steps` counts."""
    usual_time: ClassVar[float | None] = None
    """Seconds of a run that is given no limit. A problem's recipe that has them is the one taken where none is named."""

    @abc.abstractmethod
    def train(self, training: Training) -> None:
        """Make the networks and optimisers, hand them to `training.manage`, and loop `while training.budget(): ...`.

        One optimiser step a turn, then `training.log(...)`; `training.save(network)` at the end, and before it whenever the
        network is worth keeping.
        """

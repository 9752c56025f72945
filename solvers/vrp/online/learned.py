"""Sampled prizes, corrected by a network that imitates hindsight plans through the prize-collecting planner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corl.options import option
from corl.problems.vrp.online.situation import Situation
from corl.solvers.vrp.online.network import correction, inputs, load_weights
from corl.solvers.vrp.online.sampled_prizes import SampledPrizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LearnedPrizes"]


@dataclass(frozen=True)
class LearnedPrizes(SampledPrizes):
    """The prizes of `SampledPrizes`, each multiplied by a network's output."""

    weights: str = option("", "A file of weights (.safetensors); empty: those that are shipped.")

    title: ClassVar[str] = "sampled prizes corrected by a network, one prize-collecting plan"

    def prepare(self, instance: Any) -> None:
        super().prepare(instance)
        load_weights(self.weights)

    def prizes(self, now: Situation, seconds: float, seed: int) -> NDArray[np.float64]:
        prize = super().prizes(now, seconds, seed)
        return prize * correction(load_weights(self.weights), inputs(now, prize))

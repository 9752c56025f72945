"""Sampled prizes that a network corrects, trained by imitating hindsight plans through the prize-collecting planner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.options import option
from corl.solvers.vrp.online.network import corrected_prizes, load_weights
from corl.solvers.vrp.online.sampled_prizes import SampledPrizes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.vrp.online.situation import Situation

__all__ = ["LearnedPrizes"]


@dataclass(frozen=True)
class LearnedPrizes(SampledPrizes):
    """Prizes as in `sampled-prizes`, each times a factor that a network sets; one prize-collecting plan chooses what leaves."""

    factor: float = option(1.8, "The factor of prizes, before the network's.", low=0)
    weights: str = option("", "A file of weights (.safetensors); empty: those that are shipped.")

    title: ClassVar[str] = "sampled prizes, corrected by a network over the requests"

    def prepare(self, instance: Any) -> None:
        super().prepare(instance)
        load_weights(self.weights)

    def prizes(self, now: Situation, seconds: float, seed: int) -> NDArray[np.float64]:
        return corrected_prizes(load_weights(self.weights), now, super().prizes(now, seconds, seed))

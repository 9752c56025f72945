"""Prizes from a network, trained by imitating hindsight plans through the prize-collecting planner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.options import option
from corl.problems.vrp.online.situation import Situation
from corl.solvers.vrp.online.network import load_weights, network_prizes
from corl.solvers.vrp.online.planning import plan, routes_that_must_leave
from corl.solvers.vrp.online.policy import EpochPolicy

if TYPE_CHECKING:
    from corl.solvers.vrp.online.planning import Route

__all__ = ["LearnedPrizes"]


@dataclass(frozen=True)
class LearnedPrizes(EpochPolicy):
    """A network sets a prize for each request; one prize-collecting plan chooses what is dispatched."""

    factor: float = option(1.0, "The factor of the network's prizes.", low=0)
    drop: bool = option(True, "Whether routes without a request that must go are postponed.")
    weights: str = option("", "A file of weights (.safetensors); empty: those that are shipped.")

    title: ClassVar[str] = "prizes from a network over the requests, one prize-collecting plan"

    def prepare(self, instance: Any) -> None:
        super().prepare(instance)
        load_weights(self.weights)

    def routes(self, now: Situation, seconds: float, seed: int) -> list[Route]:
        if now.must.all() or (self.drop and not now.must.any()):
            return plan(now, seconds, seed, self.iterations) if now.must.all() else []
        prize = self.factor * network_prizes(load_weights(self.weights), now)
        routes = plan(now, seconds, seed, self.iterations, prize=prize)
        return routes_that_must_leave(now, routes) if self.drop else routes

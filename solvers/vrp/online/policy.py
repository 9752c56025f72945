"""`EpochPolicy`: the base of policies that choose the routes to dispatch at the beginning of an epoch."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corl.online.stream import Decision, OnlinePolicy, Seeds, Stream
from corl.options import option
from corl.problems.vrp.online.situation import Situation

if TYPE_CHECKING:
    from corl.solvers.vrp.online.planning import Route

__all__ = ["EpochPolicy"]


@dataclass(frozen=True)
class EpochPolicy(OnlinePolicy):
    """A policy whose decision follows from the situation.

    When all requests must go, all are planned. With `drop`, routes without a request that must go are postponed, and nothing is
    planned when no request must go.
    """

    iterations: int = option(0, "Iterations of ruin-recreate for a plan; 0: as many as the decision's time limit permits.", low=0)
    drop: bool = option(True, "Whether routes without a request that must go are postponed.")

    @abc.abstractmethod
    def choose(self, now: Situation, seconds: float, seed: int) -> list[Route]:
        """Return routes that leave now, as indices of the situation's requests; they serve all requests that must go."""

    def routes(self, now: Situation, seconds: float, seed: int) -> list[Route]:
        """Return the routes to dispatch, as indices of the situation's requests."""
        from corl.solvers.vrp.online.planning import plan, routes_that_must_leave

        if now.must.all():
            return plan(now, seconds, seed, self.iterations)
        if self.drop and not now.must.any():
            return []
        routes = self.choose(now, seconds, seed)
        return routes_that_must_leave(now, routes) if self.drop else routes

    def prepare(self, instance: Any) -> None:
        import numpy as np

        from corl.preparation import prepare
        from corl.problems.vrp.online.epochs import Requests
        from corl.problems.vrp.online.hindsight import planning_instance
        from corl.solvers.vrp.ruin.solver import RuinRecreate

        two, day = np.ones(2), instance.latest[0]
        requests = Requests(np.array([1, 1]), two, 0.0 * two, day * two, 0.0 * two)
        for arguments in ({"vehicles": 2}, {"prize": two}, {"release": two}):
            prepare(RuinRecreate(), planning_instance(instance, requests, **arguments))

    def decide(self, stream: Stream, knowledge: Any, seconds: float, seeds: Seeds) -> Decision:
        ids, now = knowledge.situation()
        return {"routes": [[int(ids[i]) for i in route] for route in self.routes(now, seconds, seeds.decision)]}

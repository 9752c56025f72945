"""`FloorLearnedPolicy`: a network of the environment "floor" as an online policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.online.stream import Decision, OnlinePolicy, Seeds, Stream
from corl.options import option
from corl.solvers.jobshop.online.choosing import decision

if TYPE_CHECKING:
    from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["FloorLearnedPolicy"]


@dataclass(frozen=True)
class FloorLearnedPolicy(OnlinePolicy):
    """The likeliest actions of a network, which evaluates what can start now and waiting."""

    network: str = option("jobshop-floor", "The shipped network, or a checkpoint file of one that plays the environment floor.")

    title: ClassVar[str] = "a small network, trained by evolution strategies on simulated days"

    def prepare(self, instance: JobShopInstance) -> None:
        from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
        from corl.problems.jobshop.generators_floor import shop_floor

        self._chooser(FloorEnvironment([shop_floor(size=3, machines=2)], 1))()

    def decide(self, stream: Stream, knowledge: Any, seconds: float, seeds: Seeds) -> Decision:
        return decision(knowledge, self._chooser)

    def _chooser(self, environment: FloorEnvironment) -> Callable[[], int]:
        import numpy as np

        from corl.networks.checkpoints import load_cached_as
        from corl.solvers.jobshop.floor.network import FloorNetwork

        evaluator, rows = load_cached_as(FloorNetwork, self.network).on(environment), np.zeros(1, np.int64)

        def choose() -> int:
            listed = environment.actions(rows)[0]
            if listed[0] < 0:
                return -1
            return int(listed[int(evaluator.evaluate(environment.view(rows))[0][0].argmax())])

        return choose

"""`FloorRulePolicy`: dispatching rules with set-ups and choices of machines, as an online policy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.online.stream import Decision, OnlinePolicy, Seeds, Stream
from corl.options import option
from corl.solvers.jobshop.online.choosing import decision

if TYPE_CHECKING:
    from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
    from corl.problems.jobshop.instance import JobShopInstance
    from corl.solvers.jobshop.floor.rules import FloorRule

__all__ = ["FloorRulePolicy"]

_NEVER = -1000.0


@dataclass(frozen=True)
class FloorRulePolicy(OnlinePolicy):
    """A dispatching rule: of the operations that can start on free machines, that of the largest priority starts first.

    The defaults are the parameters that were best on simulated days with load 0.85, due dates at 4 times a job's work and set-ups
    of 0.4 durations.
    """

    rule: Literal["fifo", "edd", "spt", "wspt", "atc", "covert"] = option(
        "covert",
        """fifo: first in, first out; edd: earliest due date; spt: shortest processing time; wspt: largest weight / duration; atc:
        apparent tardiness cost (with a set-up weight: ATCS); covert: cost over time.""",
    )
    look_ahead: float = option(
        4.0, "The time that a job is expected to wait: in mean durations (atc), or as a multiple of its work (covert).", above=0
    )
    setup_weight: float = option(4.0, "Priorities are multiplied by exp(-this x set-up / mean duration).", low=0)
    machine: Literal["best", "free"] = option(
        "best",
        """best: an operation waits for the machine that would finish it first; free: it may start on any free machine.""",
    )
    regret_weight: float = option(
        0.0,
        "With machine=free: priorities are multiplied by exp(-this x regret / mean duration); the regret is how much "
        "earlier another machine would finish the operation.",
        low=0,
    )
    threshold: float = option(
        _NEVER, "If no priority has a logarithm above this and a machine is at work, nothing starts until the next event."
    )

    title: ClassVar[str] = "dispatching rules, with set-ups and choices of machines"

    def prepare(self, instance: JobShopInstance) -> None:
        from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
        from corl.problems.jobshop.generators_floor import shop_floor
        from corl.solvers.jobshop.floor.rules import Player

        Player(FloorEnvironment([shop_floor(size=3, machines=2)], 1)).play(0, self._rule())

    def decide(self, stream: Stream, knowledge: Any, seconds: float, seeds: Seeds) -> Decision:
        from corl.solvers.jobshop.floor.rules import Player

        def chooser(environment: FloorEnvironment) -> Callable[[], int]:
            player, rule = Player(environment), self._rule()
            return lambda: player.choose(0, rule)

        return decision(knowledge, chooser)

    def _rule(self) -> FloorRule:
        from corl.solvers.jobshop.floor.rules import RULES, FloorRule

        regret = math.inf if self.machine == "best" else self.regret_weight
        threshold = -math.inf if self.threshold <= _NEVER else self.threshold
        return FloorRule(RULES.index(self.rule), self.look_ahead, self.setup_weight, regret, threshold)

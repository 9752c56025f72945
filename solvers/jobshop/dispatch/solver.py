"""`Dispatch`: dispatching rules, each applied once, or repeatedly with noise; for any job shop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance
    from corl.run import Run

__all__ = ["Dispatch"]


@dataclass(frozen=True)
class Dispatch(Solver):
    """Dispatching: each step starts the operation of the highest priority among those that the kind of schedule allows."""

    rule: Literal["best", "spt", "lpt", "mwkr", "mor", "fifo", "fdd/mwkr", "edd", "atc", "covert"] = option(
        "best",
        """spt, lpt: shortest, longest processing time; mwkr, mor: most work, most operations remaining; fifo: first in, first
        out; fdd/mwkr: flow due date divided by most work remaining; edd: earliest due date; atc: apparent tardiness cost; covert:
        cost over time; best: each rule in turn. edd, atc and covert need due dates.""",
    )
    schedules: Literal["non-delay", "active"] = option(
        "non-delay",
        """The schedules that can be built: non-delay, in which no machine is idle while an operation can start on it; active, a
        larger set that contains an optimal schedule.""",
    )
    look_ahead: float = option(
        2.0,
        "The time that a job is expected to wait: in mean durations of its queue (atc), or as a multiple of its work (covert).",
        above=0,
    )
    noise: float = option(
        0.0,
        "If above 0, priorities are multiplied by random factors in 1..1 + noise, and the run continues to its limit.",
        low=0,
    )

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    title: ClassVar[str] = "dispatching rules: one, all, or randomised; any job shop"
    iteration: ClassVar[str] = "one schedule"

    def accepts(self, instance: JobShopInstance) -> str:
        from corl.solvers.jobshop.placing.shop import unsupported

        if self.rule in ("edd", "atc", "covert") and instance.due is None:
            return f"the rule {self.rule} needs due dates"
        return unsupported(instance)

    def kind(self, instance: JobShopInstance) -> str:
        if instance.rules is not None:
            return "rules"
        return "queues" if self.schedules == "non-delay" and not instance.flexible else ""

    def prepare(self, instance: JobShopInstance) -> None:
        from corl.problems.jobshop.generators import flexible, taillard
        from corl.problems.jobshop.generators_rules import workshop
        from corl.problems.jobshop.problem import JobShop
        from corl.run import Run

        queues = self.kind(instance) == "queues"
        tiny = taillard(jobs=3, machines=3) if queues else flexible(jobs=3, machines=3, operations=2)
        tiny = tiny if instance.rules is None else workshop(jobs=3, machines=2, ask="windows")
        Dispatch(schedules=self.schedules).solve(tiny, Run(JobShop(), tiny, iterations=1))

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from corl.rng import random_state
        from corl.solvers.jobshop.bounds import lower_bound
        from corl.solvers.jobshop.dispatch.dispatcher import Dispatcher

        dispatcher = Dispatcher(instance, self.schedules, self.look_ahead, lambda: run.should_stop)
        random = random_state(run.seed)
        rules, has_bound = self._rules(instance), False
        while run.budget(1):
            rule = next(rules, None)
            if rule is None:
                return
            value = dispatcher.run(rule, self.noise, random)
            if value < math.inf and (run.objective is None or value < run.objective):
                run.report(dispatcher.schedule(), value)
            if not has_bound and not run.should_stop:
                has_bound = True
                run.report_bound(lower_bound(instance, lambda: run.should_stop))

    def _rules(self, instance: JobShopInstance) -> Iterator[int]:
        """Yield the indices of the rules in the order in which they are tried; with noise, again and again without end."""
        from corl.solvers.jobshop.dispatch.rules import RULES, rules_for

        chosen = rules_for(instance) if self.rule == "best" else (RULES.index(self.rule),)
        yield from chosen
        while self.noise > 0.0:
            yield from chosen

"""`JobShopAnnealing`: simulated annealing over the order in which operations are placed, with all side constraints."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.jobshop.instance import JobShopInstance
    from corl.run import Run
    from corl.solvers.jobshop.placing.placer import Placer

__all__ = ["JobShopAnnealing"]


@dataclass(frozen=True)
class JobShopAnnealing(Solver):
    """Simulated annealing over the order in which operations are placed, and over the choices of machines.

    Each operation is placed in the first gap of its machine in which it fits, between breaks, fixed and placed operations, with
    set-ups; operations that block their machines are placed together with the next ones of their jobs. The search starts from the
    warm start or the schedule of the best dispatching rule. Each cooling has twice as many steps as the one before, and starts
    from the best order so far. If changes of an announced schedule cost something, a second search takes turns with the first; it
    starts no operation earlier than announced.
    """

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    title: ClassVar[str] = "simulated annealing over the order of placing; any job shop, with set-ups, calendars and other rules"
    iteration: ClassVar[str] = "one schedule built"

    def accepts(self, instance: JobShopInstance) -> str:
        from corl.solvers.jobshop.placing.shop import unsupported

        return unsupported(instance)

    def kind(self, instance: JobShopInstance) -> str:
        from corl.solvers.jobshop.dispatch.solver import Dispatch

        return "rules" if instance.rules is not None else Dispatch().kind(instance)

    def prepare(self, instance: JobShopInstance) -> None:
        from corl.problems.jobshop.generators_rules import workshop
        from corl.problems.jobshop.problem import JobShop
        from corl.run import Run
        from corl.solvers.jobshop.dispatch.solver import Dispatch

        if instance.rules is None:
            Dispatch().prepare(instance)
        tiny = workshop(jobs=4, machines=2, ask="choices,nowait,running,windows")
        self.solve(tiny, Run(JobShop(), tiny, iterations=150))  # the first 100 only estimate a temperature

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from corl.solvers.jobshop.bounds import lower_bound
        from corl.solvers.jobshop.placing.announced import near_announced
        from corl.solvers.jobshop.placing.building import MISSING
        from corl.solvers.jobshop.placing.placer import Annealing, Placer

        placer = Placer(instance)
        if not placer.possible:
            return
        requested = _first_order(placer, run)
        search = near_announced(instance, Annealing(placer, requested, run.seed), run.seed)
        if not run.should_stop:
            run.report_bound(lower_bound(instance, lambda: run.should_stop))
        while units := run.budget():
            search.step(units)
            if search.value < MISSING and (run.objective is None or search.value < run.objective):
                run.report(search.schedule(), search.value)


def _first_order(placer: Placer, run: Run) -> NDArray[np.int64]:
    """Set the placer's sequence to that of the warm start or, if there is none, of the best dispatching rule.

    Returns:
        int64 [O], the requested choices of machines.
    """
    from corl.rng import random_state
    from corl.solvers.jobshop.dispatch.rules import rules_for

    if run.solution is not None:
        return placer.adopt_order(run.solution)
    if placer.instance.rules is None:
        return _dispatched(placer, run)
    least, order = placer.order_by_heads(), placer.sequence.copy()
    if least < float("inf"):
        run.report(placer.schedule(), least)
    for rule, active in itertools.product(rules_for(placer.instance), (False, True)):
        value = placer.dispatch(rule, 0.0, active, random_state(run.seed), lambda: run.should_stop)
        if value < least:
            least, order = value, placer.sequence.copy()
            run.report(placer.schedule(), value)
        if run.should_stop:
            break
    placer.sequence = order
    return placer.greedy


def _dispatched(placer: Placer, run: Run) -> NDArray[np.int64]:
    """Do what `_first_order` does, for an instance without side constraints: there the Dispatcher is faster than the Placer."""
    from corl.rng import random_state
    from corl.solvers.jobshop.dispatch.dispatcher import Dispatcher
    from corl.solvers.jobshop.dispatch.rules import rules_for

    dispatcher, best = Dispatcher(placer.instance), None
    for rule in rules_for(placer.instance):
        value = dispatcher.run(rule, 0.0, random_state(run.seed))
        if best is None or value < best[0]:
            best = value, dispatcher.schedule()
            run.report(best[1], value)
        if run.should_stop:
            break
    assert best is not None
    return placer.adopt_order(best[1])

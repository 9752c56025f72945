"""`Tabu`: tabu search with path relinking, for the makespan of job shops without choices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance
    from corl.run import Run
    from corl.solvers.jobshop.dispatching import Dispatcher
    from corl.solvers.jobshop.search import Search

__all__ = ["Tabu"]

_MOST_PAIRS = 100_000_000  # pairs of operations of one machine: 4 bytes each


@dataclass(frozen=True)
class Tabu(Solver):
    """Tabu search on the N7 neighbourhood, restarted between two members of a population (TS/PR: Peng, Lu and Cheng, 2015)."""

    population: int = 8
    """Schedules that starts are made of, at least 1 (the paper's 30 is for runs of an hour)."""
    cut: int = 12_500
    """Moves without an improvement after which a tabu search ends (the paper's)."""
    tenure: int = 0
    """Moves for which a reversed pair stays, at the least; 0: 10 + jobs / machines. At the most 1.4 times that, 1.5 times where
    there are over twice as many jobs as machines (Zhang, Li, Rao and Guan, 2008)."""

    limit_free: ClassVar[bool] = True
    own_workers: ClassVar[bool] = True
    title: ClassVar[str] = "tabu search (N7) with path relinking; makespan without choices of machines"
    iteration: ClassVar[str] = "one move"

    def __post_init__(self) -> None:
        for field, least in (("population", 1), ("cut", 1), ("tenure", 0)):
            if getattr(self, field) < least:
                raise UsageError(f"{field} is {getattr(self, field)}; accepted: an integer from {least}")

    def accepts(self, instance: JobShopInstance) -> str:
        if instance.objective != "makespan":
            return "it minimises the makespan only, not the weighted tardiness"
        if instance.flexible:
            return "it takes one machine for each operation, not a choice"
        pairs = sum(count * count for count in _machine_counts(instance))
        if pairs > _MOST_PAIRS:
            return f"it needs a table of {pairs:,} pairs of operations, which we allow up to {_MOST_PAIRS:,}"
        return ""

    def prepare(self, instance: JobShopInstance) -> None:
        from corl.problems.jobshop.generators import taillard
        from corl.problems.jobshop.problem import JobShop
        from corl.run import Run
        from corl.solvers.jobshop.population import compile_relinking

        tiny = taillard(jobs=6, machines=3)
        Tabu(cut=5)._search(tiny, Run(JobShop(), tiny, iterations=20))
        compile_relinking(tiny)

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from corl.solvers.jobshop.bounds import lower_bound

        self._search(instance, run, lambda: run.report_bound(lower_bound(instance)))

    def _search(self, instance: JobShopInstance, run: Run, bound: Callable[[], object] = lambda: None) -> None:
        """TS/PR; `bound` is called once there is a schedule."""
        from corl.rng import random_state
        from corl.solvers.jobshop.dispatching import Dispatcher
        from corl.solvers.jobshop.population import Population
        from corl.solvers.jobshop.search import begin, new_search
        from corl.solvers.jobshop.selection import shop_of
        from corl.solvers.jobshop.team import Rules, Team, go_on

        search, dispatcher = new_search(shop_of(instance), random_state(run.seed)), Dispatcher(instance)
        _first_start(instance, search, dispatcher, run)
        if not run.should_stop:
            bound()
        shortest = self.tenure or 10 + instance.jobs // instance.machines
        longest = int((1.4 if instance.jobs <= 2 * instance.machines else 1.5) * shortest)
        rules, population = Rules(self.cut, shortest, longest), Population(self.population, dispatcher)
        begin(search)
        with Team(instance, search, population, rules, run) as team:
            while units := run.budget():
                while units and not run.should_stop:
                    units = go_on(search, population, rules, units)
                    _report(instance, search, run)
                    team.report(lambda other: _report(instance, other, run))
            team.finish(lambda other: _report(instance, other, run))


def _first_start(instance: JobShopInstance, search: Search, dispatcher: Dispatcher, run: Run) -> None:
    """Write the user's schedule, else that of the best of the dispatching rules, into `search.selection.sequence`."""
    import numpy as np

    from corl.solvers.jobshop.dispatching import rules_for
    from corl.solvers.jobshop.population import start_by_rule
    from corl.solvers.jobshop.search import begin
    from corl.solvers.jobshop.selection import set_sequence

    if run.warm_start is not None and run.solution is not None:
        # of equal starts the shorter operation first, then the lower number: no cycle can arise
        order = np.lexsort((instance.choice_duration, run.solution.start))
        set_sequence(search.shop, order, search.selection.sequence)
        return
    best = search.best
    for rule in rules_for(instance):
        start_by_rule(search, dispatcher, rule, 0.0)
        begin(search)
        if _report(instance, search, run):
            best = search.best.copy()
        if run.should_stop:
            return
    search.selection.sequence[:] = best


def _report(instance: JobShopInstance, search: Search, run: Run) -> bool:
    """Report the schedule of `search.best`, everything as early as its orders allow, where it is better than all before."""
    import numpy as np

    from corl.problems.jobshop.instance import Schedule
    from corl.solvers.jobshop.search import VALUE
    from corl.solvers.jobshop.selection import new_selection, rebuild

    value = int(search.counts[VALUE])
    if run.objective is not None and value >= run.objective:
        return False
    selection = new_selection(search.shop)
    selection.sequence[:] = search.best
    rebuild(search.shop, selection)
    start = selection.end[: instance.operations].astype(np.int64) - instance.choice_duration
    return run.report(Schedule(start, instance.choice_machine), value)


def _machine_counts(instance: JobShopInstance) -> list[int]:
    import numpy as np

    return np.bincount(instance.choice_machine, minlength=instance.machines).tolist()

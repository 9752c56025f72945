"""`Tabu`: tabu search with path relinking, for the makespan of job shops without choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance, Schedule
    from corl.run import Run
    from corl.solvers.jobshop.search import Search

__all__ = ["Tabu"]

_MOST_PAIRS = 500_000_000  # pairs of operations of one machine: 4 bytes each


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

        tiny = taillard(jobs=6, machines=3)
        Tabu(population=2, cut=20).solve(tiny, Run(JobShop(), tiny, iterations=200))

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from corl.problems.jobshop.environment import JobShopEnvironment
        from corl.rng import random_state
        from corl.solvers.jobshop.bounds import lower_bound
        from corl.solvers.jobshop.search import advance, best_of, new_search
        from corl.solvers.jobshop.selection import shop_of

        environment = JobShopEnvironment([instance], 1, "non-delay")
        search = new_search(shop_of(instance), environment.state, environment.width, self.population, random_state(run.seed))
        _start(instance, search, run)
        if not run.should_stop:
            run.report_bound(lower_bound(instance))
        shortest = self.tenure or 10 + instance.jobs // instance.machines
        longest = int((1.4 if instance.jobs <= 2 * instance.machines else 1.5) * shortest)
        reported = best_of(search)
        while units := run.budget():
            advance(search, self.cut, shortest, longest, units)
            if best_of(search) < reported:
                reported = best_of(search)
                run.report(_schedule(instance, search), reported)


def _start(instance: JobShopInstance, search: Search, run: Run) -> None:
    """Begin at the user's schedule, else at the best of the dispatching rules, which are reported."""
    import numpy as np

    from corl.solvers.jobshop.dispatching import MAKESPAN_RULES
    from corl.solvers.jobshop.search import begin, best_of, start_by_rule
    from corl.solvers.jobshop.selection import set_sequence

    if run.warm_start is not None and run.solution is not None:
        order = np.lexsort((search.shop.duration, run.solution.start))  # of equal starts the shorter first: no cycle can arise
        set_sequence(search.shop, order, search.selection.sequence)
        begin(search)
        run.report(_schedule(instance, search))
        return
    for rule in MAKESPAN_RULES:
        before = best_of(search)
        start_by_rule(search, rule, 0.0)
        if best_of(search) < before:
            run.report(_schedule(instance, search), best_of(search))
        if run.should_stop:
            return
    search.selection.sequence[:] = search.best
    begin(search)


def _schedule(instance: JobShopInstance, search: Search) -> Schedule:
    """The schedule of `search.best`: everything as early as its orders allow."""
    import numpy as np

    from corl.problems.jobshop.instance import Schedule
    from corl.solvers.jobshop.selection import new_selection, rebuild

    selection = new_selection(instance.operations)
    selection.sequence[:] = search.best
    rebuild(search.shop, selection)
    return Schedule(selection.head[:-1].astype(np.int64), instance.choice_machine)


def _machine_counts(instance: JobShopInstance) -> list[int]:
    import numpy as np

    return np.bincount(instance.choice_machine, minlength=instance.machines).tolist()  # type: ignore[no-any-return]

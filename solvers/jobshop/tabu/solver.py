"""`Tabu`: tabu search with path relinking, for classic and flexible job shops; of the side constraints it takes set-ups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.environment import Environment
    from corl.problems.jobshop.instance import JobShopInstance
    from corl.run import Run
    from corl.solvers.jobshop.tabu.path_relinking import PathRelinking

__all__ = ["Tabu"]

_POPULATION = 8
_CUT, _TARDINESS_CUT = 12_500, 2500
_WINDOW = 2000
_MAX_TARDINESS = 2**62
_MAX_PAIRS = 100_000_000  # entries of the tabu table, 4 bytes each


@dataclass(frozen=True)
class Tabu(Solver):
    """Tabu search on the N7 neighbourhood, restarted between two members of a population (TS/PR: Peng, Lu and Cheng, 2015).

    Beyond 2,000 operations each tabu search improves one time window after the other. In flexible shops, a move may also take a
    critical operation to the best position on another machine, or exchange it with an operation of another machine. With set-ups,
    a move may take an operation to any place in its critical block. For the weighted tardiness, moves swap two operations that
    follow each other on the critical path of a late job, or take an operation on such a path to another machine; each move is
    evaluated by the exact objective. With `workers`, each worker is a thread, and all share the population.
    """

    population: int = option(
        0,
        """The initial size of the population of schedules between which searches start; 0: 8. It doubles whenever the population
        has converged, so that a long run exceeds the paper's 30.""",
        low=1,
        special=0,
        scale="log",
        tuning=(2, 30),
    )
    cut: int = option(
        0,
        "Moves without an improvement after which a tabu search ends; 0: 12,500 as in the paper, or 2,500 for the tardiness.",
        low=1,
        special=0,
        scale="log",
        tuning=(500, 50_000),
    )
    tenure: int = option(
        0,
        """Minimum number of moves for which a reversed pair, or a changed machine, is not changed back; 0: 10 + jobs / machines.
        The maximum is 1.4 times that, or 1.5 times if there are over twice as many jobs as machines (Zhang, Li, Rao and Guan,
        2008). For the makespan with choices of machines, half of the tabu searches halve both.""",
        low=1,
        special=0,
        scale="log",
        tuning=(4, 50),
    )

    window: int = option(
        0,
        """For the makespan without choices of machines: number of operations, consecutive in time, that a tabu search may move;
        0: 2,000. After `cut` moves without an improvement the search continues in another such window.""",
        low=1,
        special=0,
        scale="log",
        tuning=(100, 10_000),
    )

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    own_workers: ClassVar[bool] = True  # `solve` uses `run.workers` cores by itself (corl.solver)
    preparation_size: ClassVar[int] = 2  # `prepare` distinguishes sizes and integers only below this number (corl.solver)
    title: ClassVar[str] = "tabu search with path relinking: N7, other machines where there are, swaps for the tardiness"
    iteration: ClassVar[str] = "one move"

    def accepts(self, instance: JobShopInstance) -> str:
        from corl.problems.jobshop.rules import refused

        if reason := refused(instance, "setups"):
            return reason
        has_due_dates = instance.objective == "weighted_tardiness"
        if has_due_dates and int(instance.weight.sum()) * instance.horizon >= _MAX_TARDINESS:
            return f"the weights and durations allow a tardiness beyond {_MAX_TARDINESS:,}"
        pairs = sum(count * count for count in _machine_counts(instance))
        if pairs > _MAX_PAIRS:
            return f"it needs a table of {pairs:,} pairs of operations; accepted: up to {_MAX_PAIRS:,}"
        return ""

    def kind(self, instance: JobShopInstance) -> str:
        parts = ["flexible"] * instance.flexible + [instance.objective] + ["set-ups"] * (instance.rules is not None)
        return " ".join(parts)

    def prepare(self, instance: JobShopInstance) -> None:
        from corl.problems.jobshop.problem import JobShop
        from corl.rng import random_state, uniform
        from corl.run import Run
        from corl.solvers.jobshop.tabu.classic import compile_relinking

        tiny = _tiny(instance)
        Tabu(cut=5, population=2)._search(tiny, Run(JobShop(), tiny, iterations=40))
        if instance.flexible:
            uniform(random_state(0))  # only relinking calls it, which may not happen in 40 moves
        else:
            compile_relinking(tiny)

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from corl.solvers.jobshop.bounds import lower_bound

        self._search(instance, run, lambda: run.report_bound(lower_bound(instance, lambda: run.should_stop)))

    def complete(self, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
        from corl.solvers.jobshop.tabu.completing import completion

        return completion(environment, row, iterations, seed)

    def _search(self, instance: JobShopInstance, run: Run, bound: Callable[[], object] = lambda: None) -> None:
        """Run TS/PR until the limit; `bound` is called after the first schedule."""
        from corl.solvers.jobshop.tabu.team import Team

        searches = self._path_relinking(instance, run.seed)
        _first_start(instance, searches, run)
        if not run.should_stop:
            bound()
        with Team(searches, run) as team:
            while units := run.budget():
                while units and not run.should_stop:
                    units = searches.step(units)
                    _report(searches, run)
                    team.report()
            team.finish()

    def _path_relinking(self, instance: JobShopInstance, seed: int) -> PathRelinking:
        """Return the search for an instance, with the defaults of the options resolved."""
        from corl.solvers.jobshop.tabu.classic import ClassicTabu
        from corl.solvers.jobshop.tabu.flexible import FlexibleTabu
        from corl.solvers.jobshop.tabu.path_relinking import PathRelinking, TabuParameters

        has_due_dates = instance.objective == "weighted_tardiness"
        shortest = self.tenure or 10 + instance.jobs // instance.machines
        longest = int((1.4 if instance.jobs <= 2 * instance.machines else 1.5) * shortest)
        parameters = TabuParameters(self.cut or (_TARDINESS_CUT if has_due_dates else _CUT), shortest, longest)
        window = self.window or _WINDOW
        search = FlexibleTabu(instance, seed) if instance.flexible else ClassicTabu(instance, seed, window)
        return PathRelinking(search, self.population or _POPULATION, parameters)


def _first_start(instance: JobShopInstance, searches: PathRelinking, run: Run) -> None:
    """Start from the warm start or, if there is none, from the best schedule of the dispatching rules."""
    from corl.solvers.jobshop.dispatch.rules import rules_for

    for rule in () if run.warm_start is not None else rules_for(instance):
        searches.start_by_rule(rule)
        _report(searches, run)
        if run.should_stop:
            return
    searches.start_at(run.solution)
    _report(searches, run)


def _report(searches: PathRelinking, run: Run) -> None:
    """Report the best schedule since the last start if it is the best of the run."""
    if run.objective is None or searches.value < run.objective:
        run.report(searches.schedule(), searches.value)


def _tiny(instance: JobShopInstance) -> JobShopInstance:
    """Return a small instance that needs the same kernels."""
    from corl.problems.jobshop.generators import flexible, taillard, tardiness
    from corl.problems.jobshop.generators_rules import workshop

    has_due_dates = instance.objective != "makespan"
    if instance.rules is not None:
        ask = ["setups"] + ["choices"] * instance.flexible + ["tardiness"] * has_due_dates
        return workshop(jobs=6, machines=3, ask=",".join(ask))
    if instance.flexible:
        return flexible(jobs=6, machines=3, operations=3, tightness=1.3 * has_due_dates)
    return tardiness(jobs=6, machines=3) if has_due_dates else taillard(jobs=6, machines=3)


def _machine_counts(instance: JobShopInstance) -> list[int]:
    import numpy as np

    counts: list[int] = np.bincount(instance.choice_machine, minlength=instance.machines).tolist()
    return counts

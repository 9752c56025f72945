"""`FirstFit`: passes over the buffers in several orders, then again and again with what did not fit moved forward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory.static.instance import StaticInstance
    from corl.run import Run

__all__ = ["FirstFit"]

RULES = ("load", "size", "root", "area", "length", "start")


@dataclass(frozen=True)
class FirstFit(Solver):
    """Each buffer goes to the lowest offset at which it fits, in the order of one rule after another.

    From the best of these orders on, a pass ends where a buffer would reach the best height; that buffer is placed earlier in
    the next one. Made for up to about a hundred thousand buffers: a pass over n takes time in proportion to n squared at worst.
    """

    capacity: int | None = None
    """Memory to stay within: the run ends with the first allocation that does. None: minimise the height."""
    passes: int = 0
    """How many passes, those of the rules among them; 0: until the limit. Looked at between grants of the budget."""
    order: str = "all"
    """One rule alone (load, size, root, area, length, start), or all."""

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "first fit by several orders, then what did not fit is placed earlier; any size"
    iteration: ClassVar[str] = "one buffer placed"

    def __post_init__(self) -> None:
        from corl.solvers.memory.static.capacity import check_capacity

        check_capacity(self.capacity)
        if self.passes < 0:
            raise UsageError(f"passes is {self.passes}; accepted: an integer from 0")
        if self.order not in ("all", *RULES):
            raise UsageError(f"order is {self.order!r}; accepted: all, {', '.join(RULES)}")

    def prepare(self, instance: StaticInstance) -> None:
        from corl.problems.memory.static.instance import make_instance
        from corl.rng import random_state
        from corl.solvers.memory.static.fitting import new_fit, orders, search

        tiny = make_instance("", [0, 1], [2, 3], [1, 1])
        search(new_fit(tiny, list(orders(tiny).values()), 2, random_state(0)), 2)

    def solve(self, instance: StaticInstance, run: Run) -> None:
        from corl.rng import random_state
        from corl.solvers.memory.static.capacity import open_run, report
        from corl.solvers.memory.static.fitting import BEST, PASSES, new_fit, orders, search

        ceiling = open_run(instance, run, self.capacity)
        if run.should_stop:
            return
        rules = [order for name, order in orders(instance).items() if self.order in ("all", name)]
        fit, told = new_fit(instance, rules, ceiling, random_state(run.seed)), -1
        while units := run.budget():
            search(fit, units)
            ended = 0 < self.passes <= fit.at[PASSES]
            if fit.at[BEST] != told and (ended or told < 0 or run.report_due or self.capacity is not None):
                told = int(fit.at[BEST])
                report(run, fit.best_offset, self.capacity)
            if ended:
                return
        if fit.at[BEST] != told:
            report(run, fit.best_offset, self.capacity)

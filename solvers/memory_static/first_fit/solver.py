"""`FirstFit`: passes of first fit in several orders, then in orders in which buffers that did not fit are moved forward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory_static.instance import StaticInstance
    from corl.run import Run

__all__ = ["FirstFit"]


@dataclass(frozen=True)
class FirstFit(Solver):
    """Place the buffers one after another at the lowest offset at which each fits, in pass after pass.

    The first passes use the orders of several rules. Afterwards passes start from the best order. Such a pass ends at the first
    buffer that would reach the best height, and in the next pass this buffer is placed earlier. The method is for up to about a
    hundred thousand buffers, since a pass over n buffers takes O(n^2) time in the worst case.
    """

    capacity: int | None = option(
        None, "Available memory: the run ends at the first allocation that needs at most this; none: minimise the height.", low=0
    )
    passes: int = option(
        0,
        "Number of passes, including the first ones by rules; 0: until the limit. Checked between batches of iterations.",
        low=1,
        special=0,
        scale="log",
    )
    order: Literal["all", "load", "size", "root", "area", "length", "start"] = option(
        "all", "The rule that orders the buffers in the first pass; all: a pass for each of the six rules."
    )

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    preparation_size: ClassVar[int] = 2  # sizes and integers from 2 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "first fit by several orders, then what did not fit is placed earlier; any size"
    iteration: ClassVar[str] = "one buffer placed"

    def prepare(self, instance: StaticInstance) -> None:
        from corl.problems.memory_static.instance import make_instance
        from corl.rng import random_state
        from corl.solvers.memory_static.best_fit import prepare
        from corl.solvers.memory_static.first_fit.kernels import new_fit, orders, search

        prepare()
        tiny = make_instance("", [0, 1], [2, 3], [1, 1])
        search(new_fit(tiny, list(orders(tiny).values()), 2, random_state(0)), 2)

    def solve(self, instance: StaticInstance, run: Run) -> None:
        from corl.rng import random_state
        from corl.solvers.memory_static.best_fit import best_fit
        from corl.solvers.memory_static.capacity import open_run, report
        from corl.solvers.memory_static.first_fit.kernels import BEST, PASSES, new_fit, orders, search

        ceiling = open_run(instance, run, self.capacity)
        if self.order == "all" and not self.passes and not run.should_stop:
            ceiling = best_fit(instance, run, ceiling, self.capacity)
        if run.should_stop:
            return
        rules = [order for name, order in orders(instance).items() if self.order in ("all", name)]
        fit, reported = new_fit(instance, rules, ceiling, random_state(run.seed)), -1
        while units := run.budget():
            search(fit, units)
            ended = 0 < self.passes <= fit.at[PASSES]
            if fit.at[BEST] != reported and (ended or reported < 0 or run.report_due or self.capacity is not None):
                reported = int(fit.at[BEST])
                report(run, fit.best_offset, self.capacity)
            if ended:
                return
        if fit.at[BEST] != reported:
            report(run, fit.best_offset, self.capacity)

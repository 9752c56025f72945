"""`BranchAndBound`: tree searches over canonical allocations and over skylines, restarted with varied orders, and first fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory_static.instance import StaticInstance
    from corl.run import Run

__all__ = ["MOST_MEMBERS", "BranchAndBound"]

MOST_MEMBERS = 5_000_000
"""The largest accepted sum, over all buffers, of the number of sections in which a buffer is alive.

A section is a span of time between successive starts and ends of lifetimes. With a larger sum the search would need several
seconds to begin.
"""


@dataclass(frozen=True)
class BranchAndBound(Solver):
    """Search for an allocation of a limited height by depth-first searches of two kinds in turn.

    One kind builds canonical allocations, as minimalloc does (canonical.py), the other one skylines (skyline.py). Searches are
    restarted with other orders and rules, and the limit on nodes doubles from round to round. Without a capacity, the limits on
    the height lie between the bound and the best height; a search that ends without an allocation raises the bound. For every
    node, first fit places a few buffers beside the searches, since it finds good allocations of large instances.
    """

    capacity: int | None = option(
        None, "Available memory: the run ends at the first allocation that needs at most this; none: minimise the height.", low=0
    )
    fitting: int = option(4, "Number of buffers that first fit places for every node of the searches; 0: no first fit.", low=0)

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    preparation_size: ClassVar[int] = 2  # sizes and integers from 2 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "branch and bound over canonical allocations and skylines with restarts, beside first fit; proofs"
    iteration: ClassVar[str] = "one node of the search tree"

    def accepts(self, instance: StaticInstance) -> str:
        from corl.problems.memory_static.instance import sections

        section_data = sections(instance)
        count = int((section_data.last - section_data.first).sum())
        if count > MOST_MEMBERS:
            return f"its buffers are alive in {count:,} sections in all; accepted: up to {MOST_MEMBERS:,}"
        return ""

    def prepare(self, instance: StaticInstance) -> None:
        from corl.problems.memory_static.instance import make_instance
        from corl.solvers.memory_static.branch_and_bound.restarts import Restarts
        from corl.solvers.memory_static.first_fit.solver import FirstFit

        FirstFit().prepare(instance)
        tiny = make_instance("", [0, 1], [2, 3], [1, 1])
        for skip in (False, True):  # a search over canonical allocations, which come first in a round, then one over skylines
            restarts = Restarts(tiny, 0, 2, 2)
            restarts.count = len(restarts.canonical) if skip else 0
            restarts.search(3)

    def solve(self, instance: StaticInstance, run: Run) -> None:
        from corl.rng import random_state
        from corl.solvers.memory_static.best_fit import best_fit
        from corl.solvers.memory_static.branch_and_bound.restarts import Restarts
        from corl.solvers.memory_static.capacity import lower_bound, open_run, report
        from corl.solvers.memory_static.first_fit.kernels import BEST, CEILING, first_passes, new_fit, orders, search

        ceiling = open_run(instance, run, self.capacity)
        if self.fitting and not run.should_stop:
            ceiling = best_fit(instance, run, ceiling, self.capacity)
        if run.should_stop:
            return
        fit = new_fit(instance, list(orders(instance).values()), ceiling, random_state(run.seed))
        if self.fitting:
            first_passes(fit, run)
            if fit.at[BEST] >= 0 and run.should_stop:
                return report(run, fit.best_offset, self.capacity)
        if run.should_stop:
            return
        tree = Restarts(instance, run.seed, lower_bound(instance), ceiling, stop_at_first=self.capacity is not None)
        while True:
            if 0 <= fit.at[BEST] <= tree.ceiling:
                tree.ceiling = int(fit.at[BEST]) - 1
                report(run, fit.best_offset, self.capacity)
            if run.should_stop or not (units := run.budget()):
                return
            offsets = tree.search(units)
            if tree.bound > ceiling and self.capacity is not None:
                return run.report_infeasible(f"the search has shown that no allocation is within {self.capacity}")
            if offsets is not None:
                report(run, offsets, self.capacity)
                fit.at[CEILING] = tree.ceiling
            if run.bound is None or tree.bound > run.bound:
                run.report_bound(tree.bound if run.objective is None else min(tree.bound, run.objective))
            if self.fitting and not run.should_stop:
                search(fit, self.fitting * units)

"""`GreedyKeep` and `XlaLike`: greedy constructions of layouts (layout.py), in schedule order or by a compiler's priority."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.memory.instance import MappingInstance
    from corl.run import Run
    from corl.solvers.memory.layout import Layout, Program

__all__ = ["GreedyKeep", "XlaLike", "by_priority", "in_order", "never_stop", "tries_per_check", "tuned", "warm_up"]

_POWERS, _RATIOS = (0.5, 0.0, 0.75, 1.0), (1.0, 1.5, 2.5)  # all pairs are the settings that `tuned` tries
_ROUNDS = 3  # rounds of repacking and filling again, at most
_PORTION = 2_000_000  # operations and accesses simulated between two time checks: some milliseconds


@dataclass(frozen=True)
class GreedyKeep(Solver):
    """Write tensors to fast memory, in schedule order, and keep each for as many accesses as fit.

    Nothing is copied into fast memory.
    """

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    preparation_size: ClassVar[int] = 2  # sizes and integers from 2 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "greedy: keeps what is written, in schedule order, where it fits and pays; no prefetches"

    def prepare(self, instance: MappingInstance) -> None:
        warm_up(self.solve)

    def solve(self, instance: MappingInstance, run: Run) -> None:
        from corl.solvers.memory.bounds import best_bound
        from corl.solvers.memory.layout import plan_of, program_of

        program = program_of(instance)
        value, layout = in_order(program, lambda: run.should_stop)
        run.report(plan_of(program, layout), 1e6 * value)
        run.report_bound(best_bound(instance, lambda: run.remaining))


@dataclass(frozen=True)
class XlaLike(Solver):
    """Place tensors in the order of their priority, benefit / size ** power, as in XLA's memory-space assignment.

    The benefit is the time that the tensor would save if it alone were in fast memory. A tensor is kept there over as many
    accesses as fit, and evicted after the last of them. For later accesses it is prefetched, as late as idle bandwidth hides the
    copy. Afterwards everything is packed again, what lasts longest first, and tensors that had no room are tried again. A
    placement counts only if the simulated time falls.
    """

    power: float = option(0.5, "The exponent of the size in the priority.", low=0, high=4)
    ratio: float = option(1.0, "Idle bytes required during a copy, as a multiple of its size.", low=0, high=100)
    repack: bool = option(True, "Whether to pack everything again and then fill the free space.")
    tuned: bool = option(False, "Whether to try twelve more pairs of power and ratio, and keep the best plan.")

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit
    preparation_size: ClassVar[int] = 2  # sizes and integers from 2 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "like XLA's compiler: by benefit over root of size, late prefetches, evictions, repacking"

    def prepare(self, instance: MappingInstance) -> None:
        warm_up(self.solve)

    def solve(self, instance: MappingInstance, run: Run) -> None:
        from corl.solvers.memory.bounds import best_bound
        from corl.solvers.memory.layout import plan_of, program_of

        program, bounded = program_of(instance), False
        pairs = [(self.power, self.ratio)]
        if self.tuned:
            pairs += [pair for pair in ((power, ratio) for power in _POWERS for ratio in _RATIOS) if pair not in pairs]
        for power, ratio in pairs:
            value, layout = by_priority(program, power, ratio, self.repack, lambda: run.should_stop)
            if run.objective is None or 1e6 * value < run.objective:
                run.report(plan_of(program, layout), 1e6 * value)
            if not bounded:
                bounded = True
                run.report_bound(best_bound(instance, lambda: run.remaining))
            if run.should_stop:
                return


def never_stop() -> bool:
    """Return False: the default of arguments called `stop`."""
    return False


def in_order(program: Program, stop: Callable[[], bool] = never_stop) -> tuple[float, Layout]:
    """Return (run time in seconds, layout) of the greedy in schedule order; the layout is unfinished if `stop` returned True."""
    import numpy as np

    from corl.solvers.memory.layout import new_layout

    layout, written = new_layout(program), np.flatnonzero(program.definition >= 0)
    order = written[np.argsort(program.definition[written], kind="stable")]
    return _fill_by_order(program, layout, order, (False, 1.0), stop), layout


def by_priority(
    program: Program, power: float, ratio: float, packing: bool, stop: Callable[[], bool] = never_stop
) -> tuple[float, Layout]:
    """Return (run time in seconds, layout) of the greedy by priority; the best layout so far once `stop` returns True.

    power, ratio, packing: the options power, ratio and repack of XlaLike.
    """
    import numpy as np

    from corl.solvers.memory.greedy import benefits, repack
    from corl.solvers.memory.layout import EPSILON, new_layout

    priority = benefits(program) / np.maximum(program.sizes, 1) ** power
    order = np.argsort(-priority, kind="stable")
    layout = new_layout(program)
    value = _fill_by_order(program, layout, order, (True, ratio), stop)
    for _ in range(_ROUNDS if packing else 0):
        if stop():
            break
        packed = new_layout(program)
        for part, source in zip((packed.run_count, packed.runs, packed.rects), (layout.run_count, layout.runs, layout.rects)):
            part[:] = source
        rects = layout.rects[: layout.run_count[0]]
        repack(program, packed, np.argsort(-(rects[:, 1] - rects[:, 0]), kind="stable"))
        refilled = _fill_by_order(program, packed, order, (True, ratio), stop)
        if refilled >= value * (1.0 - EPSILON):
            break
        value, layout = refilled, packed
    return value, layout


def tuned(program: Program, stop: Callable[[], bool] = never_stop) -> tuple[float, Layout]:
    """Return (run time in seconds, layout) of the best greedy by priority over all pairs of `_POWERS` and `_RATIOS`.

    Once `stop` returns True, no further pair is tried.
    """
    candidates: list[tuple[float, Layout]] = []
    for power, ratio in ((power, ratio) for power in _POWERS for ratio in _RATIOS):
        if not candidates or not stop():
            candidates.append(by_priority(program, power, ratio, True, stop))
    return min(candidates, key=lambda pair: pair[0])


def tries_per_check(program: Program) -> int:
    """Return the number of runs of accesses to try between two time checks, which takes some milliseconds."""
    return max(1, _PORTION // (len(program.compute) + len(program.use_op)))


def _fill_by_order(
    program: Program, layout: Layout, order: NDArray[np.int64], settings: tuple[bool, float], stop: Callable[[], bool]
) -> float:
    """Fill a layout by `greedy.fill`, in place; return the run time in seconds.

    order: int64, the tensors in the order in which they are tried. settings: the arguments `copies` and `ratio` of `fill`.
    """
    from corl.solvers.memory.greedy import fill, new_filling

    filling, tries = new_filling(program, order), tries_per_check(program)
    while fill(program, layout, filling, *settings, tries) and not stop():
        pass
    return float(filling.value[0])


def warm_up(solve: Callable[[MappingInstance, Run], None]) -> None:
    """Solve a small program, so that all kernels that `solve` calls are compiled."""
    from corl.problems.memory.generators import layered
    from corl.problems.memory.problem import Mapping
    from corl.run import Run

    tiny = layered(layers=3, width=64, batch=64, state=1.0, fast_mib=0.02)
    solve(tiny, Run(Mapping(), tiny, iterations=1))

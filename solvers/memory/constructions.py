"""`GreedyKeep` and `XlaLike`: layouts built tensor by tensor, in schedule order or as a compiler does by priority."""

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

__all__ = ["GreedyKeep", "XlaLike", "by_priority", "in_order", "never", "portion", "tuned", "warm"]

_POWERS, _RATIOS = (0.5, 0.0, 0.75, 1.0), (1.0, 1.5, 2.5)  # what `tuned` tries, the first of each being the default
_ROUNDS = 3  # of repacking and filling again
_PORTION = 2_000_000  # operations and accesses gone through between two looks at the clock


@dataclass(frozen=True)
class GreedyKeep(Solver):
    """Keep what operations write in fast memory, in schedule order, for as many accesses as there is room for; no prefetches."""

    limit_free: ClassVar[bool] = True
    preparation_size: ClassVar[int] = 2
    title: ClassVar[str] = "greedy: keeps what is written, in schedule order, where it fits and pays; no prefetches"

    def prepare(self, instance: MappingInstance) -> None:
        warm(self.solve)

    def solve(self, instance: MappingInstance, run: Run) -> None:
        from corl.solvers.memory.bounds import best_bound
        from corl.solvers.memory.layout import plan_of, program_of

        program = program_of(instance)
        value, layout = in_order(program, lambda: run.should_stop)
        run.report(plan_of(program, layout), 1e6 * value)
        run.report_bound(best_bound(instance, lambda: run.remaining))


@dataclass(frozen=True)
class XlaLike(Solver):
    """Tensors by priority, benefit / size ** power; each is kept where it can be, else prefetched as late as idle bandwidth
    hides the copy, and evicted where it has to be. Then all is packed anew, long ones first; what had no room is tried again.

    After XLA's memory-space assignment; a run is kept only where the simulated time gets better.
    """

    power: float = option(0.5, "The exponent of the size in the priority.", low=0, high=4)
    ratio: float = option(1.0, "How many times a copy's bytes have to be idle while it is under way.", low=0, high=100)
    repack: bool = option(True, "Whether to pack all anew and then fill what is free again.")
    tuned: bool = option(False, "Whether to try twelve powers and ratios besides and keep the best plan.")

    limit_free: ClassVar[bool] = True
    preparation_size: ClassVar[int] = 2
    title: ClassVar[str] = "like XLA's compiler: by benefit over root of size, late prefetches, evictions, repacking"

    def prepare(self, instance: MappingInstance) -> None:
        warm(self.solve)

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


def never() -> bool:
    """For constructions that nothing cuts short."""
    return False


def in_order(program: Program, stop: Callable[[], bool] = never) -> tuple[float, Layout]:
    """(seconds, layout) of the greedy in schedule order; as far as it has come when `stop` says so."""
    import numpy as np

    from corl.solvers.memory.layout import new_layout

    layout, made = new_layout(program), np.flatnonzero(program.made >= 0)
    return _filled(program, layout, made[np.argsort(program.made[made], kind="stable")], (False, 1.0), stop), layout


def by_priority(
    program: Program, power: float, ratio: float, packing: bool, stop: Callable[[], bool] = never
) -> tuple[float, Layout]:
    """(seconds, layout) of the greedy by priority; the best so far when `stop` says so."""
    import numpy as np

    from corl.solvers.memory.greedy import benefits, repack
    from corl.solvers.memory.layout import EPSILON, new_layout

    priority = benefits(program) / np.maximum(program.sizes, 1) ** power
    order = np.argsort(-priority, kind="stable")
    layout = new_layout(program)
    value = _filled(program, layout, order, (True, ratio), stop)
    for _ in range(_ROUNDS if packing else 0):
        if stop():
            break
        packed = new_layout(program)
        for part, source in zip((packed.filled, packed.runs, packed.rects), (layout.filled, layout.runs, layout.rects)):
            part[:] = source
        rects = layout.rects[: layout.filled[0]]
        repack(program, packed, np.argsort(-(rects[:, 1] - rects[:, 0]), kind="stable"))
        again = _filled(program, packed, order, (True, ratio), stop)
        if again >= value * (1.0 - EPSILON):
            break
        value, layout = again, packed
    return value, layout


def tuned(program: Program, stop: Callable[[], bool] = never) -> tuple[float, Layout]:
    """(seconds, layout) of the best greedy by priority of all settings, or of those tried when `stop` says so."""
    found: list[tuple[float, Layout]] = []
    for power, ratio in ((power, ratio) for power in _POWERS for ratio in _RATIOS):
        if not found or not stop():
            found.append(by_priority(program, power, ratio, True, stop))
    return min(found, key=lambda pair: pair[0])


def portion(program: Program) -> int:
    """How many runs to try between two looks at the clock: for some milliseconds."""
    return max(1, _PORTION // (len(program.compute) + len(program.use_op)))


def _filled(
    program: Program, layout: Layout, order: NDArray[np.int64], how: tuple[bool, float], stop: Callable[[], bool]
) -> float:
    """Fill a layout; its seconds. how: `copies` and `ratio`."""
    from corl.solvers.memory.greedy import fill, new_filling

    filling, tries = new_filling(program, order), portion(program)
    while fill(program, layout, filling, *how, tries) and not stop():
        pass
    return float(filling.value[0])


def warm(solve: Callable[[MappingInstance, Run], None]) -> None:
    """Solve a small program, so that everything is compiled."""
    from corl.problems.memory.generators import layered
    from corl.problems.memory.problem import Mapping
    from corl.run import Run

    tiny = layered(layers=3, width=64, batch=64, state=1.0, fast_mib=0.02)
    solve(tiny, Run(Mapping(), tiny, iterations=1))

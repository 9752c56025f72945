"""`GreedyKeep` and `XlaLike`: layouts built tensor by tensor, in schedule order or as a compiler does by priority."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory.mapping.instance import MappingInstance
    from corl.run import Run

__all__ = ["GreedyKeep", "XlaLike", "by_priority", "in_order", "tuned", "warm"]

_POWERS, _RATIOS = (0.5, 0.0, 0.75, 1.0), (1.0, 1.5, 2.5)  # what `tuned` tries, the first of each being the default
_ROUNDS = 3  # of repacking and filling again


@dataclass(frozen=True)
class GreedyKeep(Solver):
    """Keep what operations write in fast memory, in schedule order, for as many accesses as there is room for; no prefetches."""

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "greedy: keeps what is written, in schedule order, where it fits and pays; no prefetches"

    def prepare(self, instance: MappingInstance) -> None:
        warm(self.solve)

    def solve(self, instance: MappingInstance, run: Run) -> None:
        from corl.solvers.memory.mapping.bounds import best_bound
        from corl.solvers.memory.mapping.layout import plan_of, program_of

        program = program_of(instance)
        value, layout = in_order(program)
        run.report(plan_of(program, layout), 1e6 * value)
        run.report_bound(best_bound(instance))


@dataclass(frozen=True)
class XlaLike(Solver):
    """Tensors by priority, benefit / size ** power; each is kept where it can be, else prefetched as late as idle bandwidth
    hides the copy, and evicted where it has to be. Then all is packed anew, long ones first; what had no room is tried again.

    After XLA's memory-space assignment; a run is kept only where the simulated time gets better.
    """

    power: float = 0.5
    """Of the size in the priority (XLA: 0.5)."""
    ratio: float = 1.0
    """How many times a copy's bytes have to be idle while it is under way."""
    repack: bool = True
    """Whether to pack anew."""
    tuned: bool = False
    """Whether to try twelve powers and ratios and keep the best plan."""

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "like XLA's compiler: by benefit over root of size, late prefetches, evictions, repacking"

    def __post_init__(self) -> None:
        for field, high in (("power", 4.0), ("ratio", 100.0)):
            if not 0.0 <= getattr(self, field) <= high:
                raise UsageError(f"{field} is {getattr(self, field)}; accepted: a number from 0 to {high:g}")

    def prepare(self, instance: MappingInstance) -> None:
        warm(self.solve)

    def solve(self, instance: MappingInstance, run: Run) -> None:
        from corl.solvers.memory.mapping.bounds import best_bound
        from corl.solvers.memory.mapping.layout import plan_of, program_of

        program, bounded = program_of(instance), False
        pairs = [(self.power, self.ratio)]
        if self.tuned:
            pairs += [pair for pair in ((power, ratio) for power in _POWERS for ratio in _RATIOS) if pair not in pairs]
        for power, ratio in pairs:
            value, layout = by_priority(program, power, ratio, self.repack)
            if run.objective is None or 1e6 * value < run.objective:
                run.report(plan_of(program, layout), 1e6 * value)
            if not bounded:
                bounded = True
                run.report_bound(best_bound(instance))
            if run.should_stop:
                return


def in_order(program: Any) -> tuple[float, Any]:
    """(seconds, layout) of the greedy in schedule order."""
    import numpy as np

    from corl.solvers.memory.mapping.greedy import fill
    from corl.solvers.memory.mapping.layout import new_layout

    layout, made = new_layout(program), np.flatnonzero(program.made >= 0)
    return fill(program, layout, made[np.argsort(program.made[made], kind="stable")], False, 1.0), layout


def by_priority(program: Any, power: float, ratio: float, packing: bool) -> tuple[float, Any]:
    """(seconds, layout) of the greedy by priority."""
    import numpy as np

    from corl.solvers.memory.mapping.greedy import benefits, fill, repack
    from corl.solvers.memory.mapping.layout import EPSILON, new_layout

    priority = benefits(program) / np.maximum(program.sizes, 1) ** power
    order = np.argsort(-priority, kind="stable")
    layout = new_layout(program)
    value = fill(program, layout, order, True, ratio)
    for _ in range(_ROUNDS if packing else 0):
        packed = new_layout(program)
        for part, source in zip((packed.filled, packed.runs, packed.rects), (layout.filled, layout.runs, layout.rects)):
            part[:] = source
        rects = layout.rects[: layout.filled[0]]
        repack(program, packed, np.argsort(-(rects[:, 1] - rects[:, 0]), kind="stable"))
        again = fill(program, packed, order, True, ratio)
        if again >= value * (1.0 - EPSILON):
            break
        value, layout = again, packed
    return value, layout


def tuned(program: Any) -> tuple[float, Any]:
    """(seconds, layout) of the best greedy by priority of all settings."""
    found = (by_priority(program, power, ratio, True) for power in _POWERS for ratio in _RATIOS)
    return min(found, key=lambda pair: pair[0])


def warm(solve: Callable[[MappingInstance, Run], None]) -> None:
    """Solve a small program, so that everything is compiled."""
    from corl.problems.memory.mapping.generators import layered
    from corl.problems.memory.mapping.problem import Mapping
    from corl.run import Run

    tiny = layered(layers=3, width=64, batch=64, state=1.0, fast_mib=0.02)
    solve(tiny, Run(Mapping(), tiny, iterations=1))

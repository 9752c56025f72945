"""`LearnedPriority`: plans by a greedy construction with a trained priority; the first takes milliseconds, others have noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.options import option
from corl.solver import Solver
from corl.solvers.memory.constructions import never_stop

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance
    from corl.run import Run

__all__ = ["LearnedPriority", "Plans", "best_plan", "priority_weights"]


@dataclass(frozen=True)
class LearnedPriority(Solver):
    """Build plans greedily, as a compiler does, in the order of priorities that a small network computes.

    The network has sixteen features of a tensor and some of its accesses; priorities are computed again as fast memory fills up.
    The first plan is without noise, all others have noise on the priorities; the best plan is kept.
    """

    policy: str = option("memory-priority", "The shipped network, or a checkpoint file of one trained by the recipe `priority`.")
    noise: float = option(0.3, "The scale of the Gumbel noise on the scores of all plans but the first.", low=0)
    plans: int = option(0, "Number of plans; 0: until the limit.", low=1, special=0, scale="log")

    preparation_size: ClassVar[int] = 2  # sizes and integers from 2 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "a compiler-like greedy whose priority was learned by evolution strategies"
    iteration: ClassVar[str] = "one plan built"

    def prepare(self, instance: MappingInstance) -> None:
        from corl.solvers.memory.constructions import warm_up

        warm_up(self.solve)

    def solve(self, instance: MappingInstance, run: Run) -> None:
        from corl.solvers.memory.bounds import best_bound
        from corl.solvers.memory.layout import plan_of, program_of

        program = program_of(instance)
        plans, done = Plans(program, priority_weights(self.policy), self.noise, run.seed), 0
        while count := run.budget():
            for _ in range(min(count, self.plans - done) if self.plans else count):
                value, layout = plans.build(lambda: run.should_stop)
                if run.objective is None or 1e6 * value < run.objective * (1.0 - 1e-12):
                    run.report(plan_of(program, layout), 1e6 * value)
                done += 1
                if done == 1:
                    run.report_bound(best_bound(instance, lambda: run.remaining))
                if run.should_stop:
                    break
            if self.plans and done >= self.plans:
                return


class Plans:
    """A generator of plans: the first without noise on the scores, all others with noise."""

    def __init__(self, program: Any, weights: Any, noise: float, seed: int) -> None:
        from corl.rng import random_state
        from corl.solvers.memory.constructions import tries_per_check
        from corl.solvers.memory.layout import new_layout
        from corl.solvers.memory.priority.construct import new_placing
        from corl.solvers.memory.priority.items import items_of

        self._program, self._weights, self._noise = program, weights, noise
        self._items, self._random, self._next_noise = items_of(program), random_state(seed), 0.0
        self._layout, self._kept = new_layout(program), new_layout(program)
        self._placing, self._tries = new_placing(program, self._items), tries_per_check(program)

    def build(self, stop: Callable[[], bool] = never_stop) -> tuple[float, Any]:
        """Return (run time in seconds, layout) of the next plan; the following call overwrites the layout.

        Once `stop` returns True, no further item is placed.
        """
        from corl.solvers.memory.priority.construct import begin, end, proceed

        begin(self._layout, self._placing)
        while proceed(
            self._program, self._items, self._weights, self._layout, self._kept, self._placing,
            self._next_noise, self._random, self._tries,
        ) and not stop():  # fmt: skip
            pass
        self._next_noise = self._noise
        return float(end(self._layout, self._kept, self._placing)), self._layout


def best_plan(
    program: Any, count: int, noise: float = 0.3, seed: int = 0, stop: Callable[[], bool] = never_stop
) -> tuple[float, Any]:
    """Return (run time in seconds, layout) of the best of `count` plans by the shipped network.

    Once `stop` returns True, no further plan is built, and the last one may be unfinished.
    """
    from corl.solvers.memory.layout import new_layout

    plans, best_value, best_layout = (
        Plans(program, priority_weights("memory-priority"), noise, seed),
        float("inf"),
        new_layout(program),
    )
    for made in range(count):
        if made and stop():
            break
        value, layout = plans.build(stop)
        if value < best_value:
            best_value = value
            for part, source in zip(best_layout[:3], layout[:3]):
                part[:] = source
    return best_value, best_layout


def priority_weights(name: str) -> Any:
    """Return the weights of a shipped network or a checkpoint file, as kernels use them.

    Raises UsageError if it is no network of this kind.
    """
    from corl.networks.checkpoints import load_cached_as
    from corl.solvers.memory.priority.network import PriorityNetwork

    return load_cached_as(PriorityNetwork, name).weights()

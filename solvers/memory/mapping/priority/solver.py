"""`LearnedPriority`: plans of the greedy that a trained network leads, the first in milliseconds, then others around it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory.mapping.instance import MappingInstance
    from corl.run import Run

__all__ = ["LearnedPriority", "Plans", "best_plan", "priority_weights"]


@dataclass(frozen=True)
class LearnedPriority(Solver):
    """In the place of the compiler's benefit over root of size stands a small network of sixteen features of a tensor and some of
    its accesses; scores are taken again as fast memory fills up. The first plan is the network's own; those that follow have
    noise on the scores, and the best is kept.
    """

    policy: str = "memory-priority"
    """The shipped network, or a checkpoint file of one trained by the recipe `priority`."""
    noise: float = 0.3
    """Scale of the Gumbel noise on the scores of all plans but the first, from 0."""
    plans: int = 0
    """After so many plans it ends; 0: never before the budget does."""

    title: ClassVar[str] = "a compiler-like greedy whose priority was learned by evolution strategies"
    iteration: ClassVar[str] = "one plan built"

    def __post_init__(self) -> None:
        if not 0.0 <= self.noise < float("inf"):
            raise UsageError(f"noise is {self.noise}; accepted: a number from 0")
        if self.plans < 0:
            raise UsageError(f"plans is {self.plans}; accepted: an integer from 0")

    def prepare(self, instance: MappingInstance) -> None:
        from corl.solvers.memory.mapping.constructions import warm

        warm(self.solve)

    def solve(self, instance: MappingInstance, run: Run) -> None:
        from corl.solvers.memory.mapping.bounds import best_bound
        from corl.solvers.memory.mapping.layout import plan_of, program_of

        program = program_of(instance)
        plans, done = Plans(program, priority_weights(self.policy), self.noise, run.seed), 0
        while count := run.budget():
            for _ in range(min(count, self.plans - done) if self.plans else count):
                value, layout = plans.build()
                if run.objective is None or 1e6 * value < run.objective * (1.0 - 1e-12):
                    run.report(plan_of(program, layout), 1e6 * value)
                done += 1
                if done == 1:
                    run.report_bound(best_bound(instance))
            if self.plans and done >= self.plans:
                return


class Plans:
    """Builds plan after plan: the first without noise, the others with it.

    bias: float64 [N] added to the items' scores; placed: bool [N], which items the latest plan has got anything from.
    """

    def __init__(self, program: Any, weights: Any, noise: float, seed: int, bias: Any = None) -> None:
        """bias: function of the items to what is added to their scores."""
        import numpy as np

        from corl.rng import random_state
        from corl.solvers.memory.mapping.layout import new_layout
        from corl.solvers.memory.mapping.priority.items import items_of

        self._program, self._weights, self._noise = program, weights, noise
        self.items, self._random, self._next = items_of(program), random_state(seed), 0.0
        self.bias = np.zeros(len(self.items.tensor)) if bias is None else bias(self.items)
        self.placed = np.zeros(len(self.items.tensor), np.bool_)
        self._layout, self._kept = new_layout(program), new_layout(program)

    def build(self) -> tuple[float, Any]:
        """(seconds, layout) of the next plan; the layout's memory is used again for the one after it."""
        from corl.solvers.memory.mapping.priority.construct import construct

        self._layout.filled[0] = 0
        value = construct(
            self._program, self.items, self._weights, self.bias, self._layout, self._kept, self.placed, self._next, self._random
        )  # fmt: skip
        self._next = self._noise
        return float(value), self._layout


def best_plan(program: Any, count: int, noise: float = 0.3, seed: int = 0) -> tuple[float, Any]:
    """(seconds, layout) of the best of `count` plans led by the shipped network."""
    from corl.solvers.memory.mapping.layout import new_layout

    plans, best, kept = Plans(program, priority_weights("memory-priority"), noise, seed), float("inf"), new_layout(program)
    for _ in range(count):
        value, layout = plans.build()
        if value < best:
            best = value
            for part, source in zip(kept[:3], layout[:3]):
                part[:] = source
    return best, kept


@lru_cache(maxsize=4)
def priority_weights(name: str) -> Any:
    """The kernels' weights of a shipped network or a checkpoint file. Raises UsageError where it is no such network."""
    from corl.networks.checkpoints import load_policy
    from corl.solvers.memory.mapping.priority.network import PriorityNetwork

    network = load_policy(name)
    if not isinstance(network, PriorityNetwork):
        raise UsageError(f"policy {name} is a network of architecture {network.architecture}; accepted: memory-priority")
    return network.weights()

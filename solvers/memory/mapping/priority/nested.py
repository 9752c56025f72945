"""`NestedSearch`: Monte Carlo search over the order in which items are placed, whose policy adapts to the best plan so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.memory.mapping.instance import MappingInstance
    from corl.run import Run

__all__ = ["NestedSearch"]


@dataclass(frozen=True)
class NestedSearch(Solver):
    """Nested rollout policy adaptation (Rosin, IJCAI 2011) through the simulator. A playout is a plan: items are drawn one after
    another with the softmax of score + bias (all at once, by Gumbel noise), and placed where they fit and pay. After every
    `playouts` the biases move towards the items of the best plan. The scores are the learned priority's; the biases begin
    with the shares that a linear relaxation has in fast memory, and begin again where nothing was found for `patience` rounds.
    """

    policy: str = "memory-priority"
    """The shipped network, or a checkpoint file of one trained by the recipe `priority`."""
    playouts: int = 10
    """Between two adaptations, at least 1."""
    rate: float = 0.5
    """How far the biases of the best plan's items move, above 0."""
    noise: float = 0.5
    """Scale of the Gumbel noise: how much playouts differ, above 0."""
    shares: float = 5.0
    """What a share of 1 in the relaxation adds to a score, from 0."""
    patience: int = 30
    """Adaptations without a better plan after which the biases begin again, at least 1."""

    title: ClassVar[str] = "nested Monte Carlo search over the order of placing, led by the learned priority"
    iteration: ClassVar[str] = "one playout: a plan built and simulated"

    def __post_init__(self) -> None:
        for name in ("playouts", "patience"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; accepted: an integer from 1")
        for name, zero in (("rate", False), ("noise", False), ("shares", True)):
            if not (0.0 < getattr(self, name) < float("inf") or (zero and getattr(self, name) == 0.0)):
                raise UsageError(f"{name} is {getattr(self, name)}; accepted: a number {'from' if zero else 'above'} 0")

    def prepare(self, instance: MappingInstance) -> None:
        from corl.solvers.memory.mapping.constructions import warm

        warm(self.solve)

    def solve(self, instance: MappingInstance, run: Run) -> None:
        from corl.solvers.memory.mapping.bounds import bound_and_shares
        from corl.solvers.memory.mapping.layout import plan_of, program_of
        from corl.solvers.memory.mapping.priority.items import shares
        from corl.solvers.memory.mapping.priority.solver import Plans, priority_weights

        program = program_of(instance)
        plans = Plans(program, priority_weights(self.policy), self.noise, run.seed)
        bound, relaxed = bound_and_shares(instance)
        bias = plans.bias + (self.shares * shares(program, plans.items, relaxed) if relaxed is not None else 0.0)
        search = _Search(plans, bias, self)
        while count := run.budget():
            for _ in range(count):
                value, layout = search.playout()
                if run.objective is None or 1e6 * value < run.objective * (1.0 - 1e-12):
                    run.report(plan_of(program, layout), 1e6 * value)
                    run.report_bound(bound)


class _Search:
    """The biases, and the best plan since they began."""

    def __init__(self, plans: Any, bias: Any, options: NestedSearch) -> None:
        self._plans, self._begin, self._options = plans, bias, options
        self._restart()

    def _restart(self) -> None:
        self._plans.bias = self._begin.copy()
        self._best, self._target = float("inf"), self._plans.placed.copy()
        self._done, self._since, self._often = 0, 0, 0.0 * self._begin

    def playout(self) -> tuple[float, Any]:
        """(seconds, layout) of the next plan."""
        value, layout = self._plans.build()
        self._done += 1
        self._often += self._plans.placed
        if value < self._best * (1.0 - 1e-12):
            self._best, self._since = value, 0
            self._target = self._plans.placed.copy()
        if self._done == self._options.playouts:
            self._plans.bias += self._options.rate * (self._target - self._often / self._done)
            self._done, self._since, self._often = 0, self._since + 1, 0.0 * self._often
            if self._since > self._options.patience:
                self._restart()
        return value, layout

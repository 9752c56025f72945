"""`Slim`: schedules built by the learned policy, the likeliest first, then samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.jobshop.instance import JobShopInstance
    from corl.run import Run
    from corl.solvers.jobshop.slim.construct import Partial
    from corl.solvers.jobshop.slim.plan import Plan
    from corl.solvers.jobshop.slim.weights import Weights

__all__ = ["NETWORK", "Slim", "network_weights"]

NETWORK = "jobshop-slim"
"""The shipped network."""
_LANES = 160  # jobs that are looked at together: their numbers fit into the fast caches
_WORK = 8_000  # of a call: about 10 ms, between two looks at the clock
_EDGES = 50_000  # of a call of the encoder, likewise


@dataclass(frozen=True)
class Slim(Solver):
    """The policy `jobshop-slim` (self-labelling; Corsini et al., 2024): one encoding, then schedules operation by operation.

    The first schedule is greedy, the others are sampled. It learned on 6 x 6 to 20 x 15; `tabu` finds better schedules in the
    same time.
    """

    samples: int = 128
    """Schedules, the greedy one among them; 0: as many as the budget allows. 1: the greedy one alone."""
    temperature: float = 1.0
    """Of the samples: logits are divided by it."""
    policy: str = ""
    """A checkpoint file; "" for the shipped network."""

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "a learned dispatcher (GATv2, self-labelling): greedy, then samples; makespan without choices"
    iteration: ClassVar[str] = "one schedule"

    def __post_init__(self) -> None:
        if self.samples < 0:
            raise UsageError(f"samples is {self.samples}; accepted: an integer from 0")
        if not 0.0 < self.temperature < float("inf"):
            raise UsageError(f"temperature is {self.temperature}; accepted: a number above 0")

    def accepts(self, instance: JobShopInstance) -> str:
        if instance.objective != "makespan":
            return "it minimises the makespan only, not the weighted tardiness"
        return "it takes one machine for each operation, not a choice" if instance.flexible else ""

    def prepare(self, instance: JobShopInstance) -> None:
        from corl.problems.jobshop.generators import taillard
        from corl.problems.jobshop.problem import JobShop
        from corl.run import Run
        from corl.solvers.jobshop.slim.construct import complete, new_partial
        from corl.solvers.jobshop.slim.plan import plan_of

        tiny = taillard(jobs=3, machines=2)
        self.solve(tiny, Run(JobShop(), tiny, iterations=2))
        plan = plan_of(tiny)
        complete(plan, new_partial(plan, 1), 0)

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from corl.solvers.jobshop.slim.construct import complete, new_partial
        from corl.solvers.jobshop.slim.plan import plan_of

        plan, weights = plan_of(instance), network_weights(self.policy)
        embedded = _encoded(plan, weights, run)
        number, together = 0, max(1, _LANES // instance.jobs)
        while left := self.samples - number if self.samples else together:
            count = run.budget(min(left, together if number else 1))
            if not count or embedded is None:
                break
            partial = new_partial(plan, count, run.seed, number)
            if _build(plan, weights, embedded, partial, self.temperature if number else 0.0, run):
                _report(instance, partial, run)
            elif not number:  # no time for the rest of the first one
                complete(plan, partial, 0)
                _report(instance, partial, run)
            number += count
        if run.objective is None:  # no time for the network
            partial = new_partial(plan, 1)
            complete(plan, partial, 0)
            _report(instance, partial, run)


def _encoded(plan: Plan, weights: Weights, run: Run) -> NDArray[np.float32] | None:
    """The embeddings, or None where the run has to stop before they are there."""
    from corl.solvers.jobshop.slim.encoder import Encoder

    encoder = Encoder(plan, weights)
    while not encoder.advance(_EDGES):
        if run.should_stop:
            return None
    return encoder.embedded()


def _build(plan: Plan, weights: Weights, embedded: NDArray[np.float32], partial: Partial, temperature: float, run: Run) -> bool:
    """Build the schedules to their ends; False where the run has to stop before."""
    from corl.solvers.jobshop.slim.construct import advance
    from corl.solvers.jobshop.slim.decoder import new_lanes

    schedules, jobs = partial.ready.shape
    lanes, steps = new_lanes(schedules, jobs), max(1, int(_WORK / (schedules * jobs * (1.0 + jobs / 20))))
    while partial.step[0] < len(plan.machine):
        if run.should_stop:
            return False
        advance(plan, weights, embedded, partial, lanes, temperature, steps)
    return True


def _report(instance: JobShopInstance, partial: Partial, run: Run) -> None:
    """Report the best of the schedules, where it is better than all before."""
    from corl.problems.jobshop.instance import Schedule

    value = partial.ready.max(1)
    best = int(value.argmin())
    if run.objective is None or value[best] < run.objective:
        run.report(Schedule(partial.start[best], instance.choice_machine), float(value[best]))


@cache
def network_weights(policy: str = "") -> Weights:
    """The weights of the shipped network, or of a checkpoint, loaded once in a process. Raises UsageError for another kind."""
    from corl.networks.checkpoints import load_policy
    from corl.solvers.jobshop.slim.network import SlimNetwork
    from corl.solvers.jobshop.slim.weights import weights_of

    network = load_policy(policy or NETWORK)
    if not isinstance(network, SlimNetwork):
        raise UsageError(f"policy is {policy!r}, a {type(network).__name__}; accepted: a checkpoint of the recipe slim")
    return weights_of(network)

"""`Slim`: schedules built by the learned policy, the likeliest first, then samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.jobshop.instance import JobShopInstance
    from corl.run import Run
    from corl.solvers.jobshop.slim.construct import PartialSchedules
    from corl.solvers.jobshop.slim.instance import SlimInstance
    from corl.solvers.jobshop.slim.weights import Weights

__all__ = ["NETWORK", "Slim", "load_weights"]

NETWORK = "jobshop-slim"
"""The shipped network."""
_WORK = 8_000  # of a call: about 10 ms, between two looks at the clock
_EDGES = 50_000  # of a call of the encoder, likewise


@dataclass(frozen=True)
class Slim(Solver):
    """The policy `jobshop-slim` (self-labelling; Corsini et al., 2024): one encoding, then schedules operation by operation.

    The first schedule is greedy, the others are sampled. It learned on 6 x 6 to 20 x 15; `tabu` finds better schedules in the
    same time.
    """

    samples: int = option(
        128,
        "Schedules, the greedy one among them; 0: as many as the limit allows; 1: the greedy one alone.",
        low=1,
        also=0,
        scale="log",
    )
    temperature: float = option(1.0, "Of the samples: logits are divided by it.", above=0, scale="log")
    policy: str = option("", "A checkpoint file of a network slim; empty: the network that comes with the package.")

    limit_free: ClassVar[bool] = True
    alike: ClassVar[int] = 2
    title: ClassVar[str] = "a learned dispatcher (GATv2, self-labelling): greedy, then samples; makespan without choices"
    iteration: ClassVar[str] = "one schedule"

    def accepts(self, instance: JobShopInstance) -> str:
        from corl.problems.jobshop.rules import refused

        if reason := refused(instance):
            return reason
        if instance.objective != "makespan":
            return "it minimises the makespan only, not the weighted tardiness"
        return "it takes one machine for each operation, not a choice" if instance.flexible else ""

    def prepare(self, instance: JobShopInstance) -> None:
        from corl.problems.jobshop.generators import taillard
        from corl.problems.jobshop.problem import JobShop
        from corl.run import Run
        from corl.solvers.jobshop.slim.construct import complete, new_partial
        from corl.solvers.jobshop.slim.instance import slim_instance

        tiny = taillard(jobs=3, machines=2)
        self.solve(tiny, Run(JobShop(), tiny, iterations=2))
        shop = slim_instance(tiny)
        complete(shop, new_partial(shop, 1), 0)

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from corl.solvers.jobshop.slim.construct import complete, new_partial
        from corl.solvers.jobshop.slim.evaluator import LANES
        from corl.solvers.jobshop.slim.instance import slim_instance

        shop, weights = slim_instance(instance), load_weights(self.policy)
        embedded = _encoded(shop, weights, run)
        number, together = 0, max(1, LANES // instance.jobs)
        while left := self.samples - number if self.samples else together:
            count = run.budget(min(left, together if number else 1))
            if not count or embedded is None:
                break
            partial = new_partial(shop, count, run.seed, number)
            if _build(shop, weights, embedded, partial, self.temperature if number else 0.0, run):
                _report(instance, partial, run)
            elif not number:  # no time for the rest of the first one
                complete(shop, partial, 0)
                _report(instance, partial, run)
            number += count
        if run.objective is None:  # no time for the network
            partial = new_partial(shop, 1)
            complete(shop, partial, 0)
            _report(instance, partial, run)


def _encoded(shop: SlimInstance, weights: Weights, run: Run) -> NDArray[np.float32] | None:
    """The embeddings, or None where the run has to stop before they are there."""
    from corl.solvers.jobshop.slim.encoder import Encoder

    encoder = Encoder(shop, weights)
    while not encoder.advance(_EDGES):
        if run.should_stop:
            return None
    return encoder.embedded()


def _build(
    shop: SlimInstance, weights: Weights, embedded: NDArray[np.float32], partial: PartialSchedules, temperature: float, run: Run
) -> bool:
    """Build the schedules to their ends; False where the run has to stop before."""
    from corl.solvers.jobshop.slim.construct import advance
    from corl.solvers.jobshop.slim.decoder import new_lanes

    schedules, jobs = partial.ready.shape
    lanes, steps = new_lanes(schedules, jobs), max(1, int(_WORK / (schedules * jobs * (1.0 + jobs / 20))))
    while partial.step[0] < len(shop.machine):
        if run.should_stop:
            return False
        advance(shop, weights, embedded, partial, lanes, temperature, steps)
    return True


def _report(instance: JobShopInstance, partial: PartialSchedules, run: Run) -> None:
    """Report the best of the schedules, where it is better than all before."""
    from corl.problems.jobshop.instance import Schedule

    value = partial.ready.max(1)
    best = int(value.argmin())
    if run.objective is None or value[best] < run.objective:
        run.report(Schedule(partial.start[best], instance.choice_machine), float(value[best]))


def load_weights(policy: str = "") -> Weights:
    """The weights of the shipped network, or of a checkpoint. Raises UsageError for another kind."""
    from corl.networks.checkpoints import loaded_as
    from corl.solvers.jobshop.slim.network import SlimNetwork

    return loaded_as(SlimNetwork, policy or NETWORK).weights()

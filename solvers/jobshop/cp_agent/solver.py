"""`CpAgent`: schedules by the learned agent of the constraint-programming simulator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance
    from corl.run import Run
    from corl.solvers.jobshop.cp_agent.forward import Weights

__all__ = ["CpAgent", "weights_of"]

_GOLDEN = 0.6180339887498949  # its multiples, modulo 1, are spread evenly however many there are


@dataclass(frozen=True)
class CpAgent(Solver):
    """The agent's most likely schedule, then sampled ones; it ends by itself after `schedules` of them."""

    policy: str = "jobshop-cp"
    """A shipped agent's name or a checkpoint file, of recipe cp-agent."""
    schedules: int = 32
    """How many in all (the paper's number of environments); 0: until the limit."""
    lowest: float = 0.1
    """Temperatures of samples run from this one, above 0 ..."""
    highest: float = 0.5
    """... to this one, on a logarithmic scale. Of six ranges the best of 32 was best with this one on generated instances of
    three sizes, 2 % below that with the paper's, 0.5 to 2 (`measure --tune`)."""

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "a learned agent in a simulated constraint model: greedy, then samples; makespan without choices"
    iteration: ClassVar[str] = "one schedule"

    def __post_init__(self) -> None:
        if self.schedules < 0:
            raise UsageError(f"schedules is {self.schedules}; accepted: an integer from 0")
        if not 0.0 < self.lowest <= self.highest < float("inf"):
            raise UsageError(f"temperatures are {self.lowest} to {self.highest}; accepted: above 0, in rising order")

    def accepts(self, instance: JobShopInstance) -> str:
        if instance.objective != "makespan":
            return "it minimises the makespan only, not the weighted tardiness"
        return "it takes one machine for each operation, not a choice" if instance.flexible else ""

    def prepare(self, instance: JobShopInstance) -> None:
        from corl.problems.jobshop.generators import taillard
        from corl.problems.jobshop.problem import JobShop
        from corl.rng import random_state
        from corl.run import Run
        from corl.solvers.jobshop.cp_agent.rollout import Agent

        tiny = taillard(jobs=4, machines=3)
        self.solve(tiny, Run(JobShop(), tiny, iterations=2))
        hurried = Agent(tiny, weights_of(self.policy))
        hurried.build(0.0, random_state(0), lambda: True)
        hurried.hurry()

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from corl.rng import random_state
        from corl.solvers.jobshop.bounds import lower_bound
        from corl.solvers.jobshop.cp_agent.rollout import Agent

        agent, random, built = Agent(instance, weights_of(self.policy)), random_state(run.seed), 0
        while (not self.schedules or built < self.schedules) and run.budget(1):
            value = agent.build(self.temperature(built), random, lambda: run.should_stop)
            if value < 0 and run.objective is None:
                value = agent.hurry()
            if value >= 0 and (run.objective is None or value < run.objective):
                run.report(agent.schedule(), value)
            if built == 0 and not run.should_stop:
                run.report_bound(lower_bound(instance, lambda: run.should_stop))
            built += 1

    def temperature(self, number: int) -> float:
        """Of the schedule of this number: 0 of the first."""
        return 0.0 if number == 0 else self.lowest * (self.highest / self.lowest) ** (number * _GOLDEN % 1.0)


@cache
def weights_of(policy: str) -> Weights:
    """The weights of a shipped agent or of a checkpoint file. Raises UsageError and InputError as `load_policy` does."""
    from corl.networks.checkpoints import load_policy
    from corl.solvers.jobshop.cp_agent.network import CpAgentNetwork

    network = load_policy(policy)
    if not isinstance(network, CpAgentNetwork):
        raise UsageError(f"policy {policy!r} is another kind of network; accepted: one of recipe cp-agent")
    return network.weights()

"""`CpAgent`: schedules by the learned agent of the interval environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance
    from corl.run import Run
    from corl.solvers.jobshop.cp_agent.forward import Weights

__all__ = ["CpAgent", "load_weights"]

_GOLDEN = 0.6180339887498949  # its multiples, modulo 1, are spread evenly however many there are
_GRACE = 0.1  # seconds in which the first schedule may be completed when the time is over


@dataclass(frozen=True)
class CpAgent(Solver):
    """The agent's most likely schedule, then sampled ones; it ends by itself after `schedules` of them."""

    policy: str = option(
        "jobshop-cp", "The name of an agent that comes with the package, or a checkpoint file of a network jobshop-cp."
    )
    schedules: int = option(
        32, "How many in all (the paper's number of environments); 0: until the limit.", low=1, also=0, scale="log"
    )
    lowest: float = option(0.1, "The lowest temperature of the samples.", above=0, scale="log")
    highest: float = option(
        0.5,
        """The highest, at least `lowest`. Temperatures of samples are spread between the two on a logarithmic scale; the paper's
        from 0.5 to 2.""",
        above=0,
        scale="log",
    )

    limit_free: ClassVar[bool] = True
    alike: ClassVar[int] = 2
    title: ClassVar[str] = "a learned agent in a simulated constraint model: greedy, then samples; makespan without choices"
    iteration: ClassVar[str] = "one schedule"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lowest > self.highest:
            raise UsageError(f"option lowest is {self.lowest}; accepted: a number up to highest, {self.highest}")

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
        from corl.rng import random_state
        from corl.run import Run
        from corl.solvers.jobshop.cp_agent.rollout import Agent

        tiny = taillard(jobs=4, machines=3)
        self.solve(tiny, Run(JobShop(), tiny, iterations=2))
        stopped = Agent(tiny, load_weights(self.policy))
        stopped.build(0.0, random_state(0), lambda: True)
        stopped.complete()

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from corl.rng import random_state
        from corl.solvers.jobshop.bounds import lower_bound
        from corl.solvers.jobshop.cp_agent.rollout import Agent

        agent, random, built = Agent(instance, load_weights(self.policy)), random_state(run.seed), 0
        while (not self.schedules or built < self.schedules) and run.budget(1):
            value = agent.build(self.temperature(built), random, lambda: run.should_stop)
            if value < 0 and run.objective is None:
                ends = run.elapsed + _GRACE
                value = agent.complete(lambda: run.elapsed > ends)  # noqa: B023
            if value >= 0 and (run.objective is None or value < run.objective):
                run.report(agent.schedule(), value)
            if built == 0 and not run.should_stop:
                run.report_bound(lower_bound(instance, lambda: run.should_stop))
            built += 1

    def temperature(self, number: int) -> float:
        """Of the schedule of this number: 0 of the first."""
        return 0.0 if number == 0 else self.lowest * (self.highest / self.lowest) ** (number * _GOLDEN % 1.0)


def load_weights(policy: str) -> Weights:
    """The weights of a shipped agent or of a checkpoint file. Raises UsageError and InputError as `loaded_as` does."""
    from corl.networks.checkpoints import loaded_as
    from corl.solvers.jobshop.cp_agent.network import CpAgentNetwork

    return loaded_as(CpAgentNetwork, policy).weights()

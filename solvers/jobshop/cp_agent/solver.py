"""`CpAgent`: the solver `policy` with the learned agent for the environment "intervals", and with defaults for sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from corl.options import with_default
from corl.policy import Policy as AnyPolicy
from corl.solvers.generic.policy import Policy
from corl.solvers.jobshop.policies import BoundedPolicy

__all__ = ["CpAgent"]


@dataclass(frozen=True)
class CpAgent(BoundedPolicy):
    """The agent builds the greedy schedule, then 31 samples; together these are 32, as in the paper.

    The temperatures of the samples range from 0.1 to 0.5; in the paper, from 0.5 to 2.
    """

    policy: str | AnyPolicy = with_default(Policy, "policy", "jobshop-cp")
    decoder: Literal["greedy", "sample", "beam", "stochastic-beam", "without-replacement"] = with_default(
        Policy, "decoder", "sample"
    )
    width: int = with_default(Policy, "width", 31)
    temperature: float = with_default(Policy, "temperature", 0.1)
    spread: float = with_default(Policy, "spread", 5.0)
    rounds: int = with_default(Policy, "rounds", 1)

    title: ClassVar[str] = "a learned agent in a simulated constraint model: greedy, then samples; makespan without choices"

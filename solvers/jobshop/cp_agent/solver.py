"""`CpAgent`: the solver `policy` with the learned agent of the interval environment, and defaults for its samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from corl.options import changed
from corl.policy import Policy as AnyPolicy
from corl.solvers.generic.policy import Policy
from corl.solvers.jobshop.policies import BoundedPolicy

__all__ = ["CpAgent"]


@dataclass(frozen=True)
class CpAgent(BoundedPolicy):
    """The agent's most likely schedule, then 31 sampled ones (32 are the paper's number of environments).

    Temperatures of the samples are spread from 0.1 to 0.5; the paper's from 0.5 to 2.
    """

    policy: str | AnyPolicy = changed(Policy, "policy", "jobshop-cp")
    decoder: Literal["greedy", "sample", "beam", "stochastic-beam", "without-replacement"] = changed(Policy, "decoder", "sample")
    width: int = changed(Policy, "width", 31)
    temperature: float = changed(Policy, "temperature", 0.1)
    spread: float = changed(Policy, "spread", 5.0)
    rounds: int = changed(Policy, "rounds", 1)

    title: ClassVar[str] = "a learned agent in a simulated constraint model: greedy, then samples; makespan without choices"

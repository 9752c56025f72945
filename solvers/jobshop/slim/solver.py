"""`Slim`: the solver `policy` with a dispatcher learned by self-labelling, and defaults for its samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from corl.options import changed
from corl.policy import Policy as AnyPolicy
from corl.solvers.generic.policy import Policy
from corl.solvers.jobshop.policies import BoundedPolicy

__all__ = ["Slim"]


@dataclass(frozen=True)
class Slim(BoundedPolicy):
    """The policy `jobshop-slim` (self-labelling; Corsini et al., 2024): the greedy schedule, then 127 samples.

    It was trained on instances of 6 x 6 to 20 x 15; `tabu` finds better schedules in the same time.
    """

    policy: str | AnyPolicy = changed(Policy, "policy", "jobshop-slim")
    decoder: Literal["greedy", "sample", "beam", "stochastic-beam", "without-replacement"] = changed(Policy, "decoder", "sample")
    width: int = changed(Policy, "width", 127)
    rounds: int = changed(Policy, "rounds", 1)

    title: ClassVar[str] = "a learned dispatcher (GATv2, self-labelling): greedy, then samples; makespan without choices"

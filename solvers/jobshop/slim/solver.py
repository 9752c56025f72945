"""`Slim`: the solver `policy` with a dispatcher trained by self-labelling, and with defaults for sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from corl.options import with_default
from corl.policy import Policy as AnyPolicy
from corl.solvers.generic.policy import Policy
from corl.solvers.jobshop.policies import BoundedPolicy

__all__ = ["Slim"]


@dataclass(frozen=True)
class Slim(BoundedPolicy):
    """The policy `jobshop-slim` (self-labelling; Corsini et al., 2024): it builds the greedy schedule, then 127 samples.

    The policy was trained on instances of 6 x 6 to 20 x 15. `tabu` finds better schedules in the same time.
    """

    policy: str | AnyPolicy = with_default(Policy, "policy", "jobshop-slim")
    decoder: Literal["greedy", "sample", "beam", "stochastic-beam", "without-replacement"] = with_default(
        Policy, "decoder", "sample"
    )
    width: int = with_default(Policy, "width", 127)
    rounds: int = with_default(Policy, "rounds", 1)

    title: ClassVar[str] = "a learned dispatcher (GATv2, self-labelling): greedy, then samples; makespan without choices"

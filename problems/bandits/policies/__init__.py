"""Policies: what a solution of a bandit is. Each can be asked for an action, written as JSON, and read again.

What stands here is what the judge needs to take a reported policy's actions again, the linear programs of a resolving one and
the integer programs of a network among it; how policies are found stands in `solvers/bandits`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corl.errors import InputError
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policies.learned import LearnedPolicy
from corl.problems.bandits.policies.network import NetworkPolicy
from corl.problems.bandits.policies.policy import BanditPolicy
from corl.problems.bandits.policies.recorded import RecordedPolicy
from corl.problems.bandits.policies.resolving import ResolvingPolicy
from corl.problems.bandits.policies.rollout import RolloutPolicy
from corl.problems.bandits.policies.tables import IterativePolicy, RandomPolicy, SamplingPolicy, TablePolicy

__all__ = [
    "KINDS", "BanditPolicy", "IterativePolicy", "LearnedPolicy", "NetworkPolicy", "RandomPolicy", "RecordedPolicy",
    "ResolvingPolicy", "RolloutPolicy", "SamplingPolicy", "TablePolicy", "from_json",
]  # fmt: skip

KINDS: dict[str, type[BanditPolicy]] = {
    kind.kind: kind
    for kind in (
        TablePolicy,
        RandomPolicy,
        SamplingPolicy,
        IterativePolicy,
        ResolvingPolicy,
        RolloutPolicy,
        NetworkPolicy,
        LearnedPolicy,
        RecordedPolicy,
    )
}
"""Name in JSON -> class."""


def from_json(instance: BanditInstance, values: Any) -> BanditPolicy:
    """The policy that `to_json` and its "kind" describe. Raises InputError, or Infeasible where it is of other arms."""
    name = values.get("kind") if isinstance(values, Mapping) else None
    if not isinstance(name, str) or name not in KINDS:
        raise InputError(f"accepted: an object with kind {', '.join(KINDS)}", field="policy")
    kind = KINDS[name]
    policy = kind.from_json(instance, values)
    if extra := set(values) - set(policy.to_json()) - {"kind"}:
        raise InputError(f"a {kind.kind} policy has no {sorted(extra)[0]!r}", field="policy")
    return policy

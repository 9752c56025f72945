"""Shared layers: one network that plays several problems, a small adapter in and out for each.

After GOAL (Drakulic, Michel and Andreoli, ICLR 2025): a trunk of attention layers that all tasks share, and for each task what
embeds its tokens, what makes biases of its pairs, and what reads scores and values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import nn

from corl import registry
from corl.errors import UsageError
from corl.networks.attention import AttentionPolicy

__all__ = ["SharedAttention"]

_TRUNK = ("width", "heads", "feedforward", "layers")  # what the tasks' configurations have in common


class SharedAttention(nn.Module):
    """AttentionPolicies, a task each, whose layers are the same. `of` gives the one that plays a problem."""

    architecture: ClassVar[str] = "shared-attention"
    members: ClassVar[dict[str, type[Any]]] = {"tasks": AttentionPolicy}
    """See corl.networks.configurations."""
    file: str = ""
    """The checkpoint that it was loaded from."""

    def __init__(self, tasks: list[dict[str, Any]]) -> None:
        """`tasks`: the `config` of each AttentionPolicy, of equal width, heads, feedforward and layers.

        Raises UsageError where there is none, where they are not, or where two are of the same problem, features and environment.
        """
        super().__init__()
        if not tasks:
            raise UsageError("tasks: there is none; accepted: at least one configuration")
        self.policies = [AttentionPolicy(**task) for task in tasks]  # no registered part: what they consist of is
        self.config = {"tasks": [policy.config for policy in self.policies]}
        for name in _TRUNK:
            if len(sizes := {policy.config[name] for policy in self.policies}) > 1:
                raise UsageError(f"tasks: {name} is {' and '.join(map(str, sorted(sizes)))}; accepted: the same for all")
        if len({_played(policy) for policy in self.policies}) < len(tasks):
            raise UsageError("tasks: two are of the same problem, features and environment; accepted: one of each")
        self.layers = self.policies[0].layers
        for policy in self.policies:
            policy.layers = self.layers
        self.adapters = nn.ModuleList(
            nn.ModuleDict({name: part for name, part in policy.named_children() if part is not self.layers})
            for policy in self.policies
        )

    @classmethod
    def joined(cls, policies: Sequence[AttentionPolicy]) -> SharedAttention:
        """A network with the adapters of some policies and the layers of the first."""
        made = cls([policy.config for policy in policies])
        for mine, given in zip(reversed(made.policies), reversed(policies)):  # the first last, whose layers stay
            mine.load_state_dict(given.state_dict())
        return made

    @property
    def problems(self) -> list[str]:
        """The names of the problems that it plays, sorted."""
        return sorted({policy.problem for policy in self.policies})

    def of(self, problem: str, instance: Any = None) -> AttentionPolicy:
        """The policy that plays a problem; of several that one whose features are those for such instances
        (Problem.default_features). Its weights are this network's own.

        Raises UsageError where it does not play the problem, naming those that it does, or where an instance has to choose.
        """
        found = [policy for policy in self.policies if policy.problem == problem]
        who = f"{self.file or 'the network'} plays"
        if not found:
            raise UsageError(f"{who} {', '.join(self.problems)}, not {problem or 'a problem without a name'}")
        if len(found) > 1:
            names = ", ".join(policy.features for policy in found)
            if instance is None:
                raise UsageError(f"{who} {problem} with the features {names}; accepted: an instance, which chooses")
            suited = registry.problem(problem).default_features(instance)
            found = [policy for policy in found if policy.features == suited] or found
        found[0].file = self.file
        return found[0]

    def train(self, mode: bool = True) -> SharedAttention:
        """See torch.nn.Module.train; the policies follow."""
        super().train(mode)
        for policy in self.policies:
            policy.train(mode)
        return self

    def forward(self, batch: Any) -> Any:
        """Raises UsageError: only a policy of one problem has a forward pass."""
        raise UsageError("a network of several problems is asked through `of(problem, instance)`")


def _played(policy: AttentionPolicy) -> tuple[str, str, str]:
    """Problem, features and environment."""
    return policy.problem, policy.features, policy.environment

"""ResolvingPolicy: solves the fluid relaxation from the current state in every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policy import ActionCache, BanditPolicy, read_array, read_integer
from corl.solvers.bandits.policies.fluid_relaxation import solve_fluid

__all__ = ["ResolvingPolicy", "check_value"]


@dataclass(frozen=True, eq=False)
class ResolvingPolicy(BanditPolicy):
    """Solve in every step the fluid relaxation of the next `steps` steps, and take the best action for its level values.

    The value of the arms after these steps is taken from the table `value`, which the relaxation over the whole horizon gave.
    """

    instance: BanditInstance
    value: NDArray[np.float64]
    """[T + 1, J, S] the value of an arm in a state from a time on."""
    steps: int
    """The number of steps of each relaxation, at least 1."""
    _known: ActionCache = field(default_factory=ActionCache, init=False, repr=False)

    kind = "resolving"

    def __post_init__(self) -> None:
        check_value(self.instance, self.value)

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions; uses no random numbers."""
        return np.array([self._action(state, min(time, self.instance.horizon - 1)) for state in states])

    def _action(self, state: NDArray[np.int32], time: int) -> NDArray[np.int8]:
        """Return the action in a state [J] at a time, from the cache if it is there."""
        name = time.to_bytes(4, "little") + state.tobytes()
        if name not in self._known:
            chances = (state[:, None] == np.arange(self.value.shape[2])).astype(np.float64)
            after = self.value[min(time + self.steps, self.instance.horizon)]
            fluid = solve_fluid(self.instance, chances, start=time, after=after, steps=self.steps)
            arms = np.arange(len(state))
            self._known.keep(name, self.instance.constraint.oracle(fluid.level_values[0][arms, :, state][None])[0])
        return self._known[name]

    def to_json(self) -> dict[str, Any]:
        """Return `value` and `steps`."""
        return {"value": self.value.tolist(), "steps": self.steps}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> ResolvingPolicy:
        """See BanditPolicy.from_json."""
        return cls(instance, read_array(values, "value"), read_integer(values, "steps", 1))


def check_value(instance: BanditInstance, value: NDArray[np.float64]) -> None:
    """Raise Infeasible if `value` is not a table [T + 1, J, S] for the instance's arms."""
    shape = (instance.horizon + 1, instance.arms, instance.rewards.shape[2])
    if value.shape != shape or not np.isfinite(value).all():
        raise Infeasible(f"value: accepted: finite numbers of shape {list(shape)}, not {list(value.shape)}")

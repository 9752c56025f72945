"""RecordedPolicy: a policy that repeats the actions of one recorded episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policy import BanditPolicy, read_array

__all__ = ["RecordedPolicy"]


@dataclass(frozen=True, eq=False)
class RecordedPolicy(BanditPolicy):
    """Repeat the actions of one episode in their order, whatever the states of the arms.

    A solution only of an instance with a single episode (`Problem.realised_instance`): in several episodes a policy must not know
    which of them it plays, because it would then know the future random numbers.
    """

    instance: BanditInstance
    taken: NDArray[np.int8]
    """[T, action_size] the action of each step."""

    kind = "recorded"

    def __post_init__(self) -> None:
        shape = (self.instance.horizon, self.instance.constraint.action_size)
        if self.taken.shape != shape:
            raise Infeasible(f"taken: accepted: an action of {shape[1]} entries for each of {shape[0]} steps")

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions. Raises Infeasible if there is more than one episode."""
        if len(states) != 1:
            raise Infeasible(f"actions recorded in one episode are no policy for {len(states)}")
        step = min(time, len(self.taken) - 1)
        return self.taken[step : step + 1]

    def to_json(self) -> dict[str, Any]:
        """Return `taken`."""
        return {"taken": self.taken.tolist()}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> RecordedPolicy:
        """See BanditPolicy.from_json."""
        taken = read_array(values, "taken")
        if not np.isin(taken, (0.0, 1.0)).all():
            raise Infeasible("taken: accepted: zeros and ones")
        return cls(instance, taken.astype(np.int8))

"""Building routes client by client with a look at the plan by savings, as a Markov decision process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.vrp.environment import VrpEnvironment
from corl.problems.vrp.environments.savings.savings import Outlook, observe, savings_of
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.metric import metric_of

__all__ = ["SavingsEnvironment"]


class SavingsEnvironment(VrpEnvironment):
    """Symmetric instances with capacities alone. A new vehicle's clients are listed by their distance from the depot, and a look
    ahead says what the plan by savings costs after each action. Raises UsageError for other instances."""

    def __init__(self, instances: Sequence[VrpInstance], rows: int, width: int = 24) -> None:
        for instance in instances:
            if reason := _beyond(instance):
                raise UsageError(f"{instance.name or 'vrp'}: {reason}; the environment 'savings' takes capacities alone")
        super().__init__(instances, rows, width)
        self.state.from_depot[0] = True
        self._savings = savings_of([metric_of(instance) for instance in instances])

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """What VrpEnvironment has, and the arrays of savings.Outlook."""
        seen = Outlook.empty(len(rows), self.width)
        observe(self.state, rows, actions, self._savings, seen)
        return super()._observe(rows, actions) | seen._asdict()


def _beyond(instance: VrpInstance) -> str:
    """What an instance has that savings do not know of; "" if there is nothing."""
    vehicles = instance.vehicles
    if instance.timed or np.isfinite(vehicles.max_distance).any() or not np.isfinite(vehicles.capacity).all():
        return "time, distance or loads are limited otherwise"
    if not instance.required[instance.depots :].all():
        return "there are optional clients"
    if not instance.symmetric or instance.route_weight or vehicles.fixed_cost.any() or (vehicles.unit_cost != 1.0).any():
        return "routes cost more than symmetric distances"
    return ""

"""Construction of routes client by client, with a lookahead by the savings heuristic, as a Markov decision process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.vrp.environment import VrpEnvironment
from corl.problems.vrp.environments.savings.savings import SavingsLookahead, observe, sorted_savings
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.metric import metric_of

__all__ = ["SavingsEnvironment"]


class SavingsEnvironment(VrpEnvironment):
    """A pool of partial solutions of symmetric instances whose only limits are capacities.

    Clients of a new vehicle are listed by their distance from the depot. The observation includes, for each action, the cost of
    completing the solution by the savings heuristic after this action. Raises UsageError for other instances.
    """

    def __init__(self, instances: Sequence[VrpInstance], rows: int, width: int = 24) -> None:
        for instance in instances:
            if reason := _unsupported(instance):
                raise UsageError(f"{instance.name or 'vrp'}: {reason}; the environment 'savings' takes capacities alone")
        super().__init__(instances, rows, width)
        self.state.from_depot[0] = True
        self._savings = sorted_savings([metric_of(instance) for instance in instances])

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the arrays of VrpEnvironment's observation and those of SavingsLookahead."""
        lookahead = SavingsLookahead.empty(len(rows), self.width)
        observe(self.state, rows, actions, self._savings, lookahead)
        return super()._observe(rows, actions) | lookahead._asdict()


def _unsupported(instance: VrpInstance) -> str:
    """Return which feature of an instance the savings heuristic does not take into account; "" if there is none."""
    vehicles = instance.vehicles
    if instance.timed or np.isfinite(vehicles.max_distance).any() or not np.isfinite(vehicles.capacity).all():
        return "time, distance or loads are limited otherwise"
    if not instance.required[instance.depots :].all():
        return "there are optional clients"
    if not instance.symmetric or instance.route_weight or vehicles.fixed_cost.any() or (vehicles.unit_cost != 1.0).any():
        return "routes cost more than symmetric distances"
    return ""

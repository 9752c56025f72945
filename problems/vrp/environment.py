"""Construction of routes client by client, as a Markov decision process (README.md, "As a decision process").

The observation is the reduced state of BQ-NCO (Drakulic et al., NeurIPS 2023): the position of the current vehicle, its remaining
capacity and time, and the unvisited clients. The rest of a partial solution does not affect future rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.vrp.evaluation import Route
from corl.problems.vrp.features import Observation, observe
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.metric import metric_of
from corl.problems.vrp.transitions import State, mark_servable, reset_rows
from corl.routing.graph_pool import graph_pool

__all__ = ["VrpEnvironment", "refusal"]

_NEIGHBOUR_FACTOR = 2  # neighbour lists hold 2 K nodes, so that half of them may be visited before a scan is needed


def refusal(instance: VrpInstance) -> str:
    """Return why the environment does not accept an instance; "" if it does.

    It accepts instances in which no decision leads to a dead end, because every required client could have a separate vehicle.
    """
    vehicles = instance.vehicles
    if instance.rules is not None and instance.rules.names:
        return f"{instance.rules.names[0]}; the decision process knows none"
    if instance.depots > 1:
        return f"{instance.depots} depots; the decision process knows one"
    if vehicles.types > 1:
        return f"{vehicles.types} vehicle types; the decision process knows one"
    if 0 <= vehicles.count[0] < instance.clients:
        return f"{vehicles.count[0]} vehicles; the decision process needs as many as clients, so that no decision is a dead end"
    return ""


class VrpEnvironment(Environment):
    """A pool of partial solutions.

    With n nodes, action x in 1..n-1 serves client x next. Action n + x returns to the depot and serves x with a new vehicle.
    Action 0 returns to the depot and skips the remaining clients; it is legal if none of them is required.

    The nearest clients that can be served are listed, half of the `width` slots for the current vehicle and half for a new one.
    The reward is minus the cost of the step, plus the prize if the client is optional; the last step includes the return to the
    depot. The base value, to which rewards are added, is minus all prizes.
    """

    def __init__(self, instances: Sequence[VrpInstance], rows: int, width: int = 64) -> None:
        super().__init__(instances, rows, width)
        for instance in instances:
            if reason := refusal(instance):
                raise UsageError(f"{instance.name or 'vrp'}: {reason}")
        self.width = max(1, min(width, 2 * max(instance.n for instance in instances) - 1))
        self.state = _pool(self.instances, rows, self.width)
        mark_servable(self.state)
        unservable = self.state.required & ~self.state.servable
        if unservable.any():
            number = int(np.searchsorted(self.state.graphs.nodes_start, int(unservable.argmax()), side="right")) - 1
            given = self.instances[number]
            node = given.ids[int(unservable.argmax()) - self.state.graphs.nodes_start[number]]
            raise UsageError(f"{given.name or 'vrp'}: client {node} cannot be served by a separate vehicle")
        self.reset(np.arange(rows), 0)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values: minus the prizes of all optional clients."""
        bases = np.empty(len(rows))
        reset_rows(self.state, rows, which, bases)
        return bases

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the reduced states, see corl.problems.vrp.features.Observation; slot k < K belongs to actions[:, k]."""
        observation = Observation.empty(len(rows), self.width)
        observe(self.state, rows, actions, observation)
        return observation._asdict()

    def solution(self, row: int) -> list[Route]:
        """Return the routes of a row. Raises UsageError if its episode is not over."""
        at, state = int(self._checked(row)[0]), self.state
        t, clients = int(state.visited[at]), int(state.graphs.size[state.instance[at]]) - 1
        if t < clients and not state.done[at]:
            raise UsageError(f"row {at} has decided on {t} of {clients} clients")
        begins = np.flatnonzero(state.begins_route[at, :t])
        return [Route(0, part.copy()) for part in np.split(state.order[at, :t], begins[1:])] if t else []


def _pool(instances: list[VrpInstance], rows: int, width: int) -> State:
    """Return the pool of `instances`; the rows are initialised by `reset`."""
    graphs = graph_pool([metric_of(instance) for instance in instances], _NEIGHBOUR_FACTOR * width)
    limits = [_limits(instance) for instance in instances]

    def node_values(name: str, default: float) -> NDArray[np.float64]:
        arrays = [getattr(instance, name) for instance in instances]
        return np.concatenate([np.full(n, default) if each is None else each for each, n in zip(arrays, graphs.size)])

    required = np.concatenate([instance.required for instance in instances])
    largest = int(graphs.size.max())
    return State(
        graphs=graphs,
        limits=np.array(limits, np.float64),
        demand=node_values("demand", 0.0),
        earliest=node_values("earliest", 0.0),
        latest=node_values("latest", np.inf),
        service=node_values("service", 0.0),
        prize=np.where(required, 0.0, node_values("prize", 0.0)),
        required=required,
        servable=np.zeros(len(required), bool),
        instance=np.zeros(rows, np.int32),
        visited=np.zeros(rows, np.int32),
        required_left=np.zeros(rows, np.int32),
        done=np.ones(rows, bool),
        order=np.zeros((rows, largest), np.int32),
        place=np.zeros((rows, largest), np.int32),
        begins_route=np.zeros((rows, largest), bool),
        vehicle=np.zeros((rows, 5)),
        from_depot=np.zeros(1, bool),
    )


def _limits(instance: VrpInstance) -> list[float]:
    """Return a row of State.limits."""
    vehicles = instance.vehicles
    route_cost = float(vehicles.fixed_cost[0]) + instance.route_weight
    return [
        float(vehicles.capacity[0]),
        float(vehicles.max_distance[0]),
        float(vehicles.max_duration[0]),
        route_cost,
        float(vehicles.unit_cost[0]),
        float(instance.scale),
    ]

"""NetworkPolicy: takes the feasible action to which a Q-network gives the highest value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.errors import Infeasible, InputError
from corl.problems.bandits.constraints.interventions import Interventions
from corl.problems.bandits.constraints.listing import every_action
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policy import ActionCache, BanditPolicy, read_array
from corl.solvers.bandits.policies.qnetwork import (
    HIDDEN,
    Listing,
    QNetwork,
    best_listed,
    given_state,
    inputs,
    listing_of,
)
from corl.solvers.bandits.policies.qnetwork import values as network_values
from corl.solvers.bandits.policies.tables import check_table

__all__ = ["CHOICES", "NetworkPolicy"]

CHOICES = ("list", "highs", "scip", "iterative")
"""Ways to find the best action: from a list of all; by HiGHS or SCIP as a mixed-integer program; or greedily, not exactly."""


@dataclass(frozen=True, eq=False)
class NetworkPolicy(BanditPolicy):
    """Take the feasible action of highest value: the network's output, plus the level values of a table if there is one."""

    instance: BanditInstance
    network: QNetwork
    level_values: NDArray[np.float64] | None = None
    """[T, J, A, S], "worth" in JSON. None: the value is the network's output, which then does not depend on time."""
    choice: str = "list"
    """How the best action is found, one of CHOICES."""
    _known: ActionCache = field(default_factory=ActionCache, init=False, repr=False)

    kind = "network"

    def __post_init__(self) -> None:
        if self.level_values is not None:
            check_table(self.instance, self.level_values)
        times = 0 if self.level_values is None else self.instance.horizon
        one, two = HIDDEN
        wanted = [(self.instance.rewards.size + times, one), (one,), (one, two), (two,), (two,), (1,)]
        for name, array, shape in zip(QNetwork._fields, self.network, wanted):
            if array.shape != shape or not np.isfinite(array).all():
                raise Infeasible(f"{name}: accepted: finite numbers of shape {list(shape)}, not {list(array.shape)}")
        if self.choice not in CHOICES:
            raise InputError(f"{self.choice!r}; accepted: {', '.join(CHOICES)}", field="policy.choice")

    @cached_property
    def listing(self) -> Listing:
        """All feasible actions. Raises InputError if there are too many."""
        constraint = self.instance.constraint
        actions = every_action(constraint)
        if actions is None:
            raise InputError(f"too many actions to list; accepted: {', '.join(CHOICES[1:])}", field="policy.choice")
        return listing_of(actions, constraint.levels_of(actions), self.instance.rewards.shape[1])

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions; uses no random numbers."""
        time = 0 if self.level_values is None else min(time, self.instance.horizon - 1)
        found = []
        for state in states:
            name = time.to_bytes(4, "little") + state.tobytes()
            if name not in self._known:
                self._known.keep(name, self.best(state, time)[1])
            found.append(self._known[name])
        return np.array(found)

    def best(self, state: NDArray[np.int32], time: int = 0) -> tuple[float, NDArray[np.int8]]:
        """Return (value, action) of the best action in a state [J] at a time."""
        seconds_left()
        arms, shape = np.arange(self.instance.arms), self.instance.rewards.shape
        table = np.zeros(shape[:2]) if self.level_values is None else self.level_values[time][arms, :, state]
        zero_value = float(table[:, 0].sum())
        level_values = np.ascontiguousarray(table - table[:, :1]).ravel()
        if self.choice == "iterative":
            return self._built(state, time, level_values)
        given = given_state(self.network, shape, state, None if self.level_values is None else time)
        if self.choice == "list":
            value, best_action = best_listed(self.network, *given, level_values, self.listing.first, self.listing.pairs)
            return value + zero_value, self.listing.actions[best_action]
        from corl.solvers.bandits.policies.embedding import best_embedded

        value, levels = best_embedded(self.instance, self.network, given, level_values, self.choice)
        return value + zero_value, self._action(levels)

    def value(self, state: NDArray[np.int32], actions: NDArray[np.int8], time: int = 0) -> NDArray[np.float64]:
        """Return the values of actions [R, action_size] in one state, float64 [R]."""
        levels, arms = self.instance.constraint.levels_of(actions), np.arange(self.instance.arms)
        found, times = np.empty(len(actions)), None if self.level_values is None else np.full(len(actions), time)
        network_values(self.network, inputs(self.instance.rewards.shape, np.tile(state, (len(actions), 1)), levels, times), found)
        if self.level_values is not None:
            found += self.level_values[time][arms, levels, state].sum(axis=1)
        return found

    def _action(self, levels: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the action that gives these levels [J]."""
        constraint = self.instance.constraint
        if not isinstance(constraint, Interventions):
            return levels
        action = np.zeros(constraint.count, np.int8)
        for level, each in zip(levels.tolist(), constraint.touching):
            for bit, intervention in enumerate(each):
                action[intervention] |= level >> bit & 1
        return action

    def _built(self, state: NDArray[np.int32], time: int, level_values: NDArray[np.float64]) -> tuple[float, NDArray[np.int8]]:
        """Build an action greedily, adding the feasible entry that raises the value most; return (value, action)."""
        constraint = self.instance.constraint
        action = np.zeros(constraint.action_size, np.int8)
        best_value = float(self.value(state, action[None], time)[0])
        while len(unset := np.flatnonzero(action == 0)):
            candidates = np.repeat(action[None], len(unset), axis=0)
            candidates[np.arange(len(unset)), unset] = 1
            found = np.where(constraint.fits(candidates), self.value(state, candidates, time), -np.inf)
            best = int(np.argmax(found))
            if not found[best] > best_value:
                break
            action, best_value = candidates[best], float(found[best])
        return best_value, action

    def to_json(self) -> dict[str, Any]:
        """Return `network` (its arrays by name), `worth` and `choice`."""
        network = {name: array.tolist() for name, array in zip(QNetwork._fields, self.network)}
        return {
            "network": network,
            "worth": None if self.level_values is None else self.level_values.tolist(),
            "choice": self.choice,
        }

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> NetworkPolicy:
        """See BanditPolicy.from_json."""
        found = values.get("network")
        if not isinstance(found, Mapping):
            raise InputError(f"accepted: an object with {', '.join(QNetwork._fields)}", field="policy.network")
        network = QNetwork(*(read_array(found, name) for name in QNetwork._fields))
        level_values = None if values.get("worth") is None else read_array(values, "worth")
        choice = values.get("choice")
        return cls(instance, network, level_values, choice if isinstance(choice, str) else str(choice))

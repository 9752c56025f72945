"""RolloutPolicy: compares a few good actions in every step by rollouts.

A rollout takes the action, and then in each step the action with the largest sum of level values in a table. All actions of a
comparison face the same random numbers (common random numbers). These numbers are not those of the episode that is played,
whose future a policy must not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policy import ActionCache, BanditPolicy, read_array, read_integer
from corl.problems.bandits.transitions import advance, thresholds
from corl.solvers.bandits.policies.resolving import check_value
from corl.solvers.bandits.policies.tables import check_table

__all__ = ["RolloutPolicy"]

_NOISE = 0.3  # standard deviation of the noise with which other actions are proposed, relative to the mean gain of an arm
_REQUIRED_LEAD = 1.0  # by how many standard errors an action must be better than the table's to replace it
_STREAMS = (1, 2)  # streams of random numbers: for proposals and for rollouts


@dataclass(frozen=True, eq=False)
class RolloutPolicy(BanditPolicy):
    """Take the action that earns most in rollouts, among the table's action and the best actions for noisy level values."""

    instance: BanditInstance
    level_values: NDArray[np.float64]
    """[T, J, A, S] the value if arm j, in state s, gets level a at time t; "worth" in JSON. Rollouts take its best actions."""
    value: NDArray[np.float64]
    """[T + 1, J, S] the value of an arm in a state from a time on; it replaces the rewards after the end of a rollout."""
    breadth: int = 4
    """Number of actions compared in a step."""
    samples: int = 8
    """Number of rollouts after each action."""
    depth: int = 4
    """Number of steps of a rollout, including the one with the action."""
    seed: int = 0
    """The seed of the noise and of the rollouts."""
    _known: ActionCache = field(default_factory=ActionCache, init=False, repr=False)

    kind = "rollout"

    def __post_init__(self) -> None:
        check_table(self.instance, self.level_values)
        check_value(self.instance, self.value)

    @cached_property
    def _thresholds(self) -> NDArray[np.float64]:
        return thresholds(self.instance)

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions. An action depends only on the state and the time; the keys are not used."""
        time = min(time, self.instance.horizon - 1)
        names = [time.to_bytes(4, "little") + state.tobytes() for state in states]
        missing = {name: state for name, state in zip(names, states) if name not in self._known}
        if missing:
            actions = self._search(np.array(list(missing.values()), np.int32), time)
            new_actions = dict(zip(missing, actions))
            for name, action in new_actions.items():
                self._known.keep(name, action)
            return np.array([new_actions.get(name, self._known.get(name)) for name in names], np.int8)
        return np.array([self._known[name] for name in names], np.int8)

    def _search(self, states: NDArray[np.int32], time: int) -> NDArray[np.int8]:
        """Return the proposal that earns most in rollouts from each state [R, J], int8 [R, action_size]."""
        proposals = self._proposals(states, time)
        rows, breadth = len(states), self.breadth
        levels = self.instance.constraint.levels_of(proposals.reshape(rows * breadth, -1))
        totals = self._rolled(states, levels.reshape(rows, breadth, -1), time)
        lead = totals - totals[:, :1]
        mean = lead.mean(axis=2)
        error = lead.std(axis=2, ddof=1) / np.sqrt(self.samples) if self.samples > 1 else np.zeros_like(mean)
        sure_lead = np.where(mean > _REQUIRED_LEAD * error, mean, 0.0)
        return proposals[np.arange(rows), sure_lead.argmax(axis=1)]  # type: ignore[no-any-return]

    def _values_at(self, states: NDArray[np.int32], time: int) -> NDArray[np.float64]:
        """Return the level values at these states, float64 [R, J, A]."""
        table = self.level_values[min(time, len(self.level_values) - 1)]
        return table[np.arange(self.instance.arms)[None, :], :, states]  # type: ignore[no-any-return]

    def _proposals(self, states: NDArray[np.int32], time: int) -> NDArray[np.int8]:
        """Return the actions to compare in each state, int8 [R, breadth, action_size]; the first one is the table's."""
        level_values = self._values_at(states, time)
        noise = np.random.default_rng([self.seed, _STREAMS[0], time]).standard_normal((self.breadth, *level_values.shape[1:]))
        noise[0] = 0.0
        noise[:, :, 0] = 0.0
        scale = _NOISE * np.abs(level_values - level_values[:, :, :1]).mean(axis=(1, 2))
        noisy = level_values[:, None] + scale[:, None, None, None] * noise
        found = self.instance.constraint.oracle(noisy.reshape(-1, *level_values.shape[1:]))
        return found.reshape(len(states), self.breadth, -1)

    def _rolled(self, states: NDArray[np.int32], levels: NDArray[np.int8], time: int) -> NDArray[np.float64]:
        """Return the rewards of rollouts, float64 [R, breadth, samples], whose first step gives the levels [R, breadth, J]."""
        rows, breadth, arms = levels.shape
        drawn = np.random.default_rng([self.seed, _STREAMS[1], time]).integers(0, 2**63, self.samples).astype(np.uint64)
        keys = np.tile(drawn, rows * breadth)
        current = np.repeat(states, breadth * self.samples, axis=0)
        given = np.repeat(levels.reshape(-1, arms), self.samples, axis=0)
        total, earned = np.zeros(len(current)), np.empty(len(current))
        end = min(time + self.depth, self.instance.horizon)
        for step in range(time, end):
            if step > time:
                distinct, inverse = np.unique(current, axis=0, return_inverse=True)
                actions = self.instance.constraint.oracle(self._values_at(distinct, step))
                given = self.instance.constraint.levels_of(actions)[inverse.reshape(-1)]
            advance(self._thresholds, self.instance.rewards, current, given, keys, step, earned)
            total += self.instance.weights[step] * earned
        total += self.value[end][np.arange(arms)[None, :], current].sum(axis=1)
        return total.reshape(rows, breadth, self.samples)

    def to_json(self) -> dict[str, Any]:
        """Return `worth`, `value`, `breadth`, `samples`, `depth` and `seed`."""
        options = {"breadth": self.breadth, "samples": self.samples, "depth": self.depth, "seed": self.seed}
        return {"worth": self.level_values.tolist(), "value": self.value.tolist(), **options}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> RolloutPolicy:
        """See BanditPolicy.from_json."""
        options = {name: read_integer(values, name, 1, 1000) for name in ("breadth", "samples", "depth")}
        return cls(
            instance, read_array(values, "worth"), read_array(values, "value"), **options, seed=read_integer(values, "seed")
        )

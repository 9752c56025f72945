"""RolloutPolicy: likely actions compared by rollouts, a tree search of depth one.

Nodes are afterstates: an action's expected reward is known; the steps that follow are played by a table's policy and the exact
oracle. The random numbers of a search are its own, the same for all actions that it compares (common random numbers) and never
the episode's: a search with an episode's keys would know the future.
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

_SPREAD = 0.3  # scale of the noise on level values that proposes other actions, in mean gains of an arm
_DOUBT = 1.0  # standard errors by which an action must be better than the table's to replace it
_STREAMS = (1, 2)  # streams of the seed: proposals, rollouts


@dataclass(frozen=True, eq=False)
class RolloutPolicy(BanditPolicy):
    """Take the best in rollouts of the table's policy among its own action and those for noisy level values."""

    instance: BanditInstance
    level_values: NDArray[np.float64]
    """[T, J, A, S] values of levels, "worth" in JSON: the table of the rollouts' policy."""
    value: NDArray[np.float64]
    """[T + 1, J, S] the values of arms at the end of a rollout."""
    breadth: int = 4
    """Number of actions compared."""
    samples: int = 8
    """Number of rollouts of each action."""
    depth: int = 4
    """Steps of a rollout, including the first."""
    seed: int = 0
    _known: ActionCache = field(default_factory=ActionCache, init=False, repr=False)

    kind = "rollout"

    def __post_init__(self) -> None:
        check_table(self.instance, self.level_values)
        check_value(self.instance, self.value)

    @cached_property
    def _thresholds(self) -> NDArray[np.float64]:
        return thresholds(self.instance)

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions; an action depends on the state and the time alone."""
        time = min(time, self.instance.horizon - 1)
        names = [time.to_bytes(4, "little") + state.tobytes() for state in states]
        missing = {name: state for name, state in zip(names, states) if name not in self._known}
        if missing:
            found = self._search(np.array(list(missing.values()), np.int32), time)
            fresh = dict(zip(missing, found))
            for name, action in fresh.items():
                self._known.keep(name, action)
            return np.array([fresh.get(name, self._known.get(name)) for name in names], np.int8)
        return np.array([self._known[name] for name in names], np.int8)

    def _search(self, states: NDArray[np.int32], time: int) -> NDArray[np.int8]:
        """Return the best of the proposals, int8 [R, action_size]."""
        proposals = self._proposals(states, time)
        rows, breadth = len(states), self.breadth
        levels = self.instance.constraint.levels_of(proposals.reshape(rows * breadth, -1))
        totals = self._rolled(states, levels.reshape(rows, breadth, -1), time)
        ahead = totals - totals[:, :1]
        mean = ahead.mean(axis=2)
        error = ahead.std(axis=2, ddof=1) / np.sqrt(self.samples) if self.samples > 1 else np.zeros_like(mean)
        sure = np.where(mean > _DOUBT * error, mean, 0.0)
        return proposals[np.arange(rows), sure.argmax(axis=1)]  # type: ignore[no-any-return]

    def _values_at(self, states: NDArray[np.int32], time: int) -> NDArray[np.float64]:
        """Return the level values at these states, float64 [R, J, A]."""
        table = self.level_values[min(time, len(self.level_values) - 1)]
        return table[np.arange(self.instance.arms)[None, :], :, states]  # type: ignore[no-any-return]

    def _proposals(self, states: NDArray[np.int32], time: int) -> NDArray[np.int8]:
        """Return the actions to compare, int8 [R, breadth, action_size]; the first is the table's."""
        level_values = self._values_at(states, time)
        noise = np.random.default_rng([self.seed, _STREAMS[0], time]).standard_normal((self.breadth, *level_values.shape[1:]))
        noise[0] = 0.0
        noise[:, :, 0] = 0.0
        scale = _SPREAD * np.abs(level_values - level_values[:, :, :1]).mean(axis=(1, 2))
        noisy = level_values[:, None] + scale[:, None, None, None] * noise
        found = self.instance.constraint.oracle(noisy.reshape(-1, *level_values.shape[1:]))
        return found.reshape(len(states), self.breadth, -1)

    def _rolled(self, states: NDArray[np.int32], levels: NDArray[np.int8], time: int) -> NDArray[np.float64]:
        """Return the rewards, float64 [R, breadth, samples], of rollouts whose first step has the levels [R, breadth, J]."""
        rows, breadth, arms = levels.shape
        drawn = np.random.default_rng([self.seed, _STREAMS[1], time]).integers(0, 2**63, self.samples).astype(np.uint64)
        keys = np.tile(drawn, rows * breadth)
        now = np.repeat(states, breadth * self.samples, axis=0)
        given = np.repeat(levels.reshape(-1, arms), self.samples, axis=0)
        total, earned = np.zeros(len(now)), np.empty(len(now))
        end = min(time + self.depth, self.instance.horizon)
        for at in range(time, end):
            if at > time:
                distinct, inverse = np.unique(now, axis=0, return_inverse=True)
                actions = self.instance.constraint.oracle(self._values_at(distinct, at))
                given = self.instance.constraint.levels_of(actions)[inverse.reshape(-1)]
            advance(self._thresholds, self.instance.rewards, now, given, keys, at, earned)
            total += self.instance.weights[at] * earned
        total += self.value[end][np.arange(arms)[None, :], now].sum(axis=1)
        return total.reshape(rows, breadth, self.samples)

    def to_json(self) -> dict[str, Any]:
        """Return `worth`, `value`, `breadth`, `samples`, `depth` and `seed`."""
        search = {"breadth": self.breadth, "samples": self.samples, "depth": self.depth, "seed": self.seed}
        return {"worth": self.level_values.tolist(), "value": self.value.tolist(), **search}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> RolloutPolicy:
        """See BanditPolicy.from_json."""
        sizes = {name: read_integer(values, name, 1, 1000) for name in ("breadth", "samples", "depth")}
        return cls(instance, read_array(values, "worth"), read_array(values, "value"), **sizes, seed=read_integer(values, "seed"))

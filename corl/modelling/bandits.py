"""`BanditModel`: arms that move by themselves, of which a few can be pulled at a time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corl.errors import UsageError
from corl.modelling.common import Names, Solved, compiled, records

if TYPE_CHECKING:
    import pandas
    from numpy.typing import ArrayLike, NDArray

    from corl.problems.bandits.instance import BanditInstance

__all__ = ["BanditModel", "Pulls"]


@dataclass(frozen=True)
class Pulls(Solved):
    """A policy in the model's names."""

    arms: tuple[Hashable, ...]
    states: tuple[Hashable, ...]

    def act(self, state: Mapping[Hashable, Hashable], t: int = 0) -> list[Hashable]:
        """Which arms to pull at time t, where each arm is in the state that the mapping says. Raises UsageError."""
        arms, states = Names("arm"), Names("state")
        for arm in self.arms:
            arms.add(arm)
        for each in self.states:
            states.add(each)
        if missing := [arm for arm in self.arms if arm not in state]:
            raise UsageError(f"the state of arm {missing[0]!r} is missing")
        for arm in state:
            arms[arm]
        policy = self.result.policy
        action = policy.act([states[state[arm]] for arm in self.arms], t)
        return [arm for arm, level in zip(self.arms, np.asarray(action)) if level]


class BanditModel:
    """Arms with states of their own, and a budget of pulls a step (or of what pulls cost).

    states: the names of the states that an arm can be in, the same for all. horizon: steps of an episode.
    """

    def __init__(
        self, states: Sequence[Hashable], *, budget: int, horizon: int = 20, episodes: int = 50, name: str = "model"
    ) -> None:
        self.name, self.budget, self.horizon, self.episodes = name, budget, horizon, episodes
        self._arms, self._states = Names("arm"), Names("state")
        for state in states:
            self._states.add(state)
        self._tables: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        self._costs: list[int] = []
        self._initial: list[int] = []

    def add_arm(
        self,
        name: Hashable,
        *,
        left: ArrayLike,
        pulled: ArrayLike,
        reward: Mapping[Hashable, float],
        start: Hashable,
        cost: int = 1,
    ) -> None:
        """An arm: its chances [S, S] of going from a state to another when it is left alone and when it is pulled.

        reward: what a step in a state is worth, 0 where it is not named. start: the state in which episodes begin.
        """
        size = len(self._states)
        try:
            chances = np.array([left, pulled], np.float64)
        except (TypeError, ValueError):
            chances = np.zeros(0)
        if chances.shape != (2, size, size) or not (chances >= 0).all() or not np.allclose(chances.sum(2), 1.0, atol=1e-9):
            raise UsageError(f"arm {name!r}: accepted: left and pulled, {size} x {size} chances whose rows sum to 1")
        worth = np.zeros((2, size))
        for state, value in reward.items():
            worth[:, self._states[state]] = value
        first = self._states[start]
        self._arms.add(name)
        self._tables.append((chances, worth))
        self._costs.append(cost)
        self._initial.append(first)

    def add_arms_from_log(
        self, log: pandas.DataFrame | Sequence[Mapping[str, Any]], *, reward: Mapping[Hashable, float], prior: float = 1.0
    ) -> None:
        """Arms from events: rows with `arm`, `state`, `pulled` (true or false) and `next`, each arm's in order of time.

        Chances are shares of what was seen; `prior` transitions as all arms together made them are added to each row of an arm,
        so that what an arm never did is not thought impossible. An arm begins where its last row ends.
        """
        rows, size = records(log), len(self._states)
        counts: dict[Hashable, NDArray[np.float64]] = {}
        last: dict[Hashable, Hashable] = {}
        for at, row in enumerate(rows):
            if lacking := {"arm", "state", "pulled", "next"} - row.keys():
                raise UsageError(f"row {at} of the log lacks {sorted(lacking)[0]!r}")
            table = counts.setdefault(row["arm"], np.zeros((2, size, size)))
            table[int(bool(row["pulled"])), self._states[row["state"]], self._states[row["next"]]] += 1
            last[row["arm"]] = row["next"]
        if not counts:
            raise UsageError("the log has no rows")
        together = np.sum(list(counts.values()), axis=0) + 1e-3
        shared = together / together.sum(2, keepdims=True)
        for arm, table in counts.items():
            smoothed = table + prior * shared
            total = smoothed.sum(2, keepdims=True)
            left, pulled = np.where(total > 0, smoothed / np.where(total > 0, total, 1.0), shared)
            self.add_arm(arm, left=left, pulled=pulled, reward=reward, start=last[arm])

    def instance(self) -> BanditInstance:
        """What the model compiles to. Raises InputError."""
        from corl.problems.bandits.constraints.budget import Budget
        from corl.problems.bandits.instance import BanditInstance

        if not self._tables:
            raise UsageError("the model has no arms; add_arm adds one")
        transitions, rewards = (np.stack(each) for each in zip(*self._tables))
        return compiled(
            lambda: BanditInstance(
                name=self.name,
                transitions=transitions,
                rewards=rewards,
                constraint=Budget(np.array(self._costs), self.budget),
                initial=np.tile(np.array(self._initial, np.int32), (self.episodes, 1)),
                horizon=self.horizon,
            ),
            {"arms": self._arms},
        )

    def solve(self, **options: Any) -> Pulls:
        """As `corl.solve` of the instance: `time_limit`, `solver` and what else it takes."""
        from corl.solving import solve

        result = solve(self.instance(), problem="bandits", **options)
        return Pulls(result, tuple(self._arms.listed()), tuple(self._states.listed()))

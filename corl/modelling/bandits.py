"""`BanditModel`: restless bandits. Each arm has a state that changes in every step; a few arms can be pulled per step."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corl.arguments import LARGEST, entries, flag, integer, name, number, refusal, text
from corl.errors import UsageError, shown
from corl.modelling.common import Names, Solved, accepted_cells, compiled, records, solved

if TYPE_CHECKING:
    import pandas
    from numpy.typing import ArrayLike, NDArray

    from corl.problems.bandits.instance import BanditInstance

__all__ = ["BanditModel", "Pulls"]


@dataclass(frozen=True)
class Pulls(Solved):
    """A policy for a model: given the names of the arms' states, it returns the names of the arms to pull."""

    arms: tuple[Hashable, ...]
    """The names of the arms."""
    states: tuple[Hashable, ...]
    """The names of the states."""

    def act(self, state: Mapping[Hashable, Hashable], t: int = 0) -> list[Hashable]:
        """Return the arms to pull at time `t`, given the state of each arm (arm -> state). Raises UsageError."""
        if not isinstance(state, Mapping):
            raise refusal("state", state, "a dict with the state of each arm")
        arms, states = Names("arm", self.arms), Names("state", self.states)
        for arm in state:
            arms.number("state", arm)
        if missing := [arm for arm in self.arms if arm not in state]:
            raise UsageError(f"the state of arm {missing[0]!r} is missing; accepted: a state for each arm")
        action = self.result.policy.act(
            [states.number(f"the state of arm {shown(arm)}", state[arm]) for arm in self.arms], integer("t", t)
        )
        return [arm for arm, pulled in zip(self.arms, np.asarray(action)) if pulled]


class BanditModel:
    """A model of arms, each in a state, of which a limited number can be pulled per step."""

    def __init__(
        self, states: Sequence[Hashable], *, budget: int, horizon: int = 20, episodes: int = 50, name: str = "model"
    ) -> None:
        """Create a model without arms. Raises UsageError.

        Args:
            states: The names of the states, the same for all arms.
            budget: The largest total cost of the pulls in a step; with costs of 1, the largest number of pulls.
            horizon: The number of steps of an episode.
            episodes: The number of episodes over which a policy's objective value is averaged.
            name: The name of the instance.
        """
        self.name, self.budget, self.horizon = text("name", name), integer("budget", budget), integer("horizon", horizon, 1)
        self.episodes = integer("episodes", episodes, 1, 1_000_000)
        self._arms, self._states = Names("arm"), Names("state")
        for state in entries("states", states, "a list of names"):
            self._states.add(state)
        if not len(self._states):
            raise refusal("states", states, "at least one name")
        self._tables: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []  # per arm: probabilities and rewards
        self._costs: list[int] = []  # per arm
        self._initial: list[int] = []  # per arm, the index of the state in which episodes begin

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
        """Add an arm of S states. Raises UsageError.

        Args:
            name: The name of the arm.
            left: float [S, S], the probability of each next state (column) in each state (row) if the arm is not pulled.
            pulled: float [S, S], these probabilities if the arm is pulled.
            reward: State -> the reward of a step in this state; 0 for states that are not named.
            start: The state in which episodes begin.
            cost: The cost of a pull.
        """
        arm, size = self._arms.new(name), len(self._states)
        try:
            chances = np.array([left, pulled], np.float64)
        except (TypeError, ValueError, OverflowError):
            chances = np.zeros(0)
        if chances.shape != (2, size, size) or not (chances >= 0).all() or not np.allclose(chances.sum(2), 1.0, atol=1e-9):
            raise UsageError(f"arm {shown(arm)}: accepted: left and pulled, {size} x {size} probabilities whose rows sum to 1")
        rewards = np.zeros((2, size))
        if not isinstance(reward, Mapping):
            raise refusal(f"arm {shown(arm)}: reward", reward, "a dict from states to numbers")
        for state, value in reward.items():
            at = self._states.number(f"arm {shown(arm)}: reward", state)
            rewards[:, at] = number(f"arm {shown(arm)}: reward in {shown(state)}", value, low=-LARGEST)
        first_state, price = self._states.number(f"arm {shown(arm)}: start", start), integer(f"arm {shown(arm)}: cost", cost, 1)
        self._arms.add(arm)
        self._tables.append((chances, rewards))
        self._costs.append(price)
        self._initial.append(first_state)

    def add_arms_from_log(
        self, log: pandas.DataFrame | Sequence[Mapping[str, Any]], *, reward: Mapping[Hashable, float], prior: float = 1.0
    ) -> None:
        """Add arms with transition probabilities estimated from a log of transitions. Raises UsageError.

        Probabilities are relative frequencies of the observed transitions. Episodes of an arm begin in the state `next` of the
        arm's last row.

        Args:
            log: Rows with the columns `arm`, `state`, `pulled` (true or false) and `next` (the next state); the rows of an arm
                are in order of time.
            reward: As in `add_arm`, for all arms.
            prior: The number of transitions that are added for each state and action of an arm, so that unobserved transitions
                do not get probability 0. They are distributed like the observed transitions of all arms together.
        """
        rows, size, columns = records("log", log), len(self._states), ("arm", "state", "pulled", "next")
        weight = number("prior", prior)
        counts: dict[Hashable, NDArray[np.float64]] = {}
        last: dict[Hashable, Hashable] = {}
        for at, row in enumerate(rows):
            of = f"row {at} of the log"
            cells = accepted_cells(of, row, columns, columns)
            arm, pulled = name(f"{of}: arm", cells["arm"]), flag(f"{of}: pulled", cells["pulled"])
            table = counts.setdefault(arm, np.zeros((2, size, size)))
            before, after = (self._states.number(f"{of}: {key}", cells[key]) for key in ("state", "next"))
            table[int(pulled), before, after] += 1
            last[arm] = cells["next"]
        if not counts:
            raise UsageError("log: there are no rows; accepted: at least one")
        pooled = np.sum(list(counts.values()), axis=0) + 1e-3  # above 0, so that unobserved states have a distribution
        shared = pooled / pooled.sum(2, keepdims=True)
        for arm, table in counts.items():
            smoothed = table + weight * shared
            total = smoothed.sum(2, keepdims=True)
            chances = np.where(total > 0, smoothed / np.where(total > 0, total, 1.0), shared)
            self.add_arm(arm, left=chances[0], pulled=chances[1], reward=reward, start=last[arm])

    def instance(self) -> BanditInstance:
        """Return the instance of the model. Raises InputError."""
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
        """Solve the instance with the options of `corl.solve`: `time_limit`, `solver` and others."""
        result = solved(self.instance(), "bandits", options)
        return Pulls(result, tuple(self._arms.listed()), tuple(self._states.listed()))

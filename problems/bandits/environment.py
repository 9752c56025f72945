"""Episodes of a restless bandit as a Markov decision process (README.md, "As a decision process").

A step's action is built entry by entry; setting one entry is called a pick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.bandits.features import observe
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.precomputed import precompute
from corl.problems.bandits.recorded import RecordedPolicy
from corl.problems.bandits.transitions import Offsets, State, place_rows

__all__ = ["BanditEnvironment", "episode_of"]

_HORIZONS = np.array([1, 2, 4, 8, 2**31 - 1])
"""The numbers of steps over which an observation has the gain of a pick; the last number means all remaining steps."""


def episode_of(instance: BanditInstance, key: int) -> BanditInstance:
    """Return the instance whose only episode is the one that a row plays after a reset with this key.

    The arms begin as in episode `key` (modulo the number of episodes) of `instance`. The random numbers are not those of
    any episode of `instance`, on which policies are evaluated.
    """
    seed = int(np.random.SeedSequence([instance.seed, 1, key]).generate_state(1)[0]) >> 1
    begin = instance.initial[key % instance.episodes][None]
    return replace(instance, initial=begin, seed=seed)


class BanditEnvironment(Environment):
    """A pool of episodes, one in each row.

    Actions 0 to N - 1 pick an entry of the step's action; action N, commit, ends the step. A pick is legal if the picked entries
    remain feasible together. Commit is always legal, because every subset of a feasible set of entries is feasible.

    The reward of commit is the step's reward times its weight in the objective; a pick has reward 0, and the base value is 0.
    The gain of a pick is the reward that it adds, over the remaining steps, at the arms that it touches. At most `width` actions
    are listed: the picks with a positive gain, the largest first; commit; the other picks.
    """

    def __init__(self, instances: Sequence[BanditInstance], rows: int, width: int = 64) -> None:
        super().__init__(instances, rows, width)
        self.width = min(width, 1 + max(instance.constraint.action_size for instance in instances))
        self.state = _pool(self.instances, rows)
        self.reset(np.arange(rows), 0)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values, which are 0."""
        from corl.problems.bandits.evaluation import episode_keys

        arms, row_keys = np.zeros((len(rows), self.state.arm.shape[1]), np.int32), np.empty(len(rows), np.uint64)
        for i, (number, key) in enumerate(zip(which.tolist(), keys.tolist())):
            episode = episode_of(self.instances[number], key)
            arms[i, : episode.arms], row_keys[i] = episode.initial[0], episode_keys(episode)[0]
        place_rows(self.state, rows, which, row_keys, arms, 0)
        return np.zeros(len(rows))

    def place(self, rows: ArrayLike, arms: NDArray[np.int32], time: int) -> None:
        """Set `rows`, int [R], to the beginning of the step at `time` of instance 0, with the arms in the states `arms` [R, J].

        The random numbers are those of key 0. `solution` refuses these rows unless `time` is 0, because the actions of earlier
        steps are unknown.
        """
        at = self._checked(rows)
        place_rows(self.state, at, np.zeros(len(at), np.int64), np.zeros(len(at), np.uint64), arms, time)

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return features of the arms and of the picks so far; slot k describes action k of `actions`. The key is not observed.

        action: int32 [R, K], as `actions` lists them, -1 in empty slots; mask: bool [R, K], True if the slot is used.
        commit: bool [R, K], True if the action is commit.
        gains: float64 [R, K, 2, 5], the reward that a pick adds at the arms it touches over 1, 2, 4, 8 and all remaining steps; 0
            for commit. Axis 2: in later steps these arms get level 0 (index 0), or always their best level (index 1).
        rooms: int64 [R, K + 1], the number of rooms (Constraint.rooms) that hold the picks so far together with each listed pick;
            0 for commit. The last column is for the picks so far alone.
        arms: float64 [R, 2], the reward of all arms over the remaining steps if this step has the levels picked so far, and later
            steps as on axis 2 of `gains`.
        weight: float64 [R], the weight of the step's reward in the objective; `gains` and `arms` are not multiplied by it.
        picked: int64 [R], the number of picks of this step so far.
        left: int64 [R], the number of remaining steps.
        room: int64 [R], the number of rooms of the instance.
        """
        state = self.state
        instance = state.instance[rows]
        gains = np.zeros((*actions.shape, 2, len(_HORIZONS)))
        rooms, arms = np.zeros((len(rows), actions.shape[1] + 1), np.int64), np.zeros((len(rows), 2))
        observe(state, rows, actions, _HORIZONS, gains, rooms, arms)
        time, horizon = state.time[rows], state.horizon[instance]
        step = np.minimum(time, horizon - 1)
        return {
            "action": actions,
            "mask": actions >= 0,
            "commit": actions == state.picks[instance][:, None],
            "gains": gains,
            "rooms": rooms,
            "arms": arms,
            "weight": state.weight[state.start.weight[instance] + step],
            "picked": np.where(time < horizon, state.chosen[rows, step].sum(axis=1, dtype=np.int64), 0),
            "left": horizon - time,
            "room": state.rooms[instance],
        }

    def solution(self, row: int) -> RecordedPolicy:
        """Return the actions of the episode, a policy for its `Problem.realised_instance`. Raises UsageError before its end."""
        at, state = int(self._checked(row)[0]), self.state
        which = int(state.instance[at])
        if state.time[at] < state.horizon[which]:
            raise UsageError(f"row {at} has {state.horizon[which] - state.time[at]} steps to go")
        if state.begun[at]:
            raise UsageError(f"row {at} was placed in the middle of an episode")
        return RecordedPolicy(self.instances[which], state.chosen[at, : state.horizon[which], : state.picks[which]].copy())


def _pool(instances: list[BanditInstance], rows: int) -> State:
    """Return the pool of `instances`; the rows are initialised by `reset`."""
    precomputed = [precompute(instance) for instance in instances]
    tables: dict[str, list[NDArray[Any]]] = {
        "reward": [instance.rewards for instance in instances],
        "threshold": [each.thresholds for each in precomputed],
        "weight": [instance.weights for instance in instances],
        "lookahead": [each.lookahead for each in precomputed],
        "need": [each.rooms.needs for each in precomputed],
        "size": [each.rooms.sizes for each in precomputed],
        "reach": [each.reach for each in precomputed],
    }
    touched = [each.touched for each in precomputed]
    lengths = {name: np.array([array.size for array in arrays], np.int64) for name, arrays in tables.items()}
    lengths["touched"] = np.array([len(array) for array in touched], np.int64)
    sizes = {
        "arms": [instance.arms for instance in instances],
        "picks": [instance.constraint.action_size for instance in instances],
        "levels": [instance.rewards.shape[1] for instance in instances],
        "states": [instance.rewards.shape[2] for instance in instances],
        "horizon": [instance.horizon for instance in instances],
        "needs": [each.rooms.needs.shape[1] for each in precomputed],
        "rooms": [len(each.rooms.sizes) for each in precomputed],
        "depth": [len(each.lookahead) for each in precomputed],
    }
    widest = {name: max(numbers) for name, numbers in sizes.items()}
    return State(
        **{name: np.array(numbers, np.int64) for name, numbers in sizes.items()},  # type: ignore[arg-type]  # all are integers
        start=Offsets(**{name: np.cumsum(length) - length for name, length in lengths.items()}),
        **{name: np.concatenate([array.ravel() for array in arrays]) for name, arrays in tables.items()},
        touched=np.concatenate(touched),
        instance=np.zeros(rows, np.int32),
        key=np.zeros(rows, np.uint64),
        begun=np.zeros(rows, np.int32),
        time=np.zeros(rows, np.int32),
        arm=np.zeros((rows, widest["arms"]), np.int32),
        level=np.zeros((rows, widest["arms"]), np.int32),
        used=np.zeros((rows, widest["needs"]), np.int64),
        chosen=np.zeros((rows, widest["horizon"], widest["picks"]), np.int8),
    )

"""BanditInstance: arms, the constraint that couples them, and the episodes on which policies are judged."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.files.json_values import to_json
from corl.problems.bandits.constraints.constraint import Constraint

__all__ = ["LARGEST", "LARGEST_HORIZON", "BanditInstance"]

LARGEST = 1e12
"""The largest absolute reward: with it, sums over arms, times and episodes are still accurate in float64."""

LARGEST_HORIZON = 10_000
"""The largest number of steps of an episode: with it, simulating even a policy that never acts takes a second."""

_SUM_TOLERANCE = 1e-6  # how far a row of probabilities may sum from 1; it is then scaled to sum 1


@dataclass(frozen=True, eq=False)
class BanditInstance:
    """J arms, each with one Markov chain for every level of action.

    In one step every arm j in state s gets a level a, earns `rewards[j, a, s]` and moves to a state drawn from
    `transitions[j, a, s]`. Level 0 leaves the arm alone; level 1 of an arm with two levels is called a pull. `constraint` says
    which combinations of levels are feasible. S and A are the largest numbers of states and levels of any arm; arrays are padded
    for arms with fewer. Raises InputError if a shape or value is invalid.
    """

    name: str
    transitions: NDArray[np.float64]
    """[J, A, S, S] probabilities of the next state (last axis). Padding is replaced: padded states lead to themselves."""
    rewards: NDArray[np.float64]
    """[J, A, S] the expected reward of a step, at most LARGEST in absolute value."""
    constraint: Constraint
    initial: NDArray[np.int32]
    """[E, J] the states in which the episodes begin."""
    horizon: int = 20
    """T, the number of steps of an episode."""
    discount: float = 1.0
    """gamma: a reward at time t has weight gamma^t, and the T weights are scaled to sum 1: objectives are rewards per step."""
    states: NDArray[np.int32] = None  # type: ignore[assignment]  # S for every arm by default
    """[J] the number of states of each arm."""
    levels: NDArray[np.int32] = None  # type: ignore[assignment]  # A for every arm by default
    """[J] the number of levels of each arm."""
    seed: int = 0
    """The seed of the episodes. The random numbers of episode e depend only on the seed and e, hence not on the policy."""
    comment: str = ""
    arm_features: NDArray[np.float64] | None = None
    """[J, F] what is known of each arm besides its transitions, for policies that must learn these; None: nothing."""

    def __post_init__(self) -> None:
        transitions = np.ascontiguousarray(self.transitions, np.float64)
        if transitions.ndim != 4 or transitions.shape[2] != transitions.shape[3] or 0 in transitions.shape:
            raise InputError(f"accepted: shape [arms, levels, states, states], not {transitions.shape}", field="transitions")
        arms, levels, states, _ = transitions.shape
        self._set("states", self._counts(self.states, arms, states, "states"))
        self._set("levels", self._counts(self.levels, arms, levels, "levels"))
        self._set("transitions", self._checked(transitions))
        rewards = np.ascontiguousarray(self.rewards, np.float64)
        if rewards.shape != (arms, levels, states) or not (np.abs(rewards) <= LARGEST).all():  # false for NaN as well
            accepted = f"accepted: numbers up to {LARGEST:g} in size of shape [{arms}, {levels}, {states}]"
            raise InputError(accepted, field="rewards")
        self._set("rewards", np.where(self.exists, rewards, 0.0))
        self._check_episodes(arms)
        self._check_features(arms)
        self.constraint.check_arms(self.levels, levels)

    def _check_episodes(self, arms: int) -> None:
        initial = np.asarray(self.initial)
        if initial.ndim != 2 or initial.shape[1] != arms or len(initial) < 1 or initial.dtype.kind not in "iu":
            raise InputError(f"accepted: integers of shape [episodes, {arms}], at least one episode", field="initial")
        if ((initial < 0) | (initial >= self.states)).any():
            episode, arm = np.argwhere((initial < 0) | (initial >= self.states))[0]
            begun = f"episode {episode} begins with arm {arm} in state {initial[episode, arm]}"
            raise InputError(f"{begun}; accepted: 0 to {self.states[arm] - 1}", field="initial")
        self._set("initial", initial.astype(np.int32))
        if not 1 <= self.horizon <= LARGEST_HORIZON:
            raise InputError(f"{self.horizon}; accepted: an integer from 1 to {LARGEST_HORIZON:,}", field="horizon")
        if not 0.0 < self.discount <= 1.0:
            raise InputError(f"{self.discount}; accepted: above 0, at most 1", field="discount")

    def _check_features(self, arms: int) -> None:
        if self.arm_features is None:
            return
        features = np.ascontiguousarray(self.arm_features, np.float64)
        if features.ndim != 2 or len(features) != arms or not (np.abs(features) <= LARGEST).all():
            raise InputError(f"accepted: numbers up to {LARGEST:g} in size of shape [{arms}, features]", field="arm_features")
        self._set("arm_features", features)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @staticmethod
    def _counts(given: NDArray[np.int32] | None, arms: int, most: int, field: str) -> NDArray[np.int32]:
        """Return the numbers of states or levels, int32 [J], each from 1 to `most`; `most` for all arms if none are given."""
        counts = np.full(arms, most, np.int32) if given is None else np.asarray(given)
        if counts.shape != (arms,) or counts.dtype.kind not in "iu" or counts.min() < 1 or counts.max() > most:
            raise InputError(f"accepted: {arms} integers from 1 to {most}", field=field)
        return counts.astype(np.int32)

    def _checked(self, transitions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities with every row scaled to sum 1 up to rounding; padded states lead to themselves."""
        inside = self.exists[:, :, :, None] & self.exists[:, :, None, :]
        if (bad := inside & ~((transitions >= 0.0) & (transitions <= 1.0 + _SUM_TOLERANCE))).any():
            arm, level, state, to = np.argwhere(bad)[0]
            value = transitions[arm, level, state, to]
            where = f"arm {arm}, level {level}, from state {state} to {to}"
            raise InputError(f"{where}: {value:g} is no probability; accepted: 0 to 1", field="transitions")
        scaled = np.where(inside, transitions, 0.0)
        sums = scaled.sum(axis=3)
        if (bad := self.exists & (np.abs(sums - 1.0) > _SUM_TOLERANCE)).any():
            arm, level, state = np.argwhere(bad)[0]
            where = f"arm {arm}, level {level}, state {state}"
            raise InputError(f"{where}: the row sums to {sums[arm, level, state]:.9g}, not to 1", field="transitions")
        inexact = np.abs(sums - 1.0) > 1e-12
        scaled[inexact & self.exists] /= sums[inexact & self.exists][:, None]
        scaled[~self.exists] = np.broadcast_to(np.eye(scaled.shape[3]), scaled.shape)[~self.exists]
        return scaled

    @cached_property
    def exists(self) -> NDArray[np.bool_]:
        """bool [J, A, S], whether an arm has that level and state; False in the padding."""
        _, levels, states, _ = self.transitions.shape
        return (np.arange(levels) < self.levels[:, None])[:, :, None] & (np.arange(states) < self.states[:, None])[:, None, :]

    @property
    def arms(self) -> int:
        """J, the number of arms."""
        return len(self.transitions)

    @property
    def episodes(self) -> int:
        """E, the number of episodes."""
        return len(self.initial)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """float64 [T], the weight of a reward at each time in the objective; the weights sum to 1."""
        weights = self.discount ** np.arange(self.horizon, dtype=np.float64)
        return weights / weights.sum()  # type: ignore[no-any-return]

    @cached_property
    def digest(self) -> str:
        """A hash of all fields but `name`, `comment` and `arm_features`.

        Instances with equal digests give every policy the same rewards.
        """
        kind = self.constraint.kind, self.constraint.to_json(), self.transitions.shape, self.initial.shape
        found = hashlib.sha256(to_json((kind, self.horizon, self.discount, self.seed)).encode())
        for array in (self.transitions, self.rewards, self.initial, self.states, self.levels):
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()

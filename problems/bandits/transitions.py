"""Transitions of the arms, for the judge's simulation and for the environment.

`advance` moves all arms of many episodes by one step. `State` is the environment's pool: many episodes, one in each row;
`corl.search` calls the kernels attached to `State` through `corl.hooks`. A random draw depends only on the episode's key, the
time and the arm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel
from corl.kernels.sorted_lists import insert_sorted
from corl.problems.bandits.instance import BanditInstance
from corl.rng import hashed

__all__ = ["Offsets", "State", "advance", "gain", "place_rows", "thresholds"]


class Offsets(NamedTuple):
    """Index of each instance's first entry in the flat table of the same name in `State`; all int64 [I]."""

    reward: NDArray[np.int64]
    threshold: NDArray[np.int64]
    weight: NDArray[np.int64]
    lookahead: NDArray[np.int64]
    need: NDArray[np.int64]
    size: NDArray[np.int64]
    reach: NDArray[np.int64]
    touched: NDArray[np.int64]


class State(NamedTuple):
    """The pool: I instances (with at most J arms, N entries of an action, T steps, M resources) and R rows, each an episode.

    To pick an entry is to set it to 1 in the step's action. An action gives each arm a level; level 0 leaves the arm alone.
    Tables are flat; `start` has the index of each instance's first entry. Within an instance, the entry of (arm, level, state) is
    number (arm * A + level) * S + state.
    """

    arms: NDArray[np.int64]
    """[I] J, the number of arms of each instance."""
    picks: NDArray[np.int64]
    """[I] N, the number of entries of an action, each of which can be picked."""
    levels: NDArray[np.int64]
    """[I] A, the largest number of levels of an arm."""
    states: NDArray[np.int64]
    """[I] S, the largest number of states of an arm."""
    horizon: NDArray[np.int64]
    """[I] T, the number of steps of an episode."""
    needs: NDArray[np.int64]
    """[I] M, the number of resources (Constraint.rooms)."""
    rooms: NDArray[np.int64]
    """[I] V, the number of rooms (vectors of available resources, see `size`)."""
    depth: NDArray[np.int64]
    """[I] H, the largest number of steps in `lookahead`."""
    start: Offsets
    reward: NDArray[np.float64]
    """[sum of J A S] the expected reward of a step."""
    threshold: NDArray[np.float64]
    """[sum of J A S S] cumulative transition probabilities, see `thresholds`."""
    weight: NDArray[np.float64]
    """[sum of T] the weight of a step's reward in the objective."""
    lookahead: NDArray[np.float64]
    """[sum of H 2 J A S] rewards over 1 to H steps, see `Precomputed.lookahead`."""
    need: NDArray[np.int64]
    """[sum of N M] the amount of each resource that a pick uses."""
    size: NDArray[np.int64]
    """[sum of V M] the amount of each resource in each room. Picks are feasible if they fit into one of the V rooms."""
    reach: NDArray[np.int64]
    """[sum of N + 1] index of a pick's first row among its instance's rows of `touched`."""
    touched: NDArray[np.int64]
    """[any, 2] rows (arm, what the pick adds to the arm's level), for the arms that each pick touches."""
    instance: NDArray[np.int32]
    """[R] the index of the row's instance."""
    key: NDArray[np.uint64]
    """[R] the key of the row's random numbers."""
    begun: NDArray[np.int32]
    """[R] the time at which the row was placed; the actions of earlier steps are unknown."""
    time: NDArray[np.int32]
    """[R] the current step; T at the end of the episode."""
    arm: NDArray[np.int32]
    """[R, J] the state of each arm."""
    level: NDArray[np.int32]
    """[R, J] the level that each arm gets from the picks of the current step so far."""
    used: NDArray[np.int64]
    """[R, M] the amount of each resource that the picks of the current step use so far."""
    chosen: NDArray[np.int8]
    """[R, T, N] the actions of the steps up to the current one: 1 where an entry is picked."""


def thresholds(instance: BanditInstance) -> NDArray[np.float64]:
    """Return the cumulative transition probabilities, float64 [J, A, S, S].

    The next state is the first one whose threshold exceeds a uniform draw from [0, 1). From the last state with a positive
    probability on, thresholds are 2, so that a draw can never exceed all of them by rounding.
    """
    sums = np.cumsum(instance.transitions, axis=3)
    last = instance.transitions.shape[3] - 1 - np.argmax(instance.transitions[..., ::-1] > 0.0, axis=3)
    sums[np.arange(sums.shape[3]) >= last[..., None]] = 2.0
    return sums


@kernel(inline=True)
def _successor(thresholds: Any, begin: Any, key: Any, time: Any, arm: Any) -> Any:
    """Return the next state of an arm; the thresholds for its level and state begin at `begin`."""
    draw = hashed(key, time, arm)
    following = 0
    while thresholds[begin + following] <= draw:
        following += 1
    return following


@kernel
def advance(thresholds: Any, rewards: Any, states: Any, levels: Any, keys: Any, time: Any, earned: Any) -> None:
    """Move all arms of R episodes by one step, in place.

    Args:
        thresholds: float64 [J, A, S, S], see `thresholds`.
        rewards: float64 [J, A, S].
        states: int32 [R, J], replaced by the next states.
        levels: int8 [R, J], the level that each arm gets.
        keys: uint64 [R], the keys of the episodes' random numbers.
        time: The time of the step.
        earned: float64 [R], replaced by the expected reward of the step.
    """
    _, width, size = rewards.shape
    flat = thresholds.ravel()
    for r in range(len(states)):
        total = 0.0
        for j in range(states.shape[1]):
            level, state = levels[r, j], states[r, j]
            total += rewards[j, level, state]
            states[r, j] = _successor(flat, ((j * width + level) * size + state) * size, keys[r], time, j)
        earned[r] = total


@kernel
def place_rows(state: Any, rows: Any, instances: Any, keys: Any, arms: Any, time: Any) -> None:
    """Set each of `rows` to the beginning of the step at `time`, in place.

    Args:
        state: The pool.
        rows: int64 [k].
        instances: int64 [k].
        keys: uint64 [k], the keys of the rows' random numbers.
        arms: int32 [k, J], the arms' states.
        time: The time of the step, the same for all rows.
    """
    for i in range(len(rows)):
        row = rows[i]
        state.instance[row], state.key[row], state.begun[row] = instances[i], keys[i], time
        for j in range(state.arms[instances[i]]):
            state.arm[row, j] = arms[i, j]
        _begin_step(state, row, time)


@kernel(inline=True)
def _begin_step(state: Any, row: Any, time: Any) -> None:
    """Clear the picks of a row for the step at `time`, in place."""
    state.time[row] = time
    state.level[row, :] = 0
    state.used[row, :] = 0
    if time < state.horizon[state.instance[row]]:
        state.chosen[row, time, :] = 0


@kernel(inline=True)
def _fits(state: Any, row: Any, pick: Any) -> Any:
    """Return whether a pick may be added to those of the current step, that is, whether one room holds all of them."""
    instance = state.instance[row]
    m = state.needs[instance]
    need, size = state.start.need[instance] + pick * m, state.start.size[instance]
    for v in range(state.rooms[instance]):
        inside = True
        for i in range(m):
            if state.used[row, i] + state.need[need + i] > state.size[size + v * m + i]:
                inside = False
                break
        if inside:
            return True
    return False


@kernel(inline=True)
def _touched(state: Any, instance: Any, pick: Any) -> Any:
    """Return the range (begin, end) of the rows of `state.touched` that belong to a pick."""
    at, begin = state.start.reach[instance] + pick, state.start.touched[instance]
    return begin + state.reach[at], begin + state.reach[at + 1]


@kernel
def gain(state: Any, row: Any, pick: Any, steps: Any, active: Any) -> Any:
    """Return the reward that a pick adds at the arms it touches.

    Args:
        state: The pool.
        row: The row.
        pick: An entry of the action.
        steps: The number of steps, including the current one, over which rewards count.
        active: The levels of these arms in later steps: 0 for level 0, 1 for the best level.
    """
    instance = state.instance[row]
    width, size = state.levels[instance], state.states[instance]
    table = (min(steps, state.depth[instance]) - 1) * 2 + active
    first = state.start.lookahead[instance] + table * state.arms[instance] * width * size
    begin, end = _touched(state, instance, pick)
    total = 0.0
    for k in range(begin, end):
        arm, more = state.touched[k, 0], state.touched[k, 1]
        now = first + (arm * width + state.level[row, arm]) * size + state.arm[row, arm]
        total += state.lookahead[now + more * size] - state.lookahead[now]
    return total


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Pick an entry (reward 0), or commit (action N): all arms earn their expected rewards and move."""
    instance, time = state.instance[src], state.time[src]
    picks = state.picks[instance]
    if time >= state.horizon[instance] or action < 0 or action > picks:
        return math.nan
    if action < picks and (state.chosen[src, time, action] or not _fits(state, src, action)):
        return math.nan
    if src != dst:
        _copy(state, src, dst)
    if action == picks:
        return _commit(state, dst)
    state.chosen[dst, time, action] = 1
    m = state.needs[instance]
    for i in range(m):
        state.used[dst, i] += state.need[state.start.need[instance] + action * m + i]
    begin, end = _touched(state, instance, action)
    for k in range(begin, end):
        state.level[dst, state.touched[k, 0]] += state.touched[k, 1]
    return 0.0


@kernel
def _copy(state: Any, src: Any, dst: Any) -> None:
    instance, time = state.instance[src], state.time[src]
    state.instance[dst], state.key[dst], state.begun[dst], state.time[dst] = instance, state.key[src], state.begun[src], time
    state.arm[dst, :], state.level[dst, :], state.used[dst, :] = state.arm[src, :], state.level[src, :], state.used[src, :]
    for t in range(state.begun[src], time + 1):
        state.chosen[dst, t, :] = state.chosen[src, t, :]


@kernel
def _commit(state: Any, row: Any) -> Any:
    """Move all arms of a row by one step, as `advance` does, and return the step's weighted reward."""
    instance, time = state.instance[row], state.time[row]
    width, size = state.levels[instance], state.states[instance]
    reward, threshold = state.start.reward[instance], state.start.threshold[instance]
    total = 0.0
    for j in range(state.arms[instance]):
        at = (j * width + state.level[row, j]) * size + state.arm[row, j]
        total += state.reward[reward + at]
        state.arm[row, j] = _successor(state.threshold, threshold + at * size, state.key[row], time, j)
    _begin_step(state, row, time + 1)
    return state.weight[state.start.weight[instance] + time] * total


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the legal picks and commit (gain 0) by decreasing gain: the sum of `gain` with `active` 0 and 1."""
    instance, time = state.instance[row], state.time[row]
    steps = state.horizon[instance] - time
    if steps <= 0:
        return 0
    keys = np.empty(len(out))
    keys[0], out[0], count = 0.0, state.picks[instance], 1
    for pick in range(state.picks[instance]):
        if state.chosen[row, time, pick] or not _fits(state, row, pick):
            continue
        gains = gain(state, row, pick, steps, 0) + gain(state, row, pick, steps, 1)
        count = insert_sorted(keys, out, count, -gains, pick)
    return count

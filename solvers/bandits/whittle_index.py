"""Whittle's index of each state of an arm (Whittle, J. Appl. Prob. 25A, 1988).

The index is the subsidy for not pulling at which pulling and not pulling are equally good in that state. An arm is indexable if,
as the subsidy rises, pulling never becomes better again in a state in which it was no longer better.

The adaptive greedy algorithm begins with a policy that pulls in every state. It raises the subsidy to the next value at which
some state becomes indifferent, and stops pulling in that state. This is a rank-one change of the matrix I - beta P, whose inverse
is updated (Gast, Gaujal & Khun, Math. Meth. Oper. Res. 97, 2023, who also give the test of indexability used here).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.inverse import invert

__all__ = ["whittle_indices"]


def whittle_indices(
    transitions: NDArray[np.float64], rewards: NDArray[np.float64], discount: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return indices, float64 [J, S], and whether each arm is indexable, bool [J].

    For an arm that is not indexable, the indices are the numbers that the algorithm computes, without a meaning as prices.

    Args:
        transitions: float64 [J, 2, S, S], probabilities without (index 0) and with a pull (1).
        rewards: float64 [J, 2, S].
        discount: The discount, above 0 and below 1.
    """
    arms, _, states, _ = transitions.shape
    indices, indexable = np.empty((arms, states)), np.empty(arms, np.bool_)
    _every_arm(transitions, rewards, discount, indices, indexable)
    return indices, indexable


@kernel
def _every_arm(transitions: Any, rewards: Any, discount: Any, indices: Any, indexable: Any) -> None:
    """Write the results of `whittle_indices` to `indices` and `indexable`, in place."""
    states = transitions.shape[2]
    inverse, change = np.empty((states, states)), np.empty(states)
    active = np.empty(states, np.bool_)
    value, slope = np.empty(states), np.empty(states)
    for j in range(len(transitions)):
        indexable[j] = _arm(transitions[j], rewards[j], discount, inverse, change, active, value, slope, indices[j])


@kernel
def _arm(
    chances: Any, rewards: Any, beta: Any, inverse: Any, change: Any, active: Any, value: Any, slope: Any, index: Any
) -> Any:
    """Compute the indices of one arm, in place; return whether it is indexable.

    Args:
        chances: float64 [2, S, S], transition probabilities.
        rewards: float64 [2, S].
        beta: The discount.
        inverse: float64 [S, S], work array: the inverse of I - beta P for the current policy.
        change: float64 [S], work array of `_stop_pulling`.
        active: bool [S], work array: whether the current policy pulls in a state.
        value: float64 [S], work array: value + subsidy * slope is the value of the current policy in each state.
        slope: float64 [S], work array.
        index: float64 [S], the result.
    """
    states = len(index)
    for s in range(states):
        for k in range(states):
            inverse[s, k] = (1.0 if s == k else 0.0) - beta * chances[1, s, k]
    invert(inverse)
    active[:] = True
    slope[:] = 0.0
    for s in range(states):
        total = 0.0
        for k in range(states):
            total += inverse[s, k] * rewards[1, k]
        value[s] = total
    subsidy, indexable = -np.inf, True
    for pulled_states in range(states, -1, -1):
        lowest, next_state = np.inf, -1
        for s in range(states):
            gain, fall = rewards[1, s] - rewards[0, s], 1.0  # pulling is better than not pulling by gain - subsidy * fall
            for k in range(states):
                step = beta * (chances[1, s, k] - chances[0, s, k])
                gain += step * value[k]
                fall -= step * slope[k]
            if active[s]:
                if fall > 1e-12 and gain / fall < lowest:
                    lowest, next_state = gain / fall, s
            elif gain - subsidy * fall > 1e-9 * (1.0 + abs(gain)):
                indexable = False  # the policy stopped pulling here at a lower subsidy, but at this one pulling is better
        if pulled_states == 0:
            break
        if next_state < 0:  # no further state becomes indifferent: all get the current subsidy
            for s in range(states):
                if active[s]:
                    index[s] = subsidy
            return False
        if lowest < subsidy - 1e-9 * (1.0 + abs(subsidy)):
            indexable = False
        subsidy = max(subsidy, lowest)
        index[next_state] = subsidy
        active[next_state] = False
        _stop_pulling(chances, rewards, beta, inverse, change, value, slope, next_state)
    return indexable


@kernel
def _stop_pulling(chances: Any, rewards: Any, beta: Any, inverse: Any, change: Any, value: Any, slope: Any, at: Any) -> None:
    """Change the policy so that it no longer pulls in state `at`, in place.

    `inverse` is updated by the Sherman-Morrison formula, `value` and `slope` along the same column of the inverse.
    """
    states = len(value)
    gain, fall = rewards[0, at] - rewards[1, at], 1.0
    change[:] = 0.0
    for k in range(states):
        step = beta * (chances[1, at, k] - chances[0, at, k])
        gain -= step * value[k]
        fall -= step * slope[k]
        for q in range(states):
            change[q] += step * inverse[k, q]
    share = 1.0 / (1.0 + change[at])
    for s in range(states):
        factor = inverse[s, at] * share
        value[s] += factor * gain
        slope[s] += factor * fall
        for q in range(states):
            inverse[s, q] -= factor * change[q]

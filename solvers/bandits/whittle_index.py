"""Whittle's index (Whittle, J. Appl. Prob. 25A, 1988): the subsidy for leaving an arm alone at which its state is indifferent.

Computed by the adaptive greedy algorithm: at first every state is pulled; as the subsidy rises, each state that becomes
indifferent is left alone from then on. One state's change is a rank-one change of the matrix I - beta P, whose inverse is kept
(Gast, Gaujal & Khun, Math. Meth. Oper. Res. 97, 2023, who also give the test of indexability used here).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["whittle_indices"]


def whittle_indices(
    transitions: NDArray[np.float64], rewards: NDArray[np.float64], discount: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return indices, float64 [J, S], and whether each arm is indexable, bool [J].

    An arm that is not indexable has the indices of the recursion as well; they are not prices.

    Args:
        transitions: float64 [J, 2, S, S], without and with a pull.
        rewards: float64 [J, 2, S].
        discount: Above 0 and below 1.
    """
    arms, _, states, _ = transitions.shape
    indices, indexable = np.empty((arms, states)), np.empty(arms, np.bool_)
    _every_arm(transitions, rewards, discount, indices, indexable)
    return indices, indexable


@kernel
def _every_arm(transitions: Any, rewards: Any, discount: Any, indices: Any, indexable: Any) -> None:
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
        inverse: float64 [S, S], scratch.
        change: float64 [S], scratch.
        active: bool [S], scratch: the states that are pulled.
        value: float64 [S], scratch: value + subsidy * slope is the value of the current policy.
        slope: float64 [S], scratch.
        index: float64 [S], the result.
    """
    states = len(index)
    _invert(chances[1], beta, inverse)
    active[:] = True
    slope[:] = 0.0
    for s in range(states):
        total = 0.0
        for k in range(states):
            total += inverse[s, k] * rewards[1, k]
        value[s] = total
    subsidy, indexable = -np.inf, True
    for left in range(states, -1, -1):
        best, at = np.inf, -1
        for s in range(states):
            gain, fall = rewards[1, s] - rewards[0, s], 1.0
            for k in range(states):
                step = beta * (chances[1, s, k] - chances[0, s, k])
                gain += step * value[k]
                fall -= step * slope[k]
            if active[s]:
                if fall > 1e-12 and gain / fall < best:
                    best, at = gain / fall, s
            elif gain - subsidy * fall > 1e-9 * (1.0 + abs(gain)):
                indexable = False  # was left alone at a lower subsidy, but pulling is better at this one
        if left == 0:
            break
        if at < 0:  # no state becomes indifferent: the others get the same subsidy
            for s in range(states):
                if active[s]:
                    index[s] = subsidy
            return False
        if best < subsidy - 1e-9 * (1.0 + abs(subsidy)):
            indexable = False
        subsidy = max(subsidy, best)
        index[at] = subsidy
        active[at] = False
        _leave_alone(chances, rewards, beta, inverse, change, value, slope, at)
    return indexable


@kernel
def _invert(chances: Any, beta: Any, inverse: Any) -> None:
    """Write (I - beta P)^-1 to `inverse`, [S, S], by Gauss-Jordan elimination; no pivoting, as its diagonal is dominant."""
    states = len(inverse)
    for s in range(states):
        for q in range(states):
            inverse[s, q] = (1.0 if s == q else 0.0) - beta * chances[s, q]
    for k in range(states):
        pivot = 1.0 / inverse[k, k]
        inverse[k, k] = 1.0
        for q in range(states):
            inverse[k, q] *= pivot
        for s in range(states):
            if s != k:
                factor = inverse[s, k]
                inverse[s, k] = 0.0
                for q in range(states):
                    inverse[s, q] -= factor * inverse[k, q]


@kernel
def _leave_alone(chances: Any, rewards: Any, beta: Any, inverse: Any, change: Any, value: Any, slope: Any, at: Any) -> None:
    """Leave state `at` alone from now on, in place: the inverse by Sherman and Morrison, the values by the same direction."""
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

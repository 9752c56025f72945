"""Whittle's index (Whittle, J. Appl. Prob. 25A, 1988): the subsidy for being left alone at which an arm's state is indifferent.

By adaptive greedy: start where every state is pulled, raise the subsidy, and each time a state becomes indifferent leave it
alone from then on. One state's change is a rank-one change of the matrix I - beta P of the policy, whose inverse is kept
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
    """Indices float64 [J, S] of arms with transitions [J, 2, S, S] and rewards [J, 2, S], and whether each arm is indexable.

    0 < discount < 1. An arm that is not indexable has indices of the recursion all the same; they are no prices.
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
    """One arm. `value` + subsidy * `slope` is the value of the present policy; returns whether the arm is indexable."""
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
                indexable = False  # left alone at a lower subsidy, and would rather be pulled at this one
        if left == 0:
            break
        if at < 0:  # no state's wish to be pulled falls: the rest gets the same subsidy
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
    """inverse = (I - beta P)^-1 by Gauss and Jordan, in place; its rows are dominated by the diagonal, so nothing is swapped."""
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
    """State `at` is left alone from now on: the inverse by Sherman and Morrison, the values by the same direction."""
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

"""`Learner`: what a learning policy knows besides the history, and the kernels `plan` and `choose`, which decide.

Both the policies of a day (corl.solvers.bandits.online.policies) and the simulation of many runs side by side
(corl.solvers.bandits.online.simulation) call these two kernels, so that they take the same decisions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.rng import hashed, mix
from corl.solvers.bandits.online.beliefs import add_deviations, posterior, sample, tally
from corl.solvers.bandits.online.planning import WHITTLE, pull_values

__all__ = ["METHODS", "Learner", "Prior", "choose", "last_plan", "learn_by_q", "plan"]

METHODS = {"random": 0, "thompson": 1, "ucb": 2, "wiql": 3, "ucwhittle": 4, "clairvoyant": 5}
"""Name of a method -> its number in `Learner.method`."""
_RANDOM, _THOMPSON, _UCB, _WIQL, _UCWHITTLE, _CLAIRVOYANT = range(6)
_CONFIDENCE = 1e-3  # delta of UCWhittle, as in its authors' code
_TIE = 1e-9  # size of the noise that breaks ties between values


class Prior(NamedTuple):
    """The prior of the transition probabilities, see `corl.solvers.bandits.online.beliefs`; C cells, F features."""

    model: int
    """INDEPENDENT, ARM or FEATURES."""
    successes: NDArray[np.float64]
    """[C] of the beta prior of each cell (INDEPENDENT)."""
    failures: NDArray[np.float64]
    """[C]"""
    precision: NDArray[np.float64]
    """[C, C] the inverse of V, the covariance of an arm's log-odds given the weights."""
    features: NDArray[np.float64]
    """[J, F] of each arm; the first is 1."""
    weights: NDArray[np.float64]
    """[F, C] the prior mean of the weights W; with ARM, F is 1, and the weights are known."""
    weights_precision: NDArray[np.float64]
    """[F, C, C] the inverse of the prior covariance of each feature's weights."""


class Learner(NamedTuple):
    """A method and what it knows of the arms besides the history."""

    method: int
    """One of METHODS."""
    planner: int
    """WHITTLE or FLUID."""
    every: int
    """The largest number of steps between two plans."""
    scale: float
    """Of exploration: the factor of a sample's deviation (THOMPSON), the number of standard deviations in the first step (UCB),
    the factor of the probability of random pulls (WIQL) or of the radius (UCWHITTLE)."""
    discount: float
    pessimistic: bool
    """UCWHITTLE: whether chances without a pull are at their lower, not their upper confidence bounds."""
    seed: np.uint64
    budget: int
    """The number of pulls in a step."""
    window: int
    """Each arm is pulled at least once in steps 0 to window - 1, window to 2 window - 1, ...; 0: no such constraint."""
    horizon: int
    rewards: NDArray[np.float64]
    """[J, 2, S]"""
    order: NDArray[np.int64]
    """[S] the states from the lowest reward to the highest."""
    prior: Prior
    chances: NDArray[np.float64]
    """[J, 2, S, S] the true transition probabilities, read by CLAIRVOYANT alone."""


@kernel
def last_plan(learner: Any, time: Any) -> Any:
    """Return the time of the last plan up to `time`: more often at first, later every `every` steps; or the last full period."""
    if learner.method == _UCWHITTLE:
        return time - time % learner.every
    last = 0
    while True:
        following = last + min(learner.every, 1 + last // 4)
        if following > time:
            return last
        last = following


@kernel
def plan(learner: Any, counts: Any, states: Any, time: Any, values: Any) -> None:
    """Write the value of a pull of each arm in each state, float64 [J, S], to `values`, in place, by what is known at `time`.

    Args:
        learner: The learner; not of method RANDOM or WIQL, which do not plan.
        counts: int32 [J, 2, S, S], the transitions of each arm by action, state and next state.
        states: int32 [J], the current states.
        time: The time.
        values: The result.
    """
    arms, size = values.shape
    chances, later = np.empty((arms, 2, size, size)), np.empty((arms, size))
    noise = np.empty(1, np.uint64)
    noise[0] = _key(learner.seed, time, states)
    if learner.method == _THOMPSON or learner.method == _UCB:
        _plan_by_beliefs(learner, counts, states, time, noise, chances, values)
    elif learner.method == _CLAIRVOYANT:
        pull_values(learner.chances, learner.rewards, states, learner.discount, learner.budget, learner.planner, values, later)
    else:
        _optimistic(learner, counts, time, chances)
        pull_values(chances, learner.rewards, states, learner.discount, learner.budget, WHITTLE, values, later)
    for j in range(arms):
        for s in range(size):
            values[j, s] += _TIE * hashed(noise[0], s, j)


@kernel
def _plan_by_beliefs(learner: Any, counts: Any, states: Any, time: Any, noise: Any, chances: Any, values: Any) -> None:
    """Write the values of pulls by a sample of the posterior (THOMPSON), or upper confidence bounds of them (UCB), in place.

    An upper bound is the value at the posterior mean plus standard deviations, of which there are fewer in each step: what is
    learned later is of less use. `chances` is a work array.
    """
    arms, size = values.shape
    width, drivers = 2 * size * (size - 1), len(learner.prior.weights)
    trials, successes, omega = np.empty((arms, width)), np.empty((arms, width)), np.empty((arms, width))
    weights, precision = np.empty((drivers, width)), np.empty((drivers * width, drivers * width))
    inverse, later = np.empty((arms, width, width)), np.empty((arms, size))
    tally(counts, learner.order, trials, successes)
    posterior(learner.prior, trials, successes, weights, precision, omega, inverse)
    scale = learner.scale if learner.method == _THOMPSON else 0.0
    sample(learner.prior, trials, successes, weights, precision, omega, inverse, learner.order, scale, noise, chances)
    pull_values(chances, learner.rewards, states, learner.discount, learner.budget, learner.planner, values, later)
    if learner.method == _UCB and learner.scale > 0.0:
        factor = learner.discount * learner.scale * (1.0 - time / learner.horizon)
        add_deviations(learner.prior, trials, successes, inverse, learner.order, chances, later, factor, values)


@kernel
def _key(seed: Any, time: Any, states: Any) -> Any:
    """Return the key of the random numbers of a decision: a hash of the seed, the time and the states [J]."""
    key = mix(np.uint64(seed) + np.uint64(time) * np.uint64(0x9E3779B97F4A7C15))
    for j in range(len(states)):
        key = mix(key + np.uint64(states[j]) + np.uint64(1))
    return key


@kernel
def _optimistic(learner: Any, counts: Any, time: Any, chances: Any) -> None:
    """Write UCWhittle's chances (Wang, Xu, Taneja & Tambe, AAAI 2023), [J, 2, S, S], in place.

    Of all chances within a distance (sum of absolute differences) from the frequencies, these have the most weight on the best
    state; or the least, without a pull if `pessimistic`. The values of states are taken to be ordered like their rewards.
    """
    arms, _, size, _ = counts.shape
    period = time // learner.every + 1
    spread = 2.0 * size * np.log(2.0 * size * 2.0 * arms * float(period) ** 4 / _CONFIDENCE)
    for j in range(arms):
        for a in range(2):
            for s in range(size):
                total = 0
                for k in range(size):
                    total += counts[j, a, s, k]
                for k in range(size):
                    chances[j, a, s, k] = counts[j, a, s, k] / total if total else 1.0 / size
                moved = 0.5 * learner.scale * np.sqrt(spread / max(1, total))
                _move(chances[j, a, s], learner.order, moved, a == 0 and learner.pessimistic)


@kernel
def _move(row: Any, order: Any, moved: Any, down: Any) -> None:
    """Move probability, up to `moved`, from the worst states of `row` to the best one (or the reverse if `down`), in place."""
    size = len(row)
    target = order[0] if down else order[size - 1]
    left = min(moved, 1.0 - row[target])
    row[target] += left
    for k in range(size):
        source = order[size - 1 - k] if down else order[k]
        if source != target:
            taken = min(left, row[source])
            row[source] -= taken
            left -= taken


@kernel
def learn_by_q(learner: Any, visits: Any, q: Any, before: Any, pulls: Any, after: Any) -> None:
    """Update the Q-values of all arms by one step, in place (WIQL: Biswas, Aggarwal, Varakantham & Tambe, IJCAI 2021).

    Args:
        learner: The learner.
        visits: int32 [J, S, 2], how often each action was taken in each state.
        q: float64 [J, S, 2].
        before: int32 [J], the states before the step.
        pulls: int8 [J], the action of each arm.
        after: int32 [J], the states after the step.
    """
    for j in range(len(before)):
        s, a = before[j], pulls[j]
        visits[j, s, a] += 1
        rate = 1.0 / (visits[j, s, a] + 1.0)
        best = max(q[j, after[j], 0], q[j, after[j], 1])
        q[j, s, a] += rate * (learner.rewards[j, a, s] + learner.discount * best - q[j, s, a])


@kernel
def choose(learner: Any, values: Any, q: Any, states: Any, time: Any, last_pull: Any, action: Any) -> None:
    """Write the pulls of one step, int8 [J], to `action`, in place: the arms of largest positive value, as the
    budget allows (with WIQL and UCWHITTLE, of largest value).

    With minimum pulls, of the arms not yet pulled in the current window, at least so many are pulled (those of largest value)
    that equal numbers in each of the window's remaining steps suffice.

    Args:
        learner: The learner.
        values: float64 [J, S], the values of the last plan.
        q: float64 [J, S, 2], Q-values (WIQL).
        states: int32 [J].
        time: The time.
        last_pull: int32 [J], the time of each arm's last pull, -1 without any.
        action: The result.
    """
    arms = len(states)
    value = np.empty(arms)
    if learner.method in (_RANDOM, _WIQL):
        key = _key(learner.seed, time, states)
        explores = learner.method == _RANDOM or hashed(key, 0, arms) < learner.scale * arms / (arms + time + 1.0)
        for j in range(arms):
            value[j] = _TIE * (hashed(key, 0, j) + 1e-3)
            if explores:
                value[j] *= 1.0 / _TIE
            else:
                value[j] += q[j, states[j], 1] - q[j, states[j], 0]
    else:
        for j in range(arms):
            value[j] = values[j, states[j]]
    action[:] = 0
    left = learner.budget
    if learner.window:
        begin = time - time % learner.window
        if begin + learner.window <= learner.horizon:
            left -= _pull_missed(value, last_pull, begin, begin + learner.window - time, learner.budget, action)
    any_sign = learner.method == _WIQL or learner.method == _UCWHITTLE  # as published
    for j in range(arms):
        if action[j] or (value[j] <= 0.0 and not any_sign):
            value[j] = -np.inf
    _pull_best(value, left, action)


@kernel
def _pull_missed(value: Any, last_pull: Any, begin: Any, steps: Any, budget: Any, action: Any) -> Any:
    """Pull the best of the arms that were not pulled since `begin`; return how many: their share of the `steps` that are left."""
    arms, missed = len(value), 0
    candidates = np.empty(arms)
    for j in range(arms):
        candidates[j] = value[j] if last_pull[j] < begin else -np.inf
        if last_pull[j] < begin:
            missed += 1
    needed = min(budget, (missed + steps - 1) // steps)
    _pull_best(candidates, needed, action)
    return needed


@kernel
def _pull_best(value: Any, count: Any, action: Any) -> None:
    """Pull the `count` arms of largest finite value (in equal cases, of lowest number), in place."""
    arms = len(value)
    if count <= 0:
        return
    work = value.copy()
    low, high, at = 0, arms - 1, min(count, arms) - 1
    while low < high:  # quickselect: afterwards work[at] is the value of rank `at`, from the largest
        pivot, i, j = work[(low + high) // 2], low, high
        while i <= j:
            while work[i] > pivot:
                i += 1
            while work[j] < pivot:
                j -= 1
            if i <= j:
                work[i], work[j] = work[j], work[i]
                i += 1
                j -= 1
        if at <= j:
            high = j
        elif at >= i:
            low = i
        else:
            break
    limit, left = work[at], count
    for j in range(arms):
        if value[j] > limit:
            action[j] = 1
            left -= 1
    for j in range(arms):
        if left and value[j] == limit and limit > -np.inf:
            action[j] = 1
            left -= 1

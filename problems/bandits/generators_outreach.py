"""The generator of health programmes: people who adhere more or less, and calls that raise the chance that they do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.bandits.constraints import Budget
from corl.problems.bandits.instance import BanditInstance

__all__ = ["outreach"]

_BASE, _BASE_SPREAD = -1.0, 0.8  # log-odds of adherence in the next week, without adherence now and without a call
_PERSISTENCE, _PERSISTENCE_SPREAD = 1.5, 0.6  # what each level of adherence now adds to the log-odds
_EFFECT_SPREAD = 0.6  # of what a call adds in the lowest state, the standard deviation of the logarithm
_IN_BEST_STATE = (0.2, 0.8)  # the share of a call's effect that is left in the best state, uniform
_GAP = 1.2  # between the log-odds of reaching one level of adherence and the next
_CURVED = 0.2  # the share of the variance explained by features that a linear model does not find
_LARGEST = 1_000_000  # arms times features


def outreach(
    *,
    arms: int = 100,
    pulls: int = 10,
    states: int = 2,
    features: int = 6,
    explained: float = 0.5,
    effect: float = 0.8,
    horizon: int = 200,
    episodes: int = 50,
    seed: int = 0,
) -> BanditInstance:
    """Return people in a health programme, `pulls` of whom can be called in a week, in one of 2 or more states of adherence.

    A call raises the log-odds of a better state, by amounts that differ between people (their median is `effect`) and are lower
    in better states. The reward of a week, from 0 to 1, depends on the state alone, so that it says nothing about the transition
    probabilities.

    Of the features (`BanditInstance.arm_features`, standard normal), the first half have effects, a fifth of whose variance is
    not linear; the other half are noise. They explain the share `explained` of the variance between people.
    """
    if not 1 <= pulls <= arms:
        raise UsageError(f"pulls: {pulls} is not accepted; accepted: 1 to arms = {arms}")
    for name, value, most in (("horizon", horizon, None), ("episodes", episodes, None), ("features", features, _LARGEST // arms)):
        if value < 1 or (most is not None and value > most):
            to = "" if most is None else f" to {most}"
            raise UsageError(f"{name}: {value} is not accepted; accepted: an integer from 1{to}")
    if not 2 <= states <= 9:
        raise UsageError(f"states: {states} is not accepted; accepted: 2 to 9")
    if not 0.0 <= explained <= 1.0:
        raise UsageError(f"explained: {explained} is not accepted; accepted: 0 to 1")
    if not 0.0 <= effect <= 100.0:
        raise UsageError(f"effect: {effect} is not accepted; accepted: 0 to 100")
    random = np.random.default_rng(seed)
    known = random.standard_normal((arms, features))
    base, persistence, strength = (_score(random, known, explained) for _ in range(3))
    transitions = _transitions(
        _BASE + _BASE_SPREAD * base,
        _PERSISTENCE + _PERSISTENCE_SPREAD * persistence,
        effect * np.exp(_EFFECT_SPREAD * strength),
        random.uniform(*_IN_BEST_STATE, arms),
        states,
    )
    options = f"--option arms={arms} --option pulls={pulls} --option states={states} --option features={features} "
    options += f"--option explained={explained} --option effect={effect} --option horizon={horizon} --option episodes={episodes}"
    return BanditInstance(
        f"outreach-{arms}-{seed}",
        transitions,
        np.tile(np.arange(states) / (states - 1), (arms, 2, 1)),
        Budget(np.ones(arms, np.int64), pulls),
        random.integers(0, states, (episodes, arms)).astype(np.int32),
        horizon,
        seed=seed,
        comment=f"corl generate bandits outreach {options} --seed {seed}",
        arm_features=known,
    )


def _score(random: np.random.Generator, known: NDArray[np.float64], explained: float) -> NDArray[np.float64]:
    """Return a quantity of each arm with mean 0 and variance 1, float64 [J], of which the features [J, F] explain a share."""
    used = known[:, : (known.shape[1] + 1) // 2]
    weights = random.standard_normal(used.shape[1])
    linear = used @ (weights / np.linalg.norm(weights))
    curved = (used[:, random.integers(used.shape[1])] ** 2 - 1.0) / np.sqrt(2.0)
    found = np.sqrt(1.0 - _CURVED) * linear + np.sqrt(_CURVED) * curved
    hidden = random.standard_normal(len(known))
    score: NDArray[np.float64] = np.sqrt(explained) * found + np.sqrt(1.0 - explained) * hidden
    return score


def _transitions(
    base: NDArray[np.float64],
    persistence: NDArray[np.float64],
    effect: NDArray[np.float64],
    left: NDArray[np.float64],
    states: int,
) -> NDArray[np.float64]:
    """Return transition probabilities [J, 2, S, S] by cumulative log-odds (a proportional odds model); arguments are [J].

    `left` is the share of the effect in the best state; it falls linearly from 1 in the lowest state.
    """
    state = np.arange(states)
    shift = _GAP * ((states - 2) / 2 - np.arange(states - 1))
    odds = base[:, None] + persistence[:, None] * state
    called = effect[:, None] * (1.0 - (1.0 - left[:, None]) * state / (states - 1))
    above = 1.0 / (1.0 + np.exp(-(np.stack([odds, odds + called], axis=1)[..., None] + shift)))  # [J, 2, S, S - 1]
    ends = np.ones((*above.shape[:3], 1))
    return -np.diff(np.concatenate([ends, above, 0.0 * ends], axis=3), axis=3)

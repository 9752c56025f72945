"""What limits policies that learn transition probabilities: the same policies, told more than they can know.

    python tests/studies/bandits_limits.py

On the tuning instances and the first of the tuning days of bandits_unknown.toml, in the regime named first; rows are appended to
unknown_limits.csv, and those that are there are left out. In a label, "told" is what a policy is told besides the prior of the
study:

    population      the mean and the covariance of the log-odds of 100,000 further arms, in place of estimates from logs
    effects         what the features say about each arm: its mean log-odds, and the covariance around it
    without-calls   10,000 transitions from each state without a call, for each arm
    logs            the transitions of four earlier days with random calls: with the day itself five times the data of one day
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import bandits_unknown as study
import numpy as np
from numpy.typing import NDArray

from corl import registry
from corl.problems.bandits.instance import BanditInstance
from corl.solvers.bandits.online.deciding import make_learner
from corl.solvers.bandits.online.learner import Learner, Prior
from corl.solvers.bandits.online.simulation import simulate_days

__all__ = ["main"]

_FILE = study.RESULTS / "unknown_limits.csv"
_DAYS = 8
_LOGS_KEY = 3000  # of the first day with random calls of which the transitions are told
_MANY, _MANY_SEED = 100_000, 9000
_BEST = "every=5+scale=0.5"
_CASES = [
    "random", "clairvoyant", "clairvoyant:discount=0.9", "clairvoyant:every=1",  # the last two: what the plans themselves lose
    *(f"ucb:sharing=arm+{each}" for each in (
        _BEST, f"{_BEST}+told=population", f"{_BEST}+told=without-calls", f"{_BEST}+told=logs",
        f"{_BEST}+told=population,without-calls", f"{_BEST}+told=population,logs")),
    *(f"ucb:sharing=features+{each}" for each in (
        _BEST, f"{_BEST}+told=effects", f"{_BEST}+told=without-calls", f"{_BEST}+told=logs",
        f"{_BEST}+told=effects,without-calls", f"{_BEST}+told=effects,logs")),
    "thompson:sharing=features+every=5+scale=1.0",
]  # fmt: skip


def main() -> int:
    """Append the missing rows."""
    keys = range(study.TUNING_KEY, study.TUNING_KEY + _DAYS)
    twins = [_cells(_outreach(each.name, explained=1.0)) for each in study.instances("first", "tuning")]
    many = [_cells(_outreach(f"many-{_MANY_SEED}", arms=_MANY, explained=each)) for each in (0.5, 1.0)]
    for instance, twin in zip(study.instances("first", "tuning"), twins):
        for label in _CASES:
            name, given = study.parsed(label)
            told = given.pop("told", "").split(",")
            for row, policy in study.missing(_FILE, ["first"], [label], [instance.name], study.label_of(name, given)):
                begun, learner = process_time(), policy.learner(instance)
                if "population" in told:
                    learner = _with_prior(learner, np.broadcast_to(many[0].mean(axis=0), twin.shape), np.cov(many[0].T))
                if "effects" in told:
                    learner = _with_prior(learner, *_expected(twin, *many))
                played = simulate_days(instance, learner, keys, logged=_logged(instance, told))
                study.append(_FILE, row, [played], process_time() - begun)
    return 0


def _outreach(name: str, **given: Any) -> BanditInstance:
    """Return an instance of the regime with the seed at the end of a name; its features may explain another share."""
    make: Callable[..., BanditInstance] = registry.problem("bandits").generators["outreach"]
    return make(**study.regime("first") | given, seed=int(name.rpartition("-")[2]))


def _cells(instance: BanditInstance) -> NDArray[np.float64]:
    """Return the log-odds of the better state, float64 [J, 4], by call and state; chances are at most 1 - 1e-6."""
    chance = np.minimum(instance.transitions[..., 1].reshape(-1, 4), 1.0 - 1e-6)
    odds: NDArray[np.float64] = np.log(chance) - np.log1p(-chance)
    return odds


def _expected(
    twin: NDArray[np.float64], many: NDArray[np.float64], many_twins: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean log-odds [J, 4] of arms given their features, and the covariance around it [4, 4], by regression.

    A twin of an arm has the same features, and they explain everything about it (except what is left of the effect in the better
    state, which no feature says). The regression is that of many arms on their twins.
    """

    def described(cells: NDArray[np.float64]) -> NDArray[np.float64]:
        effect = cells[:, 2] - cells[:, 0]
        return np.column_stack(
            [np.ones(len(cells)), cells[:, 0], cells[:, 1], effect, np.sqrt(effect), np.log(np.maximum(effect, 1e-3))]
        )

    weights = np.linalg.lstsq(described(many_twins), many, rcond=None)[0]
    return described(twin) @ weights, np.cov((many - described(many_twins) @ weights).T)


def _with_prior(learner: Learner, mean: NDArray[np.float64], covariance: NDArray[np.float64]) -> Learner:
    """Return a learner whose prior has this mean of each arm's log-odds, [J, C], and shares nothing between arms."""
    cells = mean.shape[1]
    prior: Prior = learner.prior._replace(
        model=1,
        precision=np.ascontiguousarray(np.linalg.inv(covariance)),
        features=np.ascontiguousarray(mean),
        weights=np.eye(cells),
        weights_precision=np.repeat(np.eye(cells)[None], cells, axis=0),
    )
    return learner._replace(prior=prior)


def _logged(instance: BanditInstance, told: list[str]) -> NDArray[np.int32]:
    """Return the transitions that are told, int32 [J, 2, S, S]."""
    found = np.zeros((*instance.rewards.shape, instance.rewards.shape[2]), np.int32)
    if "without-calls" in told:
        found[:, 0] = np.rint(10_000 * instance.transitions[:, 0])
    if "logs" in told:
        random = make_learner(instance, "random")
        found += simulate_days(instance, random, range(_LOGS_KEY, _LOGS_KEY + 4)).counts.sum(axis=0, dtype=np.int32)
    return found


if __name__ == "__main__":
    raise SystemExit(main())

"""Bandits with unknown transitions: tuning, regret against hindsight, and the price of minimum pulls.

    python tests/studies/bandits_unknown.py priors     # from the logs of random days of the tuning instances
    python tests/studies/bandits_unknown.py tune       # in the regime named first
    python tests/studies/bandits_unknown.py judge --regimes first,few
    python tests/studies/bandits_unknown.py pulls      # minimum pulls, in the regime named first
    python tests/studies/bandits_unknown.py speed

Instances, days and regimes are in bandits_unknown.toml. All days are played by the kernel of
corl.solvers.bandits.online.simulation, which a test compares with the policies' own decisions. Rows are appended to CSV files;
those that are there are left out.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from run_table import RunTable, rows_of

from corl import options, registry
from corl.problems.bandits.instance import BanditInstance
from corl.solvers.bandits.online.deciding import make_learner
from corl.solvers.bandits.online.fitting import fit_population
from corl.solvers.bandits.online.policies import LearningPolicy
from corl.solvers.bandits.online.priors import write_population
from corl.solvers.bandits.online.simulation import Days, simulate_days

__all__ = ["RESULTS", "TUNING_KEY", "append", "instances", "label_of", "main", "missing", "parsed", "regime"]

_HERE = Path(__file__).parent
RESULTS = _HERE.parents[1] / "instances" / "bandits" / "results"
_SPLIT = tomllib.loads((_HERE / "bandits_unknown.toml").read_text())
_TUNING, _JUDGED, _PULLS = (RESULTS / f"unknown{each}.csv" for each in ("_tuning", "", "_pulls"))
_FIELDS = ("regime", "policy", "instance", "days", "reward", "last", "fewest", "seconds")
_LOG_KEY, TUNING_KEY = 1000, 2000  # keys of the first days
_LAST = 50  # steps of which "last" is the mean
_SHARED = [("sharing", ("none", "arm", "features"))]  # with the planner "fluid"
_GRIDS: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
    "thompson": [*_SHARED, ("every", (5, 15)), ("scale", (0.15, 0.25, 0.5))],
    "ucb": [*_SHARED, ("every", (5, 15)), ("scale", (0.0, 0.5, 1.0))],
    "wiql": [("scale", (0.02, 0.1, 0.5)), ("discount", (0.5, 0.8, 0.9, 0.99))],
    "ucwhittle": [("variant", ("value", "penalty")), ("scale", (0.1, 0.3, 1.0)), ("every", (20,)), ("discount", (0.9, 0.99))],
}
"""Policy -> its options that are tuned. For each value of `sharing`, there are 6 settings; for each baseline, 12."""
_MIN_PULLS = (0, 2, 5, 10, 15, 20)


def priors() -> None:
    """Write bandits_priors/REGIME.json for every regime."""
    days = _SPLIT["tuning"]["logs"]
    for name in _SPLIT["regimes"]:
        counts, features = [], []
        for instance in instances(name, "tuning"):
            played = simulate_days(instance, make_learner(instance, "random"), range(_LOG_KEY, _LOG_KEY + days))
            counts.append(played.counts.sum(axis=0, dtype=np.int32))
            features.append(instance.arm_features)
        order = np.arange(instance.rewards.shape[2])
        write_population(fit_population(counts, features, order), _prior(name))


def tune() -> None:
    """Append the rows of all settings in the regime named first; a row has the means over all instances."""
    keys = range(TUNING_KEY, TUNING_KEY + _SPLIT["tuning"]["days"])
    tuning = list(instances("first", "tuning"))
    for row, policy in missing(_TUNING, ["first"], ["random", "clairvoyant", *_settings()], ["all"]):
        begun = process_time()
        played = [simulate_days(instance, policy.learner(instance), keys) for instance in tuning]
        append(_TUNING, row, played, process_time() - begun)


def _settings() -> Iterator[str]:
    for name, grid in _GRIDS.items():
        for values in product(*(values for _, values in grid)):
            yield label_of(name, {key: value for (key, _), value in zip(grid, values)})


def tuned(all_of_them: bool) -> list[str]:
    """Return for each policy and sharing the setting with the most reward in tuning, and the baselines as published.

    `all_of_them`: whether both "thompson" and "ucb" are included, or only the better one with features.
    """
    best: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows_of(_TUNING):
        name, given = parsed(row["policy"])
        group = (name, given.get("sharing", ""))
        if name in _GRIDS and (group not in best or float(row["reward"]) > float(best[group]["reward"])):
            best[group] = row
    learning = sorted(
        (name for name, kind in best if kind == "features"), key=lambda name: float(best[name, "features"]["reward"])
    )
    left_out = [] if all_of_them else learning[:-1]
    chosen = [row["policy"] for (name, _), row in best.items() if name not in left_out]
    return ["random", "clairvoyant", "wiql", "ucwhittle", *chosen]


def judge(regimes: list[str]) -> None:
    """Append the rows of the tuned policies, one for each instance; of all of them in the regime named first."""
    part = _SPLIT["judge"]
    seeds = part["seeds"]
    for name in regimes:
        keys = range(part.get(f"days_of_{name}", part["days"]))
        for instance, seed in zip(instances(name, "judge"), range(seeds[0], seeds[1] + 1)):
            for row, policy in missing(_JUDGED, [name], tuned(name == "first"), [str(seed)]):
                begun = process_time()
                played = [simulate_days(instance, policy.learner(instance), keys)]
                append(_JUDGED, row, played, process_time() - begun)


def pulls() -> None:
    """Append rows of the best policy that shares by features, and of hindsight, with minimum pulls, in the regime named first."""
    part = _SPLIT["judge_first"]
    keys = range(part["days_of_pulls"])
    best = max((row for row in rows_of(_TUNING) if "sharing=features" in row["policy"]), key=lambda row: float(row["reward"]))
    chosen = [(name, parsed(name)) for name in ("clairvoyant", best["policy"])]
    labels = [label_of(name, given | {"min_pulls": each}) for _, (name, given) in chosen for each in _MIN_PULLS]
    for instance, seed in zip(instances("first", "judge_first"), range(part["seeds"][0], part["seeds"][1] + 1)):
        for row, policy in missing(_PULLS, ["first"], ["random", *labels], [str(seed)]):
            begun = process_time()
            played = [simulate_days(instance, policy.learner(instance), keys)]
            append(_PULLS, row, played, process_time() - begun)


def speed() -> None:
    """Print arm-steps per processor second, with all that the policies compute."""
    for name in ("few", "first", "many"):
        instance = next(instances(name, "tuning"))
        for label in ("random", "wiql", *(each for each in tuned(True) if "sharing" in each)):
            learner = _policy(label, name).learner(instance)
            simulate_days(instance, learner, [0])
            days, begun = max(1, 20_000 // instance.arms), process_time()
            simulate_days(instance, learner, range(days))
            rate = days * instance.arms * instance.horizon / (process_time() - begun)
            print(f"{instance.arms:5d} arms  {rate / 1e6:6.2f} million arm-steps per second  {label}", flush=True)


def instances(regime: str, part: str) -> Iterator[BanditInstance]:
    """Yield the instances of a regime in a part of the split."""
    first, last = _SPLIT[part]["seeds"]
    for seed in range(first, last + 1):
        yield registry.problem("bandits").generators["outreach"](seed=seed, **_SPLIT["regimes"][regime])


def regime(name: str) -> dict[str, Any]:
    """Return the options of the generator in a regime."""
    found: dict[str, Any] = _SPLIT["regimes"][name]
    return found


def _prior(regime: str) -> Path:
    return _HERE / "bandits_priors" / f"{regime}.json"


def missing(
    file: Path, regimes: list[str], labels: list[str], names: list[str], policy: str = ""
) -> Iterator[tuple[dict[str, Any], LearningPolicy]]:
    """Yield the first fields of the rows that are not in the file, and the policy of each: by the label, or `policy`."""
    known = {(row["regime"], row["policy"], row["instance"]) for row in rows_of(file)} if file.exists() else set()
    for regime, label, instance in product(regimes, labels, names):
        if (regime, label, instance) not in known:
            yield {"regime": regime, "policy": label, "instance": instance}, _policy(policy or label, regime)


def append(file: Path, row: dict[str, Any], played: list[Days], seconds: float) -> None:
    """Append a row: the first fields, and what is measured on these days."""
    rewards = np.concatenate([each.rewards for each in played])
    row |= {
        "days": len(rewards),
        "reward": f"{rewards.mean():.6g}",
        "last": f"{rewards[:, -_LAST:].mean():.6g}",
        "fewest": int(min(each.pulls.min() for each in played)),
        "seconds": f"{seconds:.3g}",
    }
    RunTable(file, _FIELDS, ()).append(row)


def label_of(name: str, given: dict[str, Any]) -> str:
    """Return the label of a policy with options, NAME:OPTION=VALUE+...; `parsed` reads it."""
    return name + "".join(f"{':' if k == 0 else '+'}{key}={value}" for k, (key, value) in enumerate(given.items()))


def parsed(label: str) -> tuple[str, dict[str, str]]:
    """Return the name and the options of a label."""
    name, _, given = label.partition(":")
    return name, dict(each.split("=", 1) for each in given.split("+") if each)


def _policy(label: str, regime: str) -> LearningPolicy:
    from corl.online.dispatcher import policy_class

    name, given = parsed(label)
    if name in ("thompson", "ucb"):
        given["prior"] = str(_prior(regime))
    return options.build(policy_class("bandits", name), options.parse_pairs([f"{k}={v}" for k, v in given.items()]))  # type: ignore[return-value]


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python tests/studies/bandits_unknown.py", description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=("priors", "tune", "judge", "pulls", "speed"))
    parser.add_argument("--regimes", default=",".join(_SPLIT["regimes"]))
    given = parser.parse_args(arguments)
    if given.part == "judge":
        judge(given.regimes.split(","))
    else:
        {"priors": priors, "tune": tune, "pulls": pulls, "speed": speed}[given.part]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

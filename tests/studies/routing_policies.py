"""How far learned policies are from our best solver: `python tests/studies/routing_policies.py PROBLEM --split judge [ROW ...]`.

PROBLEM is knapsack, orienteering or vrp, at 100 items, nodes or clients (--size: another number), as the learning literature has
them: KP100 with capacity 25, OP100 with scores by distance and limit 4 (Kool et al., 2019), CVRP100 with capacity 50. Training
draws its seeds below 2**32 at random, so that none is likely among those of SPLITS; rules are tuned and curves watched on
"choose", and "judge" to "judge-4" are for the figures that are published, once each.

A row is POLICY-DECODER or solver-NAME-ITERATIONS: a policy is "rule", a shipped one's name or a checkpoint file; a decoder is
"greedy", "beamW" or "beamW:NAT" (Beam's option nat, for policies with a value). Gaps are to the best solver's, which the CSV file
--reference keeps; with --paired they are to the greedy rule. --count takes the first so many instances of the split; of "judge-3"
the first 128 are for gaps, and the first 512 for what is paired. Each row is a line of CSV: mean gap with its bootstrap
interval, the same of what it is above the greedy rule's on the same instances, and instances a second of processor time on one
core.

`--tune SECONDS` looks for the rule: weights of the features that the network sees of an action, the first of which stands alone
at first, by a (1 + 1) evolution strategy on half of "choose", in so many seconds of processor time; it prints them, and those in
routing_rules.json are what it found.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from best_known import best_known
from numpy.typing import NDArray

import corl
from corl import registry
from corl.decoding import Beam, CountedEvaluator, Greedy, decode
from corl.policy import RulePolicy
from corl.statistics import resampled_mean

__all__ = ["SPLITS", "Linear", "fresh", "gaps", "objectives", "tuned"]

SPLITS = {
    "choose": 4_310_000_000,
    "judge": 4_320_000_000,
    "judge-2": 4_330_000_000,
    "judge-3": 4_340_000_000,
    "judge-4": 4_350_000_000,
    "long": 5_400_000_000,
}
"""The first seed of each; the second round was judged on "judge-2", networks that began as the rule on "judge-3" and,
as the tuned rule of routes, "judge-4"; policies of long training are judged on "long", the split "judge" of learning_splits."""
COUNT = 128
"""Instances of each."""
GENERATED: dict[str, tuple[str, dict[str, Any]]] = {
    "knapsack": ("unit", {"size": 100, "capacity": 25.0}),
    "orienteering": ("distance", {"size": 100}),
    "vrp": ("uniform", {"size": 100}),
}
"""Generator and options."""
SEEN = {"knapsack": "core", "orienteering": "insertion", "vrp": "savings"}
"""Environment and features of the shipped policy and the rule."""
FIRST = {"knapsack": (15, -1.0), "orienteering": (0, -1.0), "vrp": (0, -1.0)}
"""The feature that says how much worse than the best action one looks, and its weight at first."""
WORTH: dict[str, Callable[[Mapping[str, NDArray[Any]]], NDArray[np.float64]]] = {
    "orienteering": lambda seen: seen["best"],
    "vrp": lambda seen: -np.minimum(seen["plan"], np.where(seen["mask"][:, :-2], seen["plans"], np.inf).min(axis=1)),
}
"""What a rule expects of the rest of a state: the best plan that is known of it."""
BEST = {"knapsack": ("dp", 100_000), "orienteering": ("ruin-recreate", 100_000), "vrp": ("ruin-recreate", 60_000)}
"""Our best solver, and its iterations: proven optima, about half a second and a second an instance."""
FIELDS = ("row", "split", "instances", "mean_gap", "low", "high", "above_rule", "rule_low", "rule_high", "instances_per_second")
RULES = Path(__file__).with_name("routing_rules.json")
_TOGETHER = 128  # instances decoded at once; a beam's are fewer
_SPREAD = 0.3  # of a mutated weight at first
_MUTATED = 3  # weights at once


def fresh(problem: str, split: str, count: int = COUNT, size: int = 100) -> list[Any]:
    """The first `count` instances of a split, of another size if one likes."""
    name, options = GENERATED[problem]
    make = registry.problem(problem).generators[name]
    return [make(**options | {"size": size}, seed=SPLITS[split] + k) for k in range(count)]


class Linear(RulePolicy):
    """A rule by hand: the action whose features, weighed, add up to the most."""

    def __init__(self, problem: str, weights: NDArray[np.float64]) -> None:
        self.problem, self.environment, self.weights = problem, SEEN[problem], weights
        self.has_value = problem in WORTH
        self._tokens = registry.problem(problem).features[SEEN[problem]]

    def evaluate(self, observation: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The sums, of equal ones the first slot ahead; and what is expected of the rest."""
        tokens = self._tokens(observation)
        slots = observation["action" if "action" in observation else "plans"].shape[1]
        sums = tokens.x[:, :slots].astype(np.float64) @ self.weights - 1e-9 * np.arange(slots)
        worth = WORTH[self.problem](observation) if self.has_value else np.zeros(len(sums))
        return np.where(tokens.mask[:, :slots], sums, -np.inf), worth


def objectives(policy: Any, instances: list[Any], decoder: str) -> NDArray[np.float64]:
    """float64 [I] of "greedy", "beamW" or "beamW:NAT"."""
    problem = registry.problem(policy.problem)
    states, _, nat = decoder.removeprefix("beam").partition(":")
    width = 1 if decoder == "greedy" else int(states)
    search = Greedy() if decoder == "greedy" else Beam(width, float(nat or 0.0))
    found = np.full(len(instances), -np.inf)
    together = max(1, _TOGETHER // width)
    for at in range(0, len(instances), together):
        part = instances[at : at + together]
        rows = (1 if width == 1 else 2 * width) * len(part)
        environment = problem.environment(part, rows, name=policy.environment)
        decoded = decode(search, CountedEvaluator(environment, policy), range(len(part)))
        for entry, total in zip(decoded.entry, decoded.total):
            found[at + entry] = max(found[at + entry], total)
    return found if problem.sense == "max" else -found


def solved(problem: str, solver: str, iterations: int, instances: list[Any]) -> NDArray[np.float64]:
    """float64 [I], what a solver finds in so many iterations."""
    runs = (corl.solve(each, problem=problem, solver=solver, iterations=iterations, seed=1) for each in instances)
    return np.array([run.objective for run in runs], np.float64)


def gaps(problem: str, found: NDArray[np.float64], best: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much worse than the best each is, as a share of it."""
    return (found / best - 1.0) * (1.0 if registry.problem(problem).sense == "min" else -1.0)


def reference(problem: str, split: str, instances: list[Any], known: Path | None) -> NDArray[np.float64]:
    """The best solver's objectives, float64 [I]; kept in and taken from the CSV file `known`, where given."""
    solver, iterations = BEST[problem]
    names, source = [f"{problem}-{split}-{k}" for k in range(len(instances))], f"corl {solver} iterations={iterations} seed=1"
    return best_known(names, lambda k: float(solved(problem, solver, iterations, [instances[k]])[0]), source, known)


def tuned(problem: str, instances: list[Any], best: NDArray[np.float64], seconds: float, seed: int = 0) -> NDArray[np.float64]:
    """Weights [F] of the rule, see above."""
    environment = registry.problem(problem).environment(instances[:1], 1, name=SEEN[problem])
    environment.reset([0], [0])
    width = registry.problem(problem).features[SEEN[problem]](environment.observe([0])).x.shape[2]
    weights, random, spread = np.zeros(width), np.random.default_rng(seed), _SPREAD
    weights[FIRST[problem][0]] = FIRST[problem][1]

    def worth(given: NDArray[np.float64]) -> float:
        return float(gaps(problem, objectives(Linear(problem, given), instances, "greedy"), best).mean())

    least, began, tries = worth(weights), time.process_time(), 0
    first = least
    while time.process_time() - began < seconds:
        changed = weights.copy()
        changed[random.permutation(width)[:_MUTATED]] += spread * random.standard_normal(_MUTATED)
        found = worth(changed)
        tries += 1
        spread *= 1.3 if found < least else 0.95  # the rule of a fifth of successes
        spread = min(1.0, max(0.02, spread))
        if found <= least:
            weights, least = changed, found
    print(f"{problem}: {first:.5f} at first, {least:.5f} after {tries} tries", file=sys.stderr)
    return weights


def main() -> None:
    """Measure rows, or look for the rule."""
    import torch

    from corl.networks.checkpoints import load_policy

    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", choices=sorted(GENERATED))
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--split", choices=sorted(SPLITS), default="choose")
    parser.add_argument("--count", type=int, default=COUNT, help="instances of the split, the first")
    parser.add_argument("--size", type=int, default=100, help="of the instances; the CSV files of sizes are not to be mixed")
    parser.add_argument("--reference", type=Path, help="CSV file that keeps the best solver's objectives")
    parser.add_argument("--paired", action="store_true", help="no best solver: gaps are to the greedy rule's objectives")
    parser.add_argument("--tune", type=float, default=0.0, metavar="SECONDS")
    args = parser.parse_intermixed_args()
    problem = args.problem
    if args.tune:
        instances = fresh(problem, "choose", COUNT // 2)
        weights = tuned(problem, instances, reference(problem, "choose", instances, args.reference), args.tune)
        print(json.dumps({problem: [round(float(weight), 4) for weight in weights]}))
        return
    instances = fresh(problem, args.split, args.count, args.size)
    rule = Linear(problem, np.array(json.loads(RULES.read_text())[problem]))
    by_rule = objectives(rule, instances, "greedy")
    best = by_rule if args.paired else reference(problem, args.split, instances, args.reference)
    base = gaps(problem, by_rule, best)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(FIELDS)
    for row in args.rows:
        name, how = row.rsplit("-", 1)
        began = time.process_time()
        if name.startswith("solver-"):
            found = solved(problem, name.removeprefix("solver-"), int(how), instances)
        else:
            found = objectives(rule if name == "rule" else load_policy(name), instances, how)
        speed = len(instances) / (time.process_time() - began)
        over = gaps(problem, found, best)
        mean, above = resampled_mean(over), resampled_mean(over - base)
        numbers = (mean.value, mean.low, mean.high, above.value, above.low, above.high)
        texts = ("" if value is None else f"{value:.6f}" for value in numbers)
        writer.writerow([row, args.split, len(over), *texts, f"{speed:.2f}"])
        sys.stdout.flush()


if __name__ == "__main__":
    main()

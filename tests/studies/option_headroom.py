"""How much options chosen for each instance would gain: `python tests/studies/option_headroom.py SUITE SOLVER --store FILE`

Candidates are the defaults and others in which a few options have random values. Each solves a stratified sample of the suite's
instances (corl.benchmark.running.sampling) with two seeds. "chosen apart": the best options of each instance, and the best for
all instances together, are chosen by the runs with one seed and compared by those with the other, both ways; this
underestimates the gain, because one run is a noisy choice. "chosen on the same runs": chosen and compared by the same runs; this
overestimates it. Costs are gaps to the best known values. Runs are in a store of `corl bench`; the same command continues.

Prints a CSV row with the ratios of mean gaps, 0.95 for a gain of 5 %, and their 95 % intervals over instances.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corl import registry
from corl.benchmark.running.runner import Listener
from corl.benchmark.running.sampling import stratified
from corl.benchmark.running.suite import Lineup, read_suite
from corl.statistics import Estimate, Resampling
from corl.store import Store
from corl.tuning.runs import DEFAULT, Block, Candidate, Runs
from corl.tuning.sampling import Proposals
from corl.tuning.space import search_space

__all__ = ["candidates", "headroom", "main"]

_CHANGED = 3  # options that a candidate changes, at most
_FIELDS = ("suite", "solver", "seconds", "instances", "candidates", "best_single", "chosen_apart", "chosen_on_the_same_runs")


def candidates(cls: type, count: int, seed: int = 0) -> list[Candidate]:
    """Return the defaults and `count` - 1 candidates, each with 1 to _CHANGED options drawn at random, the others as they are."""
    dimensions, _ = search_space(cls)
    proposals, random = Proposals(dimensions, "random", seed), np.random.default_rng(seed)
    found = {DEFAULT: Candidate({}, DEFAULT)}
    while len(found) < count:
        _, drawn = proposals.ask()
        names = random.permutation(list(drawn))[: random.integers(1, _CHANGED + 1)].tolist()
        each = Candidate({name: drawn[name] for name in names})
        found[each.label] = each
    return list(found.values())


def headroom(costs: NDArray[np.float64]) -> tuple[Estimate, Estimate, int]:
    """Return the ratio of the mean costs of the best candidate of each instance and of the best single one, and the latter.

    Args:
        costs: float64 [candidates, instances, 2 seeds].

    Returns:
        The ratio chosen apart, that chosen on the same runs, and the candidate with the least mean cost of all runs.
    """
    everywhere = Resampling(np.ones(costs.shape[1:], bool))
    rows = np.arange(costs.shape[1])

    def compared(of: Sequence[int]) -> Estimate:
        """Seed i of the result is chosen by seed of[i]."""
        own = np.stack([costs[costs[:, :, by].argmin(axis=0), rows, seed] for seed, by in enumerate(of)], axis=1)
        single = np.stack([costs[costs[:, :, by].mean(axis=1).argmin(), :, seed] for seed, by in enumerate(of)], axis=1)
        return everywhere.ratio(own, single)

    return compared((1, 0)), compared((0, 1)), int(costs.mean(axis=(1, 2)).argmin())


def _text(estimate: Estimate) -> str:
    numbers = [estimate.value, estimate.low, estimate.high]
    first, *interval = ["" if each is None else f"{each:.3f}" for each in numbers]
    return f"{first} [{', '.join(interval)}]" if all(interval) else first


def main(words: Sequence[str] | None = None) -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", help="a suite file, or the name of a shipped suite")
    parser.add_argument("solver")
    parser.add_argument("--store", type=Path, required=True, help="the file of the runs")
    parser.add_argument("--seconds", type=float, default=5.0, help="the time limit of a run; default 5")
    parser.add_argument("--instances", type=int, default=8, help="the size of the sample; default 8")
    parser.add_argument("--candidates", type=int, default=16, help="their number, with the defaults; default 16")
    given = parser.parse_args(words)
    suite = read_suite(given.suite)
    cls = registry.solver(suite.problem.name, given.solver)
    accepted = list(islice((each for each in stratified(suite.sources) if not cls().accepts(each.load())), given.instances))
    found = candidates(cls, given.candidates)
    block = Block(tuple(accepted), (0, 1))
    suite = replace(
        suite, name=f"{suite.name}-{given.solver}-headroom", sources=block.sources, lineups=(Lineup(DEFAULT, given.solver, {}),),
        time_limits=(given.seconds,), iterations=(), seeds=block.seeds, keep_solutions=False,
    )  # fmt: skip
    told = Listener(ended=lambda record: print(record.solver, record.instance, record.seed, record.objective, file=sys.stderr))
    with Store(given.store, create=True) as store:
        runs = Runs(suite, store, 1, np.inf, "option_headroom.py", told)
        runs.measure(found, block)
        costs = runs.costs(found, block.pairs, "final").reshape(len(found), 2, len(accepted)).transpose(0, 2, 1)
    apart, same, best = headroom(costs)
    single = ", ".join(f"{name}={value}" for name, value in found[best].options.items()) or DEFAULT
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(_FIELDS)
    row = (given.suite, given.solver, f"{given.seconds:g}", len(accepted), len(found), single, _text(apart), _text(same))
    writer.writerow(row)


if __name__ == "__main__":
    main()

"""How far a policy's tours are above the best known: `python tests/studies/tsp_policies.py [--policy NAME] [ROW ...]`.

A row is GENERATOR-SIZE-COUNT-DECODER, such as uniform-100-128-greedy or clustered-500-32-beam16, or
tsplib-FOLDER-MOST-DECODER: the .tsp files of up to MOST cities in a folder that has their optima in solutions.txt ("name :
length"). `--policy least-bound` is the rule by hand that sees what tsp-bq sees. Instances are decoded together. Each row is a
line of instances/tsp/results/policies.csv: gap of the mean with its bootstrap interval, tours a second of processor time on one
core.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from best_known import best_known
from numpy.typing import NDArray

import corl
from corl.decoding import Beam, CountedEvaluator, Greedy, decode
from corl.errors import InputError
from corl.policy import RulePolicy
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.generators import clustered, uniform
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.problem import Tsp
from corl.statistics import resampled_mean

__all__ = ["fresh", "gaps", "optima"]

ROWS = (
    "uniform-100-128-greedy", "uniform-100-128-beam16", "uniform-200-128-greedy", "uniform-500-128-greedy",
    "uniform-1000-128-greedy", "clustered-500-32-greedy",
)  # fmt: skip
FIELDS = ("row", "policy", "instances", "mean_gap", "low", "high", "median_gap", "worst_gap", "tours_per_second")
FIRST_SEED = 90_000_000
"""Of the instances measured on unless `--first-seed` says another; training draws its seeds below 2^32 at random, so that none is
likely among them, and those from 2^32 on are surely not."""
_POPULATION = 150
_ITERATIONS = 40 * _POPULATION  # in which it converges
_TOGETHER = 128  # instances decoded at once; a beam's are fewer


_BOUND, _EXAMINED = 24, 22  # columns of corl.problems.tsp.features


class LeastBound(RulePolicy):
    """The next city after which the relaxation's bound on the whole path is least (features plane-far)."""

    problem = "tsp"

    def evaluate(self, observation: Mapping[str, NDArray[Any]], /) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """See corl.policy.RulePolicy."""
        tokens = Tsp.features["plane-far"](observation)
        slots = tokens.x.shape[1] - 2
        scores = 10.0 * tokens.x[:, :slots, _BOUND] + tokens.x[:, :slots, _EXAMINED]
        return np.where(tokens.mask[:, :slots], scores, -np.inf).astype(np.float32), np.zeros(len(scores))


def fresh(kind: str, size: int, count: int, first: int = FIRST_SEED) -> list[TspInstance]:
    """`count` instances that no training saw, with seeds from `first` on; the uniform ones in the unit square, unrounded."""
    seeds = range(first, first + count)
    if kind == "clustered":
        return [clustered(size=size, seed=seed) for seed in seeds]
    return [uniform(size=size, edge_weight_type="EXACT_2D", seed=seed) for seed in seeds]


def optima(instances: list[TspInstance], known: Path | None = None, first: int = FIRST_SEED) -> NDArray[np.float64]:
    """The lengths of eax's tours (population 150), float64 [I]; kept in and taken from the CSV file `known`, where given."""

    def find(i: int) -> float:
        found = corl.solve(instances[i], solver="eax", population=_POPULATION, iterations=_ITERATIONS, seed=i)
        assert found.objective is not None
        return found.objective

    names = [f"{instance.name}-{first + i}" for i, instance in enumerate(instances)]
    return best_known(names, find, f"eax, one population of {_POPULATION} tours", known)


def gaps(policy: Any, instances: list[TspInstance], best: NDArray[np.float64], decoder: str) -> NDArray[np.float64]:
    """Relative lengths above `best`, float64 [I]; "greedy" or "beamW" from city 0."""
    width = int(decoder.removeprefix("beam")) if decoder != "greedy" else 1
    found = np.full(len(instances), np.inf)
    together = max(1, _TOGETHER // width)
    for at in range(0, len(instances), together):
        part = instances[at : at + together]
        environment = TspEnvironment(part, (1 if width == 1 else 2 * width) * len(part))
        decoded = decode(Greedy() if width == 1 else Beam(width), CountedEvaluator(environment, policy), range(len(part)))
        for entry, tour in zip(decoded.entry, decoded.solutions):
            found[at + entry] = min(found[at + entry], Tsp().evaluate(part[entry], tour))
    return found / best - 1.0


def _tsplib(folder: Path, most: int) -> tuple[list[TspInstance], NDArray[np.float64]]:
    """The folder's instances with coordinates, and their optima."""
    lines = (line.split(":") for line in (folder / "solutions.txt").read_text().splitlines() if ":" in line)
    known = {name.strip(): float(value.split()[0]) for name, value, *_ in lines}
    chosen, best = [], []
    for file in sorted(folder.glob("*.tsp")):
        with contextlib.suppress(InputError):  # a kind that is not supported
            instance = Tsp().read(file)
            if instance.n <= most and instance.points is not None and file.stem in known:
                chosen.append(instance)
                best.append(known[file.stem])
    return chosen, np.array(best)


def main() -> None:
    """Measure the rows asked for, or ROWS."""
    import torch

    from corl.networks.checkpoints import load_policy

    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", default=list(ROWS), metavar="ROW")
    parser.add_argument("--policy", default="tsp-bq", help="a shipped policy's name, a checkpoint file, or least-bound")
    parser.add_argument("--reference", type=Path, help="CSV file that keeps the best known lengths")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="of the generated instances")
    args = parser.parse_args()
    policy: Any = LeastBound() if args.policy == "least-bound" else load_policy(args.policy)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(FIELDS)
    for row in args.rows:
        kind, rest = row.split("-", 1)
        size, count, decoder = rest.rsplit("-", 2)  # a folder's name may have dashes
        if kind == "tsplib":
            instances, best = _tsplib(Path(size), int(count))
        else:
            instances = fresh(kind, int(size), int(count), args.first_seed)
            best = optima(instances, args.reference, args.first_seed)
        gaps(policy, instances[:1], best[:1], decoder)  # compiles
        began = time.process_time()
        over = gaps(policy, instances, best, decoder)
        speed = len(over) / (time.process_time() - began)
        mean = resampled_mean(over)
        numbers = (mean.value, mean.low, mean.high, np.median(over), over.max())
        shown = f"tsplib-{count}-{decoder}" if kind == "tsplib" else row
        texts = ("" if value is None else f"{value:.5f}" for value in numbers)
        writer.writerow([shown, args.policy, len(over), *texts, f"{speed:.2f}"])
        sys.stdout.flush()


if __name__ == "__main__":
    main()

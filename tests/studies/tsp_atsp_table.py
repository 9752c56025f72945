"""The table of atsp-bq against rules by hand: python tests/studies/tsp_atsp_table.py --size 100 --count 128

It makes instances/tsp/results/policies-atsp.csv, a row a method: the mean gap to the reference in per cent with a 95 %
bootstrap interval, and processor time a tour. A row "A less B" is of the differences to the best rule by hand, B, on the same
instances.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from best_known import best_known
from numpy.typing import NDArray

import corl
from corl.benchmark.running.references import read_references
from corl.policy import RulePolicy
from corl.problems.tsp.assignment_lookahead import least_estimate
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.generators import asymmetric
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.problem import Tsp
from corl.statistics import resampled_mean

if TYPE_CHECKING:
    from corl.decoding import Decoder

__all__ = ["RULES", "Rule", "gaps"]

_FIRST_SEED = 4_360_000_000  # of the instances that are held out: training draws its seeds below 2^32
_ITERATIONS = 6000  # of our ATSP search, whose tours are the reference
_AT_ONCE = 16  # instances decoded together
RULES = ("nearest city", "least reduced cost", "assignment's arc", "least estimate")
"""Rules by hand: by the matrix; by the assignment of all cities; of those that remain; and with the joining of its cycles."""


@dataclass(frozen=True)
class Rule(RulePolicy):
    """A rule by hand in the place of a policy."""

    name: str

    def evaluate(self, observation: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Logits [R, K] whose order is the rule's, and no values."""
        seen = dict(observation)
        slots = seen["mask"].shape[1] - 2
        worth = {
            "nearest city": lambda: seen["distances"][:, -2, :-2],
            "least reduced cost": lambda: np.broadcast_to(np.arange(slots, dtype=float), (len(seen["mask"]), slots)),
            "assignment's arc": lambda: seen["actions"][..., 0],
            "least estimate": lambda: least_estimate(seen),
        }[self.name]()
        scaled = worth / np.maximum(seen["bound"], 1.0)[:, None]
        return np.where(seen["mask"][:, :-2], -scaled, -np.inf), np.zeros(len(worth))


def gaps(
    instances: list[TspInstance], best: NDArray[np.float64], policy: Any, decoder: Decoder, rows: int
) -> tuple[NDArray[np.float64], float]:
    """Gaps [I] in per cent to `best`, and the processor's seconds a tour; a pool of `rows` states for 16 instances."""
    from corl.decoding import CountedEvaluator, decode

    found: list[float] = []
    began = time.process_time()
    for first in range(0, len(instances), _AT_ONCE):
        part = instances[first : first + _AT_ONCE]
        environment = TspEnvironment(part, rows)
        decoded = decode(decoder, CountedEvaluator(environment, policy), range(len(part)))
        tours = [decoded.solutions[at] for at in decoded.best(len(part))]
        found += [Tsp().evaluate(instance, tour) for instance, tour in zip(part, tours)]
    return 100.0 * (np.array(found) / best - 1.0), (time.process_time() - began) / len(instances)


def main() -> None:
    """See the module."""
    from corl.decoding import Beam, Greedy
    from corl.networks.checkpoints import load_policy

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", default="atsp-bq", help="a shipped policy or a checkpoint file")
    parser.add_argument("--size", type=int, default=100, help="cities of generated instances")
    parser.add_argument("--count", type=int, default=128, help="how many of them")
    parser.add_argument("--first-seed", type=int, default=_FIRST_SEED, help="of the generated instances")
    parser.add_argument("--reference", type=Path, help="CSV file that keeps the reference")
    parser.add_argument("--files", type=Path, nargs="*", default=[], help="ATSP files instead")
    parser.add_argument("--optima", type=Path, help="their optima, in lines NAME : VALUE")
    parser.add_argument("--beam", type=int, default=16, help="width of the beam; 0: none")
    parser.add_argument("--no-rules", action="store_true", help="the policy alone")
    given = parser.parse_args()
    instances, best, group = _instances(given)
    network = load_policy(given.policy)
    methods: list[tuple[str, Any, Decoder, int]] = [] if given.no_rules else [(r, Rule(r), Greedy(), _AT_ONCE) for r in RULES]
    methods.append((f"{Path(given.policy).stem} greedy", network, Greedy(), _AT_ONCE))
    if given.beam:
        methods.append((f"{Path(given.policy).stem} beam {given.beam}", network, Beam(given.beam), _AT_ONCE * given.beam))
    of_rule: NDArray[np.float64] | None = None
    for name, policy, decoder, rows in methods:
        gaps(instances[:1], best[:1], policy, decoder, rows)  # compiles
        found, seconds = gaps(instances, best, policy, decoder, rows)
        _print(group, found, name, f"{seconds:.3f}")
        if name == RULES[-1]:
            of_rule = found
        elif of_rule is not None:
            _print(group, found - of_rule, f"{name} less {RULES[-1]}", "")
        for instance, gap in zip(instances, found) if given.files else ():
            print(f"{instance.name},1,{name},{gap:.3f},,,", flush=True)


def _print(group: str, gaps: NDArray[np.float64], name: str, seconds: str) -> None:
    """A row of the table."""
    mean = resampled_mean(gaps)
    numbers = ["" if value is None else f"{value:.3f}" for value in (mean.value, mean.low, mean.high)]
    print(group, len(gaps), name, *numbers, seconds, sep=",", flush=True)


def _instances(given: argparse.Namespace) -> tuple[list[TspInstance], NDArray[np.float64], str]:
    """Instances, the lengths that gaps are to, and what they are called."""
    if given.files:
        instances = [Tsp().read(file) for file in given.files]
        known = read_references(given.optima)
        return instances, np.array([known[file.stem].value for file in given.files]), "TSPLIB"
    seeds = range(given.first_seed, given.first_seed + given.count)
    instances = [asymmetric(size=given.size, seed=seed) for seed in seeds]

    def find(i: int) -> float:
        found = corl.solve(instances[i], problem="tsp", solver="ils", iterations=_ITERATIONS, seed=1)
        assert found.objective is not None
        return found.objective

    names, source = [f"asymmetric-{given.size}-{seed}" for seed in seeds], f"corl ils iterations={_ITERATIONS} seed=1"
    return instances, best_known(names, find, source, given.reference), f"asymmetric {given.size}"


if __name__ == "__main__":
    main()

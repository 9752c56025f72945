"""Routing during the day: policies on days of EURO meets NeurIPS 2022, in our own simulation.

    QUICKSTART=FOLDER python tests/studies/vrp_day.py OUT.csv --days 1,11 --policies greedy,prizes:factor=1.2 --seconds 5

QUICKSTART is a checkout of the competition's quickstart repository (github.com/ortec/euro-neurips-vrp-2022-quickstart). Days are
played one after another, each with all policies before the next; pairs of day and policy that are in OUT.csv are skipped. Days
from 10,000 are generated like those on which the network was trained, and need no QUICKSTART.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from processor_run import ProcessorRun
from run_table import RunTable
from vrp_day_plans import customers_of

from corl import solving
from corl.loading import load
from corl.options import build, parse_pairs
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.online.epochs import Requests, epochs
from corl.problems.vrp.online.sampling import REQUESTS_PER_EPOCH, sample_epoch
from corl.problems.vrp.online.situation import situation
from corl.solvers.vrp.online import consensus, sampled_prizes
from corl.solvers.vrp.online.consensus import Consensus
from corl.solvers.vrp.online.dispatching import Greedy, Lazy, Threshold
from corl.solvers.vrp.online.learned import LearnedPrizes
from corl.solvers.vrp.online.policy import EpochPolicy
from corl.solvers.vrp.online.sampled_prizes import SampledPrizes

KINDS = {
    "greedy": Greedy, "lazy": Lazy, "threshold": Threshold, "consensus": Consensus, "prizes": SampledPrizes,
    "learned": LearnedPrizes,
}  # fmt: skip
GENERATED = 10_000
COLUMNS = ("nr", "policy", "seconds", "cost", "longest")


def quickstart() -> Path:
    """Return the folder of the competition's repository."""
    return Path(os.environ["QUICKSTART"])


def policy_of(text: str) -> EpochPolicy:
    """Return the policy NAME or NAME:OPTION=VALUE;OPTION=VALUE."""
    name, _, options = text.partition(":")
    return build(KINDS[name], parse_pairs(options.split(";")) if options else {})


def day_of(nr: int) -> tuple[VrpInstance, int, Path]:
    """Return the customers, the seed and the file of a dynamic day of the final; of a generated day without a file."""
    if nr >= GENERATED:
        return customers_of(nr), nr, Path()
    entry = json.loads((quickstart() / "instances/final/configs.json").read_text())[nr]
    assert not entry["static"]
    file = quickstart() / "instances/final" / entry["instance"]
    return load(str(file), None)[1], entry["instance_seed"], file


def play(customers: VrpInstance, seed: int, policy: EpochPolicy, seconds: float) -> tuple[float, float]:
    """Return the driving time of a day and the longest time of a decision, in seconds."""
    random, day, total, longest = np.random.default_rng(seed), epochs(customers.earliest[1:]), 0.0, 0.0
    waiting = Requests(np.zeros(0, np.int64), *np.zeros((4, 0)))
    for epoch in range(day.first, day.last + 1):
        waiting = waiting.join(sample_epoch(customers, epoch, REQUESTS_PER_EPOCH, random))
        now = situation(customers, waiting, epoch, day.last)
        begin = time.perf_counter()
        routes = policy.routes(now, seconds, epoch)
        longest = max(longest, time.perf_counter() - begin)
        gone = np.zeros(len(now.must), bool)
        for route in routes:
            path = np.concatenate([[0], waiting.customer[route], [0]])
            total += customers.matrix[path[:-1], path[1:]].sum()
            gone[route] = True
        assert gone[now.must].all()
        waiting = waiting.take(~gone)
    return total, longest


def count_processor_time() -> None:
    """Make planner and policies count processor seconds of this process instead of seconds on the clock."""
    solving.Run = ProcessorRun
    for module in (sampled_prizes, consensus):
        module.time = SimpleNamespace(perf_counter=time.process_time)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--days", required=True)
    parser.add_argument("--policies", required=True)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--processor", action="store_true", help="seconds of processor time, on a busy machine")
    arguments = parser.parse_args()
    if arguments.processor:
        count_processor_time()
    table = RunTable(arguments.out, COLUMNS, ("nr", "policy", "seconds"))
    policies = {text: policy_of(text) for text in arguments.policies.split(",")}
    prepared = False
    for nr in map(int, arguments.days.split(",")):
        customers, seed, _ = day_of(nr)
        for text, policy in policies.items():
            if not prepared:
                policy.prepare(customers)
                prepared = True
            if not table.has(nr, text, arguments.seconds):
                cost, longest = play(customers, seed, policy, arguments.seconds)
                table.append((nr, text, arguments.seconds, int(cost), round(longest, 2)))


if __name__ == "__main__":
    main()

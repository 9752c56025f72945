"""Hindsight plans for training: sampled days of instances outside the final, solved with all requests known.

    python -m tests.studies.vrp_day_plans INSTANCES.txt FOLDER --days 40 --seconds 20

INSTANCES.txt names files, one a line. A day whose plan is in FOLDER already is skipped. Each file FOLDER/NUMBER.npz holds the
requests, the epochs in which they become known, and the routes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import corl
from corl.loading import load
from corl.problems.vrp.online.epochs import Requests, departure, epochs
from corl.problems.vrp.online.hindsight import planning_instance
from corl.problems.vrp.online.sampling import REQUESTS_PER_EPOCH, sample_epoch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instances", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--days", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    paths = [line.strip() for line in arguments.instances.read_text().splitlines() if line.strip()]
    for number in range(arguments.first, arguments.first + arguments.days):
        file = arguments.folder / f"{number}.npz"
        if not file.exists():
            plan(paths[number % len(paths)], number, arguments.seconds, file)


def plan(path: str, seed: int, seconds: float, file: Path) -> None:
    """Sample a day of the instance at `path`, solve it in hindsight, and write the plan."""
    customers, random, begin = load(path, None)[1], np.random.default_rng(1_000_000 + seed), time.perf_counter()
    day = epochs(customers.earliest[1:])
    drawn = [sample_epoch(customers, epoch, REQUESTS_PER_EPOCH, random) for epoch in range(day.first, day.last + 1)]
    known = np.repeat(np.arange(day.first, day.last + 1), [len(each.customer) for each in drawn])
    requests = Requests(*(np.concatenate(values) for values in zip(*drawn)))
    instance = planning_instance(customers, requests, release=np.array([departure(epoch) for epoch in known]))
    result = corl.solve(instance, problem="vrp", solver="ruin-recreate", time_limit=seconds, seed=seed)
    routes = [np.array(route.visits, np.int64) - 1 for route in result.solution]
    np.savez(
        file,
        path=path,
        known=known,
        lengths=[len(route) for route in routes],
        routes=np.concatenate(routes),
        **requests._asdict(),
    )
    print(seed, len(known), len(routes), result.objective, round(time.perf_counter() - begin, 1), flush=True)


if __name__ == "__main__":
    main()

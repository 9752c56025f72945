"""Hindsight plans for training: generated days, solved with all requests known.

    python tests/studies/vrp_day_plans.py FOLDER --days 40 --seconds 6

The customers of day NUMBER are those of `corl generate vrp requests --option layout=clustered`, 200 to 600 of them. A day whose
plan is in FOLDER already is skipped. Each file FOLDER/NUMBER.npz holds the requests, the epochs in which they become known, and
the routes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from processor_run import ProcessorRun

import corl
from corl import solving
from corl.problems.vrp.generators_requests import clustered_customers
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.online.epochs import Requests, departure, epochs
from corl.problems.vrp.online.hindsight import planning_instance
from corl.problems.vrp.online.sampling import REQUESTS_PER_EPOCH, sample_epoch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--days", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=6.0, help="processor seconds of a plan")
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    solving.Run = ProcessorRun
    arguments.folder.mkdir(exist_ok=True)
    for number in range(arguments.first, arguments.first + arguments.days):
        file = arguments.folder / f"{number}.npz"
        if not file.exists():
            plan(number, arguments.seconds, file)


def customers_of(number: int) -> VrpInstance:
    """Return the customers of a training day."""
    return clustered_customers(int(np.random.default_rng(number).integers(200, 601)), 1_000_000 + number)


def requests_of(number: int, customers: VrpInstance) -> tuple[Requests, np.ndarray]:
    """Return the requests of a training day and int64 [R], the epochs in which they become known."""
    random, day = np.random.default_rng(1_000_000 + number), epochs(customers.earliest[1:])
    numbers = range(day.first, day.last + 1)
    drawn = [sample_epoch(customers, epoch, REQUESTS_PER_EPOCH, random) for epoch in numbers]
    known = np.repeat(np.array(numbers), [len(each.customer) for each in drawn])
    return Requests(*(np.concatenate(values) for values in zip(*drawn))), known


def plan(number: int, seconds: float, file: Path) -> None:
    """Sample a day, solve it in hindsight, and write the plan."""
    begin, customers = time.process_time(), customers_of(number)
    requests, known = requests_of(number, customers)
    instance = planning_instance(customers, requests, release=np.array([departure(epoch) for epoch in known]))
    result = corl.solve(instance, problem="vrp", solver="ruin-recreate", time_limit=seconds, seed=number)
    routes = [np.array(route.visits, np.int64) - 1 for route in result.solution]
    np.savez(file, lengths=[len(route) for route in routes], routes=np.concatenate(routes))
    print(number, len(known), len(routes), result.objective, round(time.process_time() - begin, 1), flush=True)


if __name__ == "__main__":
    main()

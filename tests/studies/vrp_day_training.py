"""Train the network that corrects sampled prizes: imitation of hindsight plans through the prize-collecting planner.

    python tests/studies/vrp_day_training.py PLANS WEIGHTS.safetensors --minutes 8

PLANS comes from vrp_day_plans.py. The prizes of `sampled-prizes` are computed once for each situation, and kept in PLANS. The
network begins with the factor 1 for all requests, that is, with `sampled-prizes` itself. The loss is the perturbed Fenchel-Young
loss (Berthet et al., 2020), as in the pipeline that won EURO meets NeurIPS 2022: its gradient with respect to the prizes is the
share of perturbed plans that serve a request, minus 1 if the hindsight plan dispatches it now. All times are processor times.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors.numpy import save_file
from vrp_day import count_processor_time
from vrp_day_plans import customers_of, requests_of

from corl.problems.vrp.online.epochs import epochs
from corl.problems.vrp.online.hindsight import dispatch_epochs, planning_instance
from corl.problems.vrp.online.situation import Situation, situation
from corl.solvers.vrp.online.dispatching import round_trips
from corl.solvers.vrp.online.network import correction_rows
from corl.solvers.vrp.online.planning import search
from corl.solvers.vrp.online.sampled_prizes import SampledPrizes

_LARGEST = 2.0  # as in corl.solvers.vrp.online.network


class Example(NamedTuple):
    """A situation on the way of a hindsight plan."""

    now: Situation
    rows: np.ndarray
    """float64 [R, F], see `correction_rows`."""
    prize: np.ndarray
    """float64 [R], sampled prizes; inf for requests that must go."""
    served: np.ndarray
    """bool [R]: the requests that the hindsight plan dispatches now."""


def examples(folder: Path, seconds: float) -> list[Example]:
    """Return the situations of all plans in which something must go and something may wait.

    seconds: Processor seconds for the sampled prizes of a situation.
    """
    found = []
    for number in sorted(int(file.stem) for file in folder.glob("[0-9]*.npz")):
        stored, customers = np.load(folder / f"{number}.npz"), customers_of(number)
        requests, known = requests_of(number, customers)
        last, routes = epochs(customers.earliest[1:]).last, np.split(stored["routes"], np.cumsum(stored["lengths"])[:-1])
        leaves = np.zeros(len(known), np.int64)
        for route, epoch in zip(routes, dispatch_epochs(customers, requests, known, routes, last)):
            leaves[route] = epoch
        for epoch in range(int(known.min()), last):
            waiting = np.flatnonzero((known <= epoch) & (leaves >= epoch))
            now = situation(customers, requests.take(waiting), epoch, last)
            if now.must.any() and not now.must.all():
                assert (leaves[waiting[now.must]] == epoch).all()
                prize = _sampled(folder / f"prizes-{number}-{epoch}.npy", now, seconds, number)
                found.append(Example(now, correction_rows(now, prize), prize, leaves[waiting] == epoch))
    return found


def _sampled(file: Path, now: Situation, seconds: float, seed: int) -> np.ndarray:
    """Return the sampled prizes of a situation, from a file, which is written if there is none."""
    if not file.exists():
        np.save(file, SampledPrizes(factor=1.0, share=0.7).prizes(now, seconds, seed))
    return np.load(file)


def served_by_plan(now: Situation, prize: np.ndarray, seconds: float, seed: int) -> np.ndarray | None:
    """Return bool [R]: the requests that a prize-collecting plan serves; None: no plan was found."""
    prize = np.where(now.must, np.inf, np.maximum(prize, 0.0))
    routes, _ = search(planning_instance(now.customers, now.requests, start=now.start, prize=prize), seconds, seed)
    if routes is None:
        return None
    served = np.zeros(len(prize), bool)
    for route in routes:
        served[route] = True
    return served


def network_of(width: int, hidden: int) -> torch.nn.Sequential:
    """Return the network, whose last layer is 0."""
    network = torch.nn.Sequential(
        torch.nn.Linear(width, hidden),
        torch.nn.Tanh(),
        torch.nn.Linear(hidden, hidden),
        torch.nn.Tanh(),
        torch.nn.Linear(hidden, 1),
    )
    torch.nn.init.zeros_(network[4].weight), torch.nn.init.zeros_(network[4].bias)
    return network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--sampling", type=float, default=1.0, help="seconds for the sampled prizes of a situation")
    parser.add_argument("--seconds", type=float, default=0.1, help="seconds of a perturbed plan")
    parser.add_argument("--noise", type=float, default=0.1, help="standard deviation, as a share of round trips")
    parser.add_argument("--hidden", type=int, default=24)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--decay", type=float, default=1e-3, help="weight decay")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    count_processor_time()
    torch.manual_seed(arguments.seed), torch.set_num_threads(1)
    data = examples(arguments.folder, arguments.sampling)
    train(data, arguments)


def train(data: list[Example], arguments: argparse.Namespace) -> None:
    """Train, and write the weights every twenty steps and at the end."""
    rows, random = np.concatenate([each.rows[~each.now.must] for each in data]), np.random.default_rng(arguments.seed)
    mean, scale = rows.mean(0), rows.std(0) + 1e-6
    network = network_of(rows.shape[1], arguments.hidden)
    optimizer = torch.optim.AdamW(network.parameters(), lr=arguments.rate, weight_decay=arguments.decay)
    print(len(data), "situations", len(rows), "requests", flush=True)
    begin, step, counts, order = time.process_time(), 0, [], []
    while (elapsed := (time.process_time() - begin) / (60 * arguments.minutes)) < 1:
        optimizer.param_groups[0]["lr"] = arguments.rate * (1 - 0.9 * elapsed)
        optimizer.zero_grad()
        for _ in range(arguments.batch):
            order = order or random.permutation(len(data)).tolist()
            example = data[order.pop()]
            inputs = torch.tensor((example.rows - mean) / scale, dtype=torch.float32)
            share = torch.exp(_LARGEST * torch.tanh(network(inputs)[:, 0] / _LARGEST))
            gradient = _gradient(example, share.detach().numpy(), arguments, random, counts)
            share.backward(torch.tensor(gradient / arguments.batch, dtype=torch.float32))
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(step, round(time.process_time() - begin), np.mean(counts[-160:], axis=0).round(3), flush=True)
            write(network, mean, scale, arguments.weights)
    write(network, mean, scale, arguments.weights)


def _gradient(example: Example, factor: np.ndarray, arguments: argparse.Namespace, random, counts: list) -> np.ndarray:
    """Return float64 [R]: the gradient of the loss with respect to the factors; append what was served to `counts`."""
    now, free = example.now, ~example.now.must
    trip, prize = round_trips(now), np.where(free, example.prize, 0.0)
    noisy = factor * prize + arguments.noise * random.standard_normal(len(trip)) * trip
    served = served_by_plan(now, noisy, arguments.seconds, int(random.integers(1 << 30)))
    if served is None:
        return np.zeros(len(trip))
    counts.append((served[free].mean(), example.served[free].mean(), (served == example.served)[free].mean()))
    return np.where(free, served.astype(float) - example.served, 0.0) * prize / trip.mean() / free.sum()


def write(network: torch.nn.Sequential, mean: np.ndarray, scale: np.ndarray, file: Path) -> None:
    """Write the weights as corl.solvers.vrp.online.network reads them."""
    arrays = {"mean": mean, "scale": scale}
    for layer, place in enumerate((0, 2, 4)):
        arrays[f"weight{layer}"] = network[place].weight.detach().numpy().T
        arrays[f"bias{layer}"] = network[place].bias.detach().numpy()
    save_file({name: np.ascontiguousarray(value, np.float32) for name, value in arrays.items()}, file)


if __name__ == "__main__":
    main()

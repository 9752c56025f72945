"""Train the network that sets prizes: imitation of hindsight plans through the prize-collecting planner.

    python tests/studies/vrp_day_training.py PLANS WEIGHTS.safetensors --minutes 10

The loss is the perturbed Fenchel-Young loss (Berthet et al., 2020), as in the pipeline that won EURO meets NeurIPS 2022: its
gradient with respect to the prizes is the share of perturbed plans that serve a request, minus 1 if the hindsight plan
dispatches it now.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from corl.loading import load
from corl.problems.vrp.online.epochs import Requests, epochs
from corl.problems.vrp.online.hindsight import dispatch_epochs, planning_instance
from corl.problems.vrp.online.situation import situation
from corl.solvers.vrp.online.features import features
from corl.solvers.vrp.online.planning import search


def examples(folder: Path, numbers: list[int]) -> list[tuple]:
    """Return (situation, features, served [R]) for each epoch of each plan but the last, along the plan's own decisions."""
    found, loaded = [], {}
    for number in numbers:
        stored = np.load(folder / f"{number}.npz")
        path = str(stored["path"])
        customers = loaded.setdefault(path, load(path, None)[1])
        requests = Requests(*(stored[name] for name in Requests._fields))
        day, known = epochs(customers.earliest[1:]), stored["known"]
        routes = np.split(stored["routes"], np.cumsum(stored["lengths"])[:-1])
        leaves = np.zeros(len(known), np.int64)
        for route, epoch in zip(routes, dispatch_epochs(customers, requests, known, routes, day.last)):
            leaves[route] = epoch
        for epoch in range(day.first, day.last):
            waiting = np.flatnonzero((known <= epoch) & (leaves >= epoch))
            now = situation(customers, requests.take(waiting), epoch, day.last)
            if now.must.any() and not now.must.all():
                assert (leaves[waiting[now.must]] == epoch).all()
                found.append((now, features(now), leaves[waiting] == epoch))
    return found


def trips(now) -> np.ndarray:
    matrix, place = now.customers.matrix, now.requests.customer
    return matrix[0, place] + matrix[place, 0]


def served_by_plan(now, prize: np.ndarray, seconds: float, seed: int) -> np.ndarray | None:
    instance = planning_instance(
        now.customers, now.requests, start=now.start, prize=np.where(now.must, np.inf, np.maximum(prize, 0))
    )
    routes, _ = search(instance, seconds, seed)
    if routes is None:
        return None
    served = np.zeros(len(prize), bool)
    for route in routes:
        served[route] = True
    return served


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--seconds", type=float, default=0.08)
    parser.add_argument("--noise", type=float, default=0.1, help="standard deviation, as a share of round trips")
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed), torch.set_num_threads(1)
    numbers = sorted(int(file.stem) for file in arguments.folder.glob("*.npz"))
    data, random = examples(arguments.folder, numbers), np.random.default_rng(arguments.seed)
    rows = np.concatenate([x[~now.must] for now, x, _ in data])
    mean, scale = rows.mean(0), rows.std(0) + 1e-6
    labels = np.concatenate([y[~now.must] for now, _, y in data])
    print(len(numbers), "days", len(data), "situations", len(rows), "requests", "dispatched", labels.mean(), flush=True)
    width = rows.shape[1]
    network = torch.nn.Sequential(
        torch.nn.Linear(width, arguments.hidden), torch.nn.Tanh(), torch.nn.Linear(arguments.hidden, arguments.hidden),
        torch.nn.Tanh(), torch.nn.Linear(arguments.hidden, 1), torch.nn.Softplus(),
    )  # fmt: skip
    with torch.no_grad():
        network[4].weight.mul_(0.1), network[4].bias.fill_(-1.5)
    optimizer = torch.optim.Adam(network.parameters(), lr=arguments.rate)
    begin, step, counts = time.perf_counter(), 0, []
    order: list[int] = []
    while (elapsed := (time.perf_counter() - begin) / (60 * arguments.minutes)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = arguments.rate * (1 - 0.9 * elapsed)
        optimizer.zero_grad()
        for _ in range(arguments.batch):
            order = order or random.permutation(len(data)).tolist()
            now, x, target = data[order.pop()]
            share = network(torch.tensor((x - mean) / scale, dtype=torch.float32))[:, 0]
            trip = trips(now)
            noisy = (share.detach().numpy() + arguments.noise * random.standard_normal(len(trip))) * trip
            served = served_by_plan(now, noisy, arguments.seconds, int(random.integers(1 << 30)))
            if served is None:
                continue
            free = ~now.must
            gradient = np.where(free, served.astype(float) - target, 0.0) * trip / trip.mean() / free.sum() / arguments.batch
            share.backward(torch.tensor(gradient, dtype=torch.float32))
            counts.append((served[free].mean(), target[free].mean(), (served == target)[free].mean()))
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(step, round(time.perf_counter() - begin), np.mean(counts[-160:], axis=0).round(3), flush=True)
            write(network, mean, scale, arguments.weights)
    write(network, mean, scale, arguments.weights)


def write(network: torch.nn.Sequential, mean: np.ndarray, scale: np.ndarray, file: Path) -> None:
    arrays = {"mean": mean, "scale": scale}
    for layer, place in enumerate((0, 2, 4)):
        arrays[f"weight{layer}"] = network[place].weight.detach().numpy().T
        arrays[f"bias{layer}"] = network[place].bias.detach().numpy()
    save_file({name: np.ascontiguousarray(value, np.float32) for name, value in arrays.items()}, file)


if __name__ == "__main__":
    main()

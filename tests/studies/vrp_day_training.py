"""Train the network that corrects sampled prizes: imitation of hindsight plans through the prize-collecting planner.

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
from corl.solvers.vrp.online.network import inputs
from corl.solvers.vrp.online.planning import search
from corl.solvers.vrp.online.sampled_prizes import SampledPrizes

LARGEST = 1.5
"""Bound of the logarithm of a correction, as in the network's module."""
SAMPLING_ITERATIONS = 2_500
"""Iterations of ruin-recreate in each scenario."""


def examples(folder: Path, numbers: list[int]) -> list[tuple]:
    """Return (situation, served [R]) for each epoch of each plan but the last, along the plan's own decisions."""
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
                found.append((now, leaves[waiting] == epoch))
    return found


def trips(now) -> np.ndarray:
    matrix, place = now.customers.matrix, now.requests.customer
    return matrix[0, place] + matrix[place, 0]


def sampled_prizes(folder: Path, number: int, data: list[tuple]) -> list[np.ndarray]:
    """Return the sampled prizes of the situations of one plan, from FOLDER/sampled, where they are kept."""
    file = folder / "sampled" / f"{number}.npz"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        policy = SampledPrizes(scenarios=3, iterations=SAMPLING_ITERATIONS)
        prizes = {str(k): policy.prizes(now, 1e3, 10 * number + k) for k, (now, _) in enumerate(data)}
        np.savez(file, **prizes)
    stored = np.load(file)
    return [stored[str(k)] for k in range(len(data))]


def served_by_plan(now, prize: np.ndarray, iterations: int, seed: int) -> np.ndarray | None:
    instance = planning_instance(
        now.customers, now.requests, start=now.start, prize=np.where(now.must, np.inf, np.maximum(prize, 0))
    )
    routes, _ = search(instance, 1e3, seed, iterations)
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
    parser.add_argument("--iterations", type=int, default=3000, help="of ruin-recreate for a plan")
    parser.add_argument("--noise", type=float, default=0.08, help="standard deviation, as a share of round trips")
    parser.add_argument("--hidden", type=int, default=24)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--held", type=int, default=6, help="last plans, which only measure agreement")
    parser.add_argument("--plans", type=int, default=1_000)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed), torch.set_num_threads(1)
    numbers = sorted(int(file.stem) for file in arguments.folder.glob("*.npz"))[: arguments.plans]
    days = [examples(arguments.folder, [number]) for number in numbers]
    data = [
        (now, prize, inputs(now, prize), served)
        for number, day in zip(numbers, days)
        for (now, served), prize in zip(day, sampled_prizes(arguments.folder, number, day))
    ]
    held = sum(map(len, days[-arguments.held :]))
    train(data[:-held], data[-held:], arguments)


def train(data: list[tuple], held: list[tuple], arguments: argparse.Namespace) -> None:
    """Train on (situation, prizes, inputs, served) and write the weights."""
    random = np.random.default_rng(arguments.seed)
    rows = np.concatenate([x[~now.must] for now, _, x, _ in data])
    mean, scale = rows.mean(0), rows.std(0) + 1e-6
    labels = np.concatenate([served[~now.must] for now, _, _, served in data])
    print(len(data), "situations", len(rows), "requests; share dispatched", labels.mean().round(3), flush=True)
    width, hidden = rows.shape[1], arguments.hidden
    layers = [torch.nn.Linear(*shape) for shape in ((width, hidden), (hidden, hidden), (hidden, 1))]
    network = torch.nn.Sequential(*(part for layer in layers for part in (layer, torch.nn.Tanh())))
    with torch.no_grad():
        network[4].weight.mul_(0.0), network[4].bias.fill_(0.0)  # the first corrections are 1
    optimizer = torch.optim.Adam(network.parameters(), lr=arguments.rate, weight_decay=1e-4)
    agreement(network, mean, scale, held, arguments)
    begin, step, counts, order = time.perf_counter(), 0, [], list[int]()
    while (elapsed := (time.perf_counter() - begin) / (60 * arguments.minutes)) < 1:
        optimizer.param_groups[0]["lr"] = arguments.rate * (1 - 0.9 * elapsed)
        optimizer.zero_grad()
        for _ in range(arguments.batch):
            order = order or random.permutation(len(data)).tolist()
            now, prize, x, target = data[order.pop()]
            factor = torch.exp(LARGEST * network(torch.tensor((x - mean) / scale, dtype=torch.float32))[:, 0])
            trip, free = trips(now), ~now.must
            sampled = np.where(free, prize, 0.0)
            noisy = factor.detach().numpy() * sampled + arguments.noise * random.standard_normal(len(trip)) * trip
            served = served_by_plan(now, noisy, arguments.iterations, int(random.integers(1 << 30)))
            if served is not None:
                gradient = (served.astype(float) - target) * sampled / trip[free].mean() / free.sum() / arguments.batch
                factor.backward(torch.tensor(gradient, dtype=torch.float32))
                counts.append((served[free].mean(), target[free].mean(), (served == target)[free].mean()))
        optimizer.step()
        step += 1
        if step % 20 == 0:
            print(step, round(time.perf_counter() - begin), np.mean(counts[-160:], axis=0).round(3), flush=True)
            write(network, mean, scale, arguments.weights)
        if step % 80 == 0:
            agreement(network, mean, scale, held, arguments)
    write(network, mean, scale, arguments.weights)
    agreement(network, mean, scale, held, arguments)


def agreement(network: torch.nn.Sequential, mean: np.ndarray, scale: np.ndarray, held: list[tuple], arguments) -> None:
    """Print the shares of requests that plans dispatch, that hindsight dispatches, and on which both agree, without noise."""
    found = []
    for number, (now, prize, x, target) in enumerate(held):
        with torch.no_grad():
            factor = torch.exp(LARGEST * network(torch.tensor((x - mean) / scale, dtype=torch.float32))[:, 0]).numpy()
        free = ~now.must
        served = served_by_plan(now, np.where(free, factor * np.where(free, prize, 0.0), 0.0), arguments.iterations, number)
        if served is not None:
            found.append((served[free].mean(), target[free].mean(), (served == target)[free].mean()))
    print("held", np.mean(found, axis=0).round(4), flush=True)


def write(network: torch.nn.Sequential, mean: np.ndarray, scale: np.ndarray, file: Path) -> None:
    """Write the weights as `corl.solvers.vrp.online.network.correction` reads them."""
    arrays = {"mean": mean, "scale": scale}
    for layer, place in enumerate((0, 2, 4)):
        arrays[f"weight{layer}"] = network[place].weight.detach().numpy().T
        arrays[f"bias{layer}"] = network[place].bias.detach().numpy()
    save_file({name: np.ascontiguousarray(value, np.float32) for name, value in arrays.items()}, file)


if __name__ == "__main__":
    main()

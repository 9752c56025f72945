"""What batches of small instances reach at a rate: `python tests/studies/equal_time.py REGIME --part judge`.

Regimes and splits stand in equal_time.toml: TSP20 and KP50, 500 instances a second of processor time on one core or more. Each
line is a method: mean gap to the optimum in per cent with its bootstrap interval, and instances a second, all of an instance's
work inside (lists of neighbours, the judge's look at solutions); what is compiled or loaded once is not. Methods: solvers one
instance after the other, the shipped policy with instances decoded together, and for the tours, each compiled whole and without
the judge, nearest insertion with 2-opt from so many cities, and a perceptron of 16 hidden units, trained for it on optimal tours
of the train part, that goes greedily on to the next city, or takes the best of so many samples.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from routing_policies import objectives

from corl import registry
from corl.jit import kernel
from corl.networks.compiled import dense, draw, rectify
from corl.rng import random_state
from corl.run import Run
from corl.statistics import resampled_mean

__all__ = ["REGIMES", "SPLITS", "exchange", "features", "instances", "play", "solved", "trained"]

_DECLARED = tomllib.loads(Path(__file__).with_name("equal_time.toml").read_text())
REGIMES, SPLITS = _DECLARED["regimes"], _DECLARED["splits"]
FIELDS = ("regime", "part", "method", "instances", "mean_gap", "low", "high", "instances_per_second")
METHODS: dict[str, list[tuple[str, dict[str, Any], int]]] = {
    "tsp": [("nearest-neighbour", {}, 0), ("greedy-edge", {}, 0), *(("ils", {"bound": False}, k) for k in (1, 10)),
            ("eax", {}, 10)],
    "knapsack": [("greedy", {}, 0), ("greedy", {"noise": 0.1}, 20), ("dp", {}, 1000)],
}  # fmt: skip
"""Solver, options, and iterations (0: none are counted)."""
_BEST = {"tsp": ("eax", 300), "knapsack": ("dp", 100_000)}
_SAMPLES = (1, 4, 16)  # of the perceptron
_STARTS = (1, 4, 16)  # of nearest insertion
_TEMPERATURE = 0.5
_SEEN = 8  # features of a city
_TRAIN = 1500  # instances


def instances(regime: str, part: str) -> list[Any]:
    """Those of a part."""
    declared = REGIMES[regime]
    make = registry.problem(declared["problem"]).generators[declared["generator"]]
    return [make(**declared["parameters"], seed=SPLITS[part] + k) for k in range(declared[part])]


def solved(problem: str, name: str, options: dict[str, Any], iterations: int, given: list[Any]) -> NDArray[np.float64]:
    """Objectives float64 [I], one after the other."""
    solver, judge, found = registry.solver(problem, name)(**options), registry.problem(problem), np.empty(len(given))
    for k, instance in enumerate(given):
        run = Run(judge, instance, iterations=iterations or None, seed=1, proves=False)
        run.start()
        solver.solve(instance, run)
        found[k] = run.objective
    return found


@kernel
def features(points, left, count, here, first, x):
    """Fill float32 [count, 8]: of each city left, distances from here, to the first city, to its nearest and second nearest of
    those left, from the middle of them, and of others as near from here; all in mean distances from here, and the share left."""
    middle_x = middle_y = mean = 0.0
    for a in range(count):
        middle_x += points[left[a], 0] / count
        middle_y += points[left[a], 1] / count
        mean += np.hypot(points[left[a], 0] - points[here, 0], points[left[a], 1] - points[here, 1]) / count
    for a in range(count):
        i = left[a]
        x[a, 0] = np.hypot(points[i, 0] - points[here, 0], points[i, 1] - points[here, 1]) / mean
        x[a, 1] = np.hypot(points[i, 0] - points[first, 0], points[i, 1] - points[first, 1]) / mean
        x[a, 2] = x[a, 3] = 3.0
        for b in range(count):
            if a != b:
                d = np.hypot(points[i, 0] - points[left[b], 0], points[i, 1] - points[left[b], 1]) / mean
                if d < x[a, 2]:
                    x[a, 2], x[a, 3] = d, x[a, 2]
                elif d < x[a, 3]:
                    x[a, 3] = d
        x[a, 4] = np.hypot(points[i, 0] - middle_x, points[i, 1] - middle_y) / mean
        x[a, 6] = count / len(points)
    for a in range(count):
        x[a, 5], least = 0.0, 9.0
        for b in range(count):
            x[a, 5] += (x[b, 0] < x[a, 0]) / 8.0
            least = min(least, x[b, 0] if a != b else 9.0)
        x[a, 7] = max(-2.0, min(2.0, x[a, 0] - least))


@kernel
def play(points, first_layer, second_layer, samples, temperature, random):
    """The length of the best tour of so many, from one city after the other; a single one takes the likeliest cities."""
    n, best = len(points), np.inf
    x, hidden, out = np.zeros((n, _SEEN), np.float32), np.zeros(64, np.float32), np.zeros(1, np.float32)
    logits, left = np.zeros(n, np.float32), np.zeros(n, np.int64)
    for sample in range(samples):
        first = here = sample % n
        count, length = 0, 0.0
        for i in range(n):
            if i != first:
                left[count] = i
                count += 1
        while count > 0:
            features(points, left, count, here, first, x)
            for a in range(count):
                dense(x[a], first_layer, hidden)
                rectify(hidden, first_layer.shape[1])
                dense(hidden, second_layer, out)
                logits[a] = out[0]
            chosen = draw(logits, 0, count, temperature if samples > 1 else 0.0, random)
            following = left[chosen]
            length += np.hypot(points[here, 0] - points[following, 0], points[here, 1] - points[following, 1])
            left[chosen] = left[count - 1]
            here, count = following, count - 1
        best = min(best, length + np.hypot(points[here, 0] - points[first, 0], points[here, 1] - points[first, 1]))
    return best


@kernel
def exchange(points, starts):
    """The length of the best tour of so many by nearest insertion, from one city after the other, and 2-opt."""
    n, best = len(points), np.inf
    apart, tour, way = np.empty((n, n)), np.zeros(n, np.int64), np.zeros(n)
    for i in range(n):
        for j in range(n):
            apart[i, j] = np.hypot(points[i, 0] - points[j, 0], points[i, 1] - points[j, 1])
    for start in range(starts):
        tour[0] = start % n
        way[:] = apart[tour[0]]
        way[tour[0]] = np.inf
        for size in range(1, n):
            city, place, least = np.argmin(way), 0, np.inf
            for k in range(size):
                a, b = tour[k], tour[(k + 1) % size]
                cost = apart[a, city] + apart[city, b] - apart[a, b]
                if cost < least:
                    place, least = k, cost
            for k in range(size, place + 1, -1):
                tour[k] = tour[k - 1]
            tour[place + 1] = city
            way[city] = np.inf
            for j in range(n):
                if way[j] < np.inf:
                    way[j] = min(way[j], apart[city, j])
        better = True
        while better:
            better = False
            for i in range(n - 1):
                for j in range(i + 2, n if i else n - 1):
                    a, b, c, d = tour[i], tour[i + 1], tour[j], tour[(j + 1) % n]
                    if apart[a, c] + apart[b, d] < apart[a, b] + apart[c, d] - 1e-12:
                        tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1].copy()
                        better = True
        length = 0.0
        for k in range(n):
            length += apart[tour[k], tour[(k + 1) % n]]
        best = min(best, length)
    return best


def trained(count: int = _TRAIN, steps: int = 1500) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Layers of a perceptron that imitates optimal tours, from every city of each and both ways by turns."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    make, given = registry.problem("tsp").generators["uniform"], REGIMES["tsp-20"]["parameters"]
    n, random = given["size"], np.random.default_rng(0)
    states, right = [], []
    for k in range(count):
        instance = make(**given, seed=SPLITS["train"] + k)
        run = Run(registry.problem("tsp"), instance, iterations=300, seed=1, proves=False)
        run.start()
        registry.solver("tsp", "eax")().solve(instance, run)
        tour = np.roll(np.asarray(run.solution), random.integers(n))[:: random.choice([-1, 1])].astype(np.int64)
        for at in range(n - 2):
            x = np.zeros((n, _SEEN), np.float32)
            features(instance.points, tour[at + 1 :], n - 1 - at, tour[at], tour[0], x)
            states.append(x)
            right.append(n - 1 - at)  # how many; the right one is the first of them
    x, sizes = torch.from_numpy(np.stack(states)), torch.tensor(right)
    net = torch.nn.Sequential(torch.nn.Linear(_SEEN, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = 1e-2 * (1.0 - step / steps)
        rows = torch.randint(len(x), (512,))
        logits = net(x[rows]).squeeze(2).masked_fill(torch.arange(n) >= sizes[rows, None], -torch.inf)
        loss = torch.nn.functional.cross_entropy(logits, torch.zeros(512, dtype=torch.long))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    print(f"cross entropy {loss.item():.3f}", file=sys.stderr)
    first, _, last = net
    layers = [torch.cat([layer.weight.T, layer.bias[None]]).detach().numpy().copy() for layer in (first, last)]
    return layers[0], layers[1]


def main() -> None:
    """Print the lines of a regime."""
    import torch

    from corl.networks.checkpoints import load_policy

    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("regime", choices=[name for name, declared in REGIMES.items() if "rate" in declared])
    parser.add_argument("--part", choices=["choose", "judge"], default="choose")
    args = parser.parse_args()
    problem, given = REGIMES[args.regime]["problem"], instances(args.regime, args.part)
    best = solved(problem, _BEST[problem][0], {}, _BEST[problem][1], given)
    methods: list[tuple[str, Callable[[list[Any]], NDArray[np.float64]]]] = []
    for name, options, iterations in METHODS[problem]:
        label = name + "".join(f" {key}={value}" for key, value in options.items()) + (f", {iterations}" if iterations else "")
        methods.append((label, lambda some, of=(name, options, iterations): solved(problem, *of, some)))  # type: ignore[misc]
    if problem == "tsp":
        layers = trained()
        for samples in _SAMPLES:

            def tours(some: list[Any], samples: int = samples) -> NDArray[np.float64]:
                random = random_state(1)
                return np.array([play(each.points, *layers, samples, _TEMPERATURE, random) for each in some])

            methods.append((f"perceptron, {samples}", tours))
        for starts in _STARTS:
            methods.append(
                (f"insertion and 2-opt, {starts}", lambda some, k=starts: np.array([exchange(each.points, k) for each in some]))  # type: ignore[misc]
            )
    policy = load_policy(f"{problem}-bq")
    methods.append((f"{problem}-bq, greedy", lambda some: objectives(policy, some[:512], "greedy")))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(FIELDS)
    for label, method in methods:
        method(given[:2])  # compile
        began = time.process_time()
        found = method(given)
        rate = len(found) / (time.process_time() - began)
        gap = resampled_mean(100.0 * np.abs(found / best[: len(found)] - 1.0))
        texts = ("" if value is None else f"{value:.4f}" for value in (gap.value, gap.low, gap.high))
        writer.writerow([args.regime, args.part, label, len(found), *texts, f"{rate:.0f}"])
        sys.stdout.flush()


if __name__ == "__main__":
    main()

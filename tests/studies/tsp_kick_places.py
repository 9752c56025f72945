"""Where to kick a large tour: anywhere, at edges that a rule distrusts, or at those that a perceptron does.

python tests/studies/tsp_kick_places.py train|choose|judge --folder FOLDER; regime and split in tsp_kick_places.toml.

The kicks of `ils` begin at a random place of the tour. Here a place is kept with a probability that grows with the chance that
its edge is a wrong one, otherwise another is drawn. The rule's chance is the edge's rank among the neighbours of both cities, the
perceptron's is learned from edges of kicked tours of 2,000 cities, which those of `eax` have or have not. All three have the same
descent, kicks, cooling and processor time; features and perceptron are inside the clock, in the kernel.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import corl
from corl.jit import kernel
from corl.networks.compiled import array_of, dense, rectify
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import distance
from corl.rng import below, random_state, uniform
from corl.solvers.tsp.construction.kernels import greedy_edge, length_of
from corl.solvers.tsp.ils.kicks import ChainedSearch, begin, chained_search
from corl.solvers.tsp.ils.lin_kernighan import settle
from corl.solvers.tsp.neighbours.candidates import neighbours
from corl.solvers.tsp.tours.array_tour import forget, undo
from corl.solvers.tsp.tours.city_queue import enqueue
from corl.solvers.tsp.tours.double_bridge import bridge_cost, bridge_ends, draw_sizes, exchange
from corl.solvers.tsp.tours.renumbering import Renumbered
from corl.statistics import resampled_mean

__all__ = ["main"]

_ASKED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
_SPLITS, _REGIME = _ASKED["splits"], _ASKED["regime"]
_FEATURES, _HIDDEN = 12, 16
_ANYWHERE, _RULE, _LEARNED = range(3)
_ARMS = ("anywhere", "rule", "learned")
_TRIES = 20  # places drawn for a kick at most
_HEAT, _STRETCH, _MOST = 0.02, 50, 50_000  # as in `ils`


def instance_of(kind: str, size: int, seed: int) -> TspInstance:
    """Uniform or clustered cities, or holes of boards: rows and blocks on a grid, some left out."""
    if kind != "drilling":
        return corl.generate("tsp", kind, size=size, seed=seed)
    random = np.random.default_rng(seed)
    points: list[NDArray[np.float64]] = []
    while sum(map(len, points)) < size:
        columns, rows = random.integers(2, 40), random.integers(1, 12)
        grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), -1).reshape(-1, 2) * random.choice([50, 100, 127])
        kept = grid[random.random(len(grid)) < random.choice([0.6, 0.9, 1.0])]
        corner = random.integers(0, int(100 * size**0.5), 2)
        points.append((kept[:, ::-1] if random.random() < 0.5 else kept) + corner)
    return TspInstance(f"drilling-{size}-{seed}", "EUC_2D", np.unique(np.concatenate(points), axis=0).astype(np.float64)[:size])


@kernel
def _describe(metric, near, lengths, tour, place, x):
    """Write to float32 x[12] what is seen of the tour's edge before `place`: ranks, lengths by the scale of the surroundings, the
    edges beside it, and how many of the two nearest cities are joined to its ends."""
    order, n = tour.order, len(tour.order)
    u, v = order[place - 1], order[place]
    before, after = order[place - 2], order[place + 1 if place + 1 < n else 0]
    d, fifth = distance(metric, u, v), min(4, near.shape[1] - 1)
    for side in range(2):
        a, b, beside = (u, v, before) if side == 0 else (v, u, after)
        rank, scale = near.shape[1], max(lengths[a, fifth], 1.0)
        for k in range(near.shape[1]):
            if near[a, k] == b:
                rank = k
                break
        joined = 0
        for k in range(2):
            joined += near[a, k] == b or near[a, k] == beside
        at = 5 * side
        x[at] = min(rank, 10) * 0.2
        x[at + 1] = min(d / scale, 4.0)
        x[at + 2] = min(d / max(lengths[a, 0], 1.0), 8.0) * 0.3
        x[at + 3] = min(distance(metric, a, beside) / scale, 4.0)
        x[at + 4] = joined
    x[10] = x[0] * x[5]
    x[11] = min(x[0], x[5])


@kernel
def _chance(metric, near, lengths, tour, place, arm, layers, x, hidden, out):
    """How likely the edge before `place` is a wrong one, to the method's own scale."""
    _describe(metric, near, lengths, tour, place, x)
    if arm == _RULE:
        return min(1.0, 0.05 + 0.5 * (x[0] + x[5]))
    dense(x, layers[0], hidden)
    rectify(hidden, len(hidden))
    dense(hidden, layers[1], out)
    return 1.0 / (1.0 + np.exp(-out[0]))


@kernel
def _iterate(metric, near, lengths, search, least, most, stretch, units, arm, enough, layers, x, hidden, out):
    """As corl.solvers.tsp.ils.kicks.iterate, but places are kept with probability chance / enough. Counts kicks in done[1]."""
    local, n, tour, random, ends = search.local, len(search.local.tour.order), search.local.tour, search.random, search.ends
    for _ in range(units):
        search.done[0] += 1
        if local.queue.ring[1] > 0:
            search.length[0] -= settle(metric, near, lengths, local, least, most, 100)
            forget(tour)
            continue
        b, c, d = draw_sizes(random, min(stretch, (n - 1) // 3))
        place = below(random, n)
        if arm != _ANYWHERE:
            for _ in range(_TRIES):
                if uniform(random) * enough <= _chance(metric, near, lengths, tour, place, arm, layers, x, hidden, out):
                    break
                place = below(random, n)
        bridge_ends(tour.order, place, b, c, d, ends)
        exchange(tour, place, b, c, d)
        for k in (0, 5, 6, 3, 4, 1, 2, 7):
            enqueue(local.queue, ends[k])
        cost = bridge_cost(metric, ends) - settle(metric, near, lengths, local, least, most, n * n)
        temperature = search.cooling[0] * (1.0 - search.done[0] / search.cooling[1])
        if cost <= (-temperature * np.log(1.0 - uniform(random)) if temperature > 0.0 else 0.0):
            search.length[0] += cost
            forget(tour)
        else:
            undo(tour, 0)
        search.done[1] += 1


@kernel
def _describe_all(metric, near, lengths, tour):
    found = np.empty((len(tour.order), _FEATURES), np.float32)
    for place in range(len(found)):
        _describe(metric, near, lengths, tour, place, found[place])
    return found


class _Search:
    """A descent of the greedy tour, then kicks; what `ils` does up to 20,000 cities, with a choice of places."""

    def __init__(self, instance: TspInstance, seed: int, arm: int, enough: float, layers: tuple[NDArray, NDArray]) -> None:
        self.space, n = Renumbered(instance), instance.n
        self.metric = self.space.metric
        self.near, self.lengths = neighbours(instance, self.metric, 8, 2)
        tour = greedy_edge(self.metric, self.near, self.lengths)
        self.search: ChainedSearch = chained_search(n, (5, 3, 2, 1), random_state(seed))
        begin(self.search, tour, length_of(self.metric, tour))
        self.search.cooling[:] = _HEAT * float(self.search.length[0]) / n, float("inf")
        self.least = 1e-12 * float(np.ptp(self.metric.points, axis=0).max())
        self.arm, self.enough, self.layers = arm, enough, layers
        self.scratch = np.empty(_FEATURES, np.float32), np.empty(_HIDDEN, np.float32), np.empty(1, np.float32)

    def go(self, units: int) -> None:
        _iterate(
            self.metric, self.near, self.lengths, self.search, self.least, _MOST, _STRETCH, units, self.arm, self.enough,
            self.layers, *self.scratch,
        )  # fmt: skip


def solved(kind: str, seed: int, arm: int, enough: float, layers: tuple[NDArray, NDArray], size: int, seconds: float) -> tuple:
    """Length and kicks after so many processor seconds, candidates and greedy tour among them."""
    instance, began = instance_of(kind, size, seed), time.process_time()
    state = _Search(instance, seed % 1000, arm, enough, layers)
    while (spent := time.process_time() - began) < seconds:
        state.search.cooling[1] = max(1.0, state.search.done[0] * seconds / spent)
        state.go(1000)
    return float(state.search.length[0]), int(state.search.done[1])


def train(folder: Path) -> None:
    """Edges of kicked tours, three stages of each, and whether `eax` has them; a perceptron for the chance that it has not."""
    import torch

    xs, ys = [], []
    for kind in _REGIME["kinds"]:
        for k in range(_REGIME["train_count"]):
            instance = instance_of(kind, _REGIME["train_size"], _SPLITS["train"] + k)
            best = np.asarray(corl.solve(instance, solver="eax", time_limit=4, seed=1).solution)
            state = _Search(instance, k, _ANYWHERE, 1.0, _untrained())
            state.search.cooling[:] = state.search.cooling[0], 12.0 * instance.n
            following, place = np.empty(instance.n, int), np.empty(instance.n, int)
            place[best] = np.arange(instance.n)
            for _ in range(3):
                state.go(3 * instance.n)
                order = state.space.cities[state.search.local.tour.order]
                following = np.abs(place[order] - place[np.roll(order, 1)])
                ys.append((following != 1) & (following != instance.n - 1))
                xs.append(_describe_all(state.metric, state.near, state.lengths, state.search.local.tour))
    x, y = torch.from_numpy(np.concatenate(xs)), torch.from_numpy(np.concatenate(ys).astype(np.float32))
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(_FEATURES, _HIDDEN), torch.nn.ReLU(), torch.nn.Linear(_HIDDEN, 1))
    optimiser = torch.optim.AdamW(net.parameters(), 3e-3, weight_decay=1e-3)
    for _ in range(30):
        for which in torch.randperm(len(x)).split(512):
            optimiser.zero_grad()
            torch.nn.functional.binary_cross_entropy_with_logits(net(x[which])[:, 0], y[which]).backward()
            optimiser.step()
    layers = [np.vstack([array_of(net[k].weight).T, array_of(net[k].bias)]) for k in (0, 2)]
    np.savez(folder / "kick_places.npz", *layers)
    with torch.no_grad():
        score, rule = net(x)[:, 0].numpy(), np.concatenate(xs)[:, [0, 5]].sum(1)
    areas = _area(score, y.numpy()), _area(rule, y.numpy())
    print(f"{len(y)} edges, {100 * y.mean():.1f} % wrong; area under the curve {areas[0]:.3f}, rule {areas[1]:.3f}")


def _area(score: NDArray, wrong: NDArray) -> float:
    """The chance that a wrong edge is scored above a right one, ties by halves."""
    from scipy.stats import rankdata

    ranks, count = rankdata(score), wrong.sum()
    return float((ranks[wrong > 0].sum() - count * (count + 1) / 2) / (count * (len(wrong) - count)))


def _untrained() -> tuple[NDArray, NDArray]:
    return np.zeros((_FEATURES + 1, _HIDDEN), np.float32), np.zeros((_HIDDEN + 1, 1), np.float32)


def compare(folder: Path, part: str, arms: list[tuple[int, float]]) -> None:
    """Every arm on each instance of the part, one after another; rows to the folder, differences to plain kicks to the screen."""
    with np.load(folder / "kick_places.npz") as kept:
        layers = kept["arr_0"], kept["arr_1"]
    rows = []
    for arm, enough in arms:
        solved("uniform", 1, arm, enough, layers, 1000, 0.1)  # compile
    for kind in _REGIME["kinds"]:
        for k in range(_REGIME[f"{part}_count"]):
            plain = None
            for arm, enough in arms:
                length, kicks = solved(kind, _SPLITS[part] + k, arm, enough, layers, _REGIME["size"], _REGIME["seconds"])
                plain = length if plain is None else plain
                rows.append((kind, k, _ARMS[arm], enough, length, kicks, 100 * (length / plain - 1)))
                print(*rows[-1], flush=True)
    with (folder / f"kick_places-{part}.csv").open("w", newline="") as out:
        csv.writer(out).writerows([("kind", "instance", "places", "enough", "length", "kicks", "less_anywhere_percent"), *rows])
    if part == "judge":
        for arm, enough in arms[1:]:
            each = np.array([row[-1] for row in rows if row[2] == _ARMS[arm] and row[3] == enough])
            mean = resampled_mean(each)
            print(_ARMS[arm], enough, f"{mean.value:+.3f} [{mean.low:.3f}, {mean.high:.3f}]")


def main() -> None:
    """Train, choose or judge."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("part", choices=["train", "choose", "judge"])
    asked.add_argument("--folder", type=Path, default=Path())
    asked.add_argument("--enough", type=float, nargs=2, default=(1.0, 0.3), help="of the rule and of the perceptron")
    given = asked.parse_args()
    if given.part == "train":
        train(given.folder)
    elif given.part == "choose":
        arms = [(_ANYWHERE, 1.0), *((_RULE, e) for e in (0.5, 1.0)), *((_LEARNED, e) for e in (0.1, 0.3, 0.8))]
        compare(given.folder, "choose", arms)
    else:
        compare(given.folder, "judge", [(_ANYWHERE, 1.0), (_RULE, given.enough[0]), (_LEARNED, given.enough[1])])


if __name__ == "__main__":
    sys.exit(main())

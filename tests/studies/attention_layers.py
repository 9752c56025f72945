"""What makes attention layers work, at equal processor time: `python tests/studies/attention_layers.py --cache FOLDER TASK ...`.

A task is one of TASKS. Its labelled states are made once, and kept in the cache folder for all variants and seeds, so that they
learn the same states from the same teacher and a run's time is that of training alone. A variant is

    shared      ReZero factors in the optimiser's only group (as all recipes had it until this study)
    own-N       ReZero factors with N times the rate, and no decay of vectors (corl.learning.optimise has 30)
    pre-norm    no ReZero: layer norm before each branch, and a LayerScale vector after it that starts at 0.1

Each run is a line of CSV: held-out cross-entropy, the same without each layer, greedy gaps to the teacher's objectives on the
choosing instances, and the states that were learned from.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from learning_splits import GENERATED, instances
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from corl import registry
from corl.learning import demonstrations, snapshots
from corl.learning.algorithms import imitation
from corl.learning.episodes import Episodes
from corl.learning.optimise import gradient_step, new_optimiser
from corl.learning.replay import Replay
from corl.learning.validation import greedy
from corl.networks.attention import AttentionPolicy, Layer
from corl.networks.policy import Shape
from corl.statistics import resampled_mean

__all__ = ["TASKS", "PreNorm", "Task", "held_out_loss", "labelled", "train"]

VARIANTS = ("shared", "own-10", "own-30", "own-100", "pre-norm")
FIELDS = ("task", "variant", "seed", "seconds", "states", "cross_entropy", "without_each_layer", "gap", "low", "high")
_TOGETHER = 32  # instances that a teacher's states are collected from at once
_HELD_OUT = 0.2  # held-out states as a share of those to learn from
_BATCH = 128
_RATE = 2e-3


class Task(NamedTuple):
    """What is imitated: solutions of `instances` of a size, of each so many states."""

    size: int
    teacher: str
    iterations: int
    instances: int
    states: int
    shape: Shape
    compared: int = 64
    """Instances of the split "choose" that the policy alone solves."""


TASKS = {
    "tsp": Task(50, "eax", 1000, 480, 32, Shape("plane", "", 96, 3, 8)),
    "atsp": Task(50, "ils", 300, 480, 32, Shape("matrix", "", 64, 3, 4)),
    "vrp": Task(50, "ruin-recreate", 2000, 480, 32, Shape("savings", "savings", 64, 3, 4)),
    "memory": Task(16, "annealing", 3000, 480, 32, Shape("game", "", 48, 3, 4, {"grid": 10})),
}


class PreNorm(Layer):
    """A layer with layer norm before each branch and LayerScale (Touvron et al., ICCV 2021) after it."""

    gates = ()

    def __init__(self, width: int, heads: int, feedforward: int) -> None:
        super().__init__(width, heads, feedforward)
        del self.rezero
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in self.branches)
        self.scale = nn.Parameter(torch.full((2, width), 0.1))

    def forward(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """See Layer.forward."""
        hidden = hidden + self.scale[0] * self._attention(self.norms[0](hidden), bias)
        after: Tensor = hidden + self.scale[1] * self.down(functional.gelu(self.up(self.norms[1](hidden))))
        return after


def labelled(name: str, split: str, cache: Path) -> Replay:
    """The states of a task's split with what the teacher does there, kept in the folder `cache`."""
    task, file = TASKS[name], cache / f"{name}-{split}.safetensors"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        count = task.instances if split == "labels" else round(task.instances * _HELD_OUT)
        snapshots.write(file, [tuple(part) for part in _lessons(name, split, count)])
    parts = [Episodes(*part) for part in snapshots.read(file)]
    replay = Replay(sum(int(part.lengths.sum()) for part in parts))
    for part in parts:
        replay.add(part)
    return replay


def _lessons(name: str, split: str, count: int) -> Iterator[Episodes]:
    task, eyes = TASKS[name], network_of(name, "own-30", 0)
    teacher, random = demonstrations.Teacher(task.teacher, task.iterations), np.random.default_rng(count)
    for first in range(0, count, _TOGETHER):
        some = instances(name, split, min(_TOGETHER, count - first), task.size, first)
        yield demonstrations.demonstrate(eyes, registry.problem(GENERATED[name][0]), some, teacher, task.states, random)


def network_of(name: str, variant: str, seed: int) -> AttentionPolicy:
    """A new network of a variant."""
    torch.manual_seed(seed)
    problem, (one,) = registry.problem(GENERATED[name][0]), instances(name, "labels", 1, TASKS[name].size)
    network = AttentionPolicy.sized(problem, one, TASKS[name].shape)
    if variant == "pre-norm":
        width, heads, feedforward = (network.config[key] for key in ("width", "heads", "feedforward"))
        network.layers = nn.ModuleList(PreNorm(width, heads, feedforward) for _ in network.layers)
    return network


def _optimiser(network: nn.Module, variant: str) -> torch.optim.Optimizer:
    if variant == "shared":
        return torch.optim.AdamW(network.parameters(), lr=_RATE)
    return new_optimiser(network, _RATE, **({"gate_rate": float(variant[4:])} if variant.startswith("own-") else {}))


def train(network: AttentionPolicy, replay: Replay, variant: str, seconds: float, seed: int) -> int:
    """Learn from the states for so many processor seconds, each pass in another order; returns how many were learned from."""
    optimiser, random = _optimiser(network.train(), variant), np.random.default_rng(seed)
    began, learned, left = time.process_time(), 0, np.zeros(0, np.int64)
    while (fraction := (time.process_time() - began) / seconds) < 1.0:
        if len(left) < _BATCH:
            left = random.permutation(replay.size)
        at, left = np.sort(left[:_BATCH]), left[_BATCH:]
        loss, _ = imitation.loss(network, imitation.draw(replay, at, network), 0.1)
        gradient_step(optimiser, loss, _RATE, fraction)
        learned += len(at)
    return learned


def held_out_loss(network: AttentionPolicy, replay: Replay) -> float:
    """Mean cross-entropy on all states of a replay."""
    total = 0.0
    with torch.no_grad():
        for part in np.array_split(np.arange(replay.size), max(1, replay.size // 512)):
            total += len(part) * imitation.loss(network.eval(), imitation.draw(replay, part, network))[1]["policy"]
    return total / replay.size


def without_each(network: AttentionPolicy, replay: Replay) -> list[float]:
    """The held-out losses with one layer left out at a time."""
    layers, found = network.layers, []
    for gone in range(len(layers)):
        network.layers = nn.ModuleList(_Nothing() if k == gone else layer for k, layer in enumerate(layers))
        found.append(held_out_loss(network, replay))
    network.layers = layers
    return found


class _Nothing(nn.Module):
    def forward(self, hidden: Tensor, bias: Tensor) -> Tensor:
        return hidden


def gaps(name: str, network: AttentionPolicy, cache: Path) -> NDArray[np.float64]:
    """How much worse than the teacher the policy alone is on instances to choose by, as a share."""
    task, problem = TASKS[name], registry.problem(GENERATED[name][0])
    some, file = instances(name, "choose", task.compared, task.size), cache / f"{name}-choose.npy"
    if not file.exists():
        teacher = demonstrations.Teacher(task.teacher, task.iterations)
        solutions = demonstrations.taught_by(teacher, problem, some, range(len(some)))
        np.save(file, [problem.evaluate(one, found) for one, found in zip(some, solutions)])
    found: NDArray[np.float64] = greedy(problem, some, network.eval()) / np.load(file) - 1.0
    return found


def main() -> None:
    """Measure the tasks asked for, seed by seed, all variants of a seed one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", choices=list(TASKS), metavar="TASK")
    parser.add_argument("--cache", type=Path, required=True, help="a folder for labelled states; some hundred MB")
    parser.add_argument("--variants", nargs="+", default=["shared", "own-30", "pre-norm"], choices=VARIANTS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=75.0, help="processor seconds of a run's training")
    args = parser.parse_args()
    torch.set_num_threads(1)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(FIELDS)
    for name in args.tasks:
        replay, held = (labelled(name, split, args.cache) for split in ("labels", "held-out"))
        for seed in range(args.seeds):
            for variant in args.variants:
                network = network_of(name, variant, seed)
                states = train(network, replay, variant, args.seconds, seed)
                apart = " ".join(f"{loss:.4f}" for loss in without_each(network, held))
                gap = resampled_mean(gaps(name, network, args.cache))
                interval = [f"{value:.5f}" for value in (gap.value, gap.low, gap.high)]
                loss = held_out_loss(network, held)
                writer.writerow([name, variant, seed, args.seconds, states, f"{loss:.5f}", apart, *interval])
                sys.stdout.flush()


if __name__ == "__main__":
    main()

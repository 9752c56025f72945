"""How the network of the features "plane" is trained on a GPU: labels by a solver, then imitation of them.

python tests/studies/orienteering_plane.py labels FILE.npz --first K --seconds S
python tests/studies/orienteering_plane.py train WEIGHTS LABELS.npz ... --minutes M [--device cuda]
python tests/studies/orienteering_plane.py mean WEIGHTS WEIGHTS-1 WEIGHTS-2 ...

`labels` solves instances of the generator `distance` with 100 nodes (seeds of the split "labels" of learning_splits, from number
K) by `ruin-recreate`, until S seconds have passed, and continues a file that is there. `train` learns the next node in states of
these solutions, as BQ-NCO does (Drakulic et al., NeurIPS 2023): the state after any number of decisions is an instance, and so is
a path between any two nodes of a solution, with the length that the other nodes leave. Worker processes draw the states; a step
has some states with few nodes and some with many, so that little of the work is for empty slots. It uses the wall clock, as the
learning rate falls to 0 at the end of the given minutes. `--held-out` names labels that are not learned from, for the progress.
`mean` writes the mean of several weights in 16 bits.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from learning_splits import SPLITS
from numpy.typing import NDArray

from corl import registry
from corl.jit import kernel
from corl.learning.demonstrations import Teacher, taught_by
from corl.problems.orienteering.environments.plane.features import TOKENS, write_features

if TYPE_CHECKING:
    from torch import Tensor

    from corl.networks.attention import AttentionPolicy

__all__ = ["Labels", "States", "draw_states", "make_labels", "mean", "read_labels", "train"]

SIZE, LIMIT = 100, 4.0
ITERATIONS = 15_000  # of the teacher: 0.1 % below its best
_BLOCK = 100  # instances solved between two looks at the clock
_NO_NODE = 255
SHORT, LONG = 56, 104
"""Tokens of the two groups of states in a step, the last node and the end included."""
_CHUNK = 4096  # states drawn at once
_WARM = 0.02  # share of the training in which the learning rate rises
_SEGMENTS = 0.35  # share of states whose path ends at another node than the solution's
_GATE_RATE = 10.0  # see new_optimiser; its default was found with fewer layers and steps
_EARLY = 1.3  # positions in a path are drawn as u ** _EARLY, as early mistakes cost most


class Labels(NamedTuple):
    """Instances and their solutions: I closed paths of at most SIZE nodes."""

    points: NDArray[np.float64]
    """[I, SIZE + 1, 2] the depot, then the nodes."""
    scores: NDArray[np.float64]
    """[I, SIZE + 1], 0 for the depot."""
    paths: NDArray[np.uint8]
    """[I, SIZE] the nodes of a solution from the depot to the depot, then _NO_NODE."""


class States(NamedTuple):
    """R states, of which the first two arrays are those of `Tokens`."""

    x: NDArray[np.float32]
    """[R, T, TOKENS]."""
    mask: NDArray[np.bool_]
    """[R, T]."""
    right: NDArray[np.int64]
    """[R] the slot of the next node."""


def instance(number: int) -> Any:
    """Return instance `number` of the split "labels"."""
    return registry.problem("orienteering").generators["distance"](size=SIZE, seed=SPLITS["labels"] + number)


def make_labels(file: Path, first: int, seconds: float) -> None:
    """Solve instances from number `first` on until the time is over; the file is replaced after every 500."""
    problem, teacher, until = registry.problem("orienteering"), Teacher("ruin-recreate", ITERATIONS), time.time() + seconds
    blocks = [np.load(file)["paths"]] if file.exists() else []
    while time.time() < until:
        at = first + sum(map(len, blocks))
        numbers = range(at, at + _BLOCK)
        solved = taught_by(teacher, problem, [instance(k) for k in numbers], list(numbers))
        block = np.full((_BLOCK, SIZE), _NO_NODE, np.uint8)
        for row, solution in zip(block, solved):
            row[: len(solution)] = solution
        blocks.append(block)
        if len(blocks) % 5 == 0 or time.time() >= until:
            blocks = [np.concatenate(blocks)]
            np.savez_compressed(file.with_suffix(".part.npz"), first=first, paths=blocks[0])
            os.replace(file.with_suffix(".part.npz"), file)


def read_labels(files: Sequence[Path]) -> Labels:
    """Return the labels in files of `make_labels`."""
    parts = []
    for file in files:
        held = np.load(file)
        given = [instance(int(held["first"]) + k) for k in range(len(held["paths"]))]
        parts.append((np.stack([each.graph.points for each in given]), np.stack([each.scores for each in given]), held["paths"]))
    return Labels(*(np.concatenate(arrays) for arrays in zip(*parts)))


@kernel
def draw_states(points: Any, scores: Any, paths: Any, limit: Any, which: Any, uniform: Any, known: Any, drawn: Any) -> None:
    """Draw states of solutions, in place.

    Args:
        points, scores, paths: Labels.
        limit: The limit of the instances.
        which: int64 [R], the label of each state.
        uniform: float64 [R, 4], random numbers: the direction of the path, whether the end changes, the end, the last node.
        known: (mask bool [R, T], points float64 [R, T, 2], scores float64 [R, T - 2]), all 0: what `write_features` takes.
        drawn: (left float64 [R], right int64 [R], count int64 [R]): the length left, the slot of the next node, and the number
            of nodes that can be visited.
    """
    mask, places, gains = known
    left, right, counts = drawn
    path, outside = np.empty(paths.shape[1], np.int64), np.empty(points.shape[1], np.bool_)
    for row in range(len(which)):
        label, size = which[row], 0
        while size < paths.shape[1] and paths[label, size] != _NO_NODE:
            size += 1
        for k in range(size):
            path[k] = paths[label, k if uniform[row, 0] < 0.5 else size - 1 - k]
        end = size - 1
        if uniform[row, 1] < _SEGMENTS and size > 4:
            end = 2 + int(uniform[row, 2] * (size - 2))
        begin = int(uniform[row, 3] ** _EARLY * (end - 1))
        slack, length = limit, 0.0
        outside[:] = True
        for k in range(size - 1):
            a, b = points[label, path[k]], points[label, path[k + 1]]
            leg = math.hypot(a[0] - b[0], a[1] - b[1])
            slack -= leg
            if begin <= k < end:
                length += leg
        for k in range(size):
            if not begin < k < end:
                outside[path[k]] = False
        outside[path[0]] = False
        left[row] = length + max(slack, 0.0)
        last_node, end_node, count = points[label, path[begin]], points[label, path[end]], 0
        for node in range(points.shape[1]):
            if not outside[node]:
                continue
            at = points[label, node]
            way = math.hypot(at[0] - last_node[0], at[1] - last_node[1]) + math.hypot(at[0] - end_node[0], at[1] - end_node[1])
            if way > left[row] * (1.0 + 1e-7):
                continue
            mask[row, count], places[row, count], gains[row, count] = True, at, scores[label, node]
            if node == path[begin + 1]:
                right[row] = count
            count += 1
        counts[row] = count
        tokens = mask.shape[1]
        places[row, tokens - 2], places[row, tokens - 1] = last_node, end_node
        mask[row, tokens - 2] = mask[row, tokens - 1] = True


def states_of(labels: Labels, random: np.random.Generator, rows: int) -> tuple[States, States]:
    """Return `rows` random states, those with few nodes in SHORT tokens and the others in LONG tokens."""
    known = (np.zeros((rows, LONG), bool), np.zeros((rows, LONG, 2)), np.zeros((rows, LONG - 2)))
    left, right, count = np.zeros(rows), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    which, uniform = random.integers(len(labels.paths), size=rows), random.random((rows, 4))
    draw_states(*labels, LIMIT, which, uniform, known, (left, right, count))
    parts = []
    for tokens, at in ((SHORT, (count > 1) & (count <= SHORT - 2)), (LONG, count > SHORT - 2)):
        slots = [*range(tokens - 2), LONG - 2, LONG - 1]
        mask, points = np.ascontiguousarray(known[0][at][:, slots]), np.ascontiguousarray(known[1][at][:, slots])
        x = np.zeros((*mask.shape, TOKENS), np.float32)
        write_features(mask, points, np.ascontiguousarray(known[2][at][:, : tokens - 2]), left[at], x)
        parts.append(States(x, mask, right[at]))
    return parts[0], parts[1]


def _worker(labels: Labels, seed: int, rows: tuple[int, int], queue: Any) -> None:
    """Put batches, one of SHORT and one of LONG states, of `rows` states each, into a queue, for ever."""
    import torch

    torch.set_num_threads(1)
    random = np.random.default_rng(seed)
    held: tuple[list[States], list[States]] = ([], [])
    while True:
        for store, part in zip(held, states_of(labels, random, _CHUNK)):
            store.append(part)
        while all(sum(len(part.right) for part in store) >= count for store, count in zip(held, rows)):
            batch = []
            for store, count in zip(held, rows):
                joined = [np.concatenate(arrays) for arrays in zip(*store)]
                store[:] = [States(*(array[count:] for array in joined))]
                x, mask, right = (torch.from_numpy(array[:count].copy()) for array in joined)
                batch.append((x.to(torch.float16), mask, right))
            queue.put(batch)


def logits_of(network: AttentionPolicy, x: Tensor, mask: Tensor) -> Tensor:
    """Return the logits of a network without pairs, [R, T - 2], by PyTorch's fused attention; -inf in empty slots."""
    from torch.nn import functional

    hidden, excluded = network.embed(x), mask[:, None, None, :]
    rows, tokens, width = hidden.shape
    for layer in network.layers:
        shape = (rows, tokens, 3, network.heads, width // network.heads)
        query, key, value = layer.mix(hidden).view(shape).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=excluded)
        hidden = hidden + layer.rezero[0] * layer.out(mixed.transpose(1, 2).reshape(rows, tokens, width))
        hidden = hidden + layer.rezero[1] * layer.down(functional.gelu(layer.up(hidden)))
    scores = network.score(hidden[:, :-2]).squeeze(-1).float()
    return scores.masked_fill(~mask[:, :-2], float("-inf"))


def new_network(width: int, layers: int, heads: int) -> AttentionPolicy:
    from corl.networks.attention import AttentionPolicy

    return AttentionPolicy(
        "orienteering", "plane", TOKENS, width=width, layers=layers, heads=heads, feedforward=2 * width, value=False,
        environment="plane",
    )  # fmt: skip


def train(args: argparse.Namespace) -> None:
    """Train a network on labels, and save it."""
    import torch
    from torch.nn import functional

    from corl.learning.optimise import new_optimiser, optimiser_step
    from corl.networks.checkpoints import load_policy, save

    labels, held_out = read_labels(args.labels), read_labels(args.held_out) if args.held_out else None
    print(f"{len(labels.paths)} labels", flush=True)
    rows = _rows(labels, args.batch)
    queue, processes = _workers(labels, rows, args.workers)
    torch.manual_seed(0)
    device, on_gpu = torch.device(args.device), args.device == "cuda"
    network = new_network(args.width, args.layers, args.heads)
    if args.start:
        network.load_state_dict(load_policy(args.start).state_dict())
    network = network.to(device).train()
    forward = torch.compile(logits_of, dynamic=False) if on_gpu else logits_of
    optimiser = new_optimiser(network, args.rate, gate_rate=_GATE_RATE)
    began, steps, loss = time.time(), 0, 0.0
    shown, steps_shown = began, 0
    while (fraction := (time.time() - began) / (60.0 * args.minutes)) < 1.0:
        optimiser.zero_grad()
        for part in queue.get():
            x, mask, right = (each.to(device, non_blocking=True) for each in part)
            with torch.autocast(device.type, torch.bfloat16, enabled=on_gpu):
                logits = forward(network, x.float(), mask)
            term = functional.cross_entropy(logits, right, reduction="sum") / sum(rows)
            term.backward()
            loss += term.detach()
        optimiser_step(optimiser, args.rate, fraction, warm=_WARM)
        steps += 1
        if (passed := time.time() - shown) > args.every:
            made = steps - steps_shown
            print(f"{time.time() - began:6.0f} s, step {steps}: loss {float(loss) / made:.4f}, {made * sum(rows) / passed:.0f} "
                  f"states/s, {queue.qsize()} batches wait{_right(network, held_out)}", flush=True)  # fmt: skip
            shown, steps_shown, loss = time.time(), steps, 0.0
            save(args.weights, network)
    save(args.weights, network)
    print(f"{steps} steps of {sum(rows)} states{_right(network, held_out)}")
    for process in processes:
        process.kill()


def _rows(labels: Labels, batch: int) -> tuple[int, int]:
    """Return how many of a step's states have SHORT and LONG tokens: as many as among random ones, rounded to multiples of 8."""
    counts = [len(part.right) for part in states_of(labels, np.random.default_rng(1), _CHUNK)]
    share = counts[0] / sum(counts)
    return round(batch * share / 8) * 8, round(batch * (1 - share) / 8) * 8


def _workers(labels: Labels, rows: tuple[int, int], count: int) -> tuple[Any, list[Any]]:
    """Return the queue that `count` new processes fill with batches, and the processes."""
    from torch.multiprocessing import get_context

    context = get_context("fork")
    queue: Any = context.Queue(4 * count)
    processes = [context.Process(target=_worker, args=(labels, 10 + k, rows, queue), daemon=True) for k in range(count)]
    for process in processes:
        process.start()
    return queue, list(processes)


def _right(network: AttentionPolicy, labels: Labels | None) -> str:
    """Return, for a line of progress, the share of right actions and the loss in states of labels; "" without labels."""
    import torch
    from torch.nn import functional

    if labels is None:
        return ""
    device, found, terms = next(network.parameters()).device, [], []
    with torch.no_grad():
        for part in states_of(labels, np.random.default_rng(2), _CHUNK):
            logits = logits_of(network, torch.from_numpy(part.x).to(device), torch.from_numpy(part.mask).to(device)).cpu()
            right = torch.from_numpy(part.right)
            found.append((logits.argmax(1) == right).float())
            terms.append(functional.cross_entropy(logits, right, reduction="none"))
    return f"; held out: right {torch.cat(found).mean():.4f}, loss {torch.cat(terms).mean():.4f}"


def mean(weights: Path, files: Sequence[Path]) -> None:
    """Save the mean of the weights in files of `train`, in 16 bits."""
    from corl.networks.checkpoints import load_policy, save

    networks = [load_policy(file) for file in files]
    states = [network.state_dict() for network in networks]
    networks[0].load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
    save(weights, networks[0].half(), {"made by": "tests/studies/orienteering_plane.py"})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    labels = commands.add_parser("labels")
    labels.add_argument("file", type=Path)
    labels.add_argument("--first", type=int, default=0)
    labels.add_argument("--seconds", type=float, default=60.0)
    training = commands.add_parser("train")
    training.add_argument("weights", type=Path)
    training.add_argument("labels", type=Path, nargs="+")
    training.add_argument("--held-out", type=Path, nargs="*")
    training.add_argument("--start", type=Path, help="weights to begin with")
    training.add_argument("--minutes", type=float, default=10.0)
    training.add_argument("--device", default="cpu")
    training.add_argument("--workers", type=int, default=4)
    training.add_argument("--batch", type=int, default=1024)
    training.add_argument("--rate", type=float, default=1e-3)
    training.add_argument("--width", type=int, default=128)
    training.add_argument("--layers", type=int, default=8)
    training.add_argument("--heads", type=int, default=8)
    training.add_argument("--every", type=float, default=30.0)
    averaging = commands.add_parser("mean")
    averaging.add_argument("weights", type=Path)
    averaging.add_argument("files", type=Path, nargs="+")
    args = parser.parse_args(arguments)
    if args.command == "labels":
        make_labels(args.file, args.first, args.seconds)
    elif args.command == "mean":
        mean(args.weights, args.files)
    else:
        train(args)


if __name__ == "__main__":
    main()

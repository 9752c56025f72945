"""What each layer and each feature of the shipped networks is worth: `python tests/studies/ablation.py [NETWORK ...]`.

A layer is switched off by what leaves its input as it was; a feature is put at its mean over what the network sees at once. Each
row is a line of CSV: by how many percent the network's measure becomes worse, a mean over instances of the split "choose" with
its bootstrap interval. The measure is what NETWORKS says: the objective of the greedy policy, or a loss where that tells more.
"""

from __future__ import annotations

import argparse
import copy
import csv
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from learning_splits import GENERATED, SPLITS, instances
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from corl import registry
from corl.decoding import CountedEvaluator, Greedy, decode
from corl.environment import Environment
from corl.networks.checkpoints import load_policy
from corl.networks.policy import NetworkPolicy, Observer
from corl.statistics import resampled_mean

__all__ = ["NETWORKS", "Change", "changes", "worse"]

FIELDS = ("network", "measure", "without", "worse", "low", "high")
Change = Callable[[Any], object]
"""Switches a layer or a feature of a network off, in place."""
Measure = Callable[[Any], NDArray[np.float64]]
"""What is measured of a network on each instance; less is better."""


def worse(measure: Measure, network: Any, change: Change, whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how many percent of the mean of `whole` [I], the network's own measures, those of a changed copy are above it."""
    changed = copy.deepcopy(network)
    change(changed)
    found: NDArray[np.float64] = 100.0 * (measure(changed.eval()) - whole) / abs(whole.mean())
    return found


def changes(network: Any) -> Iterator[tuple[str, Change]]:
    """The layers of a network that can be switched off, and the features that it sees, by name."""
    for name, _ in network.named_modules():
        last = name.rpartition(".")[2]
        if last.isdigit() and name.rpartition(".")[0] == "layers":
            yield f"layer {last}", partial(_without_module, name=name)
    for name in _SILENCED.get(network.architecture, ()):
        if name == "embed.join" and not network.config["grid"]:
            continue
        yield f"layer {name}", partial(_silent, name=name)
    for field, count in _fields(network):
        for at in range(count):
            yield f"{field} {at}", partial(_unseen, field=field, at=at)


_SILENCED = {
    "slim": ("first", "second", "attend"),
    "jobshop-cp": ("inside.3", "inside_down", "across.3", "across_down", "slot"),
    "attention": ("embed.join",),
    "muzero": ("embed.join",),
}
"""Modules, or parameters and their entries, whose result is put at 0, by architecture."""


def _fields(network: Any) -> list[tuple[str, int]]:
    """What the network takes, by the name of the field of its batch, and how many features that has."""
    if network.architecture in ("attention", "muzero"):
        return [("x", network.config["inputs"]), ("pairs", network.config["pairs"])]
    if network.architecture == "gated-graph":
        return [("nodes", network.config["nodes"]), ("edges", network.config["edges"])]
    if network.architecture == "slim":
        return [("nodes", network.first.in_channels), ("context", network.attend.in_features)]
    return [("lines", len(network.mean))] if hasattr(network, "mean") else [("x", network.embed.shape[0])]


def _without_module(network: Any, name: str) -> None:
    parent, _, at = name.rpartition(".")
    network.get_submodule(parent)[int(at)] = _Same()


class _Same(nn.Module):
    """In the place of a layer of any kind: its first inputs again."""

    sizes = None

    def forward(self, *given: Any) -> Any:
        return (given[0], given[2]) if len(given) == 3 else given[0]


def _silent(network: Any, name: str) -> None:
    module, _, at = name.partition(".")
    here = getattr(network, module, None)
    with torch.no_grad():
        if isinstance(here, nn.Parameter):
            (here[int(at)] if at else here).zero_()
        elif at and hasattr(here, at):
            for parameter in getattr(here, at).parameters():
                parameter.zero_()
        elif isinstance(here, nn.Module) and not at:
            here.register_forward_hook(lambda module, given, found: torch.zeros_like(found))


def _unseen(network: Any, field: str, at: int) -> None:
    """Put feature `at` of a field of the network's batch at its mean, everywhere it has the token."""

    def before(module: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
        if hasattr(given[0], "_replace"):
            return (_mean_instead(given[0], field, at), *given[1:])
        named = dict(zip(("nodes", "links", "edges"), given))
        return tuple(_averaged(named, field, at).values())

    network.register_forward_pre_hook(before)


def _mean_instead(batch: Any, field: str, at: int) -> Any:
    found = _averaged(batch._asdict(), field, at)
    return batch._replace(**{field: found[field]})


def _averaged(named: dict[str, Any], field: str, at: int) -> dict[str, Any]:
    if named[field] is None:
        return named
    values = named[field].clone()
    there = (values != 0).any(-1)  # what is empty stays so
    values[..., at][there] = values[..., at][there].mean()
    return {**named, field: values}


class _Hooked:
    """A policy evaluated by its torch module also where it has kernels, which know no hooks."""

    def __init__(self, policy: NetworkPolicy) -> None:
        self.policy = policy

    def on(self, environment: Environment) -> Observer:
        """See corl.policy.Policy."""
        return Observer(self.policy, environment)


def _greedy(problem: str, some: list[Any]) -> Measure:
    adapter = registry.problem(problem)

    def measure(network: NetworkPolicy) -> NDArray[np.float64]:
        environment = adapter.environment(some, len(some), name=network.environment)
        decoded = decode(Greedy(), CountedEvaluator(environment, _Hooked(network)), np.arange(len(some)))
        total = np.empty(len(some))
        total[decoded.entry] = decoded.total
        return -total

    return measure


def _seeded(problem: str, generator: str, count: int, **options: Any) -> list[Any]:
    return [registry.problem(problem).generators[generator](**options, seed=SPLITS["choose"] + k) for k in range(count)]


def _generated(task: str, count: int, size: int) -> Measure:
    return _greedy(GENERATED[task][0], instances(task, "choose", count, size))


def _knapsack(count: int) -> Measure:
    return _greedy("knapsack", _seeded("knapsack", "uniform", count, size=100))


def _jobshop(count: int) -> Measure:
    seeds = range(SPLITS["choose"] % 2**31, SPLITS["choose"] % 2**31 + count)  # of Taillard's own generator, below 2**31
    make = registry.problem("jobshop").generators["taillard"]
    return _greedy("jobshop", [make(jobs=10, machines=10, seed=seed) for seed in seeds])


def _heatmap(count: int) -> Measure:
    """Cross-entropy of the candidate edges of uniform instances: is it in the tour of eax."""
    import corl
    from corl.solvers.tsp.heatmap.features import edge_graph, links_of
    from corl.solvers.tsp.heatmap.recipe import tour_edges

    seen = []
    for instance in instances("tsp", "choose", count, 200):
        graph, tour = edge_graph(instance), corl.solve(instance, solver="eax", iterations=2000, seed=0).solution
        wanted = torch.from_numpy(tour_edges(graph.near, np.asarray(tour)).astype(np.float32))
        given = (torch.from_numpy(np.asarray(part)) for part in (graph.nodes, links_of(graph.near), graph.edges))
        seen.append((tuple(given), wanted))

    def measure(network: Any) -> NDArray[np.float64]:
        with torch.no_grad():
            return np.array([float(functional.binary_cross_entropy_with_logits(network(*given), to)) for given, to in seen])

    return measure


def _branching(family: str, count: int, tableau: int, **sizes: Any) -> Measure:
    """Cross-entropy with strong branching's scores on labelled nodes of trees that pseudocosts grow, a mean for each program."""
    from corl.learning.algorithms.imitation import draw, loss
    from corl.learning.replay import Replay
    from corl.run import Run
    from corl.solvers.milp.branching.recipe import BranchingRecipe

    recipe, problem, trees = BranchingRecipe(family=family, tableau=tableau), registry.problem("milp"), list[Replay]()
    for instance in _seeded("milp", family, count, **sizes):
        run = Run(problem, instance, seed=0, time_limit=60.0)
        run.start()
        episodes = recipe.labelled(instance, run, recipe.network())
        if moves := int(episodes.lengths.sum()):
            trees.append(Replay(moves))
            trees[-1].add(episodes)

    def measure(network: Any) -> NDArray[np.float64]:
        with torch.no_grad():
            return np.array([loss(network, draw(tree, np.arange(tree.size), network))[1]["policy"] for tree in trees])

    return measure


def _priority(count: int) -> Measure:
    """The seconds of the plan that the scores alone make."""
    from corl.solvers.memory.layout import program_of
    from corl.solvers.memory.priority.solver import Plans

    programs = [program_of(instance) for instance in instances("memory", "choose", count, 40)]

    def measure(network: Any) -> NDArray[np.float64]:
        return np.array([Plans(program, network.weights(), 0.0, 0).build()[0] for program in programs])

    return measure


def _priority_changes(network: Any) -> Iterator[tuple[str, Change]]:
    """Its kernels know no hooks: a feature's weights are put at 0, and so is what all hidden units say."""
    features = len(network.hidden) - 1

    def unseen(changed: Any, at: int) -> None:
        with torch.no_grad():
            changed.hidden[at], changed.out[at] = 0.0, 0.0

    def flat(changed: Any) -> None:
        with torch.no_grad():
            changed.out[features:-1] = 0.0

    yield "layer hidden", flat
    for at in range(features):
        yield f"x {at}", partial(unseen, at=at)


NETWORKS: dict[str, tuple[str, Callable[[int], Measure], int]] = {
    "tsp-bq": ("greedy tour of 100 cities", lambda count: _generated("tsp", count, 100), 32),
    "atsp-bq": ("greedy tour of 100 cities", lambda count: _generated("atsp", count, 100), 32),
    "knapsack-bq": ("greedy value of 100 items", _knapsack, 128),
    "memory-alphazero": ("greedy plan of 24 operations", lambda count: _generated("memory", count, 24), 96),
    "memory-muzero": ("greedy plan of 24 operations", lambda count: _generated("memory", count, 24), 96),
    "memory-priority": ("one plan of 40 operations", _priority, 96),
    "jobshop-slim": ("greedy makespan, 10 x 10", _jobshop, 32),
    "jobshop-cp": ("greedy makespan, 10 x 10", _jobshop, 32),
    "tsp-heatmap": ("cross-entropy, 200 cities", _heatmap, 16),
    "milp-auctions": ("cross-entropy", lambda count: _branching("auctions", count, 1), 10),
    "milp-set-cover": ("cross-entropy", lambda count: _branching("set-cover", count, 1), 10),
    "milp-facility-location": ("cross-entropy", lambda count: _branching("facility-location", count, 1), 10),
    "milp-independent-set": ("cross-entropy", lambda count: _branching("independent-set", count, 0), 10),
}
"""Name -> what is measured, the measure of so many instances, and how many there are unless `--count` says another number."""


def main() -> None:
    """Measure the networks asked for, or all."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS), choices=list(NETWORKS), metavar="NETWORK")
    parser.add_argument("--count", type=int, help="instances")
    args = parser.parse_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(FIELDS)
    for name in args.networks:
        what, made, count = NETWORKS[name]
        network, measure = copy.deepcopy(load_policy(name)), made(args.count or count)
        whole = measure(network)
        for without, change in (_priority_changes if name == "memory-priority" else changes)(network):
            found = resampled_mean(worse(measure, network, change, whole))
            numbers = ["" if value is None else f"{value:.3f}" for value in (found.value, found.low, found.high)]
            writer.writerow([name, what, without, *numbers])
            sys.stdout.flush()


if __name__ == "__main__":
    main()

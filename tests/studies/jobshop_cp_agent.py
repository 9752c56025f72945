"""The agent beside dispatching rules on Taillard's instances: python tests/studies/jobshop_cp_agent.py

It makes instances/jobshop/results/cp-agent.csv: one row for each of Taillard's eight sizes and each method: the mean gap to
the best known makespan in per cent with its 95 % bootstrap interval over the instances (ta31-ta34 are left out), and seconds
of processor time for an instance.

"best rule" is the rule and kind of schedule with the lowest mean on that size. The 32 randomised rules are tuned for each size
on generated instances (rule, kind, noise); the agent's temperatures are its defaults (`--tune` shows how they were chosen).
`--calibrate FILE` takes off the logit of waiting what is best taken off on generated instances, and writes the agent: its teacher
waits for what only it knows. It is to be done once, after training.
The rows "greedy - best rule" and "best of 32 - randomised rules" are differences in points, instance by instance.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corl.benchmark.running.references import read_references
from corl.decoding import CountedEvaluator, Sampling, decode
from corl.learning.validation import greedy
from corl.networks.checkpoints import load, load_policy, resolve, save
from corl.problems.jobshop.generators import taillard
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.problem import JobShop
from corl.rng import random_state
from corl.solvers.jobshop.bounds import lower_bound
from corl.solvers.jobshop.cp_agent.network import CpAgentNetwork
from corl.solvers.jobshop.cp_agent.solver import CpAgent
from corl.solvers.jobshop.dispatch.dispatcher import Dispatcher
from corl.solvers.jobshop.dispatch.rules import RULES
from corl.statistics import resampled_mean

__all__ = ["agent_values", "penalise_waiting", "rule_values"]

FIELDS = ("jobs", "machines", "method", "instances", "mean", "low", "high", "seconds")
SIZES = ((15, 15), (20, 15), (20, 20), (30, 15), (30, 20), (50, 15), (50, 20), (100, 20))
KINDS: tuple[Literal["non-delay", "active"], ...] = ("non-delay", "active")
NOISES = (0.03, 0.1, 0.3, 1.0)
TEMPERATURES = ((0.5, 2.0), (0.25, 1.0), (0.5, 1.0), (1.0, 1.0), (0.1, 0.5), (0.25, 0.5))
TRIED = 32
_FIRST_SEED = 3_000_000_000  # of the instances that are tuned on; training draws its seeds below 2^31
_CALIBRATION = 4  # instances of each size on which waiting is penalised
_CALIBRATION_SEED = 2_500_000_000  # of the first of them
_PENALTIES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 100.0)
_LEFT_OUT = range(31, 35)  # the paper trained on these


def agent_values(instance: JobShopInstance, agent: CpAgentNetwork, low: float, spread: float) -> NDArray[np.float64]:
    """The makespans of TRIED schedules, the first one greedy, the others sampled: float64 [TRIED]."""
    environment = JobShop().environment([instance], TRIED, name=agent.environment)
    found = decode(Sampling(TRIED - 1, low, spread), CountedEvaluator(environment, agent), [0])
    return np.concatenate([greedy(JobShop(), [instance], agent), -np.array(found.total)])


def rule_values(
    instance: JobShopInstance, rule: int, kind: Literal["non-delay", "active"], noise: float, count: int
) -> NDArray[np.int64]:
    """The makespans of `count` schedules of a rule (index into RULES) with noise, int64 [count]."""
    dispatcher, random = Dispatcher(instance, kind), random_state(0)
    return np.array([int(dispatcher.run(rule, noise, random)) for _ in range(count)])


def _generated(jobs: int, machines: int, count: int) -> list[JobShopInstance]:
    """Instances to tune on."""
    return [taillard(jobs=jobs, machines=machines, seed=_FIRST_SEED + i) for i in range(count)]


def _taillard(size: int) -> tuple[list[JobShopInstance], NDArray[np.float64]]:
    """Those of the size of this number, and the best makespans known."""
    folder = Path(str(resources.files("corl.instances"))) / "jobshop"
    names = [f"ta{k:02d}" for k in range(10 * size + 1, 10 * size + 11) if k not in _LEFT_OUT]
    known = read_references(folder / "reference.csv")
    return [JobShop().read(folder / f"{name}.json") for name in names], np.array([known[name].value for name in names])


def _tuned_rule(instances: list[JobShopInstance]) -> tuple[int, Literal["non-delay", "active"], float]:
    """The rule, kind and noise whose best of 32 is best on the mean."""
    rules = [RULES.index(name) for name in ("mwkr", "mor", "fdd/mwkr")]

    def value(setting: tuple[int, Literal["non-delay", "active"], float]) -> float:
        return float(np.mean([rule_values(i, *setting, TRIED).min() for i in instances]))

    return min(itertools.product(rules, KINDS, NOISES), key=value)


def _rows(size: int, policy: str, tune: int) -> Iterator[tuple[str, NDArray[np.float64], float]]:
    """(method, gaps or differences in per cent, seconds an instance) for one of SIZES."""
    instances, best = _taillard(size)
    agent, solver = _agent(policy), CpAgent()

    def gaps(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        return 100.0 * (np.array(values) / best - 1.0)

    began = time.process_time()
    alone = gaps([greedy(JobShop(), [i], agent)[0] for i in instances])
    greedy_ended = time.process_time()
    sampled = gaps([agent_values(i, agent, solver.temperature, solver.spread).min() for i in instances])
    ended = time.process_time()
    plain = {
        (name, kind): gaps([int(rule_values(i, RULES.index(name), kind, 0.0, 1)[0]) for i in instances])
        for name in RULES[: RULES.index("edd")]
        for kind in KINDS
    }
    name, kind = min(plain, key=lambda setting: plain[setting].mean())
    rule = plain[name, kind]
    rule_ended = time.process_time()
    setting = _tuned_rule(_generated(*SIZES[size], tune))
    tuned = time.process_time()
    random = gaps([int(rule_values(i, *setting, TRIED).min()) for i in instances])
    random_ended = time.process_time()
    n = len(instances)
    yield "greedy", alone, (greedy_ended - began) / n
    yield f"best rule: {name} {kind}", rule, (rule_ended - ended) / n / len(plain)
    yield "greedy - best rule", alone - rule, 0.0
    yield f"best of {TRIED}", sampled, (ended - greedy_ended) / n
    shown = f"{TRIED} randomised rules: {RULES[setting[0]]} {setting[1]} noise {setting[2]}"
    yield shown, random, (random_ended - tuned) / n
    yield f"best of {TRIED} - randomised rules", sampled - random, 0.0


def _tune(policy: str, count: int) -> None:
    """Print the mean makespan of the best of 32 for each range of temperatures, on generated instances of three sizes."""
    agent = _agent(policy)
    for jobs, machines in ((15, 15), (30, 15), (30, 20)):
        instances = _generated(jobs, machines, count)
        for low, high in TEMPERATURES:
            mean = np.mean([agent_values(i, agent, low, high / low).min() for i in instances])
            print(f"{jobs},{machines},{low},{high},{mean:.1f}", flush=True)


def penalise_waiting(network: CpAgentNetwork, sizes: Sequence[tuple[int, int]], count: int) -> float:
    """Take that one of `_PENALTIES` off the logit of waiting, in place, with which greedy schedules are shortest; returns it.

    Makespans are compared as multiples of the instance's lower bound, on `count` generated instances of each size.
    """
    import torch

    total = dict.fromkeys(_PENALTIES, 0.0)
    kept = network.out.detach().clone()
    with torch.no_grad():
        for number in range(count):
            for jobs, machines in sizes:
                instance = taillard(jobs=jobs, machines=machines, seed=_CALIBRATION_SEED + number)
                for penalty in _PENALTIES:
                    network.out[1, -1] = kept[1, -1] - penalty
                    total[penalty] += float(greedy(JobShop(), [instance], network)[0]) / lower_bound(instance)
        best = min(_PENALTIES, key=total.__getitem__)
        network.out[1, -1] = kept[1, -1] - best
    return best


def _agent(policy: str) -> CpAgentNetwork:
    agent = load_policy(policy)
    assert isinstance(agent, CpAgentNetwork)
    return agent


def _calibrate(policy: str, output: Path) -> None:
    """Write an agent with the best penalty of waiting, and print that."""
    network, header = load(resolve(policy))
    assert isinstance(network, CpAgentNetwork)
    print(penalise_waiting(network, SIZES[:6], _CALIBRATION))
    save(output, network, header["training"])


def main() -> None:
    """Measure every size, or those asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=list(range(len(SIZES))), help="0 (15 x 15) to 7 (100 x 20)")
    parser.add_argument("--policy", default="jobshop-cp", help="a shipped agent's name or a checkpoint file")
    parser.add_argument("--instances", type=int, default=2, help="generated ones to tune on")
    parser.add_argument("--tune", action="store_true", help="temperatures instead")
    parser.add_argument("--calibrate", type=Path, metavar="FILE", help="penalise waiting instead, and write the agent to FILE")
    given = parser.parse_args()
    if given.calibrate:
        return _calibrate(given.policy, given.calibrate)
    if given.tune:
        return _tune(given.policy, given.instances)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(FIELDS)
    agent_values(taillard(jobs=5, machines=5), _agent(given.policy), 1.0, 1.0)  # compiles
    for size in given.sizes:
        for method, values, seconds in _rows(size, given.policy, given.instances):
            mean = resampled_mean(values)
            numbers = (mean.value, mean.low, mean.high)
            writer.writerow(
                [*SIZES[size], method, len(values), *(f"{v:.2f}" for v in numbers), f"{seconds:.3f}" if seconds else ""]
            )
            sys.stdout.flush()
    return None


if __name__ == "__main__":
    main()

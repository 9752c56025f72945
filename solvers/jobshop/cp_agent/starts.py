"""Tabu search from learned schedules, from a rule's and from a random one, at equal time: the ablation of the start.

python -m corl.solvers.jobshop.cp_agent.starts 30x20:1 100x100:4 > starts.csv

Each start is the best of several schedules; how many, and the noise between them, are tuned for each kind of start alike, on
instances of their own. Building the start counts: tabu search has what is left of the limit; seconds are of processor time, so
that what else the machine does changes little. "policy" is jobshop-cp, "slim" jobshop-slim. One CSV row a size and start: the
mean makespan after the limit, and how much lower it is than from the rule's start, in per cent with its 95 % bootstrap interval
over the instances (above 0: better than the rule's start).
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.generators import taillard
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.problem import JobShop
from corl.rng import random_state
from corl.run import Run
from corl.solvers.jobshop.cp_agent.measure import interval
from corl.solvers.jobshop.cp_agent.rollout import Agent
from corl.solvers.jobshop.cp_agent.solver import CpAgent, weights_of
from corl.solvers.jobshop.dispatching import RULES, Dispatcher
from corl.solvers.jobshop.slim.solver import Slim
from corl.solvers.jobshop.tabu import Tabu

__all__ = ["STARTS", "Start", "after"]

FIELDS = ("jobs", "machines", "seconds", "start", "tuned", "instances", "mean", "start_mean", "lower", "low", "high")
_FIRST_SEED = 3_100_000_000  # of the instances measured on; training draws its seeds below 2^31
_TUNING_SEED = 3_200_000_000
_SHARE = 0.5  # of the limit that a start may take at the most


@dataclass(frozen=True)
class Start:
    """Build schedules one by one until `count` are there, and keep the best; `noise` is a spread or a temperature."""

    kind: str
    count: int
    noise: float

    def build(self, instance: JobShopInstance, seed: int, until: float) -> Schedule:
        """The best of the schedules that are done by `until` (process_time), one at least."""
        if self.kind == "slim":
            run = _Run(JobShop(), instance, time_limit=max(0.01, until - time.process_time()), seed=seed)
            run.start()
            Slim(samples=self.count, temperature=self.noise).solve(instance, run)
            assert isinstance(run.solution, Schedule)
            return run.solution
        build, schedule = _builder(self.kind, instance, seed)
        best = build(self.noise if self.kind == "random" else 0.0)
        kept = schedule()
        for _ in range(self.count - 1):
            if time.process_time() >= until:
                break
            value = build(self.noise)
            if value < best:
                best, kept = value, schedule()
        return kept


class _Run(Run):
    """A run whose seconds are of processor time."""

    def start(self) -> None:
        self._started = time.process_time()
        if self.warm_start is not None:
            self.report(self.warm_start)

    @property
    def elapsed(self) -> float:
        return time.process_time() - self._started


STARTS = {
    "policy": (Start("policy", 1, 0.0), Start("policy", 4, 0.3), Start("policy", 16, 0.3)),
    "slim": (Start("slim", 1, 1.0), Start("slim", 4, 1.0), Start("slim", 16, 1.0)),
    "fdd/mwkr": (Start("fdd/mwkr", 1, 0.0), Start("fdd/mwkr", 16, 0.1), Start("fdd/mwkr", 64, 0.3)),
    "random": (Start("random", 1, 1.0), Start("random", 4, 1.0), Start("random", 16, 1.0)),
}
"""What is tried for each kind: the same number of settings."""


def _builder(kind: str, instance: JobShopInstance, seed: int) -> tuple[Callable[[float], float], Callable[[], Schedule]]:
    """A function of the noise that builds a schedule and returns its makespan, and one that returns the schedule."""
    random = random_state(seed)
    if kind == "policy":
        agent = Agent(instance, weights_of(CpAgent().policy))
        return lambda noise: agent.build(noise, random), agent.schedule
    dispatcher, rule = Dispatcher(instance), RULES.index("fdd/mwkr")
    wide = 1e9 if kind == "random" else 1.0  # so much noise that the priorities do not matter
    return lambda noise: dispatcher.run(rule, wide * noise, random), dispatcher.schedule


def after(instance: JobShopInstance, start: Start, seconds: float, seed: int) -> tuple[float, float]:
    """Makespans of the start, and after so many seconds of building it and of tabu search from it."""
    began = time.process_time()
    schedule = start.build(instance, seed, began + _SHARE * seconds)
    run = _Run(JobShop(), instance, time_limit=max(0.01, began + seconds - time.process_time()), seed=seed, warm_start=schedule)
    run.start()
    first = run.objective
    assert first is not None
    Tabu().solve(instance, run)
    assert run.objective is not None
    return first, run.objective


def _compile() -> None:
    """Everything, outside the clock."""
    tiny = taillard(jobs=6, machines=5)
    Tabu().prepare(tiny)
    Slim().prepare(tiny)
    for kind in STARTS:
        Start(kind, 2, 1.0).build(tiny, 0, float("inf"))


def _measured(jobs: int, machines: int, seconds: float, count: int, tuning: int) -> list[list[str]]:
    """The rows of one size."""
    held = [taillard(jobs=jobs, machines=machines, seed=_FIRST_SEED + i) for i in range(count)]
    own = [taillard(jobs=jobs, machines=machines, seed=_TUNING_SEED + i) for i in range(tuning)]
    results: dict[str, tuple[Start, NDArray[np.float64]]] = {}
    for kind, settings in STARTS.items():
        tuned = [np.mean([after(each, start, seconds, 1)[1] for each in own]) for start in settings] if tuning else [0.0]
        chosen = settings[int(np.argmin(tuned))]
        results[kind] = chosen, np.array([after(each, chosen, seconds, 0) for each in held])
    base = results["fdd/mwkr"][1][:, 1]
    rows = []
    for kind, (chosen, values) in results.items():
        lower = 100.0 * (1.0 - values[:, 1] / base)
        numbers = (values[:, 1].mean(), values[:, 0].mean(), lower.mean(), *interval(lower))
        shown = [f"{number:.{digits}f}" for number, digits in zip(numbers, (1, 1, 3, 3, 3))]
        setting = f"best of {chosen.count} noise {chosen.noise:g}"
        rows.append([str(jobs), str(machines), f"{seconds:g}", kind, setting, str(count), *shown])
    return rows


def main() -> None:
    """Measure the sizes asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="+", metavar="JOBSxMACHINES:SECONDS")
    parser.add_argument("--instances", type=int, default=8)
    parser.add_argument("--tuning", type=int, default=1, help="instances to tune on; 0: the first setting of each kind")
    given = parser.parse_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(FIELDS)
    _compile()
    for size in given.sizes:
        shape, _, seconds = size.partition(":")
        jobs, machines = (int(part) for part in shape.split("x"))
        writer.writerows(_measured(jobs, machines, float(seconds or 10), given.instances, given.tuning))
        sys.stdout.flush()


if __name__ == "__main__":
    main()

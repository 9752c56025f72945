"""A toy problem with solvers that go wrong in every way, installed as a plug-in for the tests of the benchmark."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

import corl

SOLVERS = (
    "Cores", "Empty", "Errs", "Exits", "Good", "Hangs", "Infeasible", "Killed", "Lies", "Murderer", "Raises", "Refuses",
    "Segfaults", "Slow", "Talks", "Tunable", "Untunable",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    name: str
    size: int


def line(*, size: int = 5, seed: int = 0) -> Line:
    return Line(f"line-{size}-{seed}", size)


class Toy(corl.Problem):
    """Find the vector of zeros of a given size; the objective is the sum of squares."""

    name, title, instance_type = "toy", "zeros", Line
    generators = {"line": line}  # noqa: RUF012

    def recognises(self, head):
        return head.startswith("TOY")

    def read(self, path):
        return Line(path.stem, int(path.read_text().split()[1]))

    def adapt(self, data):
        return Line("adapted", len(data))

    def describe(self, instance):
        return {"dimension": instance.size, "parity": "odd" if instance.size % 2 else "even", "text": "no single word"}

    def evaluate(self, instance, solution):
        if np.shape(solution) != (instance.size,):
            raise corl.Infeasible(f"a solution has {instance.size} numbers")
        return float(np.sum(np.square(solution)))


class Base(corl.Solver):
    iteration = "one step"


@dataclass(frozen=True)
class Good(Base):
    """Halves its numbers, a step an iteration."""

    start: float = 8.0
    limit_free = True

    def solve(self, instance, run):
        x = np.full(instance.size, self.start + run.seed)
        run.report(x)
        while n := run.budget(1):
            x = x / 2**n
            run.report(x)
            time.sleep(0.001)


@dataclass(frozen=True)
class Slow(Base):
    """As many seconds as it is told, whatever the limit."""

    seconds: float = 0.05

    def solve(self, instance, run):
        run.report(np.ones(instance.size))
        time.sleep(self.seconds)


@dataclass(frozen=True)
class Raises(Base):
    def solve(self, instance, run):
        raise ZeroDivisionError("on purpose")


@dataclass(frozen=True)
class Segfaults(Base):
    def solve(self, instance, run):
        os.kill(os.getpid(), signal.SIGSEGV)


@dataclass(frozen=True)
class Killed(Base):
    def solve(self, instance, run):
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Exits(Base):
    def solve(self, instance, run):
        print("the last words", file=sys.stderr, flush=True)
        os._exit(7)


@dataclass(frozen=True)
class Hangs(Base):
    """But not in the short run before the benchmark. A file, if it is named, gets its process number."""

    file: str = ""

    def solve(self, instance, run):
        if run.time_limit == 0.2:
            return
        if self.file:
            Path(self.file).write_text(f"{os.getpid()}\n")
        while True:
            time.sleep(1)


@dataclass(frozen=True)
class Lies(Base):
    """Deceives even the problem's judge, in its own process."""

    def solve(self, instance, run):
        type(run.problem).evaluate = lambda self, instance, solution: -1.0
        run.report(np.ones(instance.size))


@dataclass(frozen=True)
class Infeasible(Base):
    def solve(self, instance, run):
        run.report(np.ones(instance.size + 1))


@dataclass(frozen=True)
class Errs(Base):
    """Once, after a good solution."""

    def solve(self, instance, run):
        run.report(np.ones(instance.size))
        run.report(np.ones(instance.size + 1))


@dataclass(frozen=True)
class Empty(Base):
    def solve(self, instance, run):
        return


@dataclass(frozen=True)
class Refuses(Base):
    def accepts(self, instance):
        return "it never does"

    def solve(self, instance, run):
        raise AssertionError


@dataclass(frozen=True)
class Talks(Base):
    def solve(self, instance, run):
        print("noise on standard output")
        os.write(1, b"more noise\n" * 10_000)
        run.report(np.zeros(instance.size))


@dataclass(frozen=True)
class Cores(Base):
    """Its solution says whether it may use as many processors and threads as it was given."""

    own_workers = True

    def solve(self, instance, run):
        seen = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else run.workers
        run.report(np.full(instance.size, float(seen == run.workers and os.environ["OMP_NUM_THREADS"] == str(run.workers))))


@dataclass(frozen=True)
class Murderer(Base):
    """Kills the process that supervises its own."""

    file: str = ""

    def solve(self, instance, run):
        with open(self.file, "a") as file:
            file.write("killing\n")
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)


@dataclass(frozen=True)
class Tunable(Base):
    """Best at power 4; each halving or doubling makes its solution worse. The other options have no effect."""

    power: float = corl.option(1.0, "The power.", low=0.01, high=100, scale="log")
    colour: Literal["red", "green"] = corl.option("red", "The colour.")
    steps: int = corl.option(0, "Steps; 0: automatic.", low=1, special=0, tuning=(10, 20))

    def solve(self, instance, run):
        noise = np.random.default_rng([run.seed, instance.size]).random()
        while run.budget(1):
            run.report(np.full(instance.size, 1 + abs(np.log2(self.power / 4)) / 8 + noise / 20))


@dataclass(frozen=True)
class Untunable(Base):
    """Its options have no effect."""

    power: float = corl.option(1.0, "The power.", low=0.01, high=100, scale="log")

    def solve(self, instance, run):
        while run.budget(1):
            run.report(np.full(instance.size, 1.0 + np.random.default_rng([run.seed, instance.size]).random()))


def install(folder: Path) -> Path:
    """Make `folder` hold this module as an installed distribution, an instance file and its reference value."""
    (folder / "toy.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    info = folder / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n", encoding="utf-8")
    entries = "\n".join(f"toy.{name.lower()} = toy:{name}" for name in SOLVERS)
    (info / "entry_points.txt").write_text(f"[corl.problems]\ntoy = toy:Toy\n\n[corl.solvers]\n{entries}\n", encoding="utf-8")
    for size in (2, 3, 10):
        (folder / f"z{size}.txt").write_text(f"TOY {size}\n")
    (folder / "reference.csv").write_text("name,value,status,source\nz2,1,best known,guessed\nz3,0,proven,arithmetic\n")
    return folder

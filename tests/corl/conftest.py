"""A plug-in of misbehaving solvers: each mode of `toy.bad` does one thing wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOYS = """
import ctypes, os, signal, sys, threading, time
from dataclasses import dataclass

import corl
import numpy as np


@dataclass(frozen=True)
class Toy:
    name: str


class Toys(corl.Problem):
    name, title, instance_type = "toy", "an array is worth its first element", Toy

    def recognises(self, head):
        return head.startswith("TOY")

    def read(self, path):
        return Toy(path.stem)

    def evaluate(self, instance, solution):
        if not len(solution):
            raise corl.Infeasible("an empty array")
        return float(solution[0])


@dataclass(frozen=True)
class Bad(corl.Solver):
    mode: str = "none"
    title, iteration = "misbehaves", "nothing"

    def prepare(self, instance):
        if self.mode == "slow preparation":
            time.sleep(1.5)
        if self.mode == "endless preparation":
            open("preparing", "w").close()
            time.sleep(600)
        if self.mode == "exit in preparation":
            os._exit(7)

    def own_process(self, instance):
        return self.mode == "deaf"

    def solve(self, instance, run):
        first = run.seed == 0  # the first of several workers
        act = getattr(self, "_" + self.mode.replace(" ", "_"), None)
        if act:
            act(run, first)
        while run.budget():
            time.sleep(0.001)

    def _crash(self, run, first):
        raise ValueError("boom")

    def _exit(self, run, first):
        sys.exit(3)

    def _memory(self, run, first):
        raise MemoryError

    def _lie(self, run, first):
        run.report(np.array([1.0]), 0.5)

    def _lie_later(self, run, first):
        run.report(np.array([1.0]))
        run.report(np.array([0.5]), 0.2)
        run.report(np.array([]))

    def _crash_later(self, run, first):
        run.report(np.array([1.0]))
        raise ValueError("boom")

    def _infeasible(self, run, first):
        run.report(np.array([]))

    def _return(self, run, first):
        run.stop()

    def _unbounded(self, run, first):
        run.report_unbounded()

    def _print(self, run, first):
        run.report(np.array([1.0]))
        print("printed", flush=True)
        os.write(1, b"written\\n")

    def _thread(self, run, first):
        run.report(np.array([1.0]))
        if not first:
            threading.Thread(target=time.sleep, args=(600,)).start()

    def _killed(self, run, first):
        run.report(np.array([2.0 if first else 1.0]))
        if not first:
            os.kill(os.getpid(), signal.SIGKILL)

    def _all_killed(self, run, first):
        run.report(np.array([2.0 if first else 1.0]))
        os.kill(os.getpid(), signal.SIGKILL)

    def _hang(self, run, first):
        run.report(np.array([1.0]))
        while True:
            time.sleep(0.1)

    def _deaf(self, run, first):
        for value in range(40, 0, -1):
            run.report(np.array([float(value)]))
        ctypes.PyDLL(None).sleep(600)  # and keeps the interpreter's lock

    def _big(self, run, first):
        for value in range(5, 0, -1):
            solution = np.zeros(2_000_000)
            solution[0] = value
            run.report(solution)

    def _race(self, run, first):
        for _ in range(run.iterations):
            run.budget(1)
            time.sleep(0.0 if first else 0.02)
            run.report(np.array([5.0 if first else 4.0]))
            if run.should_stop:
                return
"""


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module `toys`, installed as the problem "toy" and its solver "bad", and the instance toy.txt."""
    folder = tmp_path_factory.mktemp("toys")
    (folder / "toys.py").write_text(TOYS)
    (folder / "toy.txt").write_text("TOY\n")
    info = folder / "toys-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[corl.problems]\ntoy = toys:Toys\n[corl.solvers]\ntoy.bad = toys:Bad\n")
    return folder


@pytest.fixture(scope="session")
def toy_command(toys: Path):
    """Run `corl solve toy.txt --option mode=MODE ARGUMENTS` in a child process; returns the CompletedProcess."""

    def call(mode: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "corl", "solve", "toy.txt", "--option", f"mode={mode}", *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": str(toys)}
        return subprocess.run(command, capture_output=True, text=True, cwd=toys, env=environment, timeout=120)

    return call

"""The published checkpoints of SLIM beside `slim`: `python tests/studies/jobshop_authors.py CHECKOUT [GROUP ...] --output FILE`.

CHECKOUT is a folder with the authors' code (github.com/AndreaCorsini1/SelfLabelingJobShop: PointerNet.py, inout.py, sampling.py
and checkpoints/PtrNet-B256.pt), which is no part of this package. For each of Taillard's instances their network builds a greedy
schedule and 128 samples, on one thread; ours builds 128 schedules, and then again as many as it can in the time that theirs
took. A line has the mean gap to the best known makespan in per cent with its 95 % interval over the group's instances, and
processor seconds per instance; in the lines "minus authors" the gap is the paired difference: negative is better for ours.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jobshop_slim import FIELDS, line, taillard_group, values
from numpy.typing import NDArray
from run_table import RunTable

from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.problem import JobShop
from corl.run import Run
from corl.solvers.jobshop.slim.solver import Slim

__all__ = ["main"]

_SAMPLES = 128
_WEIGHTS = "checkpoints/PtrNet-B256.pt"
_FEATURES = 15  # of an operation, in their encoder


class Authors:
    """Their network, from a checkout."""

    def __init__(self, checkout: Path) -> None:
        sys.path.insert(0, str(checkout))
        self._sampling, self._inout = (importlib.import_module(name) for name in ("sampling", "inout"))
        encoder, self._decoder = torch.load(checkout / _WEIGHTS, map_location="cpu", weights_only=False)
        self._encoder = importlib.import_module("PointerNet").GATEncoder(_FEATURES)
        self._encoder.load_state_dict(encoder)

    def makespans(self, instance: JobShopInstance, samples: int) -> NDArray[np.float64]:
        """Return the makespans of `samples` schedules, or of the greedy one for 1."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "instance.jsp"
            file.write_text(_text(instance))
            data = self._inout.load_data(str(file))
        torch.manual_seed(0)
        build = self._sampling.greedy if samples == 1 else self._sampling.sampling
        _, found = build(data, self._encoder, self._decoder, **({} if samples == 1 else {"bs": samples}))
        return np.atleast_1d(found.double().numpy())


def _text(instance: JobShopInstance) -> str:
    """Return a file as the authors' reader takes it: jobs and machines, then "machine duration" for each operation, from 0."""
    jobs, machines = len(instance.first) - 1, instance.machines
    pairs = [f"{machine} {duration}" for machine, duration in zip(instance.choice_machine, instance.choice_duration)]
    rows = [" ".join(pairs[job * machines : (job + 1) * machines]) for job in range(jobs)]
    return "\n".join([f"{jobs} {machines}", *rows, ""])


def _spent(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and its processor seconds."""
    began = time.process_time()
    found = call()
    return found, time.process_time() - began


def _best(solver: Slim, instance: JobShopInstance, seconds: float) -> float:
    """Return our best makespan within a time limit."""
    run = Run(JobShop(), instance, time_limit=seconds, seed=0)
    run.start()
    solver.solve(instance, run)
    assert run.objective is not None
    return run.objective


def _group(authors: Authors, group: str) -> list[list[object]]:
    """Return the lines of a group."""
    instances, best = taillard_group(group)
    ours, unlimited = Slim(width=_SAMPLES - 1), Slim(width=0, rounds=0)
    for solver in (ours, unlimited):
        solver.prepare(instances[0])
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}

    def add(method: str, schedules: int, call: Callable[[], float]) -> float:
        value, seconds = _spent(call)
        found.setdefault((method, schedules), []).append((value, seconds))
        return seconds

    for instance in instances:
        for count in (1, _SAMPLES):
            seconds = add("authors", count, lambda i=instance, n=count: float(authors.makespans(i, n).min()))
        units = _SAMPLES * instance.operations
        add("slim", _SAMPLES, lambda i=instance, n=units: values(ours, i, n, 0)[1])
        add("slim, in the authors' time", _SAMPLES, lambda i=instance, limit=seconds: _best(unlimited, i, limit))
    lines, gaps = [], {}
    for (method, schedules), pairs in found.items():
        makespans, seconds_each = np.array(pairs).T
        gaps[method, schedules] = makespans / best - 1.0
        lines.append(line(group, method, schedules, gaps[method, schedules], float(seconds_each.mean())))
    for method in ("slim", "slim, in the authors' time"):
        difference = gaps[method, _SAMPLES] - gaps["authors", _SAMPLES]
        lines.append(line(group, f"{method}, minus authors", _SAMPLES, difference, 0.0))
    return lines


def main() -> None:
    """The command above; groups that the file has already are left out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("groups", nargs="*", default=["15x15", "20x15", "20x20", "30x15", "30x20", "50x15"], metavar="GROUP")
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    torch.set_num_threads(1)
    authors, table = Authors(given.checkout), RunTable(given.output, FIELDS, ("group",))
    for group in (each for each in given.groups if not table.has(each)):
        for row in _group(authors, group):
            table.append(row)


if __name__ == "__main__":
    main()

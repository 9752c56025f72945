"""The cost model beside measured kernels: every distinct operation of traced models, in PyTorch on one core of this processor.

taskset -c 0 python tests/studies/memory_cost_model.py > instances/memory/results/cost-model.csv
python tests/studies/memory_cost_model.py --table instances/memory/results/cost-model.csv

A model is traced in float32 without fusion, since PyTorch's eager mode does not fuse, and run once on the CPU; then each
operation that differs from those before in kind, shapes or parameters is run again alone on its tensors, all in turn, and the
median of its processor seconds is taken. The modelled time is the judge's, everything in slow memory, on a machine whose rates
are measured on other kernels (`calibrated`): nothing is fitted to the rows. `--table` gives Spearman's rank correlation of the
two, with a 95 % interval (bootstrap over the operations). For models whose operations are traced one by one, as
convolutional ones are.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch.fx import Interpreter

from corl.problems.memory.evaluation import run_plan
from corl.problems.memory.instance import Machine, MappingPlan
from corl.problems.memory.tracing import costs
from corl.problems.memory.tracing.fusion import Group
from corl.problems.memory.tracing.models import build
from corl.problems.memory.tracing.operations import tensors_of
from corl.problems.memory.tracing.program import program_of
from corl.problems.memory.tracing.recording import export, record

__all__ = ["calibrated", "main", "measured", "operations", "summary"]

_COLUMNS = ("model", "batch", "operation", "shapes", "count", "flops", "bytes", "modelled_us", "measured_us")
_SAMPLE = 1e-3  # processor seconds of a sample at the least: short operations are repeated in it


def main(arguments: list[str] | None = None) -> None:
    """Write the rows to standard output, or sum up those of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["resnet50:1", "resnet50:8"], metavar="NAME:BATCH")
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--table", type=Path, help="rows to sum up")
    given = parser.parse_args(arguments)
    if given.table:
        with open(given.table, newline="") as file:
            print("\n".join(summary(list(csv.DictReader(file)))))
        return
    torch.set_num_threads(1)
    machine = calibrated(given.repeats)
    print(machine, file=sys.stderr)
    table = csv.DictWriter(sys.stdout, _COLUMNS, lineterminator="\n")
    table.writeheader()
    for each in given.models:
        name, _, batch = each.partition(":")
        found = operations(name, int(batch or 1), machine)
        seconds = measured([call for call, _ in found], given.repeats)
        for (_, facts), spent in zip(found, seconds):
            table.writerow({"model": name, "batch": batch or 1} | facts | {"measured_us": f"{1e6 * spent:.3f}"})


@torch.no_grad()
def measured(calls: list[Callable[[], Any]], repeats: int) -> list[float]:
    """The median of each call's processor seconds; a repetition has a sample of each, so that all see the same disturbances."""
    inner, samples = [], [list[float]() for _ in calls]
    for call in calls:
        call()
        inner.append(max(1, int(_SAMPLE / max(_seconds(call, 1), 1e-9))))
    for _ in range(repeats):
        for call, count, found in zip(calls, inner, samples):
            found.append(_seconds(call, count) / count)
    return [median(found) for found in samples]


def _seconds(call: Callable[[], Any], count: int) -> float:
    begin = time.thread_time()
    for _ in range(count):
        call()
    return time.thread_time() - begin


def calibrated(repeats: int) -> Machine:
    """The machine: a product of 1024 x 1024 matrices, sums of arrays in cache and out of it, and of one element each."""
    square, small, large, one = (torch.rand(shape) for shape in ((1024, 1024), (2**13,), (2**26,), (1,)))
    calls = [lambda: square @ square, lambda: small.add_(1.0), lambda: large.add_(1.0), lambda: one.add_(1.0)]
    product, cached, streamed, nothing = measured(calls, repeats)
    bandwidth = 2 * 4 * large.numel() / streamed
    return Machine(
        slow_bandwidth=bandwidth,
        matrix_flops=2 * 1024**3 / product,
        vector_flops=small.numel() / (cached - nothing),
        overhead=nothing,
    )


class _Calls(Interpreter):
    """An exported graph, run on tensors of the CPU; the calls of ATen operations as they come."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.seen: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Run it and keep what it was called with."""
        if isinstance(target, torch._ops.OpOverload):
            self.seen.append((target, args, kwargs))
        return super().call_function(target, args, kwargs)


@torch.no_grad()
def operations(name: str, batch: int, machine: Machine) -> list[tuple[Callable[[], Any], dict[str, Any]]]:
    """The distinct operations of a model that we have: a call of each, and its row without the measured time."""
    model, shapes = build(name, batch)
    torch.manual_seed(1)
    model = model.to_empty(device="cpu")
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.uniform_(0.01, 0.1) if tensor.is_floating_point() else tensor.zero_()
    kinds = {torch.int64: torch.zeros_like}
    inputs = [kinds.get(shape.dtype, torch.rand_like)(shape, device="cpu") for shape in shapes]
    program = export(model, inputs)
    recording = record(program, name)
    groups = [Group([step], k) for k, step in enumerate(recording.steps)]
    instance = program_of(recording, groups, machine)
    nothing = np.zeros((0, 4), np.int64)
    modelled = run_plan(instance, MappingPlan(nothing, nothing)).duration
    moved = np.bincount(instance.access_op, instance.access_bytes, instance.ops)
    calls = _Calls(program.graph_module)
    values = {**program.state_dict, **program.constants}
    given = iter(inputs)
    calls.run(*(values[spec.target] if spec.target in values else next(given) for spec in program.graph_signature.input_specs))
    rows: dict[Any, tuple[Callable[[], Any], dict[str, Any]]] = {}
    left = iter(calls.seen)
    for k, step in enumerate(recording.steps):
        call = next((call for call in left if costs.base_name(call[0]) == step.kind), None)  # views come between
        if call is None:
            raise SystemExit(f"{name}: {step.kind} is part of another operation; accepted: convolutional models")
        target, args, kwargs = call
        sizes = [tuple(t.shape) for t in tensors_of((args, kwargs))]
        key = (step.kind, str(sizes), str([a for a in args if not isinstance(a, torch.Tensor)]))
        if key not in rows:
            facts = {"operation": step.kind, "shapes": " ".join("x".join(map(str, size)) for size in sizes), "count": 0}
            facts |= {"flops": int(instance.flops[k]), "bytes": int(moved[k]), "modelled_us": f"{1e6 * modelled[k]:.3f}"}
            rows[key] = (lambda target=target, args=args, kwargs=kwargs: target(*args, **kwargs)), facts
        rows[key][1]["count"] += 1
    return list(rows.values())


def summary(rows: list[dict[str, str]]) -> list[str]:
    """Lines of a table: for each model and batch, and each kind of operation with five or more sizes, the rank correlation of the
    measured time with the modelled one, and beside it with FLOPs alone and bytes alone."""
    lines = ["| operations | sizes | modelled time | FLOPs | bytes | measured / modelled, median |", "|---|---|---|---|---|---|"]
    for name in sorted({f"{row['model']} {row['batch']}" for row in rows}):
        chosen = [row for row in rows if f"{row['model']} {row['batch']}" == name]
        kinds = sorted({row["operation"] for row in chosen})
        parts = [("all", chosen)] + [(kind, [row for row in chosen if row["operation"] == kind]) for kind in kinds]
        for kind, part in parts:
            if len(part) < 5:
                continue
            keys = ("modelled_us", "flops", "bytes")
            *theories, seen = (np.array([float(row[key]) for row in part]) for key in (*keys, "measured_us"))
            spans = [(_rank(theory, seen), *_interval(theory, seen)) for theory in theories]
            cells = [f"{value:.3f} [{low:.3f}, {high:.3f}]" for value, low, high in spans]
            lines.append(f"| {name}, {kind} | {len(part)} | {' | '.join(cells)} | {np.median(seen / theories[0]):.2f} |")
    return lines


def _rank(one: Any, other: Any) -> float:
    return float(stats.spearmanr(one, other).statistic)


def _interval(one: Any, other: Any) -> tuple[float, float]:
    """95 %, by the bootstrap over the operations; a resample in which one of the two is constant counts as no correlation."""

    def rank(one: Any, other: Any) -> float:
        return _rank(one, other) if np.ptp(one) and np.ptp(other) else 0.0

    random = np.random.default_rng(0)
    found = stats.bootstrap((one, other), rank, paired=True, vectorized=False, n_resamples=2000, method="percentile", rng=random)
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


if __name__ == "__main__":
    main()

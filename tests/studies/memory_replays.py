"""What a plan loses when it is played in a game of memory mapping: `python tests/studies/memory_replays.py [NAME-MIB ...]`.

Annealing's plan of each program is kept but for what a game would decide by itself. Columns, in per cent above annealing's
microseconds:
- game: the mallocGame (`Problem.decisions`); mapping-replays.csv has it as it was, with offsets given in schedule order for good;
- stall, hidden, either: what is in fast memory from which access to which is the plan's, copies are decided anew in the order of
  their uses: they begin with the operation before the use, as late as idle bandwidth hides them, or with the nearer one of both;
  offsets are chosen at the end. load: the most that the last of them has in fast memory, in capacities; left: how many of its
  rectangles find no offset, packed by size, those that found no room before ahead;
- by_area, by_size: the plan's runs at the lowest free offset one after the other in that order, left out where there is no room.
Alias groups count as tensors of their own, so a load above 1 may be theirs.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import corl
from corl import registry
from corl.problems.memory.generators import traced
from corl.problems.memory.instance import IN, MappingInstance, MappingPlan
from corl.problems.memory.timing import lowest_offset
from corl.solvers.memory.layout import Layout, Program, evaluate, latest_start, new_layout, program_of, put

__all__ = ["FIELDS", "replayed"]

FIELDS = (
    "program", "annealing", "tuned_xla_like", "game", "stall", "hidden", "either", "load", "left", "by_area", "by_size",
)  # fmt: skip
PAIRS = tuple(f"{name}-{mib}" for name in ("t5-b1", "vit-b1", "gnn-b1", "resnet50-b1", "gpt2-b1", "unet-b1") for mib in (1, 2, 4))
_TRIES = 200  # orders of packing


class Run(NamedTuple):
    """A stay of tensor `tensor` in fast memory from operation `low` to before `high`; it serves from its access `first` on."""

    tensor: int
    first: int
    low: int
    fill: int
    """The operation before which its copy ends; `low` where it begins with a definition."""
    high: int


def replayed(instance: MappingInstance, plan: MappingPlan) -> dict[str, float]:
    """Of a plan microseconds in each variant, and `load` and `left`."""
    program, problem = program_of(instance), registry.problem("memory")
    runs = _runs(program, plan)
    environment, row = problem.environment([instance], 1), np.zeros(1, np.int64)
    environment.reset(row, 0)
    for action in problem.decisions(instance, plan):
        environment.step(row, row, np.array([action]))
    found = {"game": problem.evaluate(instance, environment.solution(0))}
    layout = new_layout(program)
    for name, choices in (("stall", (0.0,)), ("hidden", (1.0,)), ("either", (0.0, 1.0))):
        layout = _timed_anew(program, runs, choices)
        found[name] = 1e6 * evaluate(program, layout)
    rects = layout.rects[: layout.run_count[0]]
    found |= {"load": _load(program, rects), "left": float(_left(rects, program.capacity))}

    def area(run: Run) -> float:
        return -float(program.sizes[run.tensor]) * (run.high - run.low)

    def size(run: Run) -> float:
        return -float(program.sizes[run.tensor])

    return found | {"by_area": _in_order(program, runs, area), "by_size": _in_order(program, runs, size)}


def _runs(program: Program, plan: MappingPlan) -> list[Run]:
    """The residencies of a plan, in the order of their first uses."""
    fills = {(t, low): fill for t, way, low, fill in plan.copies.tolist() if way == IN}
    runs = []
    for t, low, high, _ in plan.residencies.tolist():
        fill, uses = fills.get((t, low), low), program.use_op[program.first_access[t] : program.first_access[t + 1]]
        runs.append(Run(t, int(np.searchsorted(uses, fill)), low, fill, high))
    return sorted(runs, key=lambda run: run.fill)


def _timed_anew(program: Program, runs: list[Run], choices: tuple[float, ...]) -> Layout:
    """The runs, copies beginning where so many times their bytes are idle before the use (0: the operation before it): of the
    choices what is nearest to the plan's."""
    layout, ends = new_layout(program), dict[int, int]()
    evaluate(program, layout)
    for run in runs:
        size, low = program.sizes[run.tensor], run.low
        if run.fill > run.low:
            earliest = max(int(program.definition[run.tensor]) + 1, ends.get(run.tensor, 0))
            starts = [int(latest_start(layout, run.fill, earliest, share * size)) for share in choices]
            low = min(starts, key=lambda start: abs(start - run.low))
        put(layout, run.tensor, run.first, low, run.high, 0, size)
        ends[run.tensor] = run.high
        evaluate(program, layout)
    return layout


def _in_order(program: Program, runs: list[Run], key: Callable[[Run], float]) -> float:
    """Microseconds with the runs put at the lowest free offset one by one, their copies hidden; those without room left out."""
    layout = new_layout(program)
    evaluate(program, layout)
    for run in sorted(runs, key=key):
        size, low = program.sizes[run.tensor], run.low
        count, rects = int(layout.run_count[0]), layout.rects
        if run.fill > run.low:
            ends = [int(rects[r, 1]) for r in range(count) if layout.runs[r, 0] == run.tensor and rects[r, 1] <= run.fill]
            low = int(latest_start(layout, run.fill, max([int(program.definition[run.tensor]) + 1, *ends]), size))
        offset = lowest_offset(rects, count, low, run.high, size, program.capacity)
        if offset >= 0:
            put(layout, run.tensor, run.first, low, run.high, offset, size)
            evaluate(program, layout)
    return float(1e6 * evaluate(program, layout))


def _load(program: Program, rects: Any) -> float:
    """The most that is there at once, in capacities."""
    change = np.zeros(len(program.compute) + 1, np.int64)
    np.add.at(change, rects[:, 0], rects[:, 3])
    np.subtract.at(change, rects[:, 1], rects[:, 3])
    return float(np.cumsum(change).max(initial=0)) / max(1, program.capacity)


def _left(rects: Any, capacity: int) -> int:
    """How many rectangles find no offset, in the best of some orders: by size, then with the first that found none ahead."""
    order, least = np.argsort(-rects[:, 3], kind="stable").tolist(), len(rects)
    for number in range(_TRIES):
        placed, failed = np.zeros((len(rects), 4), np.int64), []
        for r in order:
            low, high, _, size = rects[r].tolist()
            offset = lowest_offset(placed, len(placed), low, high, size, capacity)
            if offset < 0:
                failed.append(r)
            else:
                placed[r] = low, high, offset, size
        least = min(least, len(failed))
        if not failed:
            break
        at = order.index(failed[0])
        order.insert(0 if number % 2 else at // 2, order.pop(at))
    return least


def main(arguments: list[str] | None = None) -> None:
    """Write a row of CSV for each program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", default=PAIRS, metavar="NAME-MIB", help="a shipped program and its fast memory")
    parser.add_argument("--seconds", type=float, default=10.0, help="of annealing")
    given = parser.parse_args(arguments)
    table = csv.DictWriter(sys.stdout, FIELDS, lineterminator="\n")
    table.writeheader()
    for pair in given.pairs:
        name, _, mib = pair.rpartition("-")
        instance = traced(program=name, fast_mib=float(mib))
        best = corl.solve(instance, problem="memory", solver="annealing", time_limit=given.seconds, seed=1)
        compiled = corl.solve(instance, problem="memory", solver="xla-like", tuned=True)
        assert best.objective is not None and compiled.objective is not None
        row: dict[str, Any] = {"program": pair, "annealing": f"{best.objective:.4f}"}
        row["tuned_xla_like"] = f"{100.0 * (compiled.objective / best.objective - 1.0):.3f}"
        for field, value in replayed(instance, best.solution).items():
            row[field] = f"{value:.3f}" if field in ("load", "left") else f"{100.0 * (value / best.objective - 1.0):.3f}"
        table.writerow(row)
        sys.stdout.flush()


if __name__ == "__main__":
    main()

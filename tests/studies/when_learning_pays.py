"""Learned policies beside rules and search at equal time: `python tests/studies/when_learning_pays.py STORE --output FILE`.

STORE is that of a suite FAMILY/learning (`corl bench tsp/learning`). A line of the output compares one learned method with one
other on a group of instances at a time limit: the mean gaps of both to the best value in the store, and the mean of the paired
differences (learned minus other, so that negative is better) with its 95 % bootstrap interval over instances; all in per cent.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from corl.benchmark.reporting.grid import Grid, is_limit_free
from corl.statistics import resampled_mean
from corl.store import Store

__all__ = ["FIELDS", "LEARNED", "compared", "main"]

LEARNED = ("policy", "slim", "cp-agent", "learned-priority")
"""The labels of learned methods in the suites."""
FIELDS = ("group", "limit", "learned", "other", "instances", "learned_gap", "other_gap", "difference", "low", "high")
_TIE = 1e-9  # relative difference below which two values are equal


def compared(store: Store) -> Iterator[dict[str, Any]]:
    """Yield the lines of a store, in the order of groups, limits and solvers."""
    records = store.records()
    limits = sorted({record.time_limit for record in records if record.time_limit is not None})
    for group in dict.fromkeys(str(record.facts.get("group", "")) for record in records):
        of_group = [record for record in records if str(record.facts.get("group", "")) == group]
        grid = Grid.of(of_group, limits, is_limit_free)
        gaps = 100.0 * grid.gaps()[..., 0]  # [limits, solvers, instances]
        for at, limit in enumerate(grid.limits):
            for a, learned in enumerate(grid.solvers):
                for b, other in enumerate(grid.solvers):
                    if learned in LEARNED and other not in LEARNED:
                        yield {"group": group, "limit": limit.seconds, "learned": learned, "other": other} | _pair(
                            gaps[at, a], gaps[at, b]
                        )


def _pair(learned: Any, other: Any) -> dict[str, Any]:
    """Return the other columns of a line, from the gaps of two methods per instance in per cent, NaN where one found nothing."""
    known = np.isfinite(learned) & np.isfinite(other)
    difference = learned[known] - other[known]
    difference[np.abs(difference) < 100.0 * _TIE] = 0.0
    found = resampled_mean(difference)
    numbers = [learned[known].mean(), other[known].mean(), found.value, found.low, found.high]
    texts = ["" if value is None else f"{value:.4f}" for value in numbers]
    return dict(zip(FIELDS[4:], [int(known.sum()), *texts], strict=True))


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    with args.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(compared(Store(args.store)))


if __name__ == "__main__":
    main()

"""The best known objectives of a study's instances, kept in a CSV file (`name,value,status,source`) as they are found."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corl.benchmark.running.references import read_references

__all__ = ["best_known"]


def best_known(names: Sequence[str], find: Callable[[int], float], source: str, file: Path | None = None) -> NDArray[np.float64]:
    """float64 [I]: of each name what `file` says or, where it says nothing, `find` of its place, which the file then keeps.

    source: what `find` does, in words.
    """
    known = read_references(file) if file is not None and file.exists() else {}
    values = np.empty(len(names))
    for i, name in enumerate(names):
        if name in known:
            values[i] = known[name].value
            continue
        values[i] = find(i)
        if file is not None:
            new = not file.exists()
            with file.open("a", newline="") as table:
                writer = csv.writer(table, lineterminator="\n")
                writer.writerows([("name", "value", "status", "source")] if new else [])
                writer.writerow((name, repr(float(values[i])), "best known", source))
    return values

"""Solution files (.sol) in SCIP's format: lines `name value (obj:cost)`, without variables that are 0.

The .sol files of Gurobi and HiGHS can be read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.files.opening import writing
from corl.files.text import Text, quoted
from corl.problems.milp.evaluation import check, objective_of
from corl.problems.milp.instance import MilpInstance

__all__ = ["read_solution", "write_solution"]

_LINE = re.compile(r"(?P<name>\S.*?)\s+(?P<value>\S+)(?:\s*\(obj:.*\))?")
_COLUMNS = re.compile(r"^# Columns \d+$", re.MULTILINE)
_HEADER = re.compile(r"(solution status|objective value)\s*:|=(obj|infeas)=|#", re.IGNORECASE)


def read_solution(instance: MilpInstance, path: str | Path) -> NDArray[np.float64]:
    """Return the values of the variables, float64 [n]; variables that are not listed are 0. Raises InputError, or OSError."""
    text = Text.read(path)
    x, given = np.zeros(instance.n), {}  # type: NDArray[np.float64], dict[int, int]
    for line, content in _listed(text):
        if _HEADER.match(content):
            continue
        match = _LINE.fullmatch(content)
        if match is None:
            raise text.error(f"{quoted(content)} is not accepted; accepted: a variable's name and a number", line=line)
        if content.lower() == "no solution available":
            raise text.error("the file says that there is no solution", line=line)
        j = instance.index.get(match["name"])
        if j is None:
            raise text.error("no variable has this name", line=line, field=match["name"][:40])
        if j in given:
            raise text.error(f"given twice, first in line {given[j]}", line=line, field=match["name"][:40])
        given[j] = line
        x[j] = text.number(match["value"], match["name"][:40], line)
    return x


def _listed(text: Text) -> Iterator[tuple[int, str]]:
    """Yield (number, content) of the lines that may list variables: in files of HiGHS only those of the section "# Columns"."""
    sections = _COLUMNS.search(text.content) is not None
    listed = not sections
    for line, content in text.lines():
        if sections and content.startswith("#"):
            listed = _COLUMNS.match(content) is not None
        elif listed:
            yield line, content


def write_solution(instance: MilpInstance, solution: Any, path: str | Path) -> None:
    """Write a solution, with values from which the same doubles are read. Raises Infeasible if it is not feasible."""
    x = check(instance, solution)
    with writing(path) as stream:
        stream.write(f"solution status: feasible\nobjective value: {objective_of(instance, x)!r}\n")
        for j in np.flatnonzero(x).tolist():
            stream.write(f"{instance.names[j]:<50} {float(x[j])!r} \t(obj:{float(instance.c[j])!r})\n")

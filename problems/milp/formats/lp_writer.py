"""Writer of LP files (CPLEX's text format)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from corl.errors import UsageError
from corl.files.opening import writing
from corl.files.text import quoted
from corl.problems.milp.formats.lp_expressions import infinite
from corl.problems.milp.formats.lp_tokens import NAME, is_head
from corl.problems.milp.instance import MilpInstance

__all__ = ["write_lp"]


def write_lp(instance: MilpInstance, path: Path) -> None:
    """Write an LP file, from which `read_lp` returns a bit-identical instance. Raises UsageError for names that LP forbids."""
    sets = () if instance.conditions is None else instance.conditions.sets
    for name in (*instance.names, *instance.row_names, *(ordered.name for ordered in sets)):
        if not re.fullmatch(NAME, name) or infinite(name) or name.lower() == "free" or is_head(name):
            raise UsageError(f"{path.name}: {quoted(name)} cannot be a name in an LP file; accepted: a name in .mps")
    with writing(path) as stream:
        stream.writelines(f"\\ {line}\n" for line in instance.comment.splitlines())
        stream.write("maximize\n" if instance.sense == "max" else "minimize\n")
        terms = [(name, value) for name, value in zip(instance.names, instance.c.tolist())]
        stream.writelines(_wrapped(" obj:", terms, instance.offset))
        stream.write("subject to\n")
        columns, values, first = instance.column.tolist(), instance.value.tolist(), instance.first.tolist()
        for i, (name, low, high) in enumerate(zip(instance.row_names, instance.row_lower.tolist(), instance.row_upper.tolist())):
            row = [(instance.names[columns[k]], values[k]) for k in range(first[i], first[i + 1])] or [(instance.names[0], 0.0)]
            begin, end = _relations(low, high)
            stream.writelines(_wrapped(f" {name}:{_indicator(instance, i)}{begin}", row, 0.0, end))
        stream.write("bounds\n")
        for name, low, high in zip(instance.names, instance.lower.tolist(), instance.upper.tolist()):
            if math.isinf(low) and math.isinf(high):
                stream.write(f" {name} free\n")
            else:
                stream.write(f" {_limit(low)} <= {name} <= {_limit(high)}\n")
        stream.write("general\n")
        integers = [name for name, flag in zip(instance.names, instance.integer.tolist()) if flag]
        stream.writelines(f" {name}\n" for name in integers)
        stream.writelines(_conditions(instance))
        stream.write("end\n")


def _indicator(instance: MilpInstance, row: int) -> str:
    """Return the text of a row's indicator, which stands before its terms."""
    conditions = instance.conditions
    if conditions is None or conditions.indicator[row] < 0:
        return ""
    if (
        np.isfinite([instance.row_lower[row], instance.row_upper[row]]).all()
        and instance.row_lower[row] < instance.row_upper[row]
    ):
        what = f"row {instance.row_names[row]}, which has an indicator and two sides"
        raise UsageError(f"an LP file cannot hold {what}; accepted: one side, or a name in .mps")
    return f" {instance.names[conditions.indicator[row]]} = {conditions.active[row]} ->"


def _conditions(instance: MilpInstance) -> Iterator[str]:
    """Yield the sections of semi-continuous variables and of ordered sets."""
    conditions = instance.conditions
    if conditions is None:
        return
    if conditions.semicontinuous.any():
        yield "semi-continuous\n"
        yield from (f" {instance.names[j]}\n" for j in np.flatnonzero(conditions.semicontinuous))
    if conditions.sets:
        yield "sos\n"
    for ordered in conditions.sets:
        members = zip(ordered.columns.tolist(), ordered.weights.tolist())
        yield f" {ordered.name}: S{ordered.kind}::\n"
        yield from (f"  {instance.names[j]}:{weight!r}\n" for j, weight in members)


def _relations(low: float, high: float) -> tuple[str, str]:
    """Return the texts for the sides of a row: the text before its terms and the text after them."""
    if low == high:
        return "", f" = {low!r}"
    if math.isinf(high) and math.isfinite(low):
        return "", f" >= {low!r}"
    return "" if math.isinf(low) else f" {low!r} <=", f" <= {high if math.isfinite(high) else 1e30!r}"


def _limit(value: float) -> str:
    return f"{'-' if value < 0 else '+'}inf" if math.isinf(value) else repr(value)


def _wrapped(begin: str, terms: Iterable[tuple[str, float]], constant: float, end: str = "") -> Iterator[str]:
    """Yield the lines of an expression, each of at most about 250 characters."""
    line = begin
    for name, value in terms:
        part = f" {'-' if math.copysign(1.0, value) < 0 else '+'} {abs(value)!r} {name}"
        if len(line) + len(part) > 250:
            yield line + "\n"
            line = " "
        line += part
    if constant:
        line += f" {'-' if constant < 0 else '+'} {abs(constant)!r}"
    yield f"{line}{end}\n"

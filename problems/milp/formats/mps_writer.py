"""Writer of MPS files in free format."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corl.errors import UsageError
from corl.files.opening import writing
from corl.problems.milp.instance import MilpInstance

__all__ = ["write_mps"]


def write_mps(instance: MilpInstance, path: Path) -> None:
    """Write a free MPS file, from which `read_mps` returns an equal instance. Raises UsageError if MPS cannot hold the instance.

    The instance is bit-identical except for the upper sides of rows with two sides: MPS stores the lower side and the difference,
    and adding them may round.
    """
    _check_names(instance, path)
    taken = set(instance.row_names)
    objective = next(name for k in range(len(taken) + 1) if (name := f"obj{k or ''}") not in taken)
    with writing(path) as stream:
        stream.writelines(f"* {line}\n" for line in instance.comment.splitlines())
        stream.write(f"NAME {'_'.join(instance.name.split())}\n")
        stream.write("OBJSENSE\n    MAX\n" if instance.sense == "max" else "")
        stream.write(f"ROWS\n N  {objective}\n")
        kinds = [_kind(low, high) for low, high in zip(instance.row_lower.tolist(), instance.row_upper.tolist())]
        stream.writelines(f" {kind}  {name}\n" for kind, name in zip(kinds, instance.row_names))
        stream.write("COLUMNS\n")
        stream.writelines(_columns(instance, objective))
        stream.write("RHS\n")
        if instance.offset:
            stream.write(f"    RHS  {objective}  {-instance.offset!r}\n")
        sides = zip(kinds, instance.row_names, instance.row_lower.tolist(), instance.row_upper.tolist())
        ranges = []
        for kind, name, low, high in sides:
            side = high if kind == "L" else low
            if side:  # a row without any limit is written as an L row with an infinite side
                stream.write(f"    RHS  {name}  {side if math.isfinite(side) else 1e30!r}\n")
            ranges += [] if low == high or math.isinf(low) or math.isinf(high) else [(name, low, high)]
        if ranges:
            stream.write("RANGES\n")
            stream.writelines(f"    RNG  {name}  {high - low!r}\n" for name, low, high in ranges)
        stream.write("BOUNDS\n")
        for j, (name, low, high) in enumerate(zip(instance.names, instance.lower.tolist(), instance.upper.tolist())):
            semicontinuous = instance.conditions is not None and bool(instance.conditions.semicontinuous[j])
            bounds = _semicontinuous(low, high) if semicontinuous else _bounds(low, high, bool(instance.integer[j]))
            stream.writelines(f" {kind} BND  {name}{value}\n" for kind, value in bounds)
        stream.writelines(_conditions(instance))
        stream.write("ENDATA\n")


def _check_names(instance: MilpInstance, path: Path) -> None:
    """Raise UsageError if MPS cannot hold a name, or a row whose lower side is above its upper side."""
    sets = () if instance.conditions is None else instance.conditions.sets
    for name in (*instance.names, *instance.row_names, *(ordered.name for ordered in sets)):
        if len(name.split()) != 1:
            raise UsageError(f"{path.name}: {name!r} cannot be a name in an MPS file; accepted: names without blanks")
    if (instance.row_lower > instance.row_upper).any():
        i = int((instance.row_lower > instance.row_upper).argmax())
        raise UsageError(f"{path.name}: an MPS file cannot hold row {instance.row_names[i]}, whose lower side is above its upper")


def _kind(low: float, high: float) -> str:
    """Return the kind of a row with these sides: E (equal), G (greater) or L (less)."""
    if low == high:
        return "E"
    return "G" if math.isfinite(low) else "L"


def _columns(instance: MilpInstance, objective: str) -> Iterator[str]:
    """Yield the lines of COLUMNS, with markers around blocks of integer variables; `objective` names the objective row."""
    order = np.argsort(instance.column, kind="stable")
    ends = np.cumsum(np.bincount(instance.column, minlength=instance.n))
    rows, values, begin, in_block = instance.row[order].tolist(), instance.value[order].tolist(), 0, False
    columns = zip(instance.names, instance.c.tolist(), instance.integer.tolist(), ends.tolist())
    for j, (name, cost, is_integer, end) in enumerate(columns):
        if is_integer != in_block:
            yield f"    MARKER{j}  'MARKER'  {chr(39)}{'INTORG' if is_integer else 'INTEND'}{chr(39)}\n"
            in_block = is_integer
        if cost or end == begin:
            yield f"    {name}  {objective}  {cost!r}\n"
        for k in range(begin, end):
            yield f"    {name}  {instance.row_names[rows[k]]}  {values[k]!r}\n"
        begin = end
    if in_block:
        yield "    MARKER  'MARKER'  'INTEND'\n"


def _semicontinuous(low: float, high: float) -> Iterator[tuple[str, str]]:
    """Yield (kind, value) for the lines of BOUNDS of a semi-continuous variable; whether it is an integer is said by a MARKER."""
    yield "LO", f"  {low!r}"
    yield "SC", f"  {high!r}"


def _conditions(instance: MilpInstance) -> Iterator[str]:
    """Yield the lines of the sections SOS and INDICATORS."""
    conditions = instance.conditions
    if conditions is None:
        return
    if conditions.sets:
        yield "SOS\n"
        for ordered in conditions.sets:
            yield f" S{ordered.kind} {ordered.name}\n"
            for j, weight in zip(ordered.columns.tolist(), ordered.weights.tolist()):
                yield f"    {instance.names[j]}  {weight!r}\n"
    rows = np.flatnonzero(conditions.indicator >= 0).tolist()
    if rows:
        yield "INDICATORS\n"
    for i in rows:
        yield f" IF {instance.row_names[i]}  {instance.names[conditions.indicator[i]]}  {conditions.active[i]}\n"


def _bounds(low: float, high: float, is_integer: bool) -> Iterator[tuple[str, str]]:
    """Yield (kind, value) for the lines of BOUNDS that set these limits, so that no reader falls back on its own defaults."""
    if low == high:
        yield "FX", f"  {low!r}"
        return
    if math.isinf(low):
        yield ("FR" if math.isinf(high) else "MI"), ""
    elif low or high < 0.0:
        yield "LO", f"  {low!r}"
    if math.isfinite(high):
        yield "UP", f"  {high!r}"
    elif is_integer and not math.isinf(low):
        yield "PL", ""

"""Conversion of fused operations (groups of recorded steps) into an instance of memory mapping."""

from __future__ import annotations

from collections.abc import Iterable

from corl.errors import InputError
from corl.problems.memory.instance import Machine, MappingInstance, Op, from_program
from corl.problems.memory.tracing.fusion import Group
from corl.problems.memory.tracing.steps import Recording, View

__all__ = ["program_of"]


def program_of(recording: Recording, groups: list[Group], machine: Machine, comment: str = "") -> MappingInstance:
    """Return the program in which each group is one operation, on the given machine.

    An operation moves each byte that it accesses once. Raises InputError if there are no groups.
    """
    if not groups:
        raise InputError("nothing is computed from inputs; accepted: a model with at least one operation")
    accesses = [(_reads(recording, group), _writes(group)) for group in groups]
    numbers: dict[int, int] = {}  # version -> number of its tensor in the program
    for reads, writes in accesses:
        for v in (*reads, *writes):
            numbers.setdefault(v, len(numbers))
    ops = []
    for group, (reads, writes) in zip(groups, accesses):
        matrix, flops = _work(group)
        lists = [[(numbers[v], count) for v, count in part.items()] for part in (reads, writes)]
        ops.append(Op(_name(group), matrix, flops, *lists))
    versions = recording.versions
    tensors = [(versions[v].name, versions[v].bytes, versions[v].kind) for v in numbers]
    aliases = [[numbers[v] for v in family] for family in _families(recording, numbers) if len(family) > 1]
    return from_program(ops, tensors, machine, aliases=aliases, name=recording.name, comment=comment)


def _reads(recording: Recording, group: Group) -> dict[int, int]:
    """Return the bytes that a group reads of each version (of a storage).

    Equal views count once, and all views of a version together count at most the version's size.
    """
    views: dict[int, dict[View, int]] = {}
    needed = group.read
    for step in group.steps:
        for v, read_views in step.reads.items():
            if v in needed:
                views.setdefault(v, {}).update(read_views)
    return {v: min(sum(read_views.values()), recording.versions[v].bytes) for v, read_views in views.items()}


def _writes(group: Group) -> dict[int, int]:
    """Return the bytes that a group writes of each version."""
    written = group.written
    return {v: count for step in group.steps for v, count in step.writes.items() if v in written}


def _work(group: Group) -> tuple[bool, float]:
    """Return whether the matrix unit takes longer than the vector unit, and the FLOPs of the unit that takes longer.

    The other unit works at the same time, so its FLOPs take no additional time. The rates are those of the default machine.
    """
    matrix, vector = (sum(getattr(step.cost, unit) for step in group.steps) for unit in ("matrix", "vector"))
    matrix_is_slower = matrix / Machine.matrix_flops >= vector / Machine.vector_flops and matrix > 0
    return matrix_is_slower, float(matrix if matrix_is_slower else vector)


def _name(group: Group) -> str:
    """Return the operation's name: the first step's sub-module and the kinds of all steps."""
    kinds = "+".join(step.kind for step in group.steps)
    module = group.steps[0].module
    return f"{module}: {kinds}" if module else kinds


def _families(recording: Recording, present: Iterable[int]) -> list[list[int]]:
    """Return the versions in `present`, in their order, grouped by shared memory.

    A version that updates another one in place shares its memory.
    """
    families: dict[int, list[int]] = {}  # first version of a memory -> versions
    for v in present:
        root = v
        while recording.versions[root].origin >= 0:
            root = recording.versions[root].origin
        families.setdefault(root, []).append(v)
    return list(families.values())

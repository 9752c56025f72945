"""Fused operations as an instance of memory mapping."""

from __future__ import annotations

from collections.abc import Iterable

from corl.errors import InputError
from corl.problems.memory.instance import Machine, MappingInstance, Op, from_program
from corl.problems.memory.tracing.fusion import Group
from corl.problems.memory.tracing.steps import Recording, View

__all__ = ["program_of"]


def program_of(recording: Recording, groups: list[Group], machine: Machine, comment: str = "") -> MappingInstance:
    """Return the program of the groups. An operation moves each byte that it accesses once. Raises InputError if it is empty."""
    if not groups:
        raise InputError("nothing is computed from inputs; accepted: a model with at least one operation")
    accesses = [(_reads(recording, group), _writes(group)) for group in groups]
    numbers: dict[int, int] = {}
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
    """Return the bytes that a group reads of each version: equal views count once, and all together at most its size."""
    views: dict[int, dict[View, int]] = {}
    needed = group.read
    for step in group.steps:
        for v, read_views in step.reads.items():
            if v in needed:
                views.setdefault(v, {}).update(read_views)
    return {v: min(sum(read_views.values()), recording.versions[v].bytes) for v, read_views in views.items()}


def _writes(group: Group) -> dict[int, int]:
    left = group.written
    return {v: count for step in group.steps for v, count in step.writes.items() if v in left}


def _work(group: Group) -> tuple[bool, float]:
    """Return whether the matrix unit takes longer, at the default machine's rates, and the FLOPs of the slower unit.

    The other unit works at the same time.
    """
    matrix, vector = (sum(getattr(step.cost, unit) for step in group.steps) for unit in ("matrix", "vector"))
    longer = matrix / Machine.matrix_flops >= vector / Machine.vector_flops and matrix > 0
    return longer, float(matrix if longer else vector)


def _name(group: Group) -> str:
    kinds = "+".join(step.kind for step in group.steps)
    module = group.steps[0].module
    return f"{module}: {kinds}" if module else kinds


def _families(recording: Recording, present: Iterable[int]) -> list[list[int]]:
    """Return the versions that are present, in their order, grouped by the memory they share through updates in place."""
    families: dict[int, list[int]] = {}
    for v in present:
        root = v
        while recording.versions[root].origin >= 0:
            root = recording.versions[root].origin
        families.setdefault(root, []).append(v)
    return list(families.values())

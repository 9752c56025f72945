"""Fusion: the steps that become one operation of the program, as compilers for accelerators fuse them.

1. An elementwise step joins the operation that made one of its operands, if nothing else reads that operand, it is no output,
   and it has as many elements as the result (batch normalisation, bias, residual addition and activation after a convolution).
   Of several such operands, that of the latest operation is taken; the operations of the others, if they consist of elementwise
   steps alone, become part of it.
2. A reduction (softmax, normalisation, sum) joins an operation of elementwise steps alone that made its operand, under the same
   conditions (the mask before softmax, the square before a mean).
3. Constants are computed before the program runs (recording.py); zeros, ranges and the like are made by their readers.

The operation runs at the time of its last step; steps are not fused if an operation in between needs the result, or overwrites
an operand. Type conversions are elementwise; copies into another layout are operations of their own, as are gathers and
concatenations.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

from corl.problems.memory.tracing.steps import Recording, Step

__all__ = ["Group", "fuse"]


@dataclass
class Group:
    """Steps that form one operation."""

    steps: list[Step]
    time: int
    """The position of its last step."""
    inside: set[int] = field(default_factory=set)
    """Versions that are made and used within the operation, and so are never in memory."""

    @property
    def written(self) -> set[int]:
        """Versions that it writes to memory."""
        return {v for step in self.steps for v in step.writes} - self.inside

    @property
    def read(self) -> set[int]:
        """Versions that it reads from memory."""
        own = {v for step in self.steps for v in step.writes}
        return {v for step in self.steps for v in step.reads} - own


def fuse(recording: Recording) -> list[Group]:
    """Return the operations in the order in which they run; steps with unused results are dropped."""
    steps = _needed(recording)
    return sorted(_Fusion(recording, steps).groups, key=lambda group: group.time)


def _needed(recording: Recording) -> list[Step]:
    """Return the steps that lead to an output, without unused results."""
    needed = {number for number, version in enumerate(recording.versions) if version.kind == "output"}
    kept: list[Step] = []
    for step in reversed(recording.steps):
        writes = {v: count for v, count in step.writes.items() if v in needed}
        if writes:
            needed |= set(step.reads) | {recording.versions[v].origin for v in writes}
            kept.append(replace(step, writes=writes))
    return kept[::-1]


class _Fusion:
    """The rules, applied step by step. Existing groups run before the step under consideration."""

    def __init__(self, recording: Recording, steps: list[Step]) -> None:
        self.versions, self.groups = recording.versions, list[Group]()
        self._needs = Counter(v for step in steps for v in step.reads)
        self._writer: dict[int, tuple[Group, Step]] = {}
        self._updated: dict[int, Group] = {}  # version -> the group that overwrites it
        self._readers: dict[int, list[Group]] = defaultdict(list)
        for time, step in enumerate(steps):
            group = self._joined(step, time)
            for v in step.writes:
                self._writer[v] = group, step
                self._updated[self.versions[v].origin] = group
            for v in step.reads:
                self._readers[v].append(group)

    def _joined(self, step: Step, time: int) -> Group:
        """Return the group of a step: the latest one that it may join, or a new one."""
        fitting = [v for v in step.reads if v in self._writer and self._fits(step, v)]
        joined: Group | None = None
        for v in sorted(fitting, key=lambda v: -self._writer[v][0].time):
            group = self._writer[v][0]
            if joined is None and self._may_wait(group, v):
                joined = group
                joined.inside.add(v)
            elif joined is not None and group is joined:
                joined.inside.add(v)
            elif joined is not None and _is_elementwise(group) and self._may_wait(group, v):
                self._absorb(joined, group)
                joined.inside.add(v)
        if joined is None:
            joined = Group([], time)
            self.groups.append(joined)
        joined.steps.append(step)
        joined.time = time
        return joined

    def _absorb(self, group: Group, other: Group) -> None:
        """Merge another group into this one, in place."""
        group.steps = other.steps + group.steps
        group.inside |= other.inside
        self.groups = [kept for kept in self.groups if kept is not other]
        self._writer = {v: (group if owner is other else owner, made) for v, (owner, made) in self._writer.items()}
        self._updated = {v: group if owner is other else owner for v, owner in self._updated.items()}
        for v, readers in self._readers.items():
            self._readers[v] = [group if reader is other else reader for reader in readers]

    def _fits(self, step: Step, v: int) -> bool:
        """Return whether a step may follow the one that made version v in an operation, by kind and shape (rules 1 and 2)."""
        (group, made), version, role = self._writer[v], self.versions[v], step.cost.role
        if version.kind == "output" or self._needs[v] > 1 or role == "other" or made.writes[v] < version.bytes:
            return False
        if role == "reduction" and not _is_elementwise(group):
            return False
        sizes = {view.elements if count == version.bytes else -1 for view, count in step.reads[v].items()}
        return sizes == {made.elements} and (role == "reduction" or step.elements == made.elements)

    def _may_wait(self, group: Group, v: int) -> bool:
        """Return whether a group may run after all others: none needs its results, or overwrites its operands."""
        read = any(reader is not group for w in group.written - {v} for reader in self._readers[w])
        return not read and all(self._updated.get(r, group) is group for r in group.read)


def _is_elementwise(group: Group) -> bool:
    """Return whether all steps are elementwise."""
    return all(step.cost.role == "elementwise" for step in group.steps)

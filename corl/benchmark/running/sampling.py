"""Stratified samples of the instances of a suite: a group is a stratum, and a larger sample contains every smaller one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from corl.benchmark.running.sources import SuiteInstance

__all__ = ["stratified"]


def stratified(sources: Sequence[SuiteInstance]) -> tuple[SuiteInstance, ...]:
    """Return all instances in an order whose first K are a stratified sample of size K, for every K.

    Within a group, instances are in the order of the hash of their label, which depends neither on the other instances nor on
    chance. The instance at position r (0, 1, ...) of a group of n comes at (r + 0.5) / n: each sample has as many instances of
    a group as its share of the set gives, rounded.
    """
    groups: dict[str, list[SuiteInstance]] = {}
    for source in sources:
        groups.setdefault(source.group, []).append(source)
    placed = [
        ((rank + 0.5) / len(members), _hash(source.label), source)
        for members in groups.values()
        for rank, source in enumerate(sorted(members, key=lambda each: _hash(each.label)))
    ]
    return tuple(source for _, _, source in sorted(placed, key=lambda each: each[:2]))


def _hash(label: str) -> str:
    return hashlib.sha256(label.encode()).hexdigest()

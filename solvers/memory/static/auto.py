"""`auto`: the solver for an instance's size and the limit given."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.memory.static.instance import StaticInstance

__all__ = ["choose"]


def choose(instance: StaticInstance, time_limit: float | None, iterations: int | None) -> str:
    """first-fit."""
    return "first-fit"

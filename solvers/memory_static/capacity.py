"""The first steps of every solver of static allocation: the load as a bound, and a check against the capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.problems.memory_static.instance import StaticInstance
    from corl.run import Run

__all__ = ["lower_bound", "capacity_conflict", "open_run", "report"]


def lower_bound(instance: StaticInstance) -> int:
    """Return a lower bound: the largest load, the largest buffer, or the end of a fixed buffer."""
    import numpy as np

    from corl.problems.memory_static.instance import sections

    ends = np.where(instance.fixed >= 0, instance.fixed, 0) + instance.size
    return max(int(sections(instance).load.max()), int(ends.max()))


def capacity_conflict(instance: StaticInstance, capacity: int) -> str:
    """Return why no allocation is within the capacity; "" if the load and single buffers do not prove it."""
    import numpy as np

    from corl.problems.memory_static.instance import sections

    k = int(instance.size.argmax())
    if instance.size[k] > capacity:
        return f"buffer {instance.ids[k]!r} takes {instance.size[k]}, the capacity is {capacity}"
    ends = np.where(instance.fixed >= 0, instance.fixed + instance.size, 0)
    if ends.max() > capacity:
        return f"buffer {instance.ids[int(ends.argmax())]!r} is fixed and ends at {ends.max()}, the capacity is {capacity}"
    found = sections(instance)
    s = int(found.load.argmax())
    if found.load[s] > capacity:
        return f"the buffers alive at {found.times[s]} take {found.load[s]}, the capacity is {capacity}"
    return ""


def open_run(instance: StaticInstance, run: Run, capacity: int | None) -> int:
    """Report the lower bound, or that the capacity is too small; return the largest height that would be an improvement.

    That is the capacity, or without one a bound on every sensible height; and always less than the height of a warm start.
    """
    if capacity is not None:
        if run.objective is not None and run.objective <= capacity:
            run.stop("target")
        elif reason := capacity_conflict(instance, capacity):
            run.report_infeasible(reason)
    if not run.should_stop:
        run.report_bound(lower_bound(instance))
    ceiling = int((instance.size + instance.alignment).sum() + max(0, int((instance.fixed + instance.size).max())))
    ceiling = ceiling if capacity is None else min(ceiling, capacity)
    return ceiling if run.objective is None else min(ceiling, int(run.objective) - 1)


def report(run: Run, offsets: Any, capacity: int | None) -> None:
    """Report an allocation; a run with a capacity ends with the first that is within it."""
    run.report(offsets)
    if capacity is not None and run.objective is not None and run.objective <= capacity:
        run.stop("target")

"""What every solver of static allocation does: a lower bound, a check against the capacity, and reports to the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.problems.memory_static.instance import StaticInstance
    from corl.run import Run

__all__ = ["lower_bound", "capacity_conflict", "open_run", "report"]


def lower_bound(instance: StaticInstance) -> int:
    """Return a lower bound on the height: the largest load, the largest buffer, or the end of a fixed buffer in memory.

    The load is the total size of the buffers that are alive at a moment.
    """
    import numpy as np

    from corl.problems.memory_static.instance import sections

    ends = np.where(instance.fixed >= 0, instance.fixed, 0) + instance.size
    return max(int(sections(instance).load.max()), int(ends.max()))


def capacity_conflict(instance: StaticInstance, capacity: int) -> str:
    """Return why no allocation is within the capacity; "" if neither the load nor a single buffer exceeds the capacity."""
    import numpy as np

    from corl.problems.memory_static.instance import sections

    k = int(instance.size.argmax())
    if instance.size[k] > capacity:
        return f"buffer {instance.ids[k]!r} takes {instance.size[k]}, the capacity is {capacity}"
    ends = np.where(instance.fixed >= 0, instance.fixed + instance.size, 0)
    if ends.max() > capacity:
        return f"buffer {instance.ids[int(ends.argmax())]!r} is fixed and ends at {ends.max()}, the capacity is {capacity}"
    section_data = sections(instance)
    s = int(section_data.load.argmax())
    if section_data.load[s] > capacity:
        return f"the buffers alive at {section_data.times[s]} take {section_data.load[s]}, the capacity is {capacity}"
    return ""


def open_run(instance: StaticInstance, run: Run, capacity: int | None) -> int:
    """Report the lower bound, or that the capacity is too small; return the largest height that would be an improvement.

    This is the capacity if there is one, otherwise a height within which all buffers can be stacked. If there is a warm start,
    the result is less than the height of the warm start.
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
    """Report an allocation; if there is a capacity, the first allocation within it ends the run."""
    run.report(offsets)
    if capacity is not None and run.objective is not None and run.objective <= capacity:
        run.stop("target")

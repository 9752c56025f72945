"""The first steps of every solver of static allocation: the load as a bound, and a check against the capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.problems.memory_static.instance import StaticInstance
    from corl.run import Run

__all__ = ["lower_bound", "misfit", "open_run", "report"]


def lower_bound(instance: StaticInstance) -> int:
    """The largest load; or where a buffer must end because its offset is fixed, or because it is that large."""
    import numpy as np

    from corl.problems.memory_static.instance import sections

    ends = np.where(instance.fixed >= 0, instance.fixed, 0) + instance.size
    return max(int(sections(instance).load.max()), int(ends.max()))


def misfit(instance: StaticInstance, capacity: int) -> str:
    """Why nothing can be within a capacity, in words; "" if that is not plain to see."""
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
    """Tell the bound, or that the capacity is too small; returns the largest height that is still worth finding.

    That is the capacity, or where there is none more than any sensible height; below a warm start's height in any case.
    """
    if capacity is not None:
        if run.objective is not None and run.objective <= capacity:
            run.stop("target")
        elif reason := misfit(instance, capacity):
            run.report_infeasible(reason)
    if not run.should_stop:
        run.report_bound(lower_bound(instance))
    ceiling = int((instance.size + instance.alignment).sum() + max(0, int((instance.fixed + instance.size).max())))
    ceiling = ceiling if capacity is None else min(ceiling, capacity)
    return ceiling if run.objective is None else min(ceiling, int(run.objective) - 1)


def report(run: Run, offsets: Any, capacity: int | None) -> None:
    """Offer an allocation; a run with a capacity ends with the first that is within it."""
    run.report(offsets)
    if capacity is not None and run.objective is not None and run.objective <= capacity:
        run.stop("target")

"""Passes of best fit (best_fit_kernels.py) for instances with many buffers, before any search."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.memory_static.instance import StaticInstance
    from corl.run import Run

__all__ = ["best_fit", "prepare"]

_MIN_BUFFERS = 5_000
"""With fewer buffers there are no passes of best fit: a search alone is as good."""
_MAX_SEARCHED = 100_000
"""With more buffers no search ends in time, so passes of best fit are repeated until the limit."""
_PASSES = 3
"""Passes before a search; a pass takes 0.1 to 0.3 s for 60,000 buffers."""
_PORTION = 5_000
"""The number of steps between two time checks; these steps take milliseconds."""
_NOISE = 0.05
"""Standard deviation of the noise on the logarithms of lifetimes, from the second pass on."""


def best_fit(instance: StaticInstance, run: Run, ceiling: int, capacity: int | None) -> int:
    """Run passes of best fit. A pass is abandoned as soon as it would not be lower than the best height.

    If passes are repeated until the limit, an iteration is one buffer placed or one niche (a low place of the skyline, see
    best_fit_kernels.py) removed. Passes before a search do not count as iterations, since iterations of a search take longer.

    Args:
        instance: The instance.
        run: The run, to which better allocations are reported.
        ceiling: The largest height to accept.
        capacity: The height at which the run ends, or None.

    Returns:
        The largest height that would still be an improvement; `ceiling` if there are few buffers or a fixed one.
    """
    import numpy as np

    from corl.problems.memory_static.instance import sections
    from corl.solvers.memory_static.best_fit_kernels import HEIGHT, UNPLACED, advance, new_niches
    from corl.solvers.memory_static.capacity import report

    if instance.n < _MIN_BUFFERS or (instance.fixed >= 0).any():
        return ceiling
    section_data, chosen = sections(instance), np.flatnonzero(instance.size > 0)
    random = np.random.default_rng([run.seed, 5])
    passes, noise, no_search = 0, np.ones(len(chosen)), instance.n > _MAX_SEARCHED
    while len(chosen) and (passes < _PASSES or no_search):
        niches = new_niches(instance, section_data, chosen, noise)
        while niches.at[UNPLACED] > 0 and not run.should_stop:
            if not advance(niches, run.budget() if no_search else _PORTION, ceiling):
                break
        else:
            if niches.at[UNPLACED] > 0:
                break
            offsets = np.zeros(instance.n, np.int64)
            offsets[chosen] = niches.offset
            ceiling = int(niches.at[HEIGHT]) - 1
            report(run, offsets, capacity)
        if run.should_stop:
            break
        noise = np.exp(_NOISE * random.standard_normal(len(chosen)))
        passes += 1
    return ceiling


def prepare() -> None:
    """Compile the kernels of the passes, and the kernel that the judge uses for many buffers."""
    import numpy as np

    from corl.problems.memory_static.instance import make_instance, sections
    from corl.problems.memory_static.overlaps import any_overlap
    from corl.solvers.memory_static.best_fit_kernels import advance, new_niches

    tiny = make_instance("", [0, 1], [2, 3], [1, 1])
    advance(new_niches(tiny, sections(tiny), np.arange(2)), 9, 9)
    any_overlap(tiny.lower, tiny.upper, np.arange(2), tiny.size)

"""Passes of best fit (best_fit_kernels.py) over many buffers, before any search."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.memory_static.instance import StaticInstance
    from corl.run import Run

__all__ = ["best_fit", "prepare"]

_LEAST = 5_000
"""Buffers below which a search alone is as good."""
_MOST = 100_000
"""Buffers above which no search ends in time, so that passes are repeated until the limit."""
_PASSES = 3
"""Passes before a search: 0.1 to 0.3 s each for 60,000 buffers."""
_PORTION = 5_000
"""Steps between two time checks: milliseconds."""
_NOISE = 0.05
"""Standard deviation of the noise on the logarithms of lifetimes, from the second pass on."""


def best_fit(instance: StaticInstance, run: Run, ceiling: int, capacity: int | None) -> int:
    """Run passes of best fit, each of which must end below the best height.

    If passes are repeated until the limit, an iteration is one buffer placed or one niche removed; passes before a search do not
    count as iterations, since those of the search take longer.

    Args:
        instance: The instance.
        run: The run, to which better allocations are reported.
        ceiling: The largest height to accept.
        capacity: The height at which the run ends, or None.

    Returns:
        The largest height that would still be an improvement: `ceiling` itself if there are few buffers or a fixed one.
    """
    import numpy as np

    from corl.problems.memory_static.instance import sections
    from corl.solvers.memory_static.best_fit_kernels import LEFT, TOP, advance, new_niches
    from corl.solvers.memory_static.capacity import report

    if instance.n < _LEAST or (instance.fixed >= 0).any():
        return ceiling
    found, chosen = sections(instance), np.flatnonzero(instance.size > 0)
    random = np.random.default_rng([run.seed, 5])
    passes, noise, alone = 0, np.ones(len(chosen)), instance.n > _MOST
    while len(chosen) and (passes < _PASSES or alone):
        niches = new_niches(instance, found, chosen, noise)
        while niches.at[LEFT] > 0 and not run.should_stop:
            if not advance(niches, run.budget() if alone else _PORTION, ceiling):
                break
        else:
            if niches.at[LEFT] > 0:
                break
            offsets = np.zeros(instance.n, np.int64)
            offsets[chosen] = niches.offset
            ceiling = int(niches.at[TOP]) - 1
            report(run, offsets, capacity)
        if run.should_stop:
            break
        noise = np.exp(_NOISE * random.standard_normal(len(chosen)))
        passes += 1
    return ceiling


def prepare() -> None:
    """Compile the kernels of the passes, and of the judge of many buffers."""
    import numpy as np

    from corl.problems.memory_static.instance import make_instance, sections
    from corl.problems.memory_static.overlaps import any_overlap
    from corl.solvers.memory_static.best_fit_kernels import advance, new_niches

    tiny = make_instance("", [0, 1], [2, 3], [1, 1])
    advance(new_niches(tiny, sections(tiny), np.arange(2)), 9, 9)
    any_overlap(tiny.lower, tiny.upper, np.arange(2), tiny.size)

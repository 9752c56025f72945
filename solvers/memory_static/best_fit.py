"""Passes of best fit (niches.py) over many buffers, before anything else is tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.memory_static.instance import StaticInstance
    from corl.run import Run

__all__ = ["best_fit", "prepare"]

_LEAST = 5_000
"""Buffers below which searches are as good from the beginning."""
_MOST = 100_000
"""Buffers above which nothing else ends in time, so that passes follow one another until the limit."""
_PASSES = 3
"""Passes over fewer than that: 0.1 to 0.3 s each for 60,000 buffers."""
_PORTION = 5_000
"""Niches between two looks at the clock: milliseconds."""
_NOISE = 0.05
"""Standard deviation of the noise on the logarithms of lifetimes, from the second pass on."""


def best_fit(instance: StaticInstance, run: Run, ceiling: int, capacity: int | None) -> int:
    """Pass after pass, each to end below the one before; returns the largest height that is still worth finding.

    Returns `ceiling` unchanged when there are few buffers or a fixed one. Without a search after it an iteration is a buffer
    placed or a niche removed; before a search passes are no iterations, since those of a search take longer.
    """
    import numpy as np

    from corl.problems.memory_static.instance import sections
    from corl.solvers.memory_static.capacity import report
    from corl.solvers.memory_static.niches import LEFT, TOP, advance, new_niches

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
    """Compile what passes and the judge of many buffers need."""
    import numpy as np

    from corl.problems.memory_static.instance import make_instance, sections
    from corl.problems.memory_static.overlaps import any_overlap
    from corl.solvers.memory_static.niches import advance, new_niches

    tiny = make_instance("", [0, 1], [2, 3], [1, 1])
    advance(new_niches(tiny, sections(tiny), np.arange(2)), 9, 9)
    any_overlap(tiny.lower, tiny.upper, np.arange(2), tiny.size)

"""First fit, and a search over orders of buffers.

A pass places the buffers in some order, each at the lowest offset at which it fits.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.kernels.rotate import rotate
from corl.problems.memory_static.instance import StaticInstance, sections
from corl.rng import below, uniform
from corl.solvers.memory_static.first_fit.windows import Windows, add, clear, new_windows

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["BEST", "PASSES", "Fit", "first_passes", "new_fit", "orders", "search"]

NEXT, HEIGHT, CEILING, STALE, PASSES, BEST, QUEUED = range(7)
"""Indices of `Fit.at`: the number of buffers placed in this pass; the height of this pass so far; the largest height to accept;
passes since the best height fell; passes that have ended; the best height, -1 before the first; the number of orders of
`Fit.queue` used so far."""
PATIENCE = 2000
"""The number of passes without a lower height after which the search returns to the best order.

Values from 500 to 5,000 gave equal results.
"""


_PORTION = 1000  # buffers placed between two time checks, which takes milliseconds


class Fit(NamedTuple):
    """The current pass over n buffers, and the best allocation so far."""

    lower: NDArray[np.int64]
    """[n] as in the instance."""
    upper: NDArray[np.int64]
    """[n] as in the instance."""
    size: NDArray[np.int64]
    """[n] as in the instance."""
    alignment: NDArray[np.int64]
    """[n] as in the instance."""
    fixed: NDArray[np.int64]
    """[n] as in the instance."""
    queue: NDArray[np.int32]
    """[Q, n] the orders of the first Q passes."""
    order: NDArray[np.int32]
    """[n] the buffers in the order of this pass, the fixed ones first."""
    offset: NDArray[np.int64]
    """[n] the offsets of the buffers placed in this pass."""
    windows: Windows
    """The buffers of size above 0 that are placed in this pass, by time and offset."""
    best_order: NDArray[np.int32]
    """[n] the order that led to the best allocation."""
    best_offset: NDArray[np.int64]
    """[n] the offsets of the best allocation."""
    random: NDArray[np.uint64]
    """A state of corl.rng."""
    at: NDArray[np.int64]
    """[7] indexed by NEXT ... QUEUED."""


def new_fit(instance: StaticInstance, rules: list[NDArray[np.int32]], ceiling: int, random: NDArray[np.uint64]) -> Fit:
    """Return the state before the first pass.

    Args:
        instance: The instance.
        rules: The orders of the first passes, int32 [n] each.
        ceiling: The largest height to accept.
        random: A state of corl.rng.
    """
    n = instance.n
    queue = np.stack([order[np.argsort(instance.fixed[order] < 0, kind="stable")] for order in rules])
    data = (instance.lower, instance.upper, instance.size, instance.alignment, instance.fixed)
    at = np.zeros(7, np.int64)
    at[CEILING], at[BEST], at[QUEUED] = ceiling, -1, 1
    first, zeros = queue[0], np.zeros(n, np.int64)
    return Fit(*data, queue, first.copy(), zeros, new_windows(instance), first.copy(), zeros.copy(), random, at)


def orders(instance: StaticInstance) -> dict[str, NDArray[np.int32]]:
    """Return orders in which single passes do well, name -> int32 [n].

    The name says what the buffers are sorted by. The load is the total size of the buffers that are alive at a moment.
    - load: the largest load during the lifetime, then lifetime, then size, all decreasing (minimalloc's "TWA");
    - size, root, area, length: decreasing size, size times square root of lifetime, lifetime times size, or lifetime;
    - start: increasing start of the lifetime.
    """
    section_data, n = sections(instance), instance.n
    length, size = (instance.upper - instance.lower).astype(np.float64), instance.size.astype(np.float64)
    max_load = np.zeros(n, np.int64)
    max_loads(section_data.first, section_data.last, section_data.load, max_load)
    keys = {
        "load": (-size, -length, -max_load),
        "size": (-length, -size),
        "root": (-size * np.sqrt(length),),
        "area": (-length * size,),
        "length": (-size, -length),
        "start": (-size, instance.lower),
    }
    return {name: np.lexsort(key).astype(np.int32) for name, key in keys.items()}


def first_passes(fit: Fit, run: Run) -> None:
    """Run a pass in each of the first orders, in place, or as many as the time allows."""
    steps_left = len(fit.queue) * len(fit.order)
    while steps_left > 0 and not run.should_stop:
        search(fit, min(steps_left, _PORTION))
        steps_left -= _PORTION


@kernel
def max_loads(first, last, load, out):
    """Write the maximum of load[first[k]:last[k]] to out[k], for all k, in place. All arrays are int64.

    A table has the maxima over all ranges whose length is a power of two.
    """
    count, levels = len(load), 1
    while 1 << levels <= count:
        levels += 1
    table = np.empty((levels, count), np.int64)
    table[0] = load
    for level in range(1, levels):
        half = 1 << (level - 1)
        for s in range(count):
            table[level, s] = max(table[level - 1, s], table[level - 1, min(count - 1, s + half)])
    for k in range(len(first)):
        level = 0
        while 2 << level <= last[k] - first[k]:
            level += 1
        out[k] = max(table[level, first[k]], table[level, last[k] - (1 << level)])


@kernel
def search(fit, steps):
    """Do `steps` steps, pass after pass, in place. A step places a buffer, or ends the pass because the buffer does not fit.

    A pass ends when all buffers are placed, which lowers the ceiling, or at the first buffer that would end above the ceiling.
    """
    n = len(fit.order)
    for _ in range(steps):
        b = fit.order[fit.at[NEXT]]
        offset = fit.fixed[b]
        if offset < 0:
            offset = _lowest(fit, b)
        if offset + fit.size[b] > fit.at[CEILING]:
            _next_pass(fit, False)
            continue
        fit.offset[b] = offset
        if fit.size[b] > 0:
            add(fit.windows, b, fit.offset)
        fit.at[NEXT] += 1
        fit.at[HEIGHT] = max(fit.at[HEIGHT], offset + fit.size[b])
        if fit.at[NEXT] == n:
            copy(fit.order, fit.best_order, len(fit.order))
            copy(fit.offset, fit.best_offset, len(fit.offset))
            fit.at[BEST], fit.at[CEILING], fit.at[STALE] = fit.at[HEIGHT], fit.at[HEIGHT] - 1, 0
            _next_pass(fit, True)


@kernel
def _next_pass(fit, complete):
    """Begin the next pass, in place; `complete`: whether the last pass placed all buffers.

    The first passes have the orders in `queue`. After them, a pass begins with the best order, and in the passes after it the
    buffer that did not fit is moved forward.
    """
    fit.at[PASSES] += 1
    fit.at[STALE] += 1
    if fit.at[QUEUED] < len(fit.queue):
        copy(fit.queue[fit.at[QUEUED]], fit.order, len(fit.order))
        fit.at[QUEUED] += 1
    elif complete or fit.at[PASSES] == len(fit.queue) or fit.at[STALE] >= PATIENCE:
        copy(fit.best_order, fit.order, len(fit.order))
        fit.at[STALE] = 0
    else:
        _promote(fit)
    fit.at[NEXT] = fit.at[HEIGHT] = 0
    clear(fit.windows)


@kernel
def _lowest(fit, b):
    """Return the lowest offset at which buffer b fits among the placed buffers: the first gap that is large enough."""
    lower, upper, size, alignment = fit.lower[b], fit.upper[b], fit.size[b], fit.alignment[b]
    edge, home = 0, fit.windows.home[b]  # edge: the lowest offset above the placed buffers considered so far
    begin = fit.windows.start[home]
    for k in range(begin, begin + fit.windows.listed[home]):
        other = fit.windows.placed[k]
        if fit.upper[other] <= lower or upper <= fit.lower[other]:
            continue
        if edge + size <= fit.offset[other]:
            break
        end = fit.offset[other] + fit.size[other]
        if end > edge:
            edge = (end + alignment - 1) // alignment * alignment
    return edge


@kernel
def _promote(fit):
    """Move the buffer that did not fit to a random earlier position in `order`, with probability 0.1 to a near one, in place.

    So buffers that are hard to place are placed early (squeaky wheel optimisation, Joslin & Clements, JAIR 10, 1999).
    """
    k = fit.at[NEXT]
    fixed = 0
    while fixed < k and fit.fixed[fit.order[fixed]] >= 0:
        fixed += 1
    if k == fixed:
        return
    to = fixed + below(fit.random, k - fixed)
    if uniform(fit.random) < 0.1:
        to = max(fixed, k - 1 - int(-3.0 * np.log(1.0 - uniform(fit.random))))
    rotate(fit.order, k, to)

"""Generators of random instances. The same seed gives the same instance on every machine (NumPy's PCG64 streams).

The load is the total size of the buffers that are alive at a moment; no height is below the largest load. `tiled` and `peaks` cut
a packing without gaps into buffers, so that this bound is the optimal height. Their shapes are like those of minimalloc's
challenging set (M. Moffitt, MiniMalloc: a lightweight memory allocator for hardware-accelerated machine learning, ASPLOS 2023).
For `network` and `large` it is unknown whether the bound can be reached.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.memory_static.instance import StaticInstance, make_instance

__all__ = ["GENERATORS", "large", "network", "peaks", "tiled"]

_GRAIN = 1024  # a common divisor of all numbers of `tiled` and `peaks`, as in minimalloc's set
_CELLS = 1024  # the capacity of `tiled` and `peaks`, and the length of time of `tiled`: times _GRAIN, each is 2**20


def tiled(*, size: int = 200, trim: float = 0.1, seed: int = 0) -> StaticInstance:
    """Return `size` buffers that fill a rectangle of time x memory, of which a share `trim` then gets shorter lifetimes.

    Long-lived small buffers are next to short-lived large ones. At most moments all memory is in use, as in minimalloc's
    instances A, B, C, D and K.
    """
    _check(size, trim)
    random = np.random.default_rng([seed, 1])
    left, low, right, high = _cut(random, size, _CELLS, _CELLS)
    trimmed = random.random(size) < trim
    length = right - left
    shorter = np.maximum(1, (length * random.uniform(0.5, 1.0, size)).astype(np.int64))
    at_start = random.random(size) < 0.5  # whether the start or the end of a lifetime is cut off
    begin = np.where(trimmed & at_start, right - shorter, left)
    end = np.where(trimmed & ~at_start, left + shorter, right)
    return _shuffled("tiled", f"--size {size} --option trim={trim!r}", seed, random, begin, end, high - low)


def peaks(*, size: int = 300, seed: int = 0) -> StaticInstance:
    """Return buffers of similar sizes and lifetimes. All memory is in use at some moments, the peaks, and less between them.

    As in minimalloc's instances F and G, about sixteen buffers are alive at a peak, and a buffer is alive at one or a few peaks.
    """
    _check(size, 0.0)
    random = np.random.default_rng([seed, 2])
    rows: list[tuple[int, int, int]] = []
    free_from = np.zeros(_CELLS, np.int64)  # the time from which on each unit of memory is free
    peak, previous_peak = 0, 0
    while len(rows) < size:
        walls = _walls(random, 16)
        peak = int(free_from.max()) + int(random.integers(1, 4))
        peak_end = peak + int(random.integers(6, 16))
        for low, high in pairwise(walls):
            begin = max(int(free_from[low:high].max()), previous_peak, peak - int(random.integers(6, 28)))
            end = peak_end + int(random.integers(0, 14))
            rows.append((begin, end, high - low))
            free_from[low:high] = end
        previous_peak = peak
    table = np.array(rows[:size], np.int64)
    return _shuffled("peaks", f"--size {size}", seed, random, table[:, 0], table[:, 1], table[:, 2])


def network(*, layers: int = 60, branches: int = 3, training: bool = False, seed: int = 0) -> StaticInstance:
    """Return buffers of a neural network: workspaces, and activations that live to the next layer or along a skip connection.

    A layer has up to `branches` parallel branches. With `training`, most activations live until the backward pass of their layer,
    so that lifetimes are nested. Sizes are multiples of large powers of two, as those of tensors are.
    """
    if not 2 <= layers <= 100_000 or not 1 <= branches <= 16:
        raise UsageError(f"layers={layers}, branches={branches} is not accepted; accepted: 2 to 100,000 and 1 to 16")
    random = np.random.default_rng([seed, 3])
    rows: list[tuple[int, int, int]] = []
    horizon = 4 * layers
    for layer in range(layers):
        now = 2 * layer
        channels, pixels = 2 ** min(10, 5 + 6 * layer // layers), 4 ** max(0, 5 - 6 * layer // layers)
        for _ in range(int(random.integers(1, branches, endpoint=True))):
            size = int(channels * pixels * random.integers(1, 8, endpoint=True) * 4)
            end = now + 4 if random.random() < 0.75 else now + 2 * int(random.integers(2, 12))
            if training and random.random() < 0.8:
                end = horizon - now
            rows.append((now, min(end, horizon + 1), size))
        rows.append((now + 1, now + 2, int(channels * 64 * random.integers(1, 32))))
        if training:
            rows.append((horizon - now - 1, horizon - now + 2, int(channels * pixels * random.integers(1, 8, endpoint=True) * 4)))
    table = np.array(rows, np.int64)
    words = f"--option layers={layers} --option branches={branches} --option training={str(training).lower()}"
    return _shuffled("network", words, seed, random, table[:, 0], table[:, 1], table[:, 2])


def large(*, size: int = 10_000, seed: int = 0) -> StaticInstance:
    """Return `size` buffers, at most a million, whose sizes differ by many orders of magnitude.

    Most lifetimes are short; half of the buffers start in bursts.
    """
    _check(size, 0.0)
    random = np.random.default_rng([seed, 4])
    horizon = 2 * size
    short = random.random(size) < 0.7
    length = np.maximum(1, np.where(short, random.geometric(0.2, size), random.exponential(0.1 * horizon, size)))
    bursts = random.random(max(1, size // 200)) * horizon
    centre = np.where(random.random(size) < 0.5, random.random(size) * horizon, bursts[random.integers(0, len(bursts), size)])
    begin = np.clip(centre + random.normal(0.0, 5.0, size), 0, horizon - 1).astype(np.int64)
    end = np.minimum(begin + length.astype(np.int64), horizon)
    steps = np.round(2.0 ** random.uniform(3, 24, size // 50 + 8)).astype(np.int64)
    sizes = steps[random.integers(0, len(steps), size)]
    return _shuffled("large", f"--size {size}", seed, random, begin, np.maximum(end, begin + 1), sizes)


GENERATORS: dict[str, Callable[..., StaticInstance]] = {"tiled": tiled, "peaks": peaks, "network": network, "large": large}


def _check(size: int, share: float) -> None:
    """Raise UsageError if the number of buffers, or the share of lifetimes to shorten, is out of range."""
    if not 1 <= size <= 1_000_000:
        raise UsageError(f"size: {size} is not accepted; accepted: 1 to 1,000,000")
    if not 0.0 <= share <= 1.0:
        raise UsageError(f"trim: {share} is not accepted; accepted: 0 to 1")


def _walls(random: Generator, count: int) -> list[int]:
    """Return the borders, in units of _GRAIN, of `count` - 1 to `count` + 1 buffers of similar sizes that fill the memory."""
    weights = random.uniform(0.6, 1.4, int(random.integers(count - 1, count + 1, endpoint=True)))
    inner = np.round(np.cumsum(weights) / weights.sum() * _CELLS).astype(np.int64)
    return [0, *inner.tolist()]


def _cut(random: Generator, count: int, width: int, height: int) -> NDArray[np.int64]:
    """Cut a rectangle of width (time) x height (memory) into `count` rectangles; return left, low, right, high, int64 [4, count].

    The rectangle's sides are doubled until it has 16 cells for each part. Then a random part, mostly a large one, is split again
    and again. The longer a part is in time relative to the whole, the more likely it is split in time and not in memory.
    """
    while width * height < 16 * count:
        width, height = 2 * width, 2 * height
    parts = [(0, 0, width, height)]
    while len(parts) < count:
        areas = np.array([(right - left) * (high - low) for left, low, right, high in parts], np.float64)
        splittable = np.array([right - left > 1 or high - low > 1 for left, low, right, high in parts])
        weights = np.where(splittable, areas**0.8, 0.0)
        left, low, right, high = parts.pop(int(random.choice(len(parts), p=weights / weights.sum())))
        wide, tall = (right - left) / width, (high - low) / height
        in_time = right - left > 1 and (high - low == 1 or random.random() < wide / (wide + tall))
        share = float(random.beta(1.2, 1.2))
        if in_time:
            at = left + int(np.clip(round(share * (right - left)), 1, right - left - 1))
            parts += [(left, low, at, high), (at, low, right, high)]
        else:
            at = low + int(np.clip(round(share * (high - low)), 1, high - low - 1))
            parts += [(left, low, right, at), (left, at, right, high)]
    return np.array(parts, np.int64).T


def _shuffled(
    kind: str,
    words: str,
    seed: int,
    random: Generator,
    lower: NDArray[np.int64],
    upper: NDArray[np.int64],
    size: NDArray[np.int64],
) -> StaticInstance:
    """Return the instance of these buffers in a random order. Numbers of `tiled` and `peaks` are multiplied by _GRAIN.

    kind, words: the generator's name, and its options as on the command line, for the comment.
    """
    order = random.permutation(len(size))
    grain = _GRAIN if kind in ("tiled", "peaks") else 1
    comment = f"corl generate memory-static {kind} {words} --seed {seed}"
    times = grain * np.stack([lower, upper])[:, order]
    return make_instance(f"{kind}-{len(size)}", times[0], times[1], grain * size[order], comment=comment)

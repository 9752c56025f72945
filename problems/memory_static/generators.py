"""Random instances, the same for the same seed on every machine (NumPy's PCG64 streams).

`tiled` and `peaks` are made from a packing without gaps, so that the optimal height is the load; their shapes are those of
minimalloc's challenging set (M. Moffitt, MiniMalloc: a lightweight memory allocator for hardware-accelerated machine learning,
ASPLOS 2023). For `network` and `large` it is unknown whether the load can be reached.
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

_GRAIN = 1024  # every number of minimalloc's set is a multiple of it
_CELLS = 1024  # so that time and capacity are 2**20


def tiled(*, size: int = 200, trim: float = 0.1, seed: int = 0) -> StaticInstance:
    """Return `size` rectangles that tile time x memory, by staggered cuts; a share `trim` of lifetimes is then shortened.

    Long thin buffers live next to short thick ones. Most sections are full, as in minimalloc's A, B, C, D and K.
    """
    _check(size, trim)
    random = np.random.default_rng([seed, 1])
    left, low, right, high = _cut(random, size, _CELLS, _CELLS)
    cut = random.random(size) < trim
    length = right - left
    shorter = np.maximum(1, (length * random.uniform(0.5, 1.0, size)).astype(np.int64))
    late = random.random(size) < 0.5
    begin = np.where(cut & late, right - shorter, left)
    end = np.where(cut & ~late, left + shorter, right)
    return _shuffled("tiled", f"--size {size} --option trim={trim!r}", seed, random, begin, end, high - low)


def peaks(*, size: int = 300, seed: int = 0) -> StaticInstance:
    """Return buffers of similar sizes and lifetimes; all memory is in use at some moments, the peaks, and less between them.

    As in minimalloc's F and G, about sixteen buffers are alive at a peak, and a buffer lives at one peak, or few.
    """
    _check(size, 0.0)
    random = np.random.default_rng([seed, 2])
    rows: list[tuple[int, int, int]] = []
    floor = np.zeros(_CELLS, np.int64)  # when each unit of memory became free
    moment, first = 0, 0
    while len(rows) < size:
        walls = _walls(random, 16)
        moment = int(floor.max()) + int(random.integers(1, 4))
        following = moment + int(random.integers(6, 16))
        for low, high in pairwise(walls):
            begin = max(int(floor[low:high].max()), first, moment - int(random.integers(6, 28)))
            end = following + int(random.integers(0, 14))
            rows.append((begin, end, high - low))
            floor[low:high] = end
        first = moment
    table = np.array(rows[:size], np.int64)
    return _shuffled("peaks", f"--size {size}", seed, random, table[:, 0], table[:, 1], table[:, 2])


def network(*, layers: int = 60, branches: int = 3, training: bool = False, seed: int = 0) -> StaticInstance:
    """Return buffers of a neural network: workspaces, and activations that live to the next layer or along a skip connection.

    A layer has up to `branches` parallel branches. With `training`, most activations live until their layer's backward pass, so
    that lifetimes nest. Sizes are powers of two and their multiples, as those of tensors.
    """
    if not 2 <= layers <= 100_000 or not 1 <= branches <= 16:
        raise UsageError(f"layers={layers}, branches={branches} is not accepted; accepted: 2 to 100,000 and 1 to 16")
    random = np.random.default_rng([seed, 3])
    rows: list[tuple[int, int, int]] = []
    whole = 4 * layers
    for layer in range(layers):
        now = 2 * layer
        channels, pixels = 2 ** min(10, 5 + 6 * layer // layers), 4 ** max(0, 5 - 6 * layer // layers)
        for _ in range(int(random.integers(1, branches, endpoint=True))):
            size = int(channels * pixels * random.integers(1, 8, endpoint=True) * 4)
            end = now + 4 if random.random() < 0.75 else now + 2 * int(random.integers(2, 12))
            if training and random.random() < 0.8:
                end = whole - now
            rows.append((now, min(end, whole + 1), size))
        rows.append((now + 1, now + 2, int(channels * 64 * random.integers(1, 32))))
        if training:
            rows.append((whole - now - 1, whole - now + 2, int(channels * pixels * random.integers(1, 8, endpoint=True) * 4)))
    table = np.array(rows, np.int64)
    words = f"--option layers={layers} --option branches={branches} --option training={str(training).lower()}"
    return _shuffled("network", words, seed, random, table[:, 0], table[:, 1], table[:, 2])


def large(*, size: int = 10_000, seed: int = 0) -> StaticInstance:
    """Return up to a million buffers: short ones in bursts among long ones, with sizes over many orders of magnitude."""
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
    if not 1 <= size <= 1_000_000:
        raise UsageError(f"size: {size} is not accepted; accepted: 1 to 1,000,000")
    if not 0.0 <= share <= 1.0:
        raise UsageError(f"trim: {share} is not accepted; accepted: 0 to 1")


def _walls(random: Generator, most: int) -> list[int]:
    """Return the borders, in cells, of `most` - 1 to `most` + 1 buffers that fill the memory, each above 0.4 of the mean size."""
    weights = random.uniform(0.6, 1.4, int(random.integers(most - 1, most + 1, endpoint=True)))
    inner = np.round(np.cumsum(weights) / weights.sum() * _CELLS).astype(np.int64)
    return [0, *inner.tolist()]


def _cut(random: Generator, count: int, width: int, height: int) -> NDArray[np.int64]:
    """Return left, low, right, high, int64 [4, count], of rectangles that tile width x height, which is doubled while too small.

    Large rectangles are split repeatedly, across time or memory: the relatively wider, the more likely in time.
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
    """Return the instance of these buffers in a random order; numbers of `tiled` and `peaks` are multiples of _GRAIN."""
    order = random.permutation(len(size))
    grain = _GRAIN if kind in ("tiled", "peaks") else 1
    comment = f"corl generate memory-static {kind} {words} --seed {seed}"
    times = grain * np.stack([lower, upper])[:, order]
    return make_instance(f"{kind}-{len(size)}", times[0], times[1], grain * size[order], comment=comment)

"""StaticInstance: buffers of fixed lifetimes and sizes; the load on memory over time; and a search for overlaps in memory."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.errors import InputError

__all__ = ["FREE", "LARGEST", "LARGEST_BUFFERS", "Sections", "StaticInstance", "first_overlap", "make_instance", "sections"]

LARGEST = 2**53
"""The limit on times, sizes, alignments, offsets and the sum of all sizes, so that every height is exact in float64."""
LARGEST_BUFFERS = 2_000_000
"""The limit on the number of buffers."""
_MAX_SWEEP = 50_000
"""The largest number of buffers for which the sweep in plain Python searches for overlaps at once.

For more buffers a kernel first decides whether there is an overlap: for a million, the kernel takes 2 s, the sweep over a minute.
"""
FREE = -1
"""The offset of a buffer that may be placed anywhere."""


@dataclass(frozen=True, eq=False)
class StaticInstance:
    """n buffers. Each is alive from `lower` until before `upper`, and takes `size` units of memory from an offset to be found.

    Two buffers that are alive at the same time may not overlap in memory. Raises InputError for invalid shapes or numbers.
    """

    name: str
    ids: tuple[str, ...]
    """[n] the names of the buffers in the file, all different."""
    lower: NDArray[np.int64]
    """[n] the start of each lifetime."""
    upper: NDArray[np.int64]
    """[n] the end of each lifetime, exclusive; greater than `lower`."""
    size: NDArray[np.int64]
    """[n] units of memory, at least 0."""
    alignment: NDArray[np.int64]
    """[n] at least 1; a buffer's offset is a multiple of its alignment."""
    fixed: NDArray[np.int64]
    """[n] the given offset of a buffer, or FREE."""
    comment: str = ""
    """Free text, kept in files."""

    def __post_init__(self) -> None:
        n = len(self.ids)
        if not 1 <= n <= LARGEST_BUFFERS:
            raise InputError(f"{n:,} buffers; accepted: 1 to {LARGEST_BUFFERS:,}", field="id")
        lows = {"lower": -LARGEST, "upper": -LARGEST, "size": 0, "alignment": 1, "fixed": FREE}
        for key, low in lows.items():
            array = _integers(getattr(self, key), key)
            if array.shape != (n,):
                raise InputError(f"shape {list(array.shape)} is not accepted; accepted: {[n]}", field=key)
            if (wrong := (array < low) | (array > LARGEST)).any():
                at = int(wrong.argmax())
                where = f"buffer {self.ids[at]!r}: {array[at]}"
                raise InputError(f"{where} is not accepted; accepted: an integer from {low:,} to {LARGEST:,}", field=key)
            object.__setattr__(self, key, array)
        self._check_buffers()

    def _check_buffers(self) -> None:
        """Check the constraints between several fields or several buffers. Raises InputError."""
        if len(set(self.ids)) < self.n:
            twice = next(name for k, name in enumerate(self.ids) if self.ids.index(name) < k)
            raise InputError(f"two buffers are called {twice!r}", field="id")
        if (ended := self.upper <= self.lower).any():
            at = int(ended.argmax())
            message = f"buffer {self.ids[at]!r} ends at {self.upper[at]} and starts at {self.lower[at]}; accepted: a later end"
            raise InputError(message, field="upper")
        if float(self.size.sum(dtype=np.float64)) + float(self.alignment.sum(dtype=np.float64)) > LARGEST:
            raise InputError(f"the sizes add up to more than {LARGEST:,}", field="size")
        placed = np.flatnonzero(self.fixed >= 0)
        if (misaligned := self.fixed[placed] % self.alignment[placed] != 0).any():
            at = int(placed[misaligned.argmax()])
            message = f"buffer {self.ids[at]!r}: {self.fixed[at]} is no multiple of its alignment, {self.alignment[at]}"
            raise InputError(message, field="offset")
        if float(self.fixed.max()) + float(self.size.max()) > LARGEST:
            raise InputError(f"an offset and a size add up to more than {LARGEST:,}", field="offset")
        if pair := first_overlap(self.lower[placed], self.upper[placed], self.fixed[placed], self.size[placed]):
            a, b = (self.ids[placed[k]] for k in pair)
            message = f"the fixed offsets of buffers {a!r} and {b!r} overlap in memory while both are alive"
            raise InputError(message, field="offset")

    @property
    def n(self) -> int:
        """The number of buffers."""
        return len(self.ids)


def make_instance(
    name: str,
    lower: ArrayLike,
    upper: ArrayLike,
    size: ArrayLike,
    *,
    ids: Sequence[str] | None = None,
    alignment: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    comment: str = "",
) -> StaticInstance:
    """Return an instance made of lists or arrays, [n] each. Raises InputError.

    Args:
        name: The instance's name.
        lower: Start of each lifetime.
        upper: End of each lifetime, exclusive.
        size: Units of memory of each buffer.
        ids: Names of the buffers; None: "0", "1", ...
        alignment: The alignment of each buffer; None: 1 for all.
        fixed: The given offset of each buffer, or FREE; None: FREE for all.
        comment: Free text, kept in files.
    """
    sizes = _integers(size, "size")
    n = len(sizes) if sizes.ndim else 0
    return StaticInstance(
        name,
        tuple(map(str, range(n))) if ids is None else tuple(ids),
        _integers(lower, "lower"),
        _integers(upper, "upper"),
        sizes,
        np.ones(n, np.int64) if alignment is None else _integers(alignment, "alignment"),
        np.full(n, FREE, np.int64) if fixed is None else _integers(fixed, "offset"),
        comment,
    )


class Sections(NamedTuple):
    """S sections: the spans of time between successive moments at which a buffer starts or ends."""

    times: NDArray[np.int64]
    """[S + 1] section s lasts from times[s] until before times[s + 1]."""
    first: NDArray[np.int64]
    """[n] the first section of a buffer."""
    last: NDArray[np.int64]
    """[n] the section after a buffer's last one."""
    load: NDArray[np.int64]
    """[S] the total size of the buffers that are alive; the largest load is a lower bound on every height."""


def sections(instance: StaticInstance) -> Sections:
    """Return the sections of an instance."""
    times = np.unique(np.concatenate([instance.lower, instance.upper]))
    first, last = np.searchsorted(times, instance.lower), np.searchsorted(times, instance.upper)
    change = np.zeros(len(times), np.int64)
    np.add.at(change, first, instance.size)
    np.subtract.at(change, last, instance.size)
    return Sections(times, first, last, np.cumsum(change)[:-1])


def first_overlap(
    lower: NDArray[np.int64], upper: NDArray[np.int64], offset: NDArray[np.int64], size: NDArray[np.int64]
) -> tuple[int, int] | None:
    """Return the first pair of buffers, in time, that overlap in memory while both are alive; None if there is none.

    All arrays are int64 [k]. A sweep over time keeps the buffers that are alive in a list sorted by offset. None of these
    overlap, so a new buffer overlaps one of them only if it overlaps one of its two neighbours in the list.
    """
    solid = np.flatnonzero(size > 0)
    if len(solid) > _MAX_SWEEP:
        from corl.problems.memory_static.overlaps import any_overlap

        if not any_overlap(lower[solid], upper[solid], offset[solid], size[solid]):
            return None
    starts, ends = solid[np.argsort(lower[solid], kind="stable")], solid[np.argsort(upper[solid], kind="stable")]
    begin, end, low, high = (array.tolist() for array in (lower, upper, offset, offset + size))
    alive: list[tuple[int, int]] = []  # (offset, buffer)
    removed, by_end = 0, ends.tolist()
    for k in starts.tolist():
        while end[by_end[removed]] <= begin[k]:
            ended = by_end[removed]
            del alive[bisect_left(alive, (low[ended], ended))]
            removed += 1
        at = bisect_left(alive, (low[k], k))
        if at and high[alive[at - 1][1]] > low[k]:
            return alive[at - 1][1], k
        if at < len(alive) and alive[at][0] < high[k]:
            return alive[at][1], k
        insort(alive, (low[k], k))
    return None


def _integers(given: ArrayLike, field: str) -> NDArray[np.int64]:
    """Return `given` as a contiguous int64 array. Raises InputError if it has values other than integers."""
    try:
        array = np.asarray(given)
        if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all():
            array = np.clip(array, -2.0 * LARGEST, 2.0 * LARGEST).astype(np.int64)
        if array.dtype.kind not in "iu" or array.dtype == np.uint64:
            raise ValueError
        return np.array(array, np.int64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise InputError("no array of integers", field=field) from None

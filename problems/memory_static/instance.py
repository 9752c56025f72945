"""StaticInstance: the data of one static allocation; and its sections, the load on each, and overlaps in memory."""

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
"""The limit on times, sizes, alignments, offsets and the sum of all sizes: every height is exact in float64."""
LARGEST_BUFFERS = 2_000_000
_MANY = 50_000
"""The number of buffers above which a kernel searches for overlaps first: a million takes it 2 s, the sweep over a minute."""
FREE = -1
"""The offset of a buffer that may be placed anywhere."""


@dataclass(frozen=True, eq=False)
class StaticInstance:
    """n buffers; each is alive from `lower` to before `upper` and takes `size` units of memory from an offset to be found.

    Two buffers that are alive at the same time may not overlap in memory. Raises InputError for invalid shapes or numbers.
    """

    name: str
    ids: tuple[str, ...]
    """[n] the names of the buffers in the file, all different."""
    lower: NDArray[np.int64]
    """[n]"""
    upper: NDArray[np.int64]
    """[n] greater than `lower`."""
    size: NDArray[np.int64]
    """[n] at least 0."""
    alignment: NDArray[np.int64]
    """[n] at least 1: the offset is a multiple of it."""
    fixed: NDArray[np.int64]
    """[n] the offset of a buffer that is placed already, FREE for all others."""
    comment: str = ""

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
        """Check the constraints between several fields or several buffers."""
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
        size: Units of memory.
        ids: Names of the buffers; None: 0, 1, ...
        alignment: None: 1 for all.
        fixed: Offsets that are given, FREE for others; None: all are free.
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
    """S sections: the spans of time between two moments at which a buffer starts or ends."""

    times: NDArray[np.int64]
    """[S + 1] section s is from times[s] to before times[s + 1]."""
    first: NDArray[np.int64]
    """[n] the first section of a buffer."""
    last: NDArray[np.int64]
    """[n] the section after its last."""
    load: NDArray[np.int64]
    """[S] the total size of the buffers that are alive; its maximum is a lower bound on every height."""


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

    All arrays are int64 [k]. A sweep over time keeps the buffers that are alive in a list sorted by offset, in which each ends
    before the next begins, so that a new one can only overlap its two neighbours. If there are many buffers, a kernel determines
    first whether there is such a pair.
    """
    solid = np.flatnonzero(size > 0)
    if len(solid) > _MANY:
        from corl.problems.memory_static.overlaps import any_overlap

        if not any_overlap(lower[solid], upper[solid], offset[solid], size[solid]):
            return None
    starts, ends = solid[np.argsort(lower[solid], kind="stable")], solid[np.argsort(upper[solid], kind="stable")]
    begin, end, low, high = (array.tolist() for array in (lower, upper, offset, offset + size))
    alive: list[tuple[int, int]] = []
    gone, leaving = 0, ends.tolist()
    for k in starts.tolist():
        while end[leaving[gone]] <= begin[k]:
            out = leaving[gone]
            del alive[bisect_left(alive, (low[out], out))]
            gone += 1
        at = bisect_left(alive, (low[k], k))
        if at and high[alive[at - 1][1]] > low[k]:
            return alive[at - 1][1], k
        if at < len(alive) and alive[at][0] < high[k]:
            return alive[at][1], k
        insort(alive, (low[k], k))
    return None


def _integers(given: ArrayLike, field: str) -> NDArray[np.int64]:
    """Return a contiguous int64 array. Raises InputError for anything that holds other than integers."""
    try:
        array = np.asarray(given)
        if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all():
            array = np.clip(array, -2.0 * LARGEST, 2.0 * LARGEST).astype(np.int64)
        if array.dtype.kind not in "iu" or array.dtype == np.uint64:
            raise ValueError
        return np.array(array, np.int64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise InputError("no array of integers", field=field) from None

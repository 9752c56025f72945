"""Estimates of the time that a population needs to converge, and of the number of tours that can converge in the time left."""

from __future__ import annotations

__all__ = ["Pace"]

_FALL = 0.034  # share of the mean length by which tours become shorter, from 3-opt starts to convergence (measured, 3.2 to 3.4 %)
_ABOVE = 1.0075  # the mean length at convergence is at least this times the Held-Karp bound
_TAIL = 1.5  # factor of the time at the current speed: the fall slows down towards the end, but generations become cheaper
_FIRST = 4  # generations before the first estimate; each further one follows after twice as many


class Pace:
    """The pace of one population: the time to convergence is estimated from how fast its tours have become shorter.

    A population that has not converged at the end of the run has poor tours. How many tours converge in a given time depends on
    the machine and its load.
    """

    def __init__(self, mean: float, elapsed: float, bound: float | None) -> None:
        """Begin with start tours of mean length `mean`; `bound` is a lower bound on the length of any tour, None if unknown."""
        self.least = (1.0 - _FALL) * mean
        if bound is not None:
            self.least = max(self.least, _ABOVE * bound)
        self._generation, self._asked, self._mean, self._elapsed = 0, 0, mean, elapsed

    def fitting(self, size: int, mean: float, elapsed: float, remaining: float) -> int:
        """Return the number of tours to continue with, after one more generation of `size` tours."""
        self._generation += 1
        since = self._generation - self._asked
        if since < max(_FIRST, self._asked):
            return size
        fall, seconds = (self._mean - mean) / since, (elapsed - self._elapsed) / since
        self._asked, self._mean, self._elapsed = self._generation, mean, elapsed
        if fall <= 0.0 or mean <= self.least:
            return size
        needed = _TAIL * seconds * (mean - self.least) / fall
        return size if needed <= remaining else int(size * remaining / needed)

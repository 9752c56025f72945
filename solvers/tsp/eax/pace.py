"""Whether a population will have converged in the time that is left, and how many of its tours would have."""

from __future__ import annotations

__all__ = ["Pace"]

_FALL = 0.034  # of the mean length: how much shorter the tours of a population become, from 3-opt starts (measured, 3.2 to 3.4 %)
_ABOVE = 1.0075  # times the Held-Karp bound: a mean that they come to at least
_TAIL = 1.5  # times the generations that the present fall would take: towards the end it is slower, but generations cheaper
_FIRST = 4  # generations after which it is asked for the first time; then again after twice as many


class Pace:
    """The generations of one population, with a clock: from how fast tours have become shorter it is told how long they need.

    A population that has not converged in the end is worth little, and how many tours do converge depends on the machine, and on
    what else it has to do.
    """

    def __init__(self, mean: float, elapsed: float, bound: float | None) -> None:
        """mean: length of the start tours; bound: a lower one on all lengths, if one is known."""
        self.least = (1.0 - _FALL) * mean
        if bound is not None:
            self.least = max(self.least, _ABOVE * bound)
        self._generation, self._asked, self._mean, self._elapsed = 0, 0, mean, elapsed

    def fitting(self, size: int, mean: float, elapsed: float, remaining: float) -> int:
        """After one more generation of `size` tours: with how many of them to go on."""
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

"""Estimates of the time that a population needs to converge, and of the number of tours that can converge in the time left."""

from __future__ import annotations

__all__ = ["Pace"]

_RELATIVE_FALL = 0.034  # by how much the mean length falls from 3-opt tours to convergence, relative (measured: 3.2 to 3.4 %)
_LEAST_OVER_BOUND = 1.0075  # the mean length at convergence is at least this times the Held-Karp bound
# The time to convergence divided by the time at the measured fall of the mean length per second: later generations shorten the
# tours less, but are faster.
_SLOWDOWN = 1.5
_FIRST_ESTIMATE = 4  # generations before the first estimate; later estimates are made after 8, 16, ... generations


class Pace:
    """The pace of one population: the time to convergence is estimated from how fast its tours have become shorter.

    A population that has not converged at the end of the run has poor tours, so a smaller one is better. How many tours converge
    in a given time depends on the machine and its load, and is therefore measured during the run.
    """

    def __init__(self, mean: float, elapsed: float, bound: float | None) -> None:
        """Start the measurement.

        Args:
            mean: The mean length of the population's start tours.
            elapsed: Seconds since the start of the run.
            bound: A lower bound on the length of any tour; None if unknown.
        """
        self.converged_mean = (1.0 - _RELATIVE_FALL) * mean
        if bound is not None:
            self.converged_mean = max(self.converged_mean, _LEAST_OVER_BOUND * bound)
        self._generation, self._last_estimate, self._last_mean, self._last_elapsed = 0, 0, mean, elapsed

    def fitting(self, size: int, mean: float, elapsed: float, remaining: float) -> int:
        """Return the number of tours to continue with; to be called after each generation.

        Args:
            size: The number of tours now.
            mean: Their mean length.
            elapsed: Seconds since the start of the run.
            remaining: Seconds until the run's time limit.
        """
        self._generation += 1
        generations = self._generation - self._last_estimate
        if generations < max(_FIRST_ESTIMATE, self._last_estimate):
            return size
        fall, seconds = (self._last_mean - mean) / generations, (elapsed - self._last_elapsed) / generations
        self._last_estimate, self._last_mean, self._last_elapsed = self._generation, mean, elapsed
        if fall <= 0.0 or mean <= self.converged_mean:
            return size
        needed = _SLOWDOWN * seconds * (mean - self.converged_mean) / fall
        return size if needed <= remaining else int(size * remaining / needed)

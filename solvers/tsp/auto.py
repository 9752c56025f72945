"""`auto`: the solver that our benchmarks show best for an instance's kind, its size and the time given."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.tsp.instance import TspInstance

__all__ = ["choose"]

# Measured on uniform cities, where eax overtakes ils: 1000 between 0.1 and 0.2 s, 5000 between 0.5 and 1 s, 20,000 between 3
# and 5 s. With regions bred by its own crossover ils is ahead again at 31,623: 0.05 against 0.08 % above the best known in 60 s,
# 0.032 against 0.038 in 300.
_EXACT_CITIES = 12
_EAX_CITIES = 20_000
_EAX_SECONDS_PER_CITY = 2.5e-4
_EAX_ITERATIONS_PER_CITY = 1.0  # not measured


def choose(instance: TspInstance, time_limit: float | None, iterations: int | None) -> str:
    """exact to 12 cities; eax for symmetric instances with time enough; ils for short limits, larger and asymmetric ones."""
    if instance.n <= _EXACT_CITIES and iterations is None:
        return "exact"
    if not instance.symmetric or instance.n > _EAX_CITIES:
        return "ils"
    if iterations is not None:
        return "eax" if iterations >= _EAX_ITERATIONS_PER_CITY * instance.n else "ils"
    return "eax" if time_limit is None or time_limit >= _EAX_SECONDS_PER_CITY * instance.n else "ils"

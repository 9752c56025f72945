"""`auto`: the choice of the solver that is best in our benchmarks for an instance's kind and size and for the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.tsp.instance import TspInstance

__all__ = ["choose"]

# Measured on uniform cities: eax becomes better than ils at 1000 cities after 0.1 to 0.2 s, at 5000 after 0.5 to 1 s, at 20,000
# after 3 to 5 s. At 31,623 cities ils is better again, as it also improves parts of the tour by edge assembly crossover: 0.05 %
# above the best known tour after 60 s (eax 0.08), and 0.032 % after 300 s (eax 0.038).
_EXACT_CITIES = 12
_EAX_CITIES = 20_000
_EAX_SECONDS_PER_CITY = 2.5e-4
_EAX_ITERATIONS_PER_CITY = 1.0  # an estimate, not measured


def choose(instance: TspInstance, time_limit: float | None, iterations: int | None) -> str:
    """exact to 12 cities; eax for symmetric instances with time enough; ils for short limits, larger and asymmetric ones."""
    if instance.n <= _EXACT_CITIES and iterations is None:
        return "exact"
    if not instance.symmetric or instance.n > _EAX_CITIES:
        return "ils"
    if iterations is not None:
        return "eax" if iterations >= _EAX_ITERATIONS_PER_CITY * instance.n else "ils"
    return "eax" if time_limit is None or time_limit >= _EAX_SECONDS_PER_CITY * instance.n else "ils"

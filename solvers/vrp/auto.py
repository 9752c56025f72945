"""`auto`: the choice of a solver for an instance of vehicle routing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance

__all__ = ["choose", "suits_genetic"]

# Measured on instances of the set X, 10 and 60 s, one seed: genetic is ahead of ruin-recreate on X-n153, n200 and n256 (equal on
# n153 after 60 s), and on n303 after 60 s but not after 10. On n376 it is behind: 0.10 % above the best known instead of 0.05
# after 60 s (means of two seeds), 0.28 instead of 0.21 after 10.
_GENETIC_CLIENTS = 350
_GENETIC_SECONDS_PER_CLIENT = 0.036


def choose(instance: VrpInstance, time_limit: float | None, iterations: int | None) -> str:
    """genetic for small instances with capacities and time enough, otherwise ruin-recreate."""
    if iterations is not None or time_limit is None or not suits_genetic(instance.clients, time_limit):
        return "ruin-recreate"
    from corl.solvers.vrp.genetic.solver import Genetic

    return "ruin-recreate" if Genetic().accepts(instance) else "genetic"


def suits_genetic(clients: float, time_limit: float) -> bool:
    """Return whether genetic is the better choice for so many clients with capacities, given the time limit in seconds."""
    return clients <= _GENETIC_CLIENTS and time_limit >= _GENETIC_SECONDS_PER_CLIENT * clients

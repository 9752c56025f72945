"""Simulated annealing: acceptance and cooling.

S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, Optimization by simulated annealing, Science 220, 1983. The acceptance rule is that
of N. Metropolis et al., Equation of state calculations by fast computing machines, Journal of Chemical Physics 21, 1953.
"""

from __future__ import annotations

import math
from typing import Any

from corl.jit import kernel
from corl.rng import uniform

__all__ = ["allowance", "geometric", "metropolis"]


@kernel(inline=True, borrow=True)
def metropolis(worse: Any, temperature: Any, random: Any) -> Any:
    """Decide whether a candidate is accepted: always if it is not worse, else with probability exp(-worse / temperature).

    Args:
        worse: the candidate's cost minus the current solution's cost; the cost is minimised.
        temperature: above 0, in the unit of `worse`.
        random: uint64 [1], a state of corl.rng; advanced, only if the candidate is worse.

    Returns:
        Whether to accept.
    """
    return worse <= 0 or uniform(random) < math.exp(-worse / temperature)


@kernel(inline=True, borrow=True)
def allowance(temperature: Any, random: Any) -> Any:
    """Draw a random threshold: to accept a candidate that is worse by less than the threshold is equivalent to `metropolis`.

    The threshold is exponentially distributed with mean `temperature`. As it is known before a candidate is evaluated, the
    evaluation can stop as soon as the candidate is too expensive.

    Args:
        temperature: at least 0, in the unit of the objective.
        random: uint64 [1], a state of corl.rng; advanced.

    Returns:
        A float64, at least 0.
    """
    return -temperature * math.log(1.0 - uniform(random))


@kernel(inline=True, borrow=True)
def geometric(first: Any, last: Any, share: Any) -> Any:
    """Return the temperature of a geometric cooling: first * (last / first) ** share.

    Args:
        first, last: temperatures at the beginning and the end, above 0.
        share: the share of the cooling that is done, 0..1.
    """
    return first * (last / first) ** share

"""Constraints on the actions that may be given to the arms together: one file per kind."""

from corl.problems.bandits.constraints.budget import Budget
from corl.problems.bandits.constraints.capacity import Capacity
from corl.problems.bandits.constraints.constraint import Constraint, Oracle, Relaxation, Rooms
from corl.problems.bandits.constraints.interventions import Interventions
from corl.problems.bandits.constraints.routing import Routing
from corl.problems.bandits.constraints.scheduling import Scheduling

__all__ = ["KINDS", "Budget", "Capacity", "Constraint", "Interventions", "Oracle", "Relaxation", "Rooms", "Routing", "Scheduling"]

KINDS: dict[str, type[Constraint]] = {kind.kind: kind for kind in (Budget, Capacity, Scheduling, Routing, Interventions)}
"""Kind in files -> class."""

"""Mixed-integer linear programs."""

from corl.problems.milp.instance import MilpInstance as MilpInstance

"""Branch and bound itself as a problem: the fewest nodes that prove a program's optimum."""

from corl.problems.milp_branching.instance import BranchingInstance as BranchingInstance

"""Branch and bound as a problem: find the tree with the fewest nodes that proves the optimum of a program."""

from corl.problems.milp_branching.instance import BranchingInstance as BranchingInstance

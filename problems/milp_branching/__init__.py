"""Branch and bound as a problem: find the smallest branch-and-bound tree that proves the optimum of a program."""

from corl.problems.milp_branching.instance import BranchingInstance as BranchingInstance

"""The 0-1 knapsack problem, with one or several capacities."""

from corl.problems.knapsack.instance import KnapsackInstance as KnapsackInstance

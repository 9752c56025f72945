"""The travelling salesman problem, symmetric (TSP) and asymmetric (ATSP)."""

from corl.problems.tsp.instance import TspInstance as TspInstance

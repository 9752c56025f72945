"""The travelling salesman problem, symmetric (TSP) and asymmetric (ATSP)."""

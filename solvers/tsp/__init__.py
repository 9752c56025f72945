"""Solvers for TSP and ATSP."""

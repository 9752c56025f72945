"""Tuning: better options of a solver for the instances of a folder, by races on runs of the benchmark; `corl tune`."""

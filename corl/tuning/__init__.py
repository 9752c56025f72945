"""Tuning: better options of a solver for the instances of a folder, by racing candidates on runs of the benchmark; `corl tune`."""

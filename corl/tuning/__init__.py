"""Tuning: better options of a solver for the instances of a folder, by racing candidates; `corl tune`."""

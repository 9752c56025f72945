"""Imitation of strong branching: the teacher that labels nodes of SCIP's trees, and recipes that train on its labels."""
